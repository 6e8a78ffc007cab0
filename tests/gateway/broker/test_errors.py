"""Errors of refused operations."""

from mqgateway.gateway.broker.errors import OperationError, Reason


def test_error_has_reason_and_message() -> None:
    error = OperationError(Reason.TOPIC_NOT_EXIST, "topic[t] not exist")
    assert (error.reason, error.message, str(error)) == (
        Reason.TOPIC_NOT_EXIST,
        "topic[t] not exist",
        "topic[t] not exist",
    )
