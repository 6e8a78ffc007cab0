"""The end of every command: one form of error, one rule for output that cannot be written.

An error is one line on standard error: `mqgateway: error: WHAT happened (value); what to do`.

A command whose standard output is a closed pipe ends as a Unix tool does: silently, with exit status 141
(128 + SIGPIPE). Any other failed write to it, as on a full disk, is an error with exit status 1.
`watch_output` sees to both, so that commands simply print. Standard library only: mqadmin loads this too.
"""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Callable
from typing import Any, NoReturn

from mqgateway.gateway.cli.plain import escaped

PROGRAM = "mqgateway"
DONE, FAILED, USAGE, NOT_FOUND = 0, 1, 2, 3
INTERRUPTED = 130
READER_GONE = 141


def error_line(text: str, program: str = PROGRAM, severity: str = "error") -> str:
    """Return an error as it is printed."""
    return f"{program}: {severity}: {escaped(text)}\n"


def complain(text: str, *, program: str = PROGRAM, severity: str = "error") -> None:
    """Print one line to standard error. A failure of that is ignored."""
    try:
        sys.stderr.write(error_line(text, program, severity))
        sys.stderr.flush()
    except (OSError, ValueError):
        return


class Output(io.FileIO):
    """Standard output. A failed write ends the command by `SystemExit`, in whichever thread it happens."""

    def write(self, data: Any, /) -> int:
        """See `io.FileIO.write`."""
        try:
            return super().write(data)
        except OSError as error:
            # Buffered output must not be tried again when the interpreter ends.
            os.dup2(os.open(os.devnull, os.O_WRONLY), self.fileno())
            if isinstance(error, BrokenPipeError):
                raise SystemExit(READER_GONE) from None
            complain(f"standard output cannot be written ({error.strerror}); write it somewhere else")
            raise SystemExit(FAILED) from None


def watch_output() -> None:
    """Let failed writes to standard output end the command. Call it once, before anything is printed."""
    old = sys.stdout
    if old is None:  # closed by the parent process
        sys.stdout = open(os.devnull, "w")  # noqa: SIM115 - as long as the process lives
    elif old is sys.__stdout__ and isinstance(old, io.TextIOWrapper):
        sys.stdout = io.TextIOWrapper(
            io.BufferedWriter(Output(old.fileno(), "w", closefd=False)),
            encoding=old.encoding,
            errors="backslashreplace" if old.errors == "strict" else old.errors,
            line_buffering=old.line_buffering,
        )


def end_with(run: Callable[[], int]) -> NoReturn:
    """Run a command on this process's standard streams, and end the process with its exit code."""
    watch_output()
    try:
        try:
            code = run()
        finally:
            sys.stdout.flush()
    except KeyboardInterrupt:
        code = INTERRUPTED
    except BrokenPipeError:  # of standard error
        code = READER_GONE
    sys.exit(code)
