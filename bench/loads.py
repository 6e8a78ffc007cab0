"""The processes that put a load on servers."""

import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from bench.arrangements import Arrangement


@contextmanager
def running_load(
    command: Sequence[str], arrangement: Arrangement = Arrangement.APART
) -> Iterator["subprocess.Popen[str]"]:
    """A program at work, its two outputs in one pipe; killed when left."""
    with subprocess.Popen(
        list(command),
        text=True,
        start_new_session=arrangement is not Arrangement.TOGETHER,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    ) as process:
        try:
            yield process
        finally:
            process.kill()
