"""Assignment of queues: locks for ordered consumption, assignments made by the broker.

RocketMQ: `LockBatchRequestBody`, `LockBatchResponseBody`, `UnlockBatchRequestBody`, `QueryAssignment*Body`,
`SetMessageRequestModeRequestBody`, `MessageRequestModeSerializeWrapper`.
"""

from dataclasses import field

from mqgateway.gateway.codec.bodies.body import Body, Int, body, wired
from mqgateway.gateway.codec.bodies.enums import MessageModel, MessageRequestMode
from mqgateway.gateway.codec.bodies.message_queue import MessageQueue


@body
class LockBatchRequestBody(Body):
    """Queues that a client locks; `only_this_broker` is set between the brokers of a group."""

    consumer_group: str
    client_id: str
    mq_set: set[MessageQueue] = field(default_factory=set)
    only_this_broker: bool = False


@body
class UnlockBatchRequestBody(LockBatchRequestBody):
    """Queues that a client unlocks."""


@body
class LockBatchResponseBody(Body):
    """Queues that the client has locked."""

    lock_ok_mq_set: set[MessageQueue] = field(default_factory=set, metadata=wired("lockOKMQSet"))


@body
class QueryAssignmentRequestBody(Body):
    """A client queries its queues; `strategy_name` is AVG or AVG_BY_CIRCLE."""

    topic: str
    consumer_group: str
    client_id: str
    strategy_name: str | None = None
    message_model: MessageModel | None = None


@body
class MessageQueueAssignment(Body):
    """One queue and the mode of its consumption, PULL or POP."""

    message_queue: MessageQueue
    mode: MessageRequestMode | None = "PULL"
    attachments: dict[str, str] | None = None


@body
class QueryAssignmentResponseBody(Body):
    """The queues of a client; with None it keeps those it has."""

    message_queue_assignments: list[MessageQueueAssignment] | None = None


@body
class SetMessageRequestModeRequestBody(Body):
    """The mode in which a group consumes a topic."""

    topic: str
    consumer_group: str
    mode: MessageRequestMode | None = "PULL"
    pop_share_queue_num: Int = 0


@body
class MessageRequestModeSerializeWrapper(Body):
    """Modes by topic and group."""

    message_request_mode_map: dict[str, dict[str, SetMessageRequestModeRequestBody]] = field(
        default_factory=dict
    )
