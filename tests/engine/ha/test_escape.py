"""Messages of an acting slave: sent once, put until they have arrived, in their producers' form."""

from __future__ import annotations

from typing import Any

from mqgateway.engine.ha.escape import PAUSE_MILLIS, Escape, Sent, as_sent
from mqgateway.engine.message import TIMER_TOPIC, TRANS_HALF_TOPIC, Message, SysFlag, pack_host
from mqgateway.engine.store.message_store import PutStatus

HOST = pack_host("127.0.0.1", 10911)


def message(body: bytes = b"x", topic: str = "T", sys_flag: int = 0, **properties: str) -> Message:
    return Message(topic, 3, body, properties, 1000, HOST, HOST, 7, sys_flag, 2)


class Bench:
    """An escape whose messages wait until the test reports their results."""

    def __init__(self, limit: int = 10) -> None:
        self.waiting: list[tuple[Message, Sent]] = []
        self.escape = Escape(lambda one, sent: self.waiting.append((one, sent)), limit)
        self.ended = 0
        self.escape.watch_ends(self._ended)

    def _ended(self) -> None:
        self.ended += 1

    def put(self, one: Message) -> bool:
        """Return True if it has arrived."""
        result = self.escape.put(one)
        assert result.status in (PutStatus.PUT_OK, PutStatus.PUT_TO_REMOTE_BROKER_FAIL)
        return result.status is PutStatus.PUT_OK

    def end(self, *, stored: bool) -> None:
        _, sent = self.waiting.pop(0)
        sent(stored)


def test_a_message_is_sent_once_and_has_arrived_once() -> None:
    bench = Bench()
    assert not bench.put(message())
    assert not bench.put(message())
    assert len(bench.waiting) == 1
    bench.end(stored=True)
    assert (bench.ended, bench.escape.count) == (1, 1)
    assert bench.put(message())
    assert not bench.put(message()), "that is another one that says the same"
    assert len(bench.waiting) == 1


def test_notes_that_change_do_not_make_another_message() -> None:
    bench = Bench()
    bench.put(message(TIMER_DEQUEUE_MS="5", UNIQ_KEY="k"))
    bench.put(message(TIMER_DEQUEUE_MS="6", UNIQ_KEY="k"))
    assert len(bench.waiting) == 1
    bench.put(message(TIMER_DEQUEUE_MS="6", UNIQ_KEY="other"))
    assert len(bench.waiting) == 2


def test_after_a_failure_nothing_is_sent_for_a_while() -> None:
    bench = Bench()
    bench.escape.tick(5000)
    bench.put(message())
    bench.end(stored=False)
    assert not bench.put(message())
    assert bench.waiting == []
    bench.escape.tick(5000 + PAUSE_MILLIS)
    assert not bench.put(message())
    assert len(bench.waiting) == 1


def test_no_more_than_the_limit_is_in_flight() -> None:
    bench = Bench(limit=2)
    for number in range(5):
        bench.put(message(b"%d" % number))
    assert len(bench.waiting) == len(bench.escape) == 2


def test_one_that_ends_at_once_has_arrived_at_once() -> None:
    escape = Escape(lambda _, sent: sent(True), 1)
    assert escape.put(message()).status is PutStatus.PUT_OK
    assert len(escape) == 0


def test_result_of_dropped_message_is_ignored() -> None:
    bench = Bench()
    bench.put(message())
    bench.escape.forget()
    bench.end(stored=True)
    assert len(bench.escape) == 0
    assert not bench.put(message())


class TestCarried:
    """With a callback: called once with the result."""

    def carry(self, bench: Bench, body: bytes = b"x") -> list[bool]:
        ended: list[bool] = []
        bench.escape.carry(message(body), ended.append)
        return ended

    def test_one_is_reported_when_it_has_arrived(self) -> None:
        bench = Bench()
        ended = self.carry(bench), self.carry(bench)
        assert (len(bench.escape), ended) == (2, ([], [])), "the same once more is another one"
        bench.end(stored=True)
        bench.end(stored=True)
        assert (len(bench.escape), bench.escape.count, ended) == (0, 2, ([True], [True]))

    def test_after_a_failure_others_need_not_wait(self) -> None:
        bench = Bench()
        bench.escape.tick(5000)
        ended = self.carry(bench)
        bench.end(stored=False)
        assert (ended, self.carry(bench), bench.waiting) == ([False], [False], [])
        bench.escape.tick(5000 + PAUSE_MILLIS)
        assert self.carry(bench) == []

    def test_they_count_to_the_limit(self) -> None:
        bench = Bench(limit=2)
        bench.put(message())
        assert [self.carry(bench, body) for body in (b"a", b"b")] == [[], [False]]
        assert len(bench.waiting) == 2

    def test_earlier_one_makes_no_other_wait(self) -> None:
        bench = Bench()
        ended = self.carry(bench)
        bench.escape.forget()
        bench.end(stored=False)
        assert (ended, self.carry(bench)) == ([False], [])


def sent_as(one: Message) -> tuple[Any, ...]:
    found = as_sent(one)
    assert (found.body, found.flag, found.reconsume_times, found.born_timestamp) == (b"x", 7, 2, 1000)
    return found.topic, found.properties, found.sys_flag


def test_a_message_whose_delay_is_over_is_not_delayed_again() -> None:
    timing = {"DELAY": "3", "TIMER_DELIVER_MS": "9", "TIMER_OUT_MS": "8", "TIMER_ENQUEUE_MS": "1"}
    assert sent_as(message(KEYS="k", **timing)) == ("T", {"KEYS": "k"}, 0)


def test_a_half_message_is_a_transaction_again() -> None:
    properties = {"REAL_TOPIC": "T", "REAL_QID": "2", "PGROUP": "g", "DELAY": "1"}
    copy = {"TRAN_PREPARED_QUEUE_OFFSET": "4", "TRANSACTION_CHECK_TIMES": "2"}
    assert sent_as(message(topic=TRANS_HALF_TOPIC, **properties, **copy)) == (
        "T",
        {"PGROUP": "g", "DELAY": "1", "TRAN_MSG": "true"},
        SysFlag.TRANSACTION_PREPARED,
    )


def test_timer_that_is_set_again_is_set_by_its_time() -> None:
    properties = {"REAL_TOPIC": "T", "REAL_QID": "2", "TIMER_OUT_MS": "8000", "TIMER_ROLL_TIMES": "1"}
    assert sent_as(message(topic=TIMER_TOPIC, **properties)) == ("T", {"TIMER_DELIVER_MS": "8001"}, 0)
