"""The declared formats agree with the bytes that are written."""

from mqgateway.engine.timers import checkpoint, schema, timer_log, wheel
from mqgateway.engine.timers.timer_log import TimerLog, Unit
from mqgateway.engine.timers.wheel import Slot
from tests.support.engine.timers.bench import SLOTS, START, Bench


def test_sizes_are_the_standards() -> None:
    assert (schema.SLOT.sizeof(), schema.UNIT.sizeof(), schema.TAIL.sizeof()) == (32, 52, 16)
    assert schema.CHECKPOINT.sizeof() == 56
    assert schema.CHECKPOINT_FILE.sizeof() == checkpoint.FILE_SIZE == 4096
    assert schema.wheel_file(2 * wheel.SLOTS).sizeof() == 38_707_200
    assert (schema.OWN_MAGIC, schema.MAGIC_BLANK) == (checkpoint.OWN_MAGIC, timer_log.MAGIC_BLANK)


def test_files_of_a_life_are_read_by_the_schema() -> None:
    bench = Bench()
    bench.set_at(b"one", START + 2500)
    bench.set_at(b"two", START + 2500)
    bench.pass_time(1100)
    slots = schema.wheel_file(2 * SLOTS).parse(bench.disk.read_bytes("/store/timerwheel")).slots
    (slot,) = [each for each in slots if each.step]
    assert (slot.step, slot.first, slot.last, slot.count) == (START // 1000 + 2, 0, 52, 2)
    units = bench.disk.read_bytes("/store/timerlog/00000000000000000000")
    first, second = schema.UNIT.parse(units), schema.UNIT.parse(units[52:])
    assert (first.previous, second.previous) == (-1, 0)
    assert first.written + first.delay == START + 2000
    assert (first.magic, first.mark) == (1, 0)
    assert second.physical_offset == first.message_size
    kept = schema.CHECKPOINT_FILE.parse(bench.disk.read_bytes("/store/config/timercheck"))
    assert kept.standard.read_time == START + 1000
    assert kept.standard.log_position == 104
    assert kept.standard.queue_offset == kept.standard.master_queue_offset == 2
    assert (kept.own.precision, kept.own.is_clean) == (1000, 0)


def test_bytes_built_by_schema_are_read() -> None:
    bench = Bench()
    record = {"previous": -1, "magic": 5, "written": START, "delay": 3000, "physical_offset": 7}
    data = schema.UNIT.build(record | {"message_size": 99, "topic_hash": -4, "mark": 1})
    log = TimerLog(bench.disk, "/other", 4096)
    log.files.write(0, data)
    log.open_at(52)
    assert log.read(0) == Unit(-1, 5, START, 3000, 7, 99, -4, 1)
    bench.timers.wheel.put(Slot(START, 1, 2, 3))
    step = START // 1000
    slot = {"step": step, "first": 1, "last": 2, "count": 3, "magic": 0}
    place = step % (2 * SLOTS) * 32
    assert bench.disk.read_bytes("/store/timerwheel")[place : place + 32] == schema.SLOT.build(slot)
