"""Errors of the broker as Kafka's codes."""

from __future__ import annotations

import pytest
from twisted.internet.defer import CancelledError

from mqgateway.engine.errors import StoreError
from mqgateway.gateway.broker.operations import NotAdmitted, OperationError, Reason
from mqgateway.gateway.kafka.codec.error_codes import ErrorCode
from mqgateway.gateway.kafka.errors import error_code

DENIED = ErrorCode.TOPIC_AUTHORIZATION_FAILED


@pytest.mark.parametrize(
    "error, code",
    [
        (NotAdmitted("no"), DENIED),
        (OperationError(Reason.TOPIC_NOT_EXIST, "no"), ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        (OperationError(Reason.NOT_LEADER_FOR_QUEUE, "no"), ErrorCode.NOT_LEADER_OR_FOLLOWER),
        (OperationError(Reason.SYSTEM_BUSY, "no"), ErrorCode.REQUEST_TIMED_OUT),
        (OperationError(Reason.SYSTEM_ERROR, "no"), ErrorCode.UNKNOWN_SERVER_ERROR),
        (StoreError("full"), ErrorCode.KAFKA_STORAGE_ERROR),
    ],
)
def test_an_error_has_the_code_that_clients_know(error: Exception, code: ErrorCode) -> None:
    assert error_code(error, DENIED) is code


def test_cancelled_request_is_not_logged(caplog: pytest.LogCaptureFixture) -> None:
    assert error_code(CancelledError(), DENIED) is ErrorCode.NETWORK_EXCEPTION
    assert not caplog.records


def test_a_fault_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    assert error_code(RuntimeError("broken"), DENIED) is ErrorCode.UNKNOWN_SERVER_ERROR
    assert "broken" in caplog.text
