"""What stands around the records of a log in its files.

In a commit log nothing does. Whoever keeps records in entries of its own says how much comes before each, and
what an entry with a whole record in it looks like; positions of records are those of their own first bytes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from mqgateway.engine.store.record import Invalid, examine

Examine = Callable[[memoryview, int, int, bool], int | Invalid]
"""Given bytes, where in them to look, the position of that in the log, and whether checksums are looked at:
the size of the record there and of what comes before it; 0 for the end of a file; else why there is none."""


class Framing(NamedTuple):
    """`lead` bytes come before each record; the size of all of it stands at `size_at`, in 4 bytes."""

    lead: int
    size_at: int
    examine: Examine

    def begin(self, offset: int, file_size: int) -> int:
        """Where what is around a record begins, of the record's offset; a file begins with itself."""
        return offset - self.lead if offset % file_size else offset


BARE = Framing(0, 0, examine)
"""Records one behind another. Standard: `CommitLog`."""
