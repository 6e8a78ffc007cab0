"""The processes that put a load on servers."""

import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager


@contextmanager
def running_load(command: Sequence[str]) -> Iterator["subprocess.Popen[str]"]:
    """A program at work, its two outputs in one pipe; killed when left.

    It has a session of its own: Linux shares the cores out between sessions first, as between services.
    """
    with subprocess.Popen(
        list(command),
        text=True,
        start_new_session=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    ) as process:
        try:
            yield process
        finally:
            process.kill()
