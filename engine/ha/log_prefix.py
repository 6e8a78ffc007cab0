"""Whether a slave's log is the beginning of its master's.

The stream cannot tell: it carries offsets, and a master that lost the end of its log (a power cut, or another
one's disk) has written other records at offsets that the slave has too. So before a slave follows, it asks
its master for the record that is the last in its own log (33 VIEW_MESSAGE_BY_ID, which every broker answers).
The same bytes there mean the same log before them, as a record holds its place and its time. Where the master
does not have it, its figures (28) say why. A log that parted from the master's is never cut by itself: what
it holds may be the only copy.
"""

from __future__ import annotations

from typing import NamedTuple


class Own(NamedTuple):
    """The slave's log: where its last whole record starts, that record, and where the log ends."""

    start: int
    record: bytes
    end: int


class Masters(NamedTuple):
    """What the master said: its record at the slave's last place, if it has one, and its log's ends."""

    record: bytes | None
    first: int
    end: int


def why_not(own: Own, master: Masters) -> str:
    """Why the slave must not follow; empty when it may."""
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
            "This store must be removed, to be copied anew"
        )
    how = "has no record" if master.record is None else "has another record"
    return (
        f"the master {how} at {own.start}, where our last one lies: the logs parted before. "
        "Whoever has the messages that count must be the master; the other's store is to be removed"
    )


def where_to_begin(first: int, end: int, file_size: int) -> int:
    """What a slave asks for that wants its master's whole log, which has [first, end).

    An empty log of Apache's broker begins at -1."""
    if end - end % file_size <= max(first, 0):
        return 0
    return first or 1
