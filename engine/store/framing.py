"""Bytes around the records of a log in its files.

A commit log has none. A log that wraps records in entries declares the size of the bytes before each record,
and validates entries. Positions of records are those of their own first bytes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from mqgateway.engine.store.record import Invalid, examine

Examine = Callable[[memoryview, int, int, bool], int | Invalid]
"""Validates the record at a position: bytes, index in them, position in the log, whether to check checksums.

Returns the size of the record and the bytes before it; 0 for the end of a file; else the reason why it is
invalid.
"""


class Framing(NamedTuple):
    """Layout of an entry: `lead` bytes before each record; the total size is at `size_at`, in 4 bytes."""

    lead: int
    size_at: int
    examine: Examine

    def begin(self, offset: int, file_size: int) -> int:
        """Return the start of the entry with a record at `offset`; a file's start is its own."""
        return offset - self.lead if offset % file_size else offset


BARE = Framing(0, 0, examine)
"""Records without a frame. RocketMQ: `CommitLog`."""
