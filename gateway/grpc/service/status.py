"""Errors as statuses in answers. RocketMQ: `ResponseBuilder`, `GrpcProxyException`."""

from __future__ import annotations

import logging
from typing import Any

from twisted.python.failure import Failure

from mqgateway.gateway.broker.operations import NotAdmitted, OperationError, Reason
from mqgateway.gateway.grpc import v2
from mqgateway.gateway.remoting.call import RequestError

log = logging.getLogger(__name__)

Code = v2.Code

CODES: dict[Reason, v2.Code] = {
    Reason.SYSTEM_BUSY: Code.TOO_MANY_REQUESTS,
    Reason.TOPIC_NOT_EXIST: Code.TOPIC_NOT_FOUND,
    Reason.SUBSCRIPTION_GROUP_NOT_EXIST: Code.CONSUMER_GROUP_NOT_FOUND,
    Reason.RECEIPT_STALE: Code.INVALID_RECEIPT_HANDLE,
    Reason.PROPERTIES_TOO_LARGE: Code.MESSAGE_PROPERTIES_TOO_LARGE,
    Reason.LMQ_QUOTA_EXCEEDED: Code.LITE_TOPIC_QUOTA_EXCEEDED,
    Reason.LITE_SUBSCRIPTION_QUOTA_EXCEEDED: Code.LITE_SUBSCRIPTION_QUOTA_EXCEEDED,
}
"""Codes of refusals of operations, by reason; other reasons are INTERNAL_SERVER_ERROR."""

_PROXY_EXCEPTION = "org.apache.rocketmq.proxy.common.ProxyException: "
_UNEXPECTED = "the request could not be processed"


class CallRefused(Exception):
    """A request that is answered with another code than OK."""

    def __init__(self, code: v2.Code, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message


def refused_by_proxy(code: v2.Code, message: str) -> CallRefused:
    """Return a refusal whose text RocketMQ's proxy begins with the class of its exception."""
    return CallRefused(code, _PROXY_EXCEPTION + message)


def topic_not_found(topic: str) -> CallRefused:
    """Return the refusal for a topic that no broker has."""
    return CallRefused(
        Code.TOPIC_NOT_FOUND,
        f"CODE: 17  DESC: No topic route info in name server for the topic: {topic}\nFor more information, "
        "please visit the url, https://rocketmq.apache.org/docs/bestPractice/06FAQ",
    )


def status(code: v2.Code, message: str | None = None) -> v2.Status:
    """Return a status; the default message is the name of its code."""
    return v2.Status(code=code, message=Code.Name(code) if message is None else message)


OK = v2.Status(code=Code.OK, message="OK")
"""Success; to be put into answers, which copy it."""


def status_of(error: BaseException) -> v2.Status:
    """Return the status of a failure. An unexpected error is logged, and its text is not sent."""
    if isinstance(error, CallRefused):
        return status(error.code, error.message)
    if isinstance(error, OperationError):
        return status(CODES.get(error.reason, Code.INTERNAL_SERVER_ERROR), error.message)
    if isinstance(error, NotAdmitted):
        return status(Code.UNAUTHORIZED, error.message)
    if isinstance(error, RequestError):
        return status(Code.INTERNAL_SERVER_ERROR, error.remark)
    log.error("a request of a gRPC client failed", exc_info=error)
    return status(Code.INTERNAL_SERVER_ERROR, _UNEXPECTED)


def status_of_failure(failure: Failure) -> v2.Status:
    """Return the status of a failure of a Deferred, as `status_of` does."""
    error = failure.value
    assert error is not None
    return status_of(error)


def status_of_all(statuses: list[v2.Status], nothing: str) -> v2.Status:
    """Return the status of an answer with several results; `nothing` is the message for no results."""
    codes = {one.code for one in statuses}
    if not codes:
        return status(Code.INTERNAL_SERVER_ERROR, nothing)
    return status(codes.pop() if len(codes) == 1 else Code.MULTIPLE_RESULTS)


def refusal(answer: type[Any], error: BaseException) -> Any:
    """Return an answer that has only the status of an error."""
    return answer(status=status_of(error))
