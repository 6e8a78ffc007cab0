"""Acknowledgements of one turn: the stored record, its time, and the result for waiting callers."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from twisted.internet.defer import CancelledError, Deferred

from mqgateway.engine.pop import MESSAGES_MAX, Ack, PointKey
from mqgateway.engine.store.message_store import PutResult, PutStatus
from mqgateway.gateway.broker.pop.gathered_acks import GatheredAcks
from mqgateway.gateway.codec.codes import ResponseCode
from tests.support.gateway.broker.pop import GRACE, INVISIBLE, PopBroker

TIMERS = "rmq_sys_wheel_timer"


def key(start: int = 0) -> PointKey:
    return PointKey("T", "G", 0, start, 1000, "broker-a")


class Shelf:
    """A store of acknowledgements."""

    def __init__(self) -> None:
        self.stored: list[tuple[list[Ack], int, int]] = []
        self.answer: PutResult | Deferred[PutResult] | Exception = PutResult(PutStatus.PUT_OK)
        self.gathered = GatheredAcks(self.store, lambda: True)

    def store(self, acks: Sequence[Ack], queue_id: int, revive_time: int) -> PutResult | Deferred[PutResult]:
        self.stored.append((list(acks), queue_id, revive_time))
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer

    def add(self, offset: int, start: int = 0, queue_id: int = 3) -> list[PutResult | type[BaseException]]:
        """Acknowledge a message; the list will contain the result."""
        reported: list[PutResult | type[BaseException]] = []
        added = self.gathered.add(key(start), offset, queue_id, 61_000)
        added.addCallbacks(reported.append, lambda failure: reported.append(failure.type))
        return reported


def test_acks_of_a_checkpoint_are_stored_as_one_record() -> None:
    shelf = Shelf()
    reported = [shelf.add(offset) for offset in (4, 2, 5)]
    assert shelf.stored == [] and reported == [[], [], []]
    shelf.gathered.settle()
    assert shelf.stored == [([Ack(key(), (4, 2, 5), is_batch=True)], 3, 61_000)]
    assert reported == [[shelf.answer]] * 3


def test_single_ack_is_stored_as_a_single_one() -> None:
    shelf = Shelf()
    shelf.add(4)
    shelf.gathered.settle()
    assert shelf.stored == [([Ack(key(), (4,))], 3, 61_000)]


def test_checkpoints_and_revive_queues_are_distinguished() -> None:
    shelf = Shelf()
    for offset, start, queue_id in ((1, 0, 3), (7, 6, 3), (2, 0, 3), (3, 0, 4)):
        shelf.add(offset, start, queue_id)
    shelf.gathered.settle()
    assert shelf.stored == [
        ([Ack(key(), (1, 2), is_batch=True)], 3, 61_000),
        ([Ack(key(6), (7,))], 3, 61_000),
        ([Ack(key(), (3,))], 4, 61_000),
    ]


def test_record_has_at_most_the_messages_of_a_pop() -> None:
    shelf = Shelf()
    for offset in range(MESSAGES_MAX + 1):
        shelf.add(offset)
    shelf.gathered.settle()
    [(acks, _, _)] = shelf.stored
    assert [len(ack.offsets) for ack in acks] == [MESSAGES_MAX, 1]


def test_settled_acks_are_not_stored_again() -> None:
    shelf = Shelf()
    shelf.add(1)
    shelf.gathered.settle()
    shelf.gathered.settle()
    assert len(shelf.stored) == 1


def test_waiting_caller_gets_the_result_of_another_broker() -> None:
    shelf = Shelf()
    arrived: Deferred[PutResult] = Deferred()
    shelf.answer = arrived
    reported = shelf.add(1)
    shelf.gathered.settle()
    assert reported == []
    arrived.callback(result := PutResult(PutStatus.PUT_TO_REMOTE_BROKER_FAIL))
    assert reported == [result]


def test_failure_is_reported_to_all_waiting_callers() -> None:
    shelf = Shelf()
    shelf.answer = OSError("no disk")
    reported = [shelf.add(1), shelf.add(2), shelf.add(9, start=6)]
    shelf.gathered.settle()
    assert reported == [[OSError]] * 3


def test_ack_of_a_cancelled_caller_is_stored() -> None:
    shelf = Shelf()
    gone = shelf.gathered.add(key(), 1, 3, 61_000)
    gone.addErrback(lambda failure: None if failure.check(CancelledError) else failure)
    reported = shelf.add(2)
    gone.cancel()
    shelf.gathered.settle()
    assert shelf.stored == [([Ack(key(), (1, 2), is_batch=True)], 3, 61_000)]
    assert reported == [shelf.answer]


@pytest.fixture
def broker() -> PopBroker:
    broker = PopBroker()
    broker.is_turn = True
    return broker


def test_acks_of_a_brokers_turn_are_gathered(broker: PopBroker) -> None:
    for number in range(4):
        broker.send("T", b"%d" % number)
    messages = broker.pop()
    store, gathered = broker.broker.store, broker.broker.pop.gathered
    before = store.max_offset(TIMERS, 0)
    answers = [broker.ack(messages[number]) for number in (0, 2, 3)]
    assert all(answer.waits for answer in answers)
    gathered.settle()
    store.dispatch()
    assert [answer.code for answer in answers] == [0, 0, 0]
    assert store.max_offset(TIMERS, 0) == before + 1
    broker.pass_time(INVISIBLE + GRACE)
    assert [message.body for message in broker.pop()] == [b"1"]


def test_refused_ack_is_answered_at_once(broker: PopBroker) -> None:
    broker.send("T", b"0")
    (message,) = broker.pop()
    answer = broker.ack(message._replace(offset=7))
    assert answer.code == ResponseCode.NO_MESSAGE
