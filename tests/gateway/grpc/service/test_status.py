"""Errors as statuses."""

from __future__ import annotations

import pytest

from mqgateway.gateway.broker.errors import OperationError, Reason
from mqgateway.gateway.codec.codes import ResponseCode
from mqgateway.gateway.grpc import v2
from mqgateway.gateway.grpc.service.status import (
    OK,
    CallRefused,
    refused_by_proxy,
    status,
    status_of,
    status_of_all,
)
from mqgateway.gateway.remoting.call import RequestError

Code = v2.Code


@pytest.mark.parametrize(
    "error,code,text",
    [
        (CallRefused(Code.ILLEGAL_TOPIC, "no"), Code.ILLEGAL_TOPIC, "no"),
        (
            refused_by_proxy(Code.FORBIDDEN, "no"),
            Code.FORBIDDEN,
            "org.apache.rocketmq.proxy.common.ProxyException: no",
        ),
        (OperationError(Reason.SYSTEM_BUSY, "busy"), Code.TOO_MANY_REQUESTS, "busy"),
        (OperationError(Reason.NO_PERMISSION, "no"), Code.INTERNAL_SERVER_ERROR, "no"),
        (
            OperationError(Reason.SUBSCRIPTION_GROUP_NOT_EXIST, "no"),
            Code.CONSUMER_GROUP_NOT_FOUND,
            "no",
        ),
        (OperationError(Reason.LMQ_QUOTA_EXCEEDED, "no"), Code.LITE_TOPIC_QUOTA_EXCEEDED, "no"),
        (RequestError(ResponseCode.SYSTEM_ERROR, "away"), Code.INTERNAL_SERVER_ERROR, "away"),
        (ValueError("secret"), Code.INTERNAL_SERVER_ERROR, "the request could not be processed"),
    ],
)
def test_status_of_an_error(error: Exception, code: v2.Code, text: str) -> None:
    assert status_of(error) == status(code, text)


def test_a_status_without_a_message_says_its_code() -> None:
    assert status(Code.MULTIPLE_RESULTS).message == "MULTIPLE_RESULTS"


def test_the_status_of_several_results() -> None:
    bad = status(Code.FORBIDDEN, "no")
    assert status_of_all([OK, OK], "") == OK
    assert status_of_all([bad, bad], "").message == "FORBIDDEN"
    assert status_of_all([bad, OK], "").code == Code.MULTIPLE_RESULTS
    assert status_of_all([], "none") == status(Code.INTERNAL_SERVER_ERROR, "none")
