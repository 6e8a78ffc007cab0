"""Checkpoints and acknowledgements in the log."""

import errno
from dataclasses import replace

import pytest

from mqgateway.engine.message import Message, StoredMessage
from mqgateway.engine.pop.foreign import Found, MessageLocation, Missing
from mqgateway.engine.tables.offsets import UNKNOWN
from tests.support.engine.pop.pop_store import GRACE, HOST, INVISIBLE, RETRY, Bench

REVIVE_GROUP = "CID_RMQ_SYS_REVIVE_GROUP"
TIMERS = "rmq_sys_wheel_timer"


@pytest.fixture
def bench() -> Bench:
    made = Bench()
    for i in range(4):
        made.send(b"%d" % i)
    return made


def test_a_check_point_waits_as_a_timer_and_comes_to_its_queue(bench: Bench) -> None:
    bench.pop(0, 1)
    (waiting,) = bench.stored(TIMERS)
    assert waiting.properties["REAL_TOPIC"] == "rmq_sys_REVIVE_LOG_DefaultCluster"
    bench.wait(INVISIBLE)
    (stored,) = bench.stored(bench.log.topic, 3)
    assert stored.properties["TAGS"] == "ck"


def test_unacknowledged_messages_are_revived_when_due(bench: Bench) -> None:
    point = bench.pop(0, 1, 3)
    bench.ack(point, 1)
    bench.wait(INVISIBLE)
    assert bench.revived == []
    bench.wait(GRACE)
    assert bench.revived == [b"0", b"3"]
    bench.wait(60_000, 1000)
    assert bench.revived == [b"0", b"3"]


def test_acknowledged_and_revived_messages_are_not_in_flight(bench: Bench) -> None:
    key = ("T", "G", 0)
    point = bench.pop(0, 1, 3)
    assert bench.log.in_flight.count(key) == 3
    bench.ack(point, 1)
    assert bench.log.in_flight.count(key) == 2
    bench.wait(INVISIBLE + GRACE)
    assert bench.log.in_flight.count(key) == 0


def test_progress_is_what_the_standard_commits(bench: Bench) -> None:
    """The offset of the last one that is done; both servers resume after it."""
    point = bench.pop(0)
    bench.ack(point, 0)
    assert bench.progress() == UNKNOWN
    bench.wait(INVISIBLE + GRACE + 1000)
    assert bench.progress() == 1


def test_nothing_is_dealt_with_twice_after_a_start(bench: Bench) -> None:
    bench.pop(0)
    bench.wait(INVISIBLE + GRACE + 1000)
    bench.persist()
    bench = bench.kill()
    bench.wait(INVISIBLE + GRACE)
    assert bench.revived == [b"0"]


def test_copies_whose_note_was_lost_are_not_made_again(bench: Bench) -> None:
    bench.pop(0, 1)
    bench.persist()
    bench.wait(INVISIBLE + GRACE + 1000)
    bench = bench.kill()
    assert bench.progress() == UNKNOWN
    bench.wait(INVISIBLE + GRACE)
    assert bench.revived == [b"0", b"1"]
    bench.pop(0, topic=RETRY)
    bench.wait(INVISIBLE + GRACE)
    assert bench.revived == [b"0", b"1", b"0"]


def test_a_message_that_was_popped_twice_comes_twice_after_a_kill_too(bench: Bench) -> None:
    bench.pop(0)
    bench.clock.advance(1)
    bench.pop(0)
    bench.persist()
    bench.wait(INVISIBLE + GRACE)
    bench = bench.kill()
    bench.wait(INVISIBLE + GRACE)
    assert bench.revived == [b"0", b"0"]


def test_revival_waits_for_a_disk_that_takes_nothing(bench: Bench) -> None:
    bench.pop(0, 1)
    bench.wait(INVISIBLE + 1000)
    bench.disk.fail_next("write", "/commitlog/", errno.ENOSPC, times=1 << 30, part=0)
    bench.wait(5000)
    assert bench.revived == []
    bench.disk.heal()
    bench.wait(5000)
    assert bench.revived == [b"0", b"1"]


def test_messages_of_a_topic_that_is_gone_do_not_come_again(bench: Bench) -> None:
    bench.pop(0)
    bench.topics.delete("T")
    bench.wait(INVISIBLE + GRACE + 1000)
    assert bench.revived == []
    assert bench.progress() == 0


def test_messages_that_are_gone_do_not_hold_up_the_others(bench: Bench) -> None:
    bench.pop(1, 17)
    bench.wait(INVISIBLE + GRACE + 1000)
    assert bench.revived == [b"1"]
    assert bench.progress() == 0


def test_a_message_that_cannot_be_read_is_tried_again(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    bench.pop(0)
    bench.wait(INVISIBLE)
    monkeypatch.setattr(bench.store, "message", lambda *place, **_: None)
    bench.wait(GRACE)
    assert bench.revived == []
    monkeypatch.undo()
    bench.wait(5000)
    assert bench.revived == []
    bench.wait(10_000)
    assert bench.revived == [b"0"]


def test_a_message_that_cannot_be_read_may_be_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mqgateway.engine.pop.records.REPUT_PAUSES", (1,))
    bench = Bench(skip_when_ck_re_put_reach_max_times=True)
    bench.send(b"0")
    bench.pop(0)
    monkeypatch.setattr(bench.store, "message", lambda *place, **_: None)
    bench.wait(60_000)
    assert len(bench.stored(bench.log.topic, 3)) == 2
    assert not bench.log.is_waiting


def test_much_is_done_in_bounds(bench: Bench) -> None:
    bench.options.max_revived_per_tick = 2
    for i in range(4):
        bench.pop(i)
    for _ in range(40):
        bench.wait(500)
        if bench.log.is_behind:
            break
    assert len(bench.revived) < 4
    bench.wait(8000)
    assert len(bench.revived) == 4
    assert not bench.log.is_behind


def test_unreadable_queue_is_not_retried_at_once(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    bench.pop(0)
    bench.wait(INVISIBLE - 1000)
    monkeypatch.setattr(bench.store, "consume_queue_units", lambda *_: [])
    bench.wait(5000)
    assert not bench.log.is_behind
    monkeypatch.undo()
    bench.wait(5000)
    assert bench.revived == [b"0"]


def test_rubbish_in_the_revive_topic_is_passed(bench: Bench) -> None:
    message = Message(bench.log.topic, 3, b"rubbish", {"TAGS": "ck"}, 0, HOST, HOST)
    bench.store.put(message)
    bench.pop(0)
    bench.wait(INVISIBLE + GRACE + 1000)
    assert bench.revived == [b"0"]
    assert bench.progress() == 1


def test_there_are_as_many_revive_queues_as_set_or_were_made(bench: Bench) -> None:
    assert bench.log.has_revive_queue(7)
    assert not bench.log.has_revive_queue(8)
    assert not bench.log.has_revive_queue(-1)
    assert {bench.log.next_revive_queue() for _ in range(20)} == set(range(8))


class TestOfAnotherGroup:
    """A checkpoint for messages on another broker, as sent here by an acting slave."""

    def revive(self, bench: Bench, *answers: Found) -> list[MessageLocation]:
        """Pop message 1 of the other broker, and wait until it is visible again."""
        bench.answers += answers
        point = bench.point(1)
        bench.log.pop(replace(point, key=point.key._replace(broker_name="other")), 3, 0)
        bench.wait(INVISIBLE + GRACE)
        return bench.asked

    def other(self) -> StoredMessage:
        there = Bench()
        for body in (b"first", b"there"):
            there.send(body)
        return there.stored("T")[1]

    def test_the_message_is_fetched_and_its_copy_is_here(self, bench: Bench) -> None:
        assert self.revive(bench, self.other()) == [MessageLocation("other", "T", 0, 1)]
        assert bench.revived == [b"there"]
        assert bench.stored(RETRY)[0].prepared_transaction_offset == 0

    def test_one_that_is_gone_is_left_out(self, bench: Bench) -> None:
        self.revive(bench, Missing.GONE)
        assert bench.revived == []
        assert bench.progress() == 0

    def test_one_that_cannot_be_had_is_tried_again_later(self, bench: Bench) -> None:
        self.revive(bench, Missing.FAILED, self.other())
        assert bench.revived == []
        bench.wait(30_000, 1000)
        assert bench.revived == [b"there"]

    def test_without_a_way_to_other_brokers_it_is_tried_again_too(self, bench: Bench) -> None:
        point = bench.point(1)
        bench.log.pop(replace(point, key=point.key._replace(broker_name="other")), 3, 0)
        bench.wait(INVISIBLE + GRACE)
        assert bench.revived == []
        assert b'"rp":"1"' in bench.stored(TIMERS)[-1].body

    def test_a_start_takes_nothing_of_it_for_the_place_of_a_group_here(self, bench: Bench) -> None:
        bench.pop(0)
        point = bench.point(1)
        away = bench.log.message_of(
            replace(point, key=point.key._replace(broker_name="other")), 3, next_offset=9
        )
        bench.log.put_aside(away)
        bench.store.put(away)
        bench.store.dispatch()
        again = bench.kill()
        assert again.offsets.query("G", "T", 0) == 1

    def test_its_group_is_made_here_rather_than_left_out(self, bench: Bench) -> None:
        made: list[str] = []
        bench.log._has_group = lambda _: False
        bench.log._make_group = lambda name: not made.append(name)  # type: ignore[func-returns-value]
        assert self.revive(bench, self.other())
        assert (bench.revived, made) == ([b"there"], ["G"])


def test_reads_of_revive_topic_are_counted(bench: Bench) -> None:
    point = bench.pop(0, 1)
    bench.ack(point, 1)
    bench.wait(INVISIBLE + GRACE)
    read = bench.stored(bench.log.topic, 3)
    key = f"{bench.log.topic}@CID_RMQ_SYS_REVIVE_GROUP"
    assert bench.counted.gots == {key: 2}
    assert bench.counted.bytes[key] == sum(each.size for each in read)
