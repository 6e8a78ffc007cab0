"""Outcomes of changes that other groups make."""

from __future__ import annotations

from typing import Any

from twisted.internet.defer import Deferred, succeed

from mqgateway.engine.errors import ConfigError
from mqgateway.gateway.broker.operations import OperationError, Reason, TopicExists
from mqgateway.gateway.kafka.codec.error_codes import ErrorCode
from mqgateway.gateway.kafka.codec.messages.delete_topics_response import (
    DeletableTopicResult,
    DeleteTopicsResponse,
)
from mqgateway.gateway.kafka.forwarded import ForeignChanges, after, explained


def test_error_of_the_other_group_is_in_the_result() -> None:
    for error, code in (
        (OperationError(Reason.SYSTEM_ERROR, "late"), ErrorCode.REQUEST_TIMED_OUT),
        (OperationError(Reason.TOPIC_NOT_EXIST, "gone"), ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        (TopicExists(Reason.INVALID_PARAMETER, "there"), ErrorCode.TOPIC_ALREADY_EXISTS),
    ):
        result = DeletableTopicResult("t")
        outcome: Deferred[None] = Deferred()
        done = explained(outcome, result)
        outcome.errback(error)
        assert done.called and (result.error_code, result.error_message) == (code, str(error))


def test_unexpected_error_is_no_success() -> None:
    result = DeletableTopicResult("t")
    outcome: Deferred[None] = Deferred()
    failures: list[Any] = []
    explained(outcome, result).addErrback(failures.append)
    outcome.errback(ConfigError("isGone is not of type bool"))
    assert result.error_code == ErrorCode.UNKNOWN_SERVER_ERROR and len(failures) == 1


def test_answer_waits_for_an_outcome_that_waits_itself() -> None:
    answer = DeleteTopicsResponse()
    inner: Deferred[None] = Deferred()
    waiting: Any = after([succeed(None).addCallback(lambda _: inner)], answer)
    given: list[Any] = []
    waiting.addCallback(given.append)
    assert given == []
    inner.callback(None)
    assert given == [answer]
    assert after([succeed(None)], answer) is answer and after([], answer) is answer


def test_each_change_has_its_own_result() -> None:
    changes = ForeignChanges()
    first, second = DeletableTopicResult("a"), DeletableTopicResult("b")
    assert changes.noted(first) is first and changes.outcomes == []
    outcome: Deferred[None] = Deferred()
    changes.begun(outcome)
    assert changes.noted(second) is second and len(changes.outcomes) == 1
    outcome.errback(OperationError(Reason.SYSTEM_ERROR, "late"))
    assert (first.error_code, second.error_code) == (0, ErrorCode.REQUEST_TIMED_OUT)
