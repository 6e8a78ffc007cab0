import pytest

from mqgateway.engine.tier.directory import TierDirectory
from mqgateway.engine.tier.format.index import QueueKind, SavedQueue
from mqgateway.engine.tier.format.names import SegmentName
from mqgateway.engine.tier.loading import (
    GoneBlock,
    LoadedBlock,
    LoadedHead,
    load_head,
    load_page,
    load_run,
    run_of,
)
from tests.support.engine.store.kafka_records import mixed
from tests.support.engine.store.stores import Bench, message
from tests.support.engine.tier.memory_objects import MemoryObjects
from tests.support.engine.tier.small_ranges import NAMES, WRITER, begin_epoch, save

SEGMENT = NAMES.segment(SegmentName(1, 0, 3, 0, WRITER))


def saved(bench: Bench, block_bytes: int = 600) -> tuple[MemoryObjects, LoadedHead]:
    objects = MemoryObjects()
    begin_epoch(objects, 1, 0)
    save(bench.store, objects, 0, bench.store.max_physical_offset, block_bytes=block_bytes)
    [found] = TierDirectory(NAMES).updated(objects).ranges.values()
    return objects, load_head(objects, found)


def orders(count: int = 20) -> Bench:
    bench = Bench(mapped_file_size_commit_log=1 << 20)
    bench.put(*(message("orders", 0, b"%d" % number * 20) for number in range(count)))
    return bench


def of(loaded: LoadedHead, topic: str, offset: int = 0) -> SavedQueue:
    queue = loaded.queue(topic, 0, offset)
    assert queue is not None
    return queue


def blocks(found: list[LoadedBlock | GoneBlock]) -> list[LoadedBlock]:
    assert all(isinstance(each, LoadedBlock) for each in found)
    return [each for each in found if isinstance(each, LoadedBlock)]


def test_run_of_blocks_is_loaded_by_two_requests() -> None:
    bench = orders()
    objects, loaded = saved(bench)
    queue = of(loaded, "orders")
    assert len(queue.blocks) > 4
    objects.calls = 0
    found = blocks(load_run(objects, NAMES, loaded, queue, run_of(queue, 1, 3)))
    assert objects.calls == 2 and len(found) == 3
    units = bench.store.consume_queue_units("orders", 0, 0, 20)
    offset = queue.blocks[1].first_offset
    assert found[0].first_offset == offset
    for block in found:
        assert block.first_offset == offset
        for number in range(len(block)):
            assert block.unit_at(offset) == number and block.offset_of(number) == offset
            assert block.unit(number) == units[offset]
            assert block.record(number) == bench.store.record_at(units[offset][0])
            offset += 1
        assert block.end_offset == offset
        assert block.weight > len(block.records) + 20 * len(block)


def test_run_ends_with_the_blocks_of_the_range() -> None:
    _, loaded = saved(orders())
    queue = of(loaded, "orders")
    last = len(queue.blocks) - 1
    assert run_of(queue, last, 8) == range(last, last + 1)
    assert run_of(queue, 0, 2) == range(2)


def test_run_stays_in_one_segment_and_adjoins() -> None:
    _, loaded = saved(orders())
    queue = of(loaded, "orders")
    first, second, *rest = queue.blocks
    elsewhere = second._replace(segment=1)
    apart = second._replace(position=second.position + 1)
    large = second._replace(stored_size=4 << 20, raw_size=4 << 20)
    for changed in (elsewhere, apart, large):
        assert run_of(queue._replace(blocks=(first, changed, *rest)), 0, 8) == range(1)


def test_batches_are_found_by_the_offsets_of_their_messages() -> None:
    bench = mixed()
    objects, loaded = saved(bench, 1 << 20)
    queue = of(loaded, "batched")
    assert queue.kind is QueueKind.BATCHES
    [block] = blocks(load_run(objects, NAMES, loaded, queue, range(1)))
    units = bench.store.batch_units("batched", 0, 0, 100)
    assert list(block.batch_units(0)) == units
    for number, unit in enumerate(units):
        assert block.offset_of(number) == unit.base_offset
        assert block.record(number) == bench.store.record_at(unit.physical_offset)
        assert block.unit(number) == unit[:3]
        for offset in range(unit.base_offset, unit.end_offset):
            assert block.unit_at(offset) == number


def test_damaged_block_is_gone_and_the_others_are_not() -> None:
    objects, loaded = saved(orders())
    queue = of(loaded, "orders")
    at = queue.blocks[1].position
    data = objects.objects[SEGMENT]
    objects.objects[SEGMENT] = data[:at] + b"?" + data[at + 1 :]
    first, second, third = load_run(objects, NAMES, loaded, queue, range(3))
    assert isinstance(first, LoadedBlock) and isinstance(third, LoadedBlock)
    assert isinstance(second, GoneBlock)
    assert second.reason == f"{SEGMENT} at byte {at}: the block does not match its CRC-32C"


def test_damage_on_the_way_is_loaded_again() -> None:
    objects, loaded = saved(orders())
    queue = of(loaded, "orders")

    class Damaging(MemoryObjects):
        def get_range(self, name: str, start: int, length: int) -> bytes:
            data = super().get_range(name, start, length)
            return b"?" + data[1:] if self.calls <= 2 else data

    damaging = Damaging()
    damaging.objects = objects.objects
    assert len(blocks(load_run(damaging, NAMES, loaded, queue, range(2)))) == 2


@pytest.mark.parametrize("end", [None, 30])
def test_blocks_of_a_segment_that_is_gone_or_short_are_gone(end: int | None) -> None:
    objects, loaded = saved(orders())
    queue = of(loaded, "orders")
    data = objects.objects.pop(SEGMENT)
    if end is not None:
        objects.objects[SEGMENT] = data[:end]
    found = load_run(objects, NAMES, loaded, queue, range(2))
    assert [SEGMENT in each.reason for each in found if isinstance(each, GoneBlock)] == [True, True]


def test_queue_that_was_deleted_and_made_again_is_the_last_one() -> None:
    _, loaded = saved(orders())
    queue = of(loaded, "orders")
    older = queue._replace(end_offset=5, units=5)
    head = loaded.head._replace(queues=(older, queue))
    both = LoadedHead(loaded.range, head)
    assert both.queue("orders", 0, 3) is queue
    assert both.queue("orders", 0, 20) is None and both.queue("orders", 1, 0) is None


def test_record_is_found_by_its_position_in_the_log() -> None:
    bench = orders()
    bench.put(message("pay"))
    objects, loaded = saved(bench)
    page = load_page(objects, loaded, loaded.page_at(0))
    numbers = {queue.topic: number for number, queue in enumerate(loaded.head.queues)}
    for topic, count in (("orders", 20), ("pay", 1)):
        for unit, (position, _, _) in enumerate(bench.store.consume_queue_units(topic, 0, 0, count)):
            assert loaded.page_at(position) == 0
            assert page.find(position) == (numbers[topic], unit)
            assert page.find(position + 1) is None
    assert page.find(1 << 30) is None and loaded.page_at(-1) == -1
