"""Rights on transactional ids."""

from __future__ import annotations

from typing import Final

from mqgateway.gateway.access.operations import AclOperation
from mqgateway.gateway.broker.operations import NotAdmitted, OperationError, Use
from mqgateway.gateway.kafka.call import KafkaCall
from mqgateway.gateway.kafka.codec.error_codes import ErrorCode
from mqgateway.gateway.kafka.rights import on_transactional_id

PRODUCING: Final = AclOperation.WRITE
SHOWING: Final = AclOperation.DESCRIBE


def id_error(call: KafkaCall, transactional_id: str, operation: AclOperation) -> ErrorCode:
    """Return why a request about a transactional id is refused: rights, or the role of the broker."""
    try:
        call.admit(Use.COORDINATE, on_transactional_id(transactional_id, operation))
    except NotAdmitted:
        return ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
    except OperationError:
        return ErrorCode.NOT_COORDINATOR
    return ErrorCode.NONE
