"""Reads that would wait for the disk, and getting them out of the way of everybody else.

A reader that may not wait is told so with `ColdRead`: it names what is not in memory. A worker reads that
(`bring`), which leaves it in the system's page cache; then the reader tries again. The newest part of the log
is never asked about: what was just written is there. Standard: `ColdDataCheckService` measures the same with
mincore, to slow such consumers down.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from mqgateway.engine.disk import File
from mqgateway.engine.worker import Worker

AHEAD: Final = 1 << 20
"""Bytes after a cold read that are asked for along with it: who reads old messages goes on reading them."""

Piece = tuple[File, int, int]
"""An open file, an offset in it and a number of bytes."""


_RECORD_MAX: Final = 16 << 20
"""No more is read of a record whose size only its own first bytes tell, which may be wrong."""


class ColdRead(Exception):
    """Bytes are not in memory. `position` is where the first of them are, in the log or a queue's files."""

    def __init__(self, position: int, pieces: Sequence[Piece]) -> None:
        super().__init__(f"{len(pieces)} pieces, the first at {position}, are not in memory")
        self.position = position
        self.pieces = pieces

    def bring(self, *, ahead: bool = True) -> None:
        """Read the bytes into the system's memory; waits for the disk. Raises `OSError`.

        With `ahead` what follows is asked for, too.
        """
        for file, offset, size in self.pieces:
            file.read(offset, size)
        if ahead:
            file, offset, size = self.pieces[-1]
            file.read_ahead(offset + size, AHEAD)

    def bring_by(self, worker: Worker, done: Callable[[], None], *, ahead: bool) -> None:
        """Have a worker `bring` it; `done` is called when it is worth trying again."""
        worker.run(lambda: self.bring(ahead=ahead), lambda _outcome: done())


class ColdRecords(ColdRead):
    """Records of which only the beginnings are known are not in memory: how long each is stands in its first
    four bytes.
    """

    def bring(self, *, ahead: bool = True) -> None:
        """Read the records; nobody goes on reading behind them."""
        for file, offset, _ in self.pieces:
            size = int.from_bytes(file.read(offset, 4), "big")
            file.read(offset, min(size, _RECORD_MAX))
