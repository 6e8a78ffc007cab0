"""Reads what a tier has: its epochs, the ranges that count, and their headers."""

from __future__ import annotations

from typing import NamedTuple

from mqgateway.engine.errors import CorruptFile
from mqgateway.engine.tier.format.epochs import TierEpoch, decode_epoch
from mqgateway.engine.tier.format.index import HEADER_SIZE, RangeHeader, decode_header
from mqgateway.engine.tier.format.names import TierNames, names_in
from mqgateway.engine.tier.object_store import ObjectStore
from mqgateway.engine.tier.ranges import RangeKey, ranges_that_count


class Survey(NamedTuple):
    """The epochs by number, the ranges that count by position, and all ranges."""

    epochs: dict[int, TierEpoch]
    ranges: list[RangeKey]
    all_ranges: list[RangeKey]


def survey(store: ObjectStore, names: TierNames) -> Survey:
    """Return what the tier of a broker has. Raises `CorruptFile`, `ObjectStoreError`."""
    epochs = {}
    for name, size in store.list_from(names.epochs, ""):
        number = names.epoch_of(name)
        if number is not None:
            epochs[number] = read_epoch(store, names, number, size)
    found = [names.range_of(name) for name, _ in store.list_from(names.ranges, "")]
    ranges = [RangeKey(*each) for each in found if each is not None]
    starts = {number: epoch.start for number, epoch in epochs.items()}
    return Survey(epochs, ranges_that_count(starts, ranges), ranges)


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


def read_header(store: ObjectStore, names: TierNames, key: RangeKey) -> RangeHeader:
    """Read the header of a range. Raises `CorruptFile`, `ObjectStoreError`."""
    name = names.range(*key)
    header = decode_header(store.get_range(name, 0, HEADER_SIZE), name)
    if (header.epoch, header.begin) != key:
        raise CorruptFile(name, 0, f"the index is that of {header.begin} in epoch {header.epoch}")
    return header
