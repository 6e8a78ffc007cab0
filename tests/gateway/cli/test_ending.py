"""The end of commands, as the processes that they are."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import Any

import pytest

from mqgateway.gateway.cli.ending import READER_GONE, complain

PRINTING = "print('line ' * 20, flush=True)"
SCRIPT = """
import sys
from mqgateway.gateway.cli.ending import end_with
def run():
    for number in range({lines}):
        {work}
    return 0
end_with(run)
"""


def _run(work: str, lines: int = 1, **streams: Any) -> subprocess.CompletedProcess[bytes]:
    script = SCRIPT.format(work=work, lines=lines)
    return subprocess.run([sys.executable, "-c", script], stderr=subprocess.PIPE, **streams)


def _closed_pipe() -> int:
    reading, writing = os.pipe()
    os.close(reading)
    return writing


@pytest.mark.parametrize(
    "work", [PRINTING, "print('buffered to the end')", "sys.stdout.buffer.write(b'raw')"]
)
def test_closed_pipe_ends_a_command_silently_with_the_status_of_unix_tools(work: str) -> None:
    pipe = _closed_pipe()
    try:
        ended = _run(work, 100_000 if work is PRINTING else 1, stdout=pipe)
    finally:
        os.close(pipe)
    assert (ended.returncode, ended.stderr) == (READER_GONE, b"")


@pytest.mark.parametrize("work", [PRINTING, "print('buffered to the end')"])
def test_full_disk_is_an_error(work: str) -> None:
    with open("/dev/full", "wb") as full:
        ended = _run(work, stdout=full)
    assert ended.returncode == 1
    expected = b"mqgateway: error: standard output cannot be written (No space left on device)"
    assert ended.stderr.startswith(expected) and ended.stderr.count(b"\n") == 1


def test_text_that_the_terminal_cannot_show_is_escaped() -> None:
    environment = {**os.environ, "PYTHONIOENCODING": "ascii"}
    ended = _run("print(chr(0x4e2d))", stdout=subprocess.PIPE, env=environment)
    assert (ended.returncode, ended.stdout) == (0, b"\\u4e2d\n")


def test_error_is_one_line_without_control_characters(capsys: pytest.CaptureFixture[str]) -> None:
    complain("a\nb\x1b[31m")
    assert capsys.readouterr().err == "mqgateway: error: a\\nb\\x1b[31m\n"


def test_complaint_to_a_closed_standard_error_is_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    class Closed:
        def write(self, text: str) -> int:
            raise BrokenPipeError

    monkeypatch.setattr(sys, "stderr", Closed())
    complain("not heard")
