"""Cold reads: reads that would wait for the disk, and loading them without blocking others.

A reader that must not block gets `ColdRead`, which names the bytes that are not in memory. A worker reads
them (`bring`), which leaves them in the page cache; then the reader retries. The newest part of the log is
not checked: bytes that were just written are in memory. RocketMQ: `ColdDataCheckService` measures the same
with mincore, to throttle such consumers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from mypy_extensions import mypyc_attr

from mqgateway.engine.disk import File
from mqgateway.engine.worker import Worker

AHEAD: Final = 1 << 20
"""Bytes to prefetch after a cold read: a consumer of old messages reads on."""

FileRange = tuple[File, int, int]
"""An open file, an offset in it and a number of bytes."""


_RECORD_MAX: Final = 16 << 20
"""Maximum of bytes to read of a record whose size is known only from its own header, which may be damaged."""


@mypyc_attr(allow_interpreted_subclasses=True)
class ColdRead(Exception):
    """Bytes are not in memory. `position` is that of the first of them, in the log or a queue's files."""

    def __init__(self, position: int, ranges: Sequence[FileRange]) -> None:
        super().__init__(f"{len(ranges)} pieces, the first at {position}, are not in memory")
        self.position = position
        self.ranges = ranges

    def bring(self, *, ahead: bool = True) -> None:
        """Read the bytes into the page cache; waits for the disk. Raises `OSError`.

        With `ahead` the bytes that follow are prefetched too.
        """
        for file, offset, size in self.ranges:
            file.read(offset, size)
        if ahead:
            file, offset, size = self.ranges[-1]
            file.read_ahead(offset + size, AHEAD)

    def bring_by(self, worker: Worker, done: Callable[[], None], *, ahead: bool) -> None:
        """Run `bring` on a worker; `done` is called when a retry is worthwhile."""
        worker.run(lambda: self.bring(ahead=ahead), lambda _outcome: done())


class ColdRecords(ColdRead):
    """Records of which only the start positions are known are not in memory.

    The size of each is in its first four bytes.
    """

    def bring(self, *, ahead: bool = True) -> None:
        """Read the records, without prefetching."""
        for file, offset, _ in self.ranges:
            size = int.from_bytes(file.read(offset, 4), "big")
            file.read(offset, min(size, _RECORD_MAX))
