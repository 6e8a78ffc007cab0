"""Check that a slave's log is a prefix of its master's.

The stream cannot tell: it has offsets only, and a master that lost the end of its log (a power cut, or
another disk) has written other records at offsets that the slave has too. So before it follows, a slave
requests from its master the record at the offset of its own last record (33 VIEW_MESSAGE_BY_ID, which every
broker answers). Equal bytes there mean equal logs before, as a record contains its position and its time. If
the master does not have it, its figures (28) give the reason. A log that has diverged from the master's is
never truncated automatically: it may be the only copy.
"""

from __future__ import annotations

from typing import NamedTuple


class Own(NamedTuple):
    """The slave's log: offset and bytes of its last complete record, and its end."""

    start: int
    record: bytes
    end: int


class Masters(NamedTuple):
    """The master's answers: its record at that offset, if any, and its log's ends."""

    record: bytes | None
    first: int
    end: int


def why_not(own: Own, master: Masters) -> str:
    """Return the reason why the slave must not follow; empty if it may."""
    if master.record == own.record:
        return ""
    if own.end > master.end:
        return (
            f"our log ends at {own.end}, the master's at {master.end}: we have what it does not have. "
            "Whoever has the messages that count must be the master; the other's store is to be removed"
        )
    if own.start < master.first:
        return (
            f"our log ends at {own.end}, the master's begins at {master.first}: the data between is deleted. "
            "This store must be removed, to be copied again"
        )
    how = "has no record" if master.record is None else "has another record"
    return (
        f"the master {how} at {own.start}, where our last one lies: the logs parted before. "
        "Whoever has the messages that count must be the master; the other's store is to be removed"
    )


def where_to_begin(first: int, end: int, file_size: int) -> int:
    """Return the offset to request for a copy of the master's whole log, which has [first, end).

    An empty log of RocketMQ's broker begins at -1.
    """
    if end - end % file_size <= max(first, 0):
        return 0
    return first or 1
