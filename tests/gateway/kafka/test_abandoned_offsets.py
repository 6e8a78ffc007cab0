"""Pending offsets whose transaction no coordinator has, with coordinators in other broker groups."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from twisted.internet.defer import Deferred, fail, succeed

from mqgateway.engine.clock import ManualClock
from mqgateway.gateway.broker.operations import OperationError, Reason
from mqgateway.gateway.kafka.abandoned_offsets import PERIOD_MILLIS, AbandonedOffsets
from mqgateway.gateway.kafka.codec.error_codes import ErrorCode
from mqgateway.gateway.kafka.coordinator.records_log import NotWritten
from mqgateway.gateway.kafka.open_transactions import (
    EPOCHS,
    OPEN_TRANSACTIONS,
    PRODUCERS,
    OpenTransactions,
)
from mqgateway.gateway.kafka.transactions.status import EPOCH_MAX, TxnState

OPEN, ENDING, GONE = 1, 2, 3
"""Producers with an open transaction, with one that ends, and with none."""


class Peers:
    """Other broker groups, whose answers come when they are given."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, Any, Deferred[Any]]] = []
        self.serves: dict[str, Any] = {}

    def serve(self, kind: str, serve: Any) -> None:
        """See `PeerOperations`."""
        self.serves[kind] = serve

    def ask(self, group: str, kind: str, fields: Any) -> Deferred[Any]:
        """See `PeerOperations`."""
        assert kind == OPEN_TRANSACTIONS
        answer: Deferred[Any] = Deferred()
        self.asked.append((group, fields, answer))
        return answer


class Pending:
    """Pending offsets of producers; those that are dropped, with the epoch."""

    def __init__(self, *producers: int) -> None:
        self.left = producers
        self.dropped: list[tuple[int, int]] = []
        self.failure: Exception | None = None

    def producers(self) -> tuple[int, ...]:
        """See `TransactionalCommits`."""
        return self.left

    def complete(self, producer_id: int, epoch: int, is_commit: bool) -> Deferred[None]:
        """See `TransactionalCommits`."""
        assert not is_commit
        if self.failure is not None:
            return fail(self.failure)
        self.dropped.append((producer_id, epoch))
        return succeed(None)


class Scene:
    """A broker whose broker groups coordinate transactions; it has those of two producers."""

    def __init__(self, *groups: str, pending: tuple[int, ...] = (OPEN, ENDING, GONE)) -> None:
        self.clock, self.peers, self.pending = ManualClock(), Peers(), Pending(*pending)
        self.coordinator = SimpleNamespace(
            is_loaded="" in groups,
            table=SimpleNamespace(
                open={"t": _entry(OPEN, 7, TxnState.ONGOING)},
                prepared={"u": _entry(ENDING, 4, TxnState.PREPARE_COMMIT)},
            ),
        )
        self.partitions = SimpleNamespace(groups=list(groups) or None)
        operations: Any = SimpleNamespace(clock=self.clock, peers=self.peers)
        given: Any = (self.partitions, self.coordinator)
        held: Any = self.pending
        self.abandoned = AbandonedOffsets(self.clock, OpenTransactions(operations, *given), held)
        self.abandoned.begin()

    def tick(self, millis: int = PERIOD_MILLIS) -> None:
        """Let time pass."""
        self.clock.advance(millis)
        self.abandoned.tick()


def _entry(producer_id: int, epoch: int, state: TxnState) -> Any:
    return SimpleNamespace(status=SimpleNamespace(producer_id=producer_id, epoch=epoch, state=state))


def test_offsets_are_dropped_up_to_the_epoch_that_the_own_coordinator_does_not_have() -> None:
    scene = Scene("")
    scene.tick()
    assert sorted(scene.pending.dropped) == [(OPEN, 6), (ENDING, -1), (GONE, EPOCH_MAX)]
    assert not any(map(scene.abandoned.has, (OPEN, ENDING, GONE)))


def test_offsets_wait_for_the_answers_of_all_coordinators() -> None:
    scene = Scene("", "b", "c", pending=(OPEN, GONE, 9))
    scene.tick()
    [(first, fields, one), (second, _, other)] = scene.peers.asked
    assert (first, second, fields) == ("b", "c", {PRODUCERS: [OPEN, GONE, 9]})
    one.callback({EPOCHS: {"9": 3}})
    scene.tick()
    assert not scene.pending.dropped and scene.abandoned.has(GONE) and len(scene.peers.asked) == 2
    other.callback({EPOCHS: {"9": -1}})
    assert sorted(scene.pending.dropped) == [(OPEN, 6), (GONE, EPOCH_MAX), (9, 3)]


def test_coordinator_that_does_not_answer_is_asked_again_in_a_second() -> None:
    scene = Scene("b", pending=(GONE,))
    scene.tick()
    scene.peers.asked.pop()[2].errback(OperationError(Reason.SYSTEM_ERROR, "broker group b is down"))
    scene.tick(PERIOD_MILLIS - 1)
    assert not scene.peers.asked and scene.abandoned.has(GONE)
    scene.tick(1)
    scene.peers.asked.pop()[2].callback({EPOCHS: {}})
    assert scene.pending.dropped == [(GONE, EPOCH_MAX)] and not scene.abandoned.has(GONE)


@pytest.mark.parametrize("epochs", [{"x": 1}, {"3": "x"}])
def test_odd_answer_drops_nothing(epochs: dict[str, Any]) -> None:
    scene = Scene("b", pending=(GONE,))
    scene.tick()
    scene.peers.asked.pop()[2].callback({EPOCHS: epochs})
    assert not scene.pending.dropped and scene.abandoned.has(GONE)


def test_answer_to_an_earlier_check_does_not_count() -> None:
    scene = Scene("b", pending=(GONE,))
    scene.tick()
    scene.abandoned.begin()
    scene.peers.asked.pop()[2].callback({EPOCHS: {}})
    assert not scene.pending.dropped
    scene.tick()
    scene.peers.asked.pop()[2].callback({EPOCHS: {}})
    assert scene.pending.dropped == [(GONE, EPOCH_MAX)]


def test_offsets_that_cannot_be_dropped_are_tried_again() -> None:
    scene = Scene("", pending=(GONE,))
    scene.pending.failure = NotWritten(ErrorCode.COORDINATOR_NOT_AVAILABLE, "no room")
    scene.tick()
    assert scene.abandoned.has(GONE)
    scene.pending.failure = None
    scene.tick()
    assert scene.pending.dropped == [(GONE, EPOCH_MAX)]


def test_nothing_is_checked_before_transactions_are_read_and_their_topic_is_known() -> None:
    for scene in (Scene(), Scene("", "b")):
        scene.coordinator.is_loaded = False
        scene.tick()
        assert not scene.peers.asked and not scene.pending.dropped
