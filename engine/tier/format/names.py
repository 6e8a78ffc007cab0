"""Names of the objects of one broker. Names of a kind sort by epoch and position."""

from __future__ import annotations

import re
from typing import Final, NamedTuple
from urllib.parse import quote, unquote

_RANGE: Final = re.compile(r"(\d{10})/(\d{20})\.idx")
_SEGMENT: Final = re.compile(r"(\d{10})/(\d{20})-(\d{1,5})-(\d{4,8})-([0-9a-f]{16})\.seg")
_EXPIRED: Final = re.compile(r"(\d{10})/(\d{20})-(\d{4,8})-(\d{13})\.gone")
_TABLES: Final = re.compile(r"(\d{10})/(\d{13})\.tables")
_EPOCH: Final = re.compile(r"\d{10}")
EPOCH_MAX: Final = 10**10 - 1


class SegmentName(NamedTuple):
    """Parts of the name of a segment: the epoch, the begin of its range, the retention class in days (0 is
    unlimited), its number in the range, and the writer's id in hexadecimal digits.
    """

    epoch: int
    begin: int
    days: int
    number: int
    writer: str


class ExpiredName(NamedTuple):
    """Parts of the name of a mark that a segment has expired: epoch and begin of its range, its number there,
    and when the mark was written, in ms.
    """

    epoch: int
    begin: int
    number: int
    time: int


class TierNames:
    """Names of the objects of a broker (its name, which all replicas of a group share) in a cluster."""

    def __init__(self, cluster: str, broker: str) -> None:
        self.cluster = cluster
        self.broker = broker
        self.root = f"{_escaped(cluster)}/{_escaped(broker)}"
        self.epochs = f"{self.root}/epochs/"
        self.ranges = f"{self.root}/ranges/"
        self.data = f"{self.root}/data/"
        self.tables = f"{self.root}/tables/"

    def epoch(self, epoch: int) -> str:
        """Return the name of the object that begins an epoch."""
        return f"{self.epochs}{epoch:010d}"

    def range(self, epoch: int, begin: int) -> str:
        """Return the name of the index of the range that begins at `begin`."""
        return f"{self.ranges}{epoch:010d}/{begin:020d}.idx"

    def expired(self, mark: ExpiredName) -> str:
        """Return the name of the mark of an expired segment, which is listed with the ranges."""
        return f"{self.marks(mark.epoch, mark.begin)}{mark.number:04d}-{mark.time:013d}.gone"

    def marks(self, epoch: int, begin: int) -> str:
        """Return the begin of the names of all marks of a range."""
        return f"{self.ranges}{epoch:010d}/{begin:020d}-"

    def segment(self, segment: SegmentName) -> str:
        """Return the name of a segment."""
        epoch, begin, days, number, writer = segment
        return f"{self.data}{epoch:010d}/{begin:020d}-{days}-{number:04d}-{writer}.seg"

    def tables_at(self, epoch: int, time: int) -> str:
        """Return the name of the tables that a writer of an epoch saved at a time in ms."""
        return f"{self.tables}{epoch:010d}/{time:013d}.tables"

    def epoch_of(self, name: str) -> int | None:
        """Return the epoch that an object begins; None for other objects."""
        rest = name.removeprefix(self.epochs)
        return int(rest) if rest != name and _EPOCH.fullmatch(rest) else None

    def range_of(self, name: str) -> tuple[int, int] | None:
        """Return epoch and begin of the range of an index; None for other objects."""
        rest = name.removeprefix(self.ranges)
        found = _RANGE.fullmatch(rest) if rest != name else None
        return None if found is None else (int(found[1]), int(found[2]))

    def tables_of(self, name: str) -> tuple[int, int] | None:
        """Return epoch and time in ms of saved tables; None for other objects."""
        rest = name.removeprefix(self.tables)
        found = _TABLES.fullmatch(rest) if rest != name else None
        return None if found is None else (int(found[1]), int(found[2]))

    def expired_of(self, name: str) -> ExpiredName | None:
        """Return the parts of the name of an expired segment's mark; None for other objects."""
        rest = name.removeprefix(self.ranges)
        found = _EXPIRED.fullmatch(rest) if rest != name else None
        return None if found is None else ExpiredName(*(int(part) for part in found.groups()))

    def segment_of(self, name: str) -> SegmentName | None:
        """Return the parts of a segment's name; None for other objects."""
        rest = name.removeprefix(self.data)
        found = _SEGMENT.fullmatch(rest) if rest != name else None
        if found is None:
            return None
        epoch, begin, days, number, writer = found.groups()
        return SegmentName(int(epoch), int(begin), int(days), int(number), writer)


def names_in(name: str) -> TierNames | None:
    """Return the names of the broker to which an object belongs; None for objects of another kind."""
    parts = name.split("/")
    names = TierNames(unquote(parts[0]), unquote(parts[1])) if len(parts) > 1 else None
    if names is None:
        return None
    kinds = names.epochs, names.ranges, names.data, names.tables
    return names if name.startswith(kinds) else None


def _escaped(name: str) -> str:
    """Return a name as one part of an object's name (`object_store.check_name`), whatever its characters."""
    escaped = quote(name, safe="").replace("~", "%7E")
    return f"%2E{escaped[1:]}" if escaped.startswith(".") else escaped
