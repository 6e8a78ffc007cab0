"""The code that the documents show, block by block, and how a test runs it."""

from __future__ import annotations

import re
import signal
import subprocess
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from compat_tests.installed import Installed
from compat_tests.servers import ROOT

WRITTEN_ADDRESS = "127.0.0.1:9876"
"""The name server of all examples; a run puts its own there."""

SECONDS = 60

_FENCED = re.compile(r"^```(\w+)\n(.*?)^```$", re.M | re.S)
_INDENTED = re.compile(r"(?:^    \S.*\n)+", re.M)


@dataclass(frozen=True)
class Block:
    """Code as a page shows it."""

    page: str
    language: str
    """What the fence says; `commands` for lines that are indented."""
    text: str

    def __str__(self) -> str:
        return f"{self.page}: {self.text.strip().splitlines()[0]}"


def blocks(page: str, *languages: str) -> Iterator[Block]:
    """The blocks of a page, in its order."""
    text = (ROOT / page).read_text()
    if "commands" in languages:
        for found in _INDENTED.finditer(_FENCED.sub("", text)):
            lines = (line.removeprefix("    ") for line in found[0].splitlines())
            yield Block(page, "commands", "\n".join(lines))
    for language, code in _FENCED.findall(text):
        if language in languages:
            yield Block(page, language, code)


@dataclass(frozen=True)
class Ran:
    """What became of a program."""

    code: int
    output: str


def run_program(
    installed: Installed, folder: Path, program: str, *, until: Sequence[str] = (), seconds: float = SECONDS
) -> Ran:
    """Run a program to its end; one that waits is asked to end once it has printed every text of `until`."""
    file = folder / "program.py"
    file.write_text(program)
    running = subprocess.Popen(
        [installed.python, "-u", file],
        cwd=folder,
        env=installed.variables(),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    assert running.stdout is not None
    limit = threading.Timer(seconds, running.kill)
    limit.start()
    try:
        output, wanted = "", set(until)
        for line in running.stdout:
            output += line
            if wanted:
                wanted = {text for text in wanted if text not in output}
                if not wanted:
                    running.send_signal(signal.SIGTERM)
        return Ran(running.wait(seconds), output)
    finally:
        limit.cancel()
        running.kill()
