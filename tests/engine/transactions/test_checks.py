"""Rounds along the half queue: producers are asked about open transactions, and some are given up."""

import logging

import pytest

from mqgateway.engine.transactions import checks
from tests.support.engine.transactions.transactions import INTERVAL, START, Bench, question_of

HOUR = 3_600_000


def test_an_open_transaction_is_asked_about_every_interval_until_it_is_given_up() -> None:
    bench = Bench(options={"transaction_check_max": 3})
    bench.send(b"a")
    asked = [bench.wait() for _ in range(5)]
    assert [len(each) for each in asked] == [1, 1, 1, 0, 0]
    assert bench.given_up == [b"a"]
    assert bench.topics.get("TRANS_CHECK_MAX_TIME_TOPIC") is not None
    assert bench.log.counts.table == {"T": 0}
    times = [question_of(each[0]).properties["TRANSACTION_CHECK_TIMES"] for each in asked[:3]]
    assert times == ["1", "2", "3"]
    assert [each[0].queue_offset for each in asked[:3]] == [1, 2, 3], "each asks about a new copy"
    assert [each[0].number for each in asked[:3]] == [1, 2, 3]


def test_the_question_names_the_copy_that_lies_in_the_half_queue() -> None:
    bench = Bench()
    bench.send(b"a")
    (question,) = bench.wait()
    copy = bench.halves[1]
    assert (question.queue_offset, question.physical_offset) == (copy.queue_offset, copy.physical_offset)
    assert (question.group, question.unique_key, question.message_id) == ("PG", "Ka", copy.message_id)
    message = question_of(question)
    assert (message.topic, message.queue_id, message.body) == ("T", 1, b"a")


def test_a_young_one_is_not_asked_about() -> None:
    bench = Bench()
    bench.wait(INTERVAL - 5000)
    bench.send(b"a")
    assert bench.wait(10_000) == []
    assert len(bench.wait()) == 1


def test_a_producer_that_asks_for_time_is_left_alone_and_others_are_not_kept_waiting() -> None:
    bench = Bench()
    slow = bench.send(b"slow", CHECK_IMMUNITY_TIME_IN_SECONDS="100")
    bench.send(b"a")
    assert [question_of(each).body for each in bench.wait(90_000)] == [b"a", b"a", b"a"]
    assert [question_of(each).body for each in bench.wait()] == [b"slow", b"a"]
    assert bench.commit(slow)
    assert [question_of(each).body for each in bench.wait()] == [b"a"]


def test_time_that_was_asked_for_costs_no_questions() -> None:
    """A half message may be kept for hours, between two checkpoints of its producer, and is open then."""
    bench = Bench()
    at = bench.send(b"a", CHECK_IMMUNITY_TIME_IN_SECONDS="36000")
    assert bench.wait(9 * HOUR, step=10_000) == []
    assert bench.given_up == []
    assert len(bench.halves) < 12, "it is put back now and then, not in every round"
    bench = bench.restart()
    assert bench.wait(HOUR - 60_000, step=10_000) == []
    assert bench.commit(at)
    assert bench.wait(HOUR, step=10_000) == []
    assert bench.delivered == [b"a"]


def test_without_members_of_the_group_nothing_is_counted() -> None:
    bench = Bench()
    bench.reachable.clear()
    bench.send(b"a")
    bench.send(b"b", group="PG2")
    assert bench.wait(40 * INTERVAL) == []
    assert len(bench.halves) == 2
    bench.reachable.add("PG")
    (question,) = bench.wait()
    assert question_of(question).properties["TRANSACTION_CHECK_TIMES"] == "1"
    assert bench.commit(question.physical_offset)
    bench.reachable.add("PG2")
    (question,) = bench.wait()
    assert question.group == "PG2"


def test_half_message_open_for_days_is_discarded() -> None:
    bench = Bench()
    bench.reachable.clear()
    bench.send(b"a")
    bench.wait(72 * HOUR, step=10 * INTERVAL)
    assert bench.given_up == []
    bench.wait(HOUR, step=INTERVAL)
    assert bench.given_up == [b"a"]
    assert bench.log.counts.count("T") == 0


def test_half_message_is_discarded_in_time_although_the_clock_was_set() -> None:
    """It is held until it is too old, not until its copy is put again."""
    bench = Bench(store_options={"file_reserved_time": 3})
    bench.reachable.clear()
    bench.clock.set_wall(START + 10 * HOUR)
    bench.store.tick()
    bench.send(b"a")
    minute = HOUR // 60
    bench.wait(175 * minute, step=25 * minute)
    assert (len(bench.halves), bench.given_up) == (3, [])
    bench.wait(25 * minute, step=25 * minute)
    assert bench.given_up == [b"a"]


def test_waiting_half_message_is_put_again_after_an_hour() -> None:
    bench = Bench()
    bench.reachable.clear()
    bench.send(b"a")
    bench.wait(HOUR - INTERVAL, step=INTERVAL)
    assert len(bench.halves) == 1
    bench.wait(2 * INTERVAL)
    _, copy = bench.halves
    assert "TRANSACTION_CHECK_TIMES" not in copy.properties
    assert copy.properties["TRAN_PREPARED_QUEUE_OFFSET"] == "0"
    assert bench.progress[0] == 1


def test_half_message_far_from_queue_end_is_put_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checks, "SPREAD_MAX", 5)
    bench = Bench()
    bench.send(b"a", group="gone")
    for at in [bench.send(b"%d" % number) for number in range(5)]:
        bench.commit(at)
    bench.wait(INTERVAL + 15_000)
    assert bench.progress[0] == 6
    assert [each.body for each in bench.halves][6:] == [b"a"]


def test_only_so_many_are_kept_in_mind() -> None:
    bench = Bench(options={"max_waiting_transactions": 2})
    bench.reachable.clear()
    for number in range(4):
        bench.send(b"%d" % number)
    bench.wait()
    assert [each.body for each in bench.halves] == [b"0", b"1", b"2", b"3", b"2", b"3"]


def test_held_message_keeps_its_place_when_no_other_can_be_held() -> None:
    """Its producer asked for time, and is not connected when that has passed."""
    bench = Bench(options={"max_waiting_transactions": 1})
    bench.reachable.clear()
    bench.send(b"a", CHECK_IMMUNITY_TIME_IN_SECONDS="100")
    bench.wait(5 * INTERVAL)
    assert [each.body for each in bench.halves] == [b"a"]


def test_one_that_belongs_nowhere_is_given_up() -> None:
    bench = Bench()
    at = bench.send(b"a")
    half = bench.half(at)
    half.stored.properties["REAL_QID"] = "?"
    bench.store.put(half.stored)
    bench.store.dispatch()
    assert [question_of(each).body for each in bench.wait()] == [b"a"]
    assert bench.given_up == [b"a"]


def test_half_messages_that_left_with_the_log_are_reported(caplog: pytest.LogCaptureFixture) -> None:
    bench = Bench()
    bench.reachable.clear()
    bench.send(b"a")
    bench.wait()
    low = bench.store.min_offset
    bench.store.min_offset = lambda topic, queue_id: 1 if "HALF" in topic else low(topic, queue_id)  # type: ignore[method-assign]
    bench.send(b"b")
    with caplog.at_level(logging.ERROR):
        bench.wait()
    assert "half messages 0 to 0 are deleted" in caplog.text
    assert bench.log._halves.settled.progress == 1


def test_an_unreadable_one_is_left_out_after_some_rounds(caplog: pytest.LogCaptureFixture) -> None:
    bench = Bench()
    bench.send(b"a")
    at = bench.send(b"b")
    look_up = bench.store.look_up
    bench.store.look_up = lambda offset: None if offset == 0 else look_up(offset)  # type: ignore[method-assign]
    assert [len(bench.wait()) for _ in range(3)] == [1, 1, 1]
    assert "half message 0 cannot be read" in caplog.text
    assert bench.commit(at)
    bench.wait()
    assert bench.progress[0] == 5


def test_round_continues_in_the_next_tick() -> None:
    bench = Bench(options={"max_transactions_checked_per_tick": 2})
    for number in range(5):
        bench.send(b"%d" % number)
    bench.wait(INTERVAL - 1000)
    asked = [len(bench.wait(100, step=100)) for _ in range(20)]
    assert [count for count in asked if count] == [2, 2, 1]
