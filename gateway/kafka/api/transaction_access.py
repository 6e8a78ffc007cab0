"""Rights on transactional ids.

RocketMQ's policies know no such ids. They are groups there: a producer needs `Pub` on the group of the name
of its id, and an administrator `Get`.
"""

from __future__ import annotations

from mqgateway.gateway.access.policies import Action
from mqgateway.gateway.broker.operations import NotAdmitted, OperationError, Use
from mqgateway.gateway.kafka.call import KafkaCall
from mqgateway.gateway.kafka.codec.error_codes import ErrorCode
from mqgateway.gateway.kafka.group_names import store_group
from mqgateway.gateway.kafka.rights import on_group

PRODUCING = (Action.PUB,)
SHOWING = (Action.GET, Action.PUB)
"""One of them allows a client to know of an id."""


def id_error(call: KafkaCall, transactional_id: str, actions: tuple[Action, ...]) -> ErrorCode:
    """Return why a request about a transactional id is refused: rights, or the role of the broker."""
    try:
        call.admit(Use.SEND, on_group(store_group(transactional_id), *actions))
    except NotAdmitted:
        return ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
    except OperationError:
        return ErrorCode.NOT_COORDINATOR
    return ErrorCode.NONE
