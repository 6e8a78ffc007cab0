"""The programs that the documents show, run as they stand there, with the installed package."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

from compat_tests.support.installed import Installed
from compat_tests.support.servers import ROOT

WRITTEN_ADDRESS = "127.0.0.1:9876"
"""The name server of all examples; a run puts its own there."""


def programs(page: str) -> list[str]:
    """The Python blocks of a page, in its order."""
    return re.findall(r"```python\n(.*?)```", (ROOT / page).read_text(), re.S)


def begin(installed: Installed, folder: Path, program: str, namesrv: str) -> subprocess.Popen[str]:
    """Start what a newcomer copies, with the address of a server."""
    assert WRITTEN_ADDRESS in program
    return subprocess.Popen(
        [installed.python, "-u", "-c", program.replace(WRITTEN_ADDRESS, namesrv)],
        cwd=folder,
        env=installed.variables(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
