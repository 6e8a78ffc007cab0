"""What waiting is bounded by, and that nobody is answered who went away."""

import pytest
from twisted.internet.defer import CancelledError, Deferred

from mqgateway.engine.pop import OrderKey
from mqgateway.gateway.broker.pop.checks import time_left, wait, wanted_by
from mqgateway.gateway.codec.codes import RequestCode
from mqgateway.gateway.codec.command import RemotingCommand
from mqgateway.gateway.remoting.call import Call, Reply, RequestError
from tests.support.gateway.broker.popping import PopBroker

NOW = 1_700_000_000_000


class Header:
    def __init__(self, born_time: int, poll_time: int) -> None:
        self.born_time = born_time
        self.poll_time = poll_time


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
def test_a_client_waits_by_its_own_clock_but_no_longer_than_it_said(born: int, poll: int, left: int) -> None:
    assert time_left(Header(born, poll), NOW) == left


def test_what_is_wanted() -> None:
    broker = PopBroker().broker
    assert wanted_by(broker, "T", None, None) is None
    assert wanted_by(broker, "T", "*", "TAG") is None
    assert isinstance(wanted_by(broker, "T", "a || b", None), frozenset)
    with pytest.raises(RequestError):
        wanted_by(broker, "T", "a", "GROOVY")


def waiting(broker: PopBroker, replies: list[Reply | None]) -> Deferred[Reply]:
    made = broker.broker
    call = Call(RemotingCommand.request(RequestCode.POP_MESSAGE), None, b"", broker.consumer, 0)
    place = OrderKey("T", "G", -7)
    found = wait(made, made.pops.parked, call, place, None, 1000, lambda is_last: replies.pop(0))
    assert found is not None
    return found


def test_who_waits_is_answered_once_there_is_an_answer() -> None:
    broker = PopBroker()
    answers: list[Reply] = []
    reply = Reply()
    waiting(broker, [None, reply]).addCallback(answers.append)
    for _ in range(3):
        broker.broker.pops.parked.wake(OrderKey("T", "G", -1))
    assert answers == [reply]


def test_who_went_away_is_not_answered() -> None:
    broker = PopBroker()
    failures: list[object] = []
    found = waiting(broker, [])
    found.addErrback(lambda failure: failures.append(failure.type))
    found.cancel()
    broker.broker.pops.parked.wake(OrderKey("T", "G", -1))
    assert failures == [CancelledError]


def test_a_failure_reaches_who_waits() -> None:
    broker = PopBroker()
    failures: list[object] = []
    waiting(broker, []).addErrback(lambda failure: failures.append(failure.type))
    broker.broker.pops.parked.wake(OrderKey("T", "G", -1))
    assert failures == [IndexError]
