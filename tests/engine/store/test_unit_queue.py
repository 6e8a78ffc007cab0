"""Units by number, the part that both kinds of queue share."""

import pytest

from mqgateway.engine.store.batch_consume_queue import BatchConsumeQueue
from mqgateway.engine.store.consume_queue import ConsumeQueue
from mqgateway.engine.store.file_queue import FilePool
from mqgateway.engine.store.unit_queue import UnitQueue
from mqgateway.engine.testing.crash_disk import CrashDisk

PER_FILE = 10


def filled(kind: type[UnitQueue], count: int, disk: CrashDisk | None = None) -> UnitQueue:
    """A queue with the record of unit n at 100 n, half of the units written out."""
    queue = kind(FilePool(disk or CrashDisk()), "/s/q/t/0", PER_FILE * kind.unit_size, "t", 0)
    for number in range(count):
        if isinstance(queue, ConsumeQueue):
            queue.append(number, number * 100, 100, 7)
        elif isinstance(queue, BatchConsumeQueue):
            queue.append(number * 3, number * 100, 100, 7, 1000 + number, 3)
        if number == count // 2:
            queue.write_out()
    return queue


KINDS = pytest.mark.parametrize("kind", [ConsumeQueue, BatchConsumeQueue])


@KINDS
def test_places_are_found_by_number(kind: type[UnitQueue]) -> None:
    queue = filled(kind, 25)
    assert (queue.first, queue.end) == (0, 25)
    assert [queue.place(number) for number in (0, 9, 24)] == [(0, 100), (900, 100), (2400, 100)]
    assert queue.place(25) is None


@KINDS
@pytest.mark.parametrize("kept", [0, 5, 12, 13, 24, 25])
def test_units_of_records_past_an_end_are_cut(kind: type[UnitQueue], kept: int) -> None:
    queue = filled(kind, 25)
    queue.cut_places_from(kept * 100)
    assert queue.end == kept
    messages = 3 if kind is BatchConsumeQueue else 1
    assert queue.next_offset == (kept or 0) * messages or kept == 25


@KINDS
def test_the_first_bad_unit_and_all_after_it_are_cut(kind: type[UnitQueue]) -> None:
    queue = filled(kind, 25)
    queue.cut_at_first(lambda number: number in (17, 20))
    assert queue.end == 17
    queue.cut_at_first(lambda _: False)
    assert queue.end == 17


@KINDS
@pytest.mark.parametrize(("oldest", "number"), [(0, 0), (1, 1), (1200, 12), (2401, 25), (99999, 25)])
def test_the_first_unit_in_the_log(kind: type[UnitQueue], oldest: int, number: int) -> None:
    assert filled(kind, 25).first_in_log(oldest, 0) == number


@KINDS
def test_old_files_go(kind: type[UnitQueue]) -> None:
    disk = CrashDisk()
    queue = filled(kind, 25, disk)
    queue.write_out()
    assert queue.drop_before(1001) == 1
    assert queue.first == 10
    assert len(disk.listdir("/s/q/t/0")) == 2
    queue.destroy()
    assert not disk.exists("/s/q/t/0")


@KINDS
def test_the_end_is_found_again(kind: type[UnitQueue]) -> None:
    disk = CrashDisk()
    queue = filled(kind, 25, disk)
    queue.write_out()
    for below, end in ((None, 25), (2400, 24), (1, 1), (0, 0)):
        again = kind(FilePool(disk), "/s/q/t/0", PER_FILE * kind.unit_size, "t", 0)
        again.load(below)
        assert again.end == end
        assert again.next_offset == end * (3 if kind is BatchConsumeQueue else 1)
