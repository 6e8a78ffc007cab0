"""Transactional batches and the coordinator that must know of them first."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from twisted.internet.defer import Deferred, fail, succeed
from twisted.python.failure import Failure

from mqgateway.gateway.broker.operations import Appended, OutOfOrder
from mqgateway.gateway.kafka.codec.error_codes import ErrorCode
from mqgateway.gateway.kafka.verification import NotVerified, TransactionBatch, Verification


class Queue:
    """A partition and a coordinator, whose answers come when a test gives them."""

    def __init__(self) -> None:
        self.asked: list[tuple[Any, ...]] = []
        self.answers: list[Deferred[None]] = []
        self.appended: list[int] = []
        self.open: set[tuple[int, int]] = set()
        self.known: set[int] = set()
        self.verification = Verification(self, self.verify)  # type: ignore[arg-type]

    def is_in_transaction(self, topic: str, queue_id: int, producer_id: int, epoch: int) -> bool:
        """See `BatchOperations`."""
        return (producer_id, epoch) in self.open

    def has_had_transactions(self, topic: str, queue_id: int, producer_id: int) -> bool:
        """See `BatchOperations`."""
        return producer_id in self.known

    def verify(self, *claim: Any, adds: bool) -> Deferred[None]:
        """See `Verify`."""
        self.asked.append((*claim, adds))
        self.answers.append(Deferred())
        return self.answers[-1]

    def send(
        self, number: int, *, producer_id: int = 1, sequence: int = 0, version: int = 12, error: Any = None
    ) -> list[Any]:
        """Send a batch; return a list that gets the outcome."""

        def append() -> Appended:
            if error is not None:
                raise error
            self.appended.append(number)
            self.open.add((producer_id, 0))
            return Appended(number, -1, 0)

        batch = TransactionBatch("t", producer_id, 0, sequence, "a.b", "a|b", 3, 1, version)
        outcome = self.verification.append(batch, append)
        found: list[Any] = []
        if isinstance(outcome, Deferred):
            outcome.addBoth(found.append)
        else:
            found.append(outcome)
        return found


def code(found: list[Any]) -> ErrorCode:
    """Return the code of a refusal."""
    [failure] = found
    assert isinstance(failure, Failure) and isinstance(failure.value, NotVerified)
    return failure.value.code


def test_only_the_first_batch_of_a_transaction_is_verified() -> None:
    queue = Queue()
    first = queue.send(0)
    assert (first, queue.appended) == ([], []) and queue.asked == [("t", 1, 0, "a.b", 3, True)]
    queue.answers[0].callback(None)
    assert first == [Appended(0, -1, 0)] == queue.send(0)
    assert len(queue.asked) == 1


@pytest.mark.parametrize(("version", "adds"), [(11, False), (12, True)])
def test_newer_clients_have_their_partitions_added(version: int, adds: bool) -> None:
    queue = Queue()
    queue.send(0, version=version)
    assert queue.asked[0][-1] is adds


def test_batches_that_come_meanwhile_keep_their_order() -> None:
    queue = Queue()
    outcomes = [queue.send(number) for number in range(3)]
    other = queue.send(9, producer_id=2)
    queue.answers[1].callback(None)
    assert queue.appended == [9] and other
    queue.answers[0].callback(None)
    assert queue.appended == [9, 0, 1, 2] and all(outcomes)
    assert len(queue.asked) == 2


def test_batch_behind_one_that_was_refused_is_verified_itself() -> None:
    queue = Queue()
    outcomes = [queue.send(number) for number in range(3)]
    queue.answers[0].errback(NotVerified(ErrorCode.INVALID_TXN_STATE))
    assert code(outcomes[0]) is ErrorCode.TRANSACTION_ABORTABLE
    assert len(queue.asked) == 2 and outcomes[1:] == [[], []]
    queue.answers[1].callback(None)
    assert queue.appended == [1, 2]


def test_later_batch_is_not_appended_before_the_first_one_that_was_refused() -> None:
    queue = Queue()
    outcomes = [queue.send(number, sequence=number) for number in range(2)]
    queue.answers[0].errback(NotVerified(ErrorCode.CONCURRENT_TRANSACTIONS))
    queue.answers[1].callback(None)
    [refused] = outcomes[1]
    assert isinstance(refused.value, OutOfOrder) and queue.appended == []
    again = [queue.send(number, sequence=number) for number in range(2)]
    queue.answers[2].callback(None)
    assert queue.appended == [0, 1] and all(again)


@pytest.mark.parametrize(("version", "is_known"), [(11, False), (12, True)])
def test_sequence_of_an_older_client_or_a_known_producer_is_checked_by_the_queue(
    version: int, is_known: bool
) -> None:
    queue = Queue()
    queue.known = {1} if is_known else set()
    queue.send(7, sequence=7, version=version)
    queue.answers[0].callback(None)
    assert queue.appended == [7]


def test_batch_that_the_queue_refuses_does_not_hold_up_others() -> None:
    queue = Queue()
    first, second = queue.send(0, error=ValueError()), queue.send(1)
    queue.answers[0].callback(None)
    assert isinstance(first[0].value, ValueError) and second == []
    queue.answers[1].callback(None)
    assert second == [Appended(1, -1, 0)]


def test_batches_of_a_client_that_is_gone_do_not_hold_up_others() -> None:
    queue = Queue()
    found: list[Any] = []
    for number in range(2):
        batch = TransactionBatch("t", 1, 0, 0, "a.b", "a|b", 3, 1, 12)
        outcome = queue.verification.append(batch, lambda number=number: Appended(number, -1, 0))
        assert isinstance(outcome, Deferred)
        outcome.addErrback(found.append)
        if number:
            outcome.cancel()
    third = queue.send(2)
    queue.answers[0].cancel()
    assert len(found) == 2 and third == [] and len(queue.answers) == 2
    queue.answers[1].callback(None)
    assert third == [Appended(2, -1, 0)]


@pytest.mark.parametrize(
    ("given", "version", "expected"),
    [
        (ErrorCode.TRANSACTION_ABORTABLE, 10, ErrorCode.INVALID_TXN_STATE),
        (ErrorCode.TRANSACTION_ABORTABLE, 11, ErrorCode.TRANSACTION_ABORTABLE),
        (ErrorCode.INVALID_TXN_STATE, 10, ErrorCode.INVALID_TXN_STATE),
        (ErrorCode.PRODUCER_FENCED, 12, ErrorCode.INVALID_PRODUCER_EPOCH),
        (ErrorCode.CONCURRENT_TRANSACTIONS, 11, ErrorCode.NOT_ENOUGH_REPLICAS),
        (ErrorCode.CONCURRENT_TRANSACTIONS, 12, ErrorCode.CONCURRENT_TRANSACTIONS),
        (ErrorCode.NOT_COORDINATOR, 12, ErrorCode.NOT_ENOUGH_REPLICAS),
        (ErrorCode.INVALID_PRODUCER_ID_MAPPING, 12, ErrorCode.INVALID_PRODUCER_ID_MAPPING),
    ],
)
def test_refusal_has_the_code_that_clients_of_the_version_know(
    given: ErrorCode, version: int, expected: ErrorCode
) -> None:
    queue = Queue()
    found = queue.send(0, version=version)
    queue.answers[0].errback(NotVerified(given))
    assert code(found) is expected


@pytest.mark.parametrize("answer", [lambda: succeed(None), lambda: fail(ValueError())])
def test_coordinator_may_answer_at_once(answer: Callable[[], Deferred[None]]) -> None:
    queue = Queue()
    queue.verification = Verification(queue, lambda *_, adds: answer())  # type: ignore[arg-type]
    assert queue.send(0) and queue.send(1)


def test_batch_that_is_accepted_at_once_is_appended_at_once() -> None:
    queue = Queue()
    queue.verification = Verification(queue, lambda *_, adds: succeed(None))  # type: ignore[arg-type]
    assert queue.send(0) == [Appended(0, -1, 0)]
