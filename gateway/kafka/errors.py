"""Errors of the broker as Kafka's error codes. Standard: `Errors`."""

from __future__ import annotations

import logging

from twisted.internet.defer import CancelledError

from mqgateway.engine.errors import StoreError
from mqgateway.gateway.broker.operations import NotAdmitted, OperationError, Reason
from mqgateway.gateway.kafka.codec.error_codes import ErrorCode

log = logging.getLogger(__name__)

_CODES = {
    Reason.TOPIC_NOT_EXIST: ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    Reason.MESSAGE_ILLEGAL: ErrorCode.INVALID_RECORD,
    Reason.PROPERTIES_TOO_LARGE: ErrorCode.INVALID_RECORD,
    Reason.NO_PERMISSION: ErrorCode.POLICY_VIOLATION,
    Reason.SERVICE_NOT_AVAILABLE: ErrorCode.KAFKA_STORAGE_ERROR,
    Reason.SYSTEM_BUSY: ErrorCode.REQUEST_TIMED_OUT,
    Reason.SLAVE_NOT_AVAILABLE: ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND,
    Reason.NOT_LEADER_FOR_QUEUE: ErrorCode.NOT_LEADER_OR_FOLLOWER,
    Reason.INVALID_PARAMETER: ErrorCode.INVALID_REQUEST,
    Reason.ILLEGAL_OPERATION: ErrorCode.INVALID_REQUEST,
}
"""Codes of reasons; any other reason is an unknown error of the server."""


def error_code(error: BaseException, denied: ErrorCode) -> ErrorCode:
    """Return the code of an error; `denied` is the one for a request that is not allowed.

    An error that is not one of the broker's operations is a fault, and is logged. A request that was
    cancelled is none: its client is gone.
    """
    if isinstance(error, NotAdmitted):
        return denied
    if isinstance(error, OperationError):
        return _CODES.get(error.reason, ErrorCode.UNKNOWN_SERVER_ERROR)
    if isinstance(error, StoreError):
        return ErrorCode.KAFKA_STORAGE_ERROR
    if isinstance(error, CancelledError):
        return ErrorCode.NETWORK_EXCEPTION
    log.error("a request of a Kafka client failed", exc_info=error)
    return ErrorCode.UNKNOWN_SERVER_ERROR
