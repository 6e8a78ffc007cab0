"""Limits of waiting, and callers that went away."""

from collections import deque
from collections.abc import Sequence

import pytest
from twisted.internet.defer import CancelledError, Deferred

from mqgateway.engine.clock import elapsed_millis
from mqgateway.engine.pop import OrderKey
from mqgateway.gateway.broker.errors import OperationError, Reason
from mqgateway.gateway.broker.polling import check_in_time, check_readable, time_left, wait
from tests.support.gateway.broker.pop import PopBroker

NOW = 1_700_000_000_000


class Polling:
    def __init__(self, born_time: int, max_wait: int) -> None:
        self.born_time = born_time
        self.max_wait = max_wait


@pytest.mark.parametrize(
    ("born", "poll", "left"),
    [
        (NOW, 15_000, 14_950),
        (0, 15_000, 14_950),
        (NOW - 10_000, 15_000, 4_950),
        (NOW + 60_000, 15_000, 15_000),
        (NOW, 0, -50),
    ],
)
def test_client_waits_by_its_own_clock_within_its_limit(born: int, poll: int, left: int) -> None:
    assert time_left(Polling(born, poll), NOW) == left


def waiting(broker: PopBroker, outcomes: Sequence[str | Deferred[str]]) -> Deferred[str]:
    """Park a request that each of these outcomes is for, in order; an empty one does not answer it."""
    made, left = broker.broker, deque(outcomes)
    place = OrderKey("T", "G", -7)
    found = wait(made, made.pop.parked, broker.consumer, place, None, 1000, left.popleft, bool)
    assert found is not None
    return found


def test_waiting_caller_is_answered_once_there_is_an_answer() -> None:
    broker = PopBroker()
    answers: list[str] = []
    waiting(broker, ["", "found"]).addCallback(answers.append)
    for _ in range(3):
        broker.broker.pop.parked.wake(OrderKey("T", "G", -1))
    assert answers == ["found"]


def test_pending_outcome_answers_whatever_it_brings() -> None:
    broker = PopBroker()
    answers: list[str] = []
    read: Deferred[str] = Deferred()
    waiting(broker, [read]).addCallback(answers.append)
    broker.broker.pop.parked.wake(OrderKey("T", "G", -1))
    assert answers == []
    read.callback("")
    assert answers == [""]


def test_any_outcome_answers_after_the_deadline() -> None:
    broker = PopBroker()
    answers: list[str] = []
    waiting(broker, ["", ""]).addCallback(answers.append)
    parked = broker.broker.pop.parked
    parked.wake(OrderKey("T", "G", -1))
    assert answers == []
    parked.due(elapsed_millis(broker.clock) + 1000)
    assert answers == [""]


def test_cancelled_caller_is_not_answered() -> None:
    broker = PopBroker()
    failures: list[object] = []
    found = waiting(broker, [])
    found.addErrback(lambda failure: failures.append(failure.type))
    found.cancel()
    broker.broker.pop.parked.wake(OrderKey("T", "G", -1))
    assert failures == [CancelledError]


def test_failure_reaches_the_waiting_caller() -> None:
    broker = PopBroker()
    failures: list[object] = []
    waiting(broker, []).addErrback(lambda failure: failures.append(failure.type))
    broker.broker.pop.parked.wake(OrderKey("T", "G", -1))
    assert failures == [IndexError]


def test_request_after_its_time_is_refused() -> None:
    popped = PopBroker()
    broker, client = popped.broker, popped.consumer
    now = popped.clock.millis()
    check_in_time(broker, client, Polling(now - 1_500, 1_000))
    with pytest.raises(OperationError, match="timeout too much") as refused:
        check_in_time(broker, client, Polling(now - 1_501, 1_000))
    assert refused.value.reason is Reason.POLLING_TIMEOUT


def test_unreadable_broker_refuses_pops() -> None:
    popped = PopBroker(options={"broker_permission": 2})
    with pytest.raises(OperationError, match="pop message is forbidden") as refused:
        check_readable(popped.broker, "pop")
    assert refused.value.reason is Reason.NO_PERMISSION
