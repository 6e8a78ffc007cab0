"""Collected ranges: the units of consume queues, the ends of ranges, damage, and what is left out."""

import pytest

from mqgateway.engine.disk import Disk
from mqgateway.engine.store.batch_consume_queue import BATCH_UNIT
from mqgateway.engine.store.consume_queue import UNIT
from mqgateway.engine.tier import collect
from mqgateway.engine.tier.collect import CollectedQueue, CollectedRange
from mqgateway.engine.tier.format.index import PLACE, QueueKind
from mqgateway.engine.tier.format.segment import BLOCK_MAX
from mqgateway.engine.tier.rows import RowReader
from tests.support.engine.store.stores import ROOT, Bench, batch, message
from tests.support.engine.tier.saving import collector_of, fill, local_log
from tests.support.engine.upkeep.damage import LOG, change


def filled(count: int = 40) -> Disk:
    bench = Bench()
    fill(bench, count)
    bench.store.stop()
    return bench.disk


def ranges_of(disk: Disk, records_max: int = collect.RECORDS_MAX) -> list[CollectedRange]:
    """Return all ranges of a log."""
    local = local_log(disk)
    collector, found, begin = collector_of(disk, local), [], local.start
    while (one := collector.collect(begin, local.limit, records_max)).end > begin:
        found.append(one)
        begin = one.end
    assert begin == local.limit
    return found


def units_on_disk(disk: Disk, topic: str, queue_id: int) -> bytes:
    folder = f"{ROOT}/consumequeue/{topic}/{queue_id}"
    return b"".join(disk.read_bytes(f"{folder}/{name}") for name in disk.listdir(folder)).rstrip(b"\0")


def joined(ranges: list[CollectedRange], topic: str, queue_id: int) -> bytes:
    queues = [
        queue for one in ranges for queue in one.queues if (queue.topic, queue.queue_id) == (topic, queue_id)
    ]
    return b"".join(bytes(queue.units) for queue in queues)


@pytest.mark.parametrize(("topic", "queue_id"), [("orders", 0), ("orders", 1), ("pay", 1)])
def test_units_are_those_of_the_consume_queues(topic: str, queue_id: int) -> None:
    disk = filled()
    assert joined(ranges_of(disk), topic, queue_id).rstrip(b"\0") == units_on_disk(disk, topic, queue_id)


def test_ranges_end_with_files_and_tile_the_log() -> None:
    ranges = ranges_of(filled())
    assert len(ranges) > 1
    assert [one.end for one in ranges[:-1]] == [4096 * number for number in range(1, len(ranges))]
    assert [one.begin for one in ranges[1:]] == [one.end for one in ranges[:-1]]
    assert ranges[0].begin == 0


@pytest.mark.parametrize("records_max", [1, 7, 99])
def test_records_that_are_not_plain_are_collected_alike(
    records_max: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    disk = filled()
    change(disk, f"{LOG}/{4096:020d}", 150, b"\xff\xff")
    plain = ranges_of(disk, records_max)
    monkeypatch.setattr(RowReader, "rows", lambda reader, data, at, *_: ([], at))
    for one, other in zip(plain, ranges_of(disk, records_max), strict=True):
        assert [vars(queue) for queue in one.queues] == [vars(queue) for queue in other.queues]
        assert one.keys.encode() == other.keys.encode()
        left = {name: value for name, value in vars(one).items() if name not in ("queues", "keys")}
        assert left == {name: vars(other)[name] for name in left}


@pytest.mark.parametrize("records_max", [1, 3, 7])
def test_number_of_records_limits_a_range(records_max: int) -> None:
    disk = filled()
    ranges = ranges_of(disk, records_max)
    assert max(one.records + one.left_out for one in ranges) == records_max
    assert [one.begin for one in ranges[1:]] == [one.end for one in ranges[:-1]]
    assert joined(ranges, "pay", 1).rstrip(b"\0") == units_on_disk(disk, "pay", 1)


def test_no_range_without_a_whole_record() -> None:
    disk = filled()
    local = local_log(disk)
    collector = collector_of(disk, local)
    assert collector.collect(local.limit, local.limit).end == local.limit
    size = int.from_bytes(disk.read_bytes(f"{LOG}/{0:020d}")[:4], "big")
    assert collector.collect(0, size - 1).end == 0
    assert collector.collect(0, size).end == size


def test_end_of_a_file_is_not_known_before_the_next_one_is_flushed() -> None:
    disk = filled()
    local = local_log(disk)
    collector = collector_of(disk, local)
    first = collector.collect(0, 4096)
    end = first.tail_position + len(first.tail)
    assert collector.collect(0, end).end == end < 4096
    rest = collector.collect(end, 8192)
    assert (rest.begin, rest.end, rest.records > 0) == (end, 8192, True)


def test_records_of_the_broker_itself_are_left_out() -> None:
    ranges = ranges_of(filled())
    assert {queue.topic for one in ranges for queue in one.queues} == {"orders", "pay"}
    assert sum(one.left_out for one in ranges) == 10
    assert sum(one.records for one in ranges) == 50


def test_damage_is_a_hole() -> None:
    disk = filled()
    size = int.from_bytes(disk.read_bytes(f"{LOG}/{0:020d}")[:4], "big")
    change(disk, f"{LOG}/{0:020d}", size + 10, b"\xff\xff")
    first = ranges_of(disk)[0]
    assert len(first.holes) == 1
    assert first.holes[0][0] == size
    assert first.end == 4096


def test_batches_are_units_of_their_own() -> None:
    bench = Bench()
    bench.put(message("batched", 0, b"alone"))
    bench.store.put_inner_batch(message("batched", 0, batch(b"a", b"b", b"c"), {"UNIQ_KEY": "k"}))
    bench.store.put_inner_batch(message("batched", 0, batch(b"d"), {"UNIQ_KEY": "k"}))
    bench.store.dispatch()
    bench.store.stop()
    [one] = ranges_of(bench.disk)
    [queue] = one.queues
    assert (queue.kind, queue.first_offset, queue.end_offset, queue.count) == (QueueKind.BATCHES, 0, 5, 3)
    folder = f"{ROOT}/batchconsumequeue/batched/0"
    assert bench.disk.read_bytes(f"{folder}/{0:020d}").startswith(bytes(queue.units))


def test_topic_that_was_made_again_has_two_entries() -> None:
    bench = Bench()
    bench.put(*(message("orders", 0) for _ in range(3)))
    bench.store.admin.delete_topics(["orders"])
    bench.put(*(message("orders", 0) for _ in range(2)))
    bench.store.stop()
    [one] = ranges_of(bench.disk)
    assert [(queue.first_offset, queue.end_offset) for queue in one.queues] == [(0, 3), (0, 2)]


def test_places_name_the_units() -> None:
    for one in ranges_of(filled()):
        places = list(PLACE.iter_unpack(bytes(one.places)))
        assert [offset for offset, _, _ in places] == sorted(offset for offset, _, _ in places)
        for offset, number, unit in places:
            stored = UNIT.unpack_from(one.queues[number].units, unit * UNIT.size)
            assert stored[0] == one.begin + offset


def test_blocks_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(collect, "BLOCK_MAX", 500)
    disk = filled()
    files = local_log(disk).files
    for one in ranges_of(disk):
        for queue in one.queues:
            blocks = [queue.records_of(number, files) for number in range(len(queue.blocks))]
            assert [len(block) for block in blocks] == [start.size for start in queue.blocks]
            assert max(map(len, blocks)) <= 500
            assert sum(map(len, blocks)) == sum(size for _, size, _ in UNIT.iter_unpack(bytes(queue.units)))
    assert max(len(queue.blocks) for one in ranges_of(disk) for queue in one.queues) > 1


def test_record_larger_than_a_block_is_one_alone() -> None:
    queue = CollectedQueue("t", 0, QueueKind.MESSAGES, 3, 5, 0)
    for offset, size in ((5, 10), (6, BLOCK_MAX + 1), (7, 10)):
        queue.add(offset, 1, UNIT.pack(offset, size, 0), size, 100 - offset)
    assert [(start.first_offset, start.size) for start in queue.blocks] == [
        (5, 10),
        (6, BLOCK_MAX + 1),
        (7, 10),
    ]
    assert (queue.first_time, queue.last_time, queue.end_offset) == (93, 95, 8)


def test_offsets_of_batches_may_have_gaps() -> None:
    queue = CollectedQueue("t", 0, QueueKind.BATCHES, 3, 5, 0)
    queue.add(5, 3, BATCH_UNIT.pack(0, 10, 0, 0, 5, 3, -1, 0), 10, 1)
    assert [queue.continues_at(offset) for offset in (7, 8, 9)] == [False, True, True]
    single = CollectedQueue("t", 0, QueueKind.MESSAGES, 3, 5, 0)
    assert [single.continues_at(offset) for offset in (4, 5, 6)] == [False, True, False]
