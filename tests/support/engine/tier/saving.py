"""Helpers for tests of the tier: saves a store's log, and reads what was saved by the format alone."""

from __future__ import annotations

from mqgateway.engine.disk import Disk
from mqgateway.engine.store.record import decode
from mqgateway.engine.tier.checking import TierCheck, check_tier
from mqgateway.engine.tier.collect import Collector
from mqgateway.engine.tier.format.index import HEADER_SIZE, decode_head, decode_header
from mqgateway.engine.tier.format.names import SegmentName, TierNames
from mqgateway.engine.tier.local_log import LocalLog, batch_topics_in, classes_in, open_log
from mqgateway.engine.tier.object_store import ObjectStore
from mqgateway.engine.tier.saving import SaveReport, TierWriter
from mqgateway.engine.tier.survey import survey
from mqgateway.engine.upkeep.layout import Layout
from tests.support.engine.store.stores import Bench, message, options

NAMES = TierNames("DefaultCluster", "broker-a")
NOW = 1_764_000_000_000
DEFAULT_MILLIS = 72 * 3_600_000


def layout_of(disk: Disk) -> Layout:
    """Return the layout of the tests' store."""
    return Layout(disk.read_only(), options())


def local_log(disk: Disk) -> LocalLog:
    """Open the log of the tests' store."""
    return open_log(layout_of(disk))


def collector_of(disk: Disk, local: LocalLog) -> Collector:
    """Return a collector of the tests' store."""
    layout = layout_of(disk)
    return Collector(
        local.files, batch_topics_in(layout), classes_in(layout, DEFAULT_MILLIS), lambda *_: None
    )


def save(objects: ObjectStore, disk: Disk, writer: int = 1, *, accepts_gap: bool = False) -> SaveReport:
    """Save the log of a stopped store as a writer with this number."""
    local = local_log(disk)
    made = TierWriter(objects, NAMES, f"{writer:016x}", NOW + writer, accepts_gap=accepts_gap)
    return made.save(local, collector_of(disk, local))


def check(objects: ObjectStore) -> TierCheck:
    """Check the tier with all records."""
    return check_tier(objects, NAMES)


def saved_records(objects: ObjectStore) -> dict[int, bytes]:
    """Return the saved records by their log offsets, in the order of the log."""
    found: dict[int, bytes] = {}
    for key in survey(objects, NAMES).ranges:
        name = NAMES.range(*key)
        header = decode_header(objects.get_range(name, 0, HEADER_SIZE), name)
        head = decode_head(header, objects.get_range(name, header.head_at, header.head_size), name)
        for queue in head.queues:
            for block in queue.blocks:
                entry = head.segments[block.segment]
                segment = SegmentName(*key, entry.days, entry.number, header.writer)
                data = objects.get_range(NAMES.segment(segment), block.position, block.stored_size)
                found.update(_records(data))
    return dict(sorted(found.items()))


def _records(data: bytes) -> dict[int, bytes]:
    found, at = {}, 0
    while at < len(data):
        stored = decode(data, at)
        found[stored.physical_offset] = data[at : at + stored.size]
        at += stored.size
    return found


def fill(bench: Bench, count: int, text: str = "body") -> None:
    """Put messages of two topics, and of one of the broker itself."""
    for number in range(count):
        properties = {"TAGS": f"t{number % 3}", "UNIQ_KEY": f"{text}{number}"}
        bench.put(message("orders", number % 2, b"%s %d" % (text.encode(), number) + b"." * 40, properties))
        if number % 4 == 0:
            bench.put(message("pay", 1, b"paid" * 20), message("rmq_sys_x", 0, b"own"))
        bench.clock.advance(1000)


def log_records(disk: Disk) -> dict[int, bytes]:
    """Return the records of a stopped store's log that are saved, by their log offsets."""
    local = local_log(disk)
    data = local.files.read(0, local.files.end)
    found, at = {}, 0
    while at < local.limit:
        size, magic = int.from_bytes(data[at : at + 4], "big"), data[at + 4 : at + 8]
        if magic != b"\xcb\xd4\x31\x94" and decode(data, at).topic != "rmq_sys_x":
            found[at] = data[at : at + size]
        at += size
    return found
