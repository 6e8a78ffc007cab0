"""Delayed messages: delivery on time, and the state after restarts and failures."""

import errno
from collections import Counter
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mqgateway.engine.clock import ManualClock
from mqgateway.engine.delay_levels import DelayLevels, restored
from mqgateway.engine.delays import ATTEMPTS_MAX, PAUSE_MILLIS, DelaySchedule
from mqgateway.engine.errors import MessageIllegal
from mqgateway.engine.message import SCHEDULE_TOPIC, Message, StoredMessage, pack_host, tags_code
from mqgateway.engine.options import StoreOptions
from mqgateway.engine.steps import run
from mqgateway.engine.store.message_store import MessageStore, PutResult, PutStatus
from mqgateway.engine.store.record import decode
from mqgateway.engine.tables.jsonfile import load_table, write_table
from mqgateway.engine.tail import messages_since
from mqgateway.engine.testing.crash_disk import CrashDisk
from mqgateway.engine.worker import InlineWorker, MemoryWorker

PATH = "/store/config/delayOffset.json"
HOST = pack_host("127.0.0.1", 10911)
STANDARD = "1s 5s 10s 30s 1m 2m 3m 4m 5m 6m 7m 8m 9m 10m 20m 30m 1h 2h"
START = 1_700_000_000_000
FILE_SIZE = 1 << 20


def message(level: int | str | None, topic: str = "orders", queue_id: int = 2, **given: Any) -> Message:
    properties = {"KEYS": "k", "TAGS": "red"} | given.pop("properties", {})
    if level is not None:
        properties["DELAY"] = str(level)
    return Message(topic, queue_id, given.pop("body", b"hello"), properties, START - 5, HOST, HOST, **given)


HOUR = 3_600_000


class Bench:
    """A store on a disk in memory, its schedule, and a manual clock."""

    def __init__(self, disk: CrashDisk | None = None, millis: int = START, **given: Any) -> None:
        self.clock = ManualClock(millis)
        self.disk = disk or CrashDisk()
        self.options = StoreOptions(
            store_path_root_dir="/store",
            mapped_file_size_commit_log=FILE_SIZE,
            message_index_enable=False,
            **given,
        )
        self.levels = DelayLevels(self.options.message_delay_level)
        self.store = MessageStore(
            self.options,
            disk=self.disk,
            clock=self.clock,
            worker=InlineWorker(),
            store_host=HOST,
            on_arrivals=None,
        )
        self.store.start()
        self.schedule = self.make_schedule()

    def make_schedule(self, **given: Any) -> DelaySchedule:
        schedule = DelaySchedule(
            self.store, self.levels, self.disk, PATH, self.clock, file_size=FILE_SIZE, **given
        )
        schedule.load()
        return schedule

    def send(self, *messages: Message) -> None:
        for one in messages:
            assert self.levels.rewrite(one)
            self.store.put(one)
        self.store.dispatch()

    def pass_time(self, millis: int) -> int:
        self.clock.advance(millis)
        return self.schedule.tick(self.store.steady.now())

    def delivered(self, topic: str = "orders", queue_id: int = 2) -> list[StoredMessage]:
        units = self.store.consume_queue_units(topic, queue_id, 0, 10000)
        found = [self.store.look_up(offset) for offset, _, _ in units]
        assert all(found)
        return [one for one in found if one is not None]

    def bodies(self, topic: str = "orders", queue_id: int = 2) -> list[bytes]:
        return [one.body for one in self.delivered(topic, queue_id)]


def test_wait_is_that_of_levels_seen_by_last_tick() -> None:
    bench = Bench()
    now = bench.store.steady.now
    assert bench.schedule.wait_millis(now()) is None
    bench.send(message(2), message(1))
    assert bench.schedule.wait_millis(now()) is None, "nothing was looked at"
    bench.pass_time(400)
    assert bench.schedule.wait_millis(now()) == 600
    bench.clock.advance(700)
    assert bench.schedule.wait_millis(now()) == 0
    bench.pass_time(0)
    assert bench.schedule.wait_millis(now()) == 3900
    bench.pass_time(3900)
    assert bench.schedule.wait_millis(now()) is None


def test_wait_is_zero_while_due_messages_remain() -> None:
    bench = Bench()
    bench.schedule = bench.make_schedule(max_per_tick=2)
    bench.send(*(message(1) for _ in range(3)))
    bench.pass_time(1000)
    assert bench.schedule.wait_millis(bench.store.steady.now()) == 0
    bench.pass_time(0)
    assert bench.schedule.wait_millis(bench.store.steady.now()) is None


def test_a_message_is_delivered_when_its_time_has_come_and_not_before() -> None:
    bench = Bench()
    bench.send(message(1))
    assert bench.pass_time(0) == 0
    assert bench.pass_time(999) == 0
    assert bench.bodies() == []
    assert bench.pass_time(1) == 1
    assert bench.bodies() == [b"hello"]
    assert bench.pass_time(5000) == 0


def test_delivered_message_equals_the_sent_one() -> None:
    bench = Bench()
    bench.send(message(1, flag=7, reconsume_times=3, properties={"RETRY_TOPIC": "t"}))
    bench.pass_time(1000)
    (got,) = bench.delivered()
    assert (got.topic, got.queue_id, got.body, got.flag, got.reconsume_times) == ("orders", 2, b"hello", 7, 3)
    assert (got.born_timestamp, got.born_host, got.store_host) == (START - 5, HOST, HOST)
    assert got.properties == {
        "KEYS": "k",
        "TAGS": "red",
        "RETRY_TOPIC": "t",
        "DELAY": "1",
        "REAL_TOPIC": "orders",
        "REAL_QID": "2",
    }, "the standard leaves the level too"
    ((_, _, code),) = bench.store.consume_queue_units("orders", 2, 0, 1)
    assert code == tags_code("red"), "its tags count again"


def test_levels_do_not_wait_for_each_other() -> None:
    bench = Bench()
    bench.send(message(3, body=b"ten"), message(1, body=b"one"), message(2, body=b"five"))
    for _ in range(10):
        bench.pass_time(1000)
    assert bench.bodies() == [b"one", b"five", b"ten"]
    assert bench.schedule.offsets == {1: 1, 2: 1, 3: 1}


def test_the_work_of_a_tick_is_bounded_and_shared() -> None:
    bench = Bench()
    bench.schedule = bench.make_schedule(max_per_tick=10)
    bench.send(*[message(1, topic="many") for _ in range(50)], *[message(2, topic="few") for _ in range(3)])
    assert bench.pass_time(5000) == 10
    for _ in range(2):
        assert bench.pass_time(0) == 10
    assert len(bench.bodies("few")) == 3, "the busy level does not hold up the other"
    while bench.pass_time(0):
        pass
    assert (len(bench.bodies("many")), len(bench.bodies("few"))) == (50, 3)


def test_restart_continues_where_the_file_says() -> None:
    bench = Bench()
    bench.send(message(1, body=b"first"), message(2, body=b"second"))
    bench.pass_time(1000)
    bench.store.stop()
    bench.schedule.persist()
    again = Bench(bench.disk, bench.clock.millis())
    assert again.schedule.offsets == {1: 1}
    assert again.pass_time(3999) == 0
    assert again.pass_time(1) == 1
    assert again.bodies() == [b"first", b"second"]


def test_a_clean_end_delivers_nothing_twice() -> None:
    """Even messages delivered just before, with a worker that has stopped."""
    bench = Bench()
    worker = MemoryWorker()
    bench.schedule = bench.make_schedule(worker=worker)
    bench.send(message(1))
    bench.pass_time(1000)
    bench.store.stop()
    bench.schedule.close()
    assert worker.waiting == 0
    again = Bench(bench.disk, bench.clock.millis())
    assert again.pass_time(0) == 0
    syncs = bench.disk.syncs
    bench.schedule.close()
    assert bench.disk.syncs == syncs


def numbered(count: int, level: int = 1) -> list[Message]:
    return [message(level, body=b"%d" % n, properties={"UNIQ_KEY": f"k{n}"}) for n in range(count)]


def test_a_loop_of_kills_delivers_nothing_twice() -> None:
    """The offsets of levels are never written, but the log has the deliveries."""
    bench = Bench()
    bench.send(*numbered(40), *numbered(40, level=2), *[message(1, body=b"no key") for _ in range(3)])
    disk, clock = bench.disk, bench.clock
    for _ in range(60):
        bench.schedule = bench.make_schedule(max_per_tick=1)
        bench.pass_time(97)
        bench.pass_time(97)
        bench.store.dispatch()
        bench = Bench(disk.kill(), clock.millis())
        clock = bench.clock
    assert len(bench.delivered()) == 83
    assert sorted(set(bench.bodies())) == sorted({*(b"%d" % n for n in range(40)), b"no key"})


@pytest.mark.parametrize("persisted", [False, True])
def test_a_loop_of_power_cuts_delivers_again_only_what_the_log_lost(persisted: bool) -> None:
    for seed in range(12):
        bench = Bench()
        bench.send(*numbered(20), *numbered(20, level=2))
        for turn in range(12):
            bench.store.when_flushed(bench.store.max_physical_offset, lambda status: None)
            bench.store.dispatch()
            bench.schedule = bench.make_schedule(max_per_tick=3)
            for _ in range(4):
                bench.pass_time(150)
                if persisted:
                    bench.schedule.persist()
            bench = Bench(bench.disk.crash(seed * 100 + turn), bench.clock.millis())
        bench.schedule.tick(bench.clock.millis() + 5000)
        counts = Counter(bench.bodies())
        assert counts == dict.fromkeys((b"%d" % n for n in range(20)), 2), (seed, counts)


def test_scan_for_deliveries_starts_at_offset_of_file() -> None:
    """Not at the log's beginning; and the file follows the log also if nothing is delivered."""
    bench = Bench()
    bench.send(message(5), *numbered(2))
    bench.pass_time(1000)
    bench.store.when_flushed(bench.store.max_physical_offset, lambda status: None)
    bench.store.dispatch()
    bench.schedule.persist()
    noted = bench.store.max_physical_offset
    read: list[int] = []
    again = Bench(bench.disk.kill(), bench.clock.millis())
    record_at = again.store.record_at
    again.store.record_at = lambda offset: read.append(offset) or record_at(offset)  # type: ignore
    again.store.put(message(None))
    again.make_schedule()
    assert read == [noted]
    for _ in range(18):
        again.store.put(message(None, body=bytes(1 << 19)))
        again.store.put(message(None, body=bytes(1 << 19)))
    again.pass_time(0)
    again.store.stop()
    again.schedule.persist()
    table = load_table(again.disk, PATH)
    assert table is not None
    assert table["logOffset"] == again.store.max_physical_offset


def test_another_brokers_file_is_believed() -> None:
    """It has no log offset: later messages may be others, however similar."""
    bench = Bench()
    bench.send(*numbered(3))
    bench.pass_time(1000)
    bench.store.dispatch()
    write_table(bench.disk, PATH, b'{"offsetTable":{1:1}}')
    assert Bench(bench.disk.kill(), bench.clock.millis()).schedule.offsets == {1: 1}


def test_messages_due_while_the_broker_was_down_are_delivered_at_once() -> None:
    bench = Bench()
    bench.send(message(4))
    bench.store.stop()
    again = Bench(bench.disk, START + 3_600_000)
    assert again.pass_time(0) == 1


def test_nothing_is_lost_by_a_power_cut() -> None:
    """Whatever the crash keeps: each message is delivered at least once, and never early."""
    for seed in range(30):
        bench = Bench()
        bench.send(*[message(1, body=bytes([number])) for number in range(6)])
        bench.store.when_flushed(bench.store.max_physical_offset, lambda status: None)
        bench.store.dispatch()
        bench.pass_time(1000)
        bench.schedule.persist()
        again = Bench(bench.disk.crash(seed), bench.clock.millis())
        again.pass_time(1000)
        assert set(again.bodies()) == {bytes([number]) for number in range(6)}, seed


def test_the_file_waits_for_the_log() -> None:
    """If it led the log, a power cut would lose messages delivered but not flushed."""
    bench = Bench()
    bench.send(message(1), message(2))
    bench.pass_time(1000)
    bench.schedule.persist()
    assert not bench.disk.exists(PATH)
    end = bench.store.max_physical_offset
    bench.store.when_flushed(end, lambda status: None)
    bench.store.dispatch()
    assert bench.store.flushed_offset >= end
    bench.pass_time(4000)
    bench.schedule.persist()
    written = load_table(bench.disk, PATH)
    assert written is not None
    assert written["offsetTable"] == {1: 1}, "the second delivery is not durable yet"
    bench.store.stop()
    bench.schedule.persist()
    written = load_table(bench.disk, PATH)
    assert written is not None
    assert written["offsetTable"] == {1: 1, 2: 1}


def test_the_file_is_the_standards_and_knows_other_levels() -> None:
    disk = CrashDisk()
    write_table(
        disk, PATH, b'{"dataVersion":{"counter":2,"timestamp":5},"future":1,"offsetTable":{3:0,25:119}}'
    )
    bench = Bench(disk)
    bench.send(message(1))
    bench.pass_time(1000)
    bench.store.stop()
    bench.schedule.persist()
    assert disk.read_bytes(PATH).decode() == (
        '{\n\t"dataVersion":{\n\t\t"counter":2,\n\t\t"stateVersion":0,\n\t\t"timestamp":5\n\t},\n'
        f'\t"future":1,\n\t"logOffset":{bench.store.max_physical_offset},\n'
        '\t"offsetTable":{\n\t\t1:1,\n\t\t25:119\n\t}\n}'
    )


def test_nothing_is_written_when_nothing_was_delivered() -> None:
    bench = Bench()
    bench.pass_time(1000)
    bench.schedule.persist()
    assert not bench.disk.exists(PATH)


def test_the_version_grows_every_so_many_deliveries() -> None:
    bench = Bench()
    bench.schedule = bench.make_schedule(version_step=2)
    bench.send(*[message(1) for _ in range(5)])
    bench.pass_time(1000)
    assert bench.schedule.data_version.counter == 2


def test_an_offset_beyond_the_queue_is_corrected() -> None:
    """After a crash removed the end of the queue."""
    disk = CrashDisk()
    write_table(disk, PATH, b'{"offsetTable":{1:100}}')
    bench = Bench(disk)
    bench.pass_time(0)
    assert bench.schedule.offsets == {}
    bench.send(message(1))
    assert bench.pass_time(1000) == 1


def test_a_refusing_store_is_asked_again_later() -> None:
    bench = Bench()
    bench.send(message(1))
    bench.disk.fail_next("write", "commitlog", errno.EIO)
    assert bench.pass_time(1000) == 0
    assert bench.pass_time(PAUSE_MILLIS - 1) == 0
    assert bench.pass_time(1) == 1
    assert bench.bodies() == [b"hello"]


def test_an_unreadable_message_is_tried_again_and_then_left_out() -> None:
    bench = Bench()
    bench.send(message(1, body=b"sick"), message(1, body=b"well"))
    bench.disk.fail_next("read", "commitlog", errno.EIO, times=ATTEMPTS_MAX)
    for _ in range(ATTEMPTS_MAX - 1):
        bench.pass_time(PAUSE_MILLIS)
        assert bench.bodies() == []
    bench.pass_time(PAUSE_MILLIS)
    assert bench.bodies() == [b"well"]


def test_message_that_became_illegal_holds_up_no_other() -> None:
    """The limit was lowered since it was stored."""
    bench = Bench()
    bench.send(message(1, body=b"x" * 1000), message(1, body=b"small"))
    bench.options.max_message_size = 100
    assert bench.pass_time(1000) == 2
    assert bench.bodies() == [b"small"]


@pytest.mark.parametrize(
    "properties",
    [
        {"REAL_QID": "0"},
        {"REAL_TOPIC": "t"},
        {"REAL_TOPIC": "t", "REAL_QID": "x"},
        {"REAL_TOPIC": "RMQ_SYS_TRANS_HALF_TOPIC", "REAL_QID": "0"},
        {"REAL_TOPIC": SCHEDULE_TOPIC, "REAL_QID": "0"},
    ],
)
def test_a_message_without_an_aim_is_left_out(properties: dict[str, str]) -> None:
    bench = Bench()
    lost = Message(SCHEDULE_TOPIC, 0, b"lost", properties | {"DELAY": "1"}, START, HOST, HOST)
    bench.store.put(lost)
    bench.send(message(1, body=b"well"))
    stored = decode(bench.store.record_at(0) or b"")
    with pytest.raises(MessageIllegal, match="cannot go to"):
        restored(stored)
    assert bench.pass_time(1000) == 2
    assert bench.bodies() == [b"well"]


@pytest.mark.parametrize("jump", [-50, -120_000, -3 * HOUR, HOUR])
def test_a_clock_that_is_set_makes_nothing_early_or_late(jump: int) -> None:
    bench = Bench()
    bench.send(message(2, body=b"before"))
    bench.store.tick()
    bench.pass_time(1000)
    bench.clock.set_wall(bench.clock.millis() + jump)
    bench.send(message(1, body=b"after"))
    bench.store.tick()
    assert bench.pass_time(999) == 0
    assert bench.pass_time(1) == 1
    assert bench.bodies() == [b"after"]
    assert bench.pass_time(2999) == 0
    assert bench.pass_time(1) == 1


def test_message_stored_in_the_future_is_due_at_once() -> None:
    bench = Bench()
    bench.send(message(2, body=b"lost"), message(5, body=b"longer"))
    bench.store.stop()
    again = Bench(bench.disk, START - 120_000)
    assert again.pass_time(0) == 2
    assert sorted(again.bodies()) == [b"longer", b"lost"]


def test_a_level_made_shorter_counts_for_what_waits() -> None:
    bench = Bench()
    bench.send(message(18))
    bench.store.stop()
    again = Bench(bench.disk, START + 1000, message_delay_level=STANDARD.replace("2h", "5s"))
    assert again.pass_time(3999) == 0
    assert again.pass_time(1) == 1


SENDS = st.lists(st.tuples(st.integers(0, 30_000), st.integers(1, 5)), min_size=1, max_size=25)


@settings(max_examples=40, deadline=None)
@given(SENDS, st.lists(st.integers(1, 9_000), min_size=1, max_size=30))
def test_every_message_is_delivered_once_and_at_its_first_tick(
    sends: list[tuple[int, int]], steps: list[int]
) -> None:
    """Compared with a plain model: each is delivered by the first tick at or after store time plus delay."""
    bench = Bench()
    waiting: list[tuple[int, bytes]] = []
    coming = sorted(sends)
    sent = 0
    for step in [*steps, 100_000, 100_000]:
        bench.clock.advance(step)
        now = bench.clock.millis()
        while sent < len(coming) and coming[sent][0] <= now - START:
            level = coming[sent][1]
            bench.send(message(level, body=b"%d" % sent))
            waiting.append((now + bench.levels.delay(level), b"%d" % sent))
            sent += 1
        before = bench.bodies()
        bench.schedule.tick(now)
        got = bench.bodies()[len(before) :]
        assert sorted(got) == sorted(body for due, body in waiting if due <= now)
        waiting = [(due, body) for due, body in waiting if due > now]
    assert not waiting


def since(bench: Bench) -> list[StoredMessage | None]:
    """Return all messages of the log."""
    return list(messages_since(bench.store, 0, 1 << 20, b"REAL_TOPIC"))


def test_slave_continues_behind_what_the_master_delivered_since_its_report() -> None:
    bench = Bench()
    bench.send(*(message(1, properties={"UNIQ_KEY": f"k{n}"}, body=b"%d" % n) for n in range(4)))
    result = bench.schedule.to_json()
    bench.pass_time(1000)
    bench.send(*(message(1, properties={"UNIQ_KEY": f"k{n}"}, body=b"%d" % n) for n in range(4, 6)))
    slave = bench.make_schedule()
    slave.adopt(result, 0)
    run(slave.take_over(since(bench)))
    assert slave.offsets == {1: 4}
    bench.clock.advance(1000)
    slave.tick(bench.clock.millis())
    assert bench.bodies() == [b"0", b"1", b"2", b"3", b"4", b"5"]


def test_offsets_of_a_slave_that_takes_over_are_newer_than_its_masters() -> None:
    """Else a master that comes back delivers again what its slave has delivered."""
    bench = Bench()
    bench.send(message(1, properties={"UNIQ_KEY": "k"}))
    result = bench.schedule.to_json()
    slave = bench.make_schedule()
    slave.adopt(result, 0)
    run(slave.take_over(since(bench)))
    assert slave.offsets == bench.schedule.offsets
    assert slave.data_version.counter == bench.schedule.data_version.counter + 1


def test_waiting_message_does_not_count_as_delivered() -> None:
    bench = Bench()
    bench.send(message(1, properties={"UNIQ_KEY": "k"}))
    run(bench.schedule.take_over(since(bench)))
    assert bench.schedule.offsets == {}


def test_message_in_flight_to_another_broker_is_put_again_on_every_tick() -> None:
    bench = Bench()
    bench.send(message(1))
    put, answers = bench.store.put, [PutStatus.PUT_TO_REMOTE_BROKER_FAIL] * 2
    bench.store.put = (  # type: ignore[method-assign]
        lambda one: PutResult(answers.pop()) if answers else put(one)
    )
    assert [bench.pass_time(1000), bench.pass_time(0), bench.pass_time(0)] == [0, 0, 1]


def test_master_that_comes_back_continues_behind_its_slave() -> None:
    """Never back, and never beyond the master's log."""
    bench = Bench()
    bench.send(message(1), message(1), message(2))
    bench.schedule.take_back({"offsetTable": {1: 1, 2: 9}})
    assert bench.schedule.offsets == {1: 1, 2: 1}
    bench.schedule.take_back({"offsetTable": {1: 0}})
    assert bench.schedule.offsets == {1: 1, 2: 1}
    bench.pass_time(10_000)
    assert len(bench.delivered()) == 1


def test_on_delivered_is_called() -> None:
    notified: list[tuple[str, int]] = []
    bench = Bench()
    bench.schedule = bench.make_schedule(on_delivered=lambda topic, size: notified.append((topic, size)))
    bench.send(message(1))
    assert not notified
    bench.pass_time(1000)
    bench.store.dispatch()
    (delivered,) = bench.delivered()
    assert notified == [("orders", delivered.size)]


def test_schedule_resumes_after_deliveries_of_another_master() -> None:
    """They are in the log, which is the same."""
    bench = Bench()
    other = bench.make_schedule()
    bench.send(*numbered(4))
    bench.schedule.stand_by()
    bench.pass_time(0)
    bench.schedule.stand_by()
    bench.clock.advance(1000)
    other.tick(bench.store.steady.now())
    bench.store.dispatch()
    assert len(bench.bodies()) == 4
    bench.send(*numbered(2))
    run(bench.schedule.resume())
    bench.pass_time(1000)
    assert len(bench.bodies()) == 6


@pytest.mark.parametrize("steps", [1, 5, 8, 11, 14])
def test_interrupted_takeover_can_be_repeated(steps: int) -> None:
    bench = Bench()
    bench.schedule.stand_by()
    other = bench.make_schedule()
    bench.send(*numbered(4))
    bench.clock.advance(1000)
    other.tick(bench.store.steady.now())
    bench.store.dispatch()
    resume = bench.schedule.resume()
    for _ in range(steps):
        next(resume)
    bench.schedule.stand_by()
    run(bench.schedule.resume())
    bench.pass_time(0)
    assert len(bench.bodies()) == 4


def test_log_offset_stops_at_stand_by() -> None:
    bench = Bench()
    bench.send(*numbered(1))
    bench.schedule.tick(bench.store.steady.now())
    bench.schedule.stand_by()
    counted = bench.store.max_physical_offset
    bench.send(*numbered(3))
    bench.schedule.close()
    table = load_table(bench.disk, PATH)
    assert table is not None
    assert table["logOffset"] == counted
