"""`scripts/faster` finds the compiled form, or makes it beside the server; Python and pip are played here."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.house.source import ROOT

FAKE_PYTHON = """#!/bin/sh
# Plays Python: tells its tag and where its header is, and makes wheels and installations of nothing.
case "$*" in
    *cache_tag*) echo cpython-399 ;;
    *sysconfig*) echo "$HEADERS" ;;
    *"pip wheel"*)
        echo "wheel $MQGATEWAY_COMPILE" >> "$SAID"
        if [ -n "$BROKEN" ]; then echo "no such instruction" >&2; exit 1; fi
        if [ -n "$SLOW" ]; then sleep 60; fi
        touch mqgateway-1-cp399-cp399-linux_x.whl ;;
    *"--target form"*) mkdir -p form; for last in "$@"; do :; done; echo "form of ${last##*/}" >> "$SAID" ;;
esac
"""


def wait_for(condition: Callable[[], object]) -> None:
    ends = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < ends
        time.sleep(0.02)


class Clone:
    """A clone of the repository, as far as the script looks at it, and a server that runs."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        for name in ("scripts", "bin", "headers", "engine", "gateway", "pipeline", "mqgateway", "docs"):
            (folder / name).mkdir()
        for name in ("pyspark_rocketmq", "pyspark_rocketmq_store"):
            (folder / name).mkdir()
        for name in ("setup.py", "setup.cfg", "pyproject.toml", "MANIFEST.in", "README.md", "CHANGELOG.md"):
            (folder / name).touch()
        (folder / "LICENSE").touch()
        (folder / "engine" / "log.py").touch()
        shutil.copy(ROOT / "scripts" / "faster", folder / "scripts")
        self.said = folder / "said"
        self.said.touch()
        (folder / "headers" / "Python.h").touch()
        self.program(folder / "bin" / "gcc", "#!/bin/sh\n")
        self.program(folder / ".venv" / "bin" / "python", FAKE_PYTHON)
        self.server = subprocess.Popen(["sleep", "100"])
        self.begun: list[subprocess.Popen[str]] = []

    @staticmethod
    def program(path: Path, text: str) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        path.chmod(0o755)

    def begin(self, **env: str) -> subprocess.Popen[str]:
        """Run the script; what it printed is in a file, as its own child may hold pipes for longer."""
        usual = {key: value for key, value in os.environ.items() if key not in ("CI", "MQGATEWAY_COMPILE")}
        usual |= {"PATH": f"{self.folder / 'bin'}:{os.environ['PATH']}", "SAID": str(self.said)}
        usual |= {"HEADERS": str(self.folder / "headers"), "MQGATEWAY_COMPILE_AFTER": "0"}
        begun = subprocess.Popen(
            ["bash", str(self.folder / "scripts" / "faster"), str(self.server.pid)],
            env=usual | env,
            stdout=subprocess.PIPE,
            stderr=(self.folder / "errors").open("a"),
            text=True,
        )
        self.begun.append(begun)
        return begun

    def form(self, **env: str) -> str:
        """The folder of the compiled form, relative to the clone; empty where there is none."""
        found, _ = self.begin(**env).communicate(timeout=30)
        return os.path.relpath(found.strip(), self.folder) if found else ""

    @property
    def room(self) -> Path:
        return self.folder / ".venv" / "compiled-cpython-399"

    @property
    def errors(self) -> str:
        return (self.folder / "errors").read_text()

    def settle(self) -> None:
        """Wait until nothing is being made."""
        self.room.mkdir(exist_ok=True)
        wait_for(lambda: subprocess.run(["flock", "-n", str(self.room / "lock"), "true"]).returncode == 0)


@pytest.fixture
def clone(tmp_path: Path) -> Iterator[Clone]:
    made = Clone(tmp_path)
    yield made
    made.server.kill()
    made.server.wait(10)
    made.settle()


def test_the_second_start_is_of_the_faster_form(clone: Clone) -> None:
    assert clone.form() == ""
    wait_for(lambda: "next start of scripts/serve" in clone.errors)
    clone.settle()
    form = clone.form()
    assert form.startswith(".venv/compiled-cpython-399/") and form == clone.form()
    assert clone.said.read_text().splitlines() == ["wheel 1", "form of mqgateway-1-cp399-cp399-linux_x.whl"]
    assert not list(clone.folder.glob("engine/*.so")) and not (clone.room / "making").exists()


def test_changed_source_is_compiled_again_and_not_hidden(clone: Clone) -> None:
    clone.form()
    wait_for(lambda: "next start" in clone.errors)
    clone.settle()
    first = clone.form()
    later = time.time() + 5
    os.utime(clone.folder / "engine" / "log.py", (later, later))
    assert clone.form() == ""
    wait_for(lambda: clone.errors.count("next start of") == 2)
    assert (clone.folder / first).exists()  # a server may still run it


def test_a_wheel_that_is_there_is_used(clone: Clone) -> None:
    (clone.folder / "dist").mkdir()
    name = f"mqgateway-1-cp399-cp399-linux_{os.uname().machine}.whl"
    (clone.folder / "dist" / name).touch()
    (clone.folder / "bin" / "gcc").unlink()
    clone.form(HEADERS="/nowhere")
    wait_for(lambda: "next start of" in clone.errors)
    assert clone.said.read_text().splitlines() == [f"form of {name}"]


@pytest.mark.parametrize(
    "env",
    [{"CI": "true"}, {"MQGATEWAY_COMPILE": "0"}, {"HEADERS": "/nowhere"}],
    ids=["CI", "switched off", "no headers"],
)
def test_nothing_is_made(clone: Clone, env: dict[str, str]) -> None:
    assert clone.form(**env) == ""
    assert not clone.room.exists() and clone.errors == ""


def test_two_starts_at_once_make_one(clone: Clone) -> None:
    one, two = clone.begin(), clone.begin()
    assert [each.communicate(timeout=30)[0] for each in (one, two)] == ["", ""]
    wait_for(lambda: "next start of" in clone.errors)
    clone.settle()
    assert clone.said.read_text().count("wheel") == 1


def test_a_compiler_that_fails_is_not_asked_again(clone: Clone) -> None:
    clone.form(BROKEN="1")
    wait_for(lambda: "compiling failed" in clone.errors)
    assert "no such instruction" in (clone.room / "log").read_text()
    clone.settle()
    assert clone.form() == ""
    clone.settle()
    assert clone.said.read_text().count("wheel") == 1


def test_compilation_ends_with_the_server(clone: Clone) -> None:
    clone.form(SLOW="1")
    wait_for(lambda: "wheel" in clone.said.read_text())
    clone.server.kill()
    clone.server.wait(10)
    clone.settle()
    assert not list(clone.room.glob("[0-9]*")) and not (clone.room / "failed").exists()
