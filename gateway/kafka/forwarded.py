"""Outcomes of changes that the masters of other broker groups make, in answers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol, TypeVar, cast

from twisted.internet.defer import Deferred, DeferredList, gatherResults
from twisted.python.failure import Failure

from mqgateway.gateway.broker.operations import OperationError, Reason, TopicExists
from mqgateway.gateway.kafka.api import Answer
from mqgateway.gateway.kafka.codec.error_codes import ErrorCode
from mqgateway.gateway.kafka.codec.schema import Message

R = TypeVar("R", bound="Result")


class Result(Protocol):
    """A part of an answer with an error."""

    error_code: int
    error_message: str | None


def explained(outcome: Deferred[None], result: Result) -> Deferred[None]:
    """Return the outcome, which fails with unexpected errors only: its error is in the result.

    A group that does not answer may have made the change all the same, as with a request that timed out.
    """

    def failed(failure: Failure) -> None:
        if not isinstance(failure.value, OperationError):
            result.error_code = ErrorCode.UNKNOWN_SERVER_ERROR
            failure.raiseException()
        result.error_code = _code(failure.value)
        result.error_message = failure.getErrorMessage()

    return outcome.addErrback(failed)


def _code(error: OperationError) -> ErrorCode:
    if isinstance(error, TopicExists):
        return ErrorCode.TOPIC_ALREADY_EXISTS
    is_gone = error.reason is Reason.TOPIC_NOT_EXIST
    return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION if is_gone else ErrorCode.REQUEST_TIMED_OUT


class ForeignChanges:
    """Changes of one request that other groups make. `outcomes` do not fail: errors are in the results."""

    def __init__(self) -> None:
        self.outcomes: list[Deferred[None]] = []
        self._begun: Deferred[None] | None = None

    def begun(self, outcome: Deferred[None]) -> None:
        """Add a change, whose result is noted next."""
        self._begun = outcome

    def noted(self, result: R) -> R:
        """Return a result, which gets the error of the change that was begun before it, if any."""
        if self._begun is not None:
            self.outcomes.append(explained(self._begun, result))
            self._begun = None
        return result


def together(outcomes: Sequence[Deferred[Any]]) -> Deferred[None]:
    """Return the outcome of all of these, which fails with the first error."""

    def failed(failure: Any) -> None:
        raise failure.value.subFailure.value

    return gatherResults(outcomes, consumeErrors=True).addCallbacks(lambda _: None, failed)


def after(outcomes: Sequence[Deferred[None]], answer: Message) -> Answer:
    """Return the answer, but not before all outcomes have come."""
    done = DeferredList(outcomes)  # one that waits for another Deferred counts as called itself
    return answer if done.called else cast("Deferred[Message]", done.addCallback(lambda _: answer))
