"""`scripts/prepare` makes its environment whatever happened to it before; Python is played here."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.house.source import ROOT

FAKE_PYTHON = """#!/bin/sh
# Plays Python: says what it was asked for, makes environments of copies of itself, dies in pip when told to.
case "$*" in
    "-c import ensurepip, venv") [ -z "$NO_VENV" ] ;;
    *"-m venv"*)
        echo "venv $*" >> "$SAID"
        case "$*" in *--clear*) rm -rf .venv ;; esac
        mkdir -p .venv/bin && cp "$0" .venv/bin/python ;;
    *"pip --version"*) [ ! -e .venv/broken ] ;;
    *"pip install"*)
        echo "pip" >> "$SAID"
        if [ -n "$DIE" ]; then kill -9 $PPID; fi
        echo "Collecting twisted" ;;
esac
"""


class Clone:
    """A clone of the repository, as far as the script looks at it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        (folder / "scripts").mkdir()
        shutil.copy(ROOT / "scripts" / "prepare", folder / "scripts")
        (folder / "setup.cfg").write_text("[metadata]\n")
        self.bin = folder / "bin"
        self.bin.mkdir()
        self.program("fake-python", FAKE_PYTHON)
        self._said = folder / "said"

    def program(self, name: str, text: str) -> None:
        """A program that the script finds."""
        (self.bin / name).write_text(text)
        (self.bin / name).chmod(0o755)

    def prepare(self, **env: str) -> tuple[int, list[str], str]:
        """Run the script: its exit code, what Python was asked for, and what it printed."""
        self._said.write_text("")
        usual = {"PATH": f"{self.bin}:{os.environ['PATH']}", "PYTHON": "fake-python", "SAID": str(self._said)}
        command = ["bash", str(self.folder / "scripts" / "prepare"), "-e", "."]
        done = subprocess.run(
            command, env=usual | env, capture_output=True, text=True, timeout=60, check=False
        )
        return done.returncode, self._said.read_text().splitlines(), done.stderr


@pytest.fixture
def clone(tmp_path: Path) -> Clone:
    return Clone(tmp_path)


def test_the_first_call_shows_what_it_does_and_the_second_does_nothing(clone: Clone) -> None:
    code, asked, printed = clone.prepare()
    assert (code, asked) == (0, ["venv -m venv .venv", "pip"])
    assert "installing into" in printed and "Collecting twisted" in printed and "installed in " in printed
    assert clone.prepare() == (0, [], "")


def test_a_call_that_was_killed_while_it_installed_is_made_good_by_the_next(clone: Clone) -> None:
    assert clone.prepare(DIE="yes")[0] != 0
    assert clone.prepare()[:2] == (0, ["venv -m venv --clear .venv", "pip"])
    assert clone.prepare()[1] == []


def test_an_environment_that_was_half_made_is_made_again(clone: Clone) -> None:
    """Of an earlier version of the script, which left no mark."""
    (clone.folder / ".venv" / "bin").mkdir(parents=True)
    shutil.copy(clone.bin / "fake-python", clone.folder / ".venv" / "bin" / "python")
    (clone.folder / ".venv" / "broken").touch()
    assert clone.prepare()[:2] == (0, ["venv -m venv .venv", "pip"])


def test_missing_permission_to_install_is_explained(clone: Clone) -> None:
    clone.program("id", "#!/bin/sh\necho 1000\n")
    for tool in ("bash", "dirname", "cat"):
        (clone.bin / tool).symlink_to(str(shutil.which(tool)))
    code, asked, printed = clone.prepare(NO_VENV="yes", PATH=str(clone.bin))
    assert (code, asked) == (1, [])
    assert "apt-get install python3 python3-venv" in printed
    assert "there is no sudo" in printed and "set PYTHON" in printed
