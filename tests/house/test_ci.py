"""What continuous integration may not do: pass by skipping."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SKIPS = "import pytest\ndef test_it():\n    pytest.skip('no Docker here')\n"


@pytest.mark.parametrize(("variable", "code"), [("true", 1), ("", 0)])
def test_a_skip_fails_in_continuous_integration_only(tmp_path: Path, variable: str, code: int) -> None:
    (tmp_path / "test_skips.py").write_text(SKIPS)
    (tmp_path / "conftest.py").write_text((ROOT / "conftest.py").read_text())
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(tmp_path)]
    ended = subprocess.run(command, env={**os.environ, "CI": variable}, cwd=tmp_path, capture_output=True)
    assert ended.returncode == code, ended.stdout.decode()
