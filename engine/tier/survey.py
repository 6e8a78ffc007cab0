"""Reads what a tier has: its epochs, the ranges that count, their headers, and which segments have expired.

A segment has expired once it has a mark, an object beside the index of its range. What is in it is not read
from then on, and it is deleted later (`removal`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

from mqgateway.engine.errors import CorruptFile
from mqgateway.engine.tier.format.epochs import TierEpoch, decode_epoch
from mqgateway.engine.tier.format.index import HEADER_SIZE, RangeHeader, decode_header
from mqgateway.engine.tier.format.names import TierNames, names_in
from mqgateway.engine.tier.object_store import ObjectMissing, ObjectStore
from mqgateway.engine.tier.ranges import RangeKey, ranges_that_count

_NONE: Final[Mapping[int, TierEpoch]] = {}


class ListedRanges(NamedTuple):
    """The ranges with the sizes of their indexes in bytes, and the expired segments of ranges: their numbers
    with the times in ms of their marks."""

    sizes: dict[RangeKey, int]
    expired: dict[RangeKey, dict[int, int]]


class Survey(NamedTuple):
    """The epochs by number, the ranges that count by position, all ranges with the sizes of their indexes,
    and expired segments (`ListedRanges`)."""

    epochs: dict[int, TierEpoch]
    ranges: list[RangeKey]
    all_ranges: dict[RangeKey, int]
    expired: dict[RangeKey, dict[int, int]]

    def expired_in(self, key: RangeKey) -> Mapping[int, int]:
        """Return the numbers of the expired segments of a range, with the times in ms of their marks."""
        return self.expired.get(key, {})


def survey(store: ObjectStore, names: TierNames, known: Mapping[int, TierEpoch] = _NONE) -> Survey:
    """Return what the tier of a broker has. The epochs that are `known` are not read again, as they never
    change. Raises `CorruptFile`, `ObjectStoreError`.
    """
    epochs = {}
    for name, size in store.list_from(names.epochs, ""):
        number = names.epoch_of(name)
        epoch = None if number is None else known.get(number) or read_listed_epoch(store, names, number, size)
        if epoch is not None:
            epochs[epoch.epoch] = epoch
    sizes, expired = list_ranges(store, names)
    starts = {number: epoch.start for number, epoch in epochs.items()}
    return Survey(epochs, ranges_that_count(starts, sizes), sizes, expired)


def list_ranges(store: ObjectStore, names: TierNames) -> ListedRanges:
    """Return all ranges, whether they count or not, and their expired segments. Raises `ObjectStoreError`.

    Of several marks of a segment the oldest counts.
    """
    found = ListedRanges({}, {})
    for name, size in store.list_from(names.ranges, ""):
        key, mark = names.range_of(name), names.expired_of(name)
        if key is not None:
            found.sizes[RangeKey(*key)] = size
        elif mark is not None:
            times = found.expired.setdefault(RangeKey(mark.epoch, mark.begin), {})
            times.setdefault(mark.number, mark.time)
    return found


def tables_in(store: ObjectStore, names: TierNames) -> list[tuple[int, int]]:
    """Return epochs and times (ms) of all saved tables, the newest last. Raises `ObjectStoreError`."""
    found = (names.tables_of(name) for name, _ in store.list_from(names.tables, ""))
    return sorted(each for each in found if each is not None)


def brokers_in(store: ObjectStore) -> list[TierNames]:
    """Return the brokers that have a tier in a store, by cluster and name. Raises `ObjectStoreError`."""
    found: list[TierNames] = []
    after = ""
    while (name := next((each for each, _ in store.list_from("", after)), None)) is not None:
        names = names_in(name)
        if names is not None:
            found.append(names)
        folder = names.root if names is not None else name.rpartition("/")[0]
        # No character of a name is greater than "~", so nothing of the folder follows.
        after = f"{folder}/~" if folder else name
    return found


def read_epoch(store: ObjectStore, names: TierNames, number: int, size: int) -> TierEpoch:
    """Read the begin of an epoch. Raises `CorruptFile`, `ObjectStoreError`."""
    name = names.epoch(number)
    epoch = decode_epoch(store.get_range(name, 0, size), name)
    if epoch.epoch != number:
        raise CorruptFile(name, 0, f"the object begins epoch {epoch.epoch}")
    return epoch


def read_listed_epoch(store: ObjectStore, names: TierNames, number: int, size: int) -> TierEpoch | None:
    """Read the begin of an epoch that a list had; return None if it was deleted since, as nothing needs it.
    Raises `CorruptFile`, `ObjectStoreUnavailable`."""
    try:
        return read_epoch(store, names, number, size)
    except ObjectMissing:
        return None


def read_header(store: ObjectStore, names: TierNames, key: RangeKey) -> RangeHeader:
    """Read the header of a range. Raises `CorruptFile`, `ObjectStoreError`."""
    name = names.range(*key)
    header = decode_header(store.get_range(name, 0, HEADER_SIZE), name)
    if (header.epoch, header.begin) != key:
        raise CorruptFile(name, 0, f"the index is that of {header.begin} in epoch {header.epoch}")
    return header
