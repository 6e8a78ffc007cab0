"""A program on a terminal, as a user runs it.

with Terminal(["bash", "--norc", "-i"], environment) as terminal:
    terminal.type("echo it\\n")
    terminal.shows("it")
"""

from __future__ import annotations

import os
import pty
import select
import subprocess
import time
from collections.abc import Mapping, Sequence
from types import TracebackType


class Terminal:
    """A terminal, with the text that it has shown."""

    def __init__(self, command: Sequence[str], environment: Mapping[str, str]) -> None:
        self.shown = ""
        self._ours, theirs = pty.openpty()
        self._process = subprocess.Popen(
            command, env=dict(environment), pass_fds=(theirs,), preexec_fn=lambda: os.login_tty(theirs)
        )
        os.close(theirs)

    def __enter__(self) -> Terminal:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.kill()
        self._process.wait()
        os.close(self._ours)

    def type(self, text: str) -> None:
        """Type these keys."""
        os.write(self._ours, text.encode())

    def shows(self, text: str, seconds: float = 60.0) -> None:
        """Wait until this text is shown after the text of the last call. Raises `AssertionError`."""
        until = time.monotonic() + seconds
        while text not in self.shown:
            left = until - time.monotonic()
            ready, _, _ = select.select([self._ours], [], [], max(left, 0))
            assert ready, f"{text!r} was not shown within {seconds:g} s, but: {self.shown!r}"
            self.shown += os.read(self._ours, 4096).decode(errors="replace")
        self.shown = self.shown[self.shown.index(text) + len(text) :]
