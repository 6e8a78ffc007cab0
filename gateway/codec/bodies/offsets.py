"""Offsets of consumer groups that are set, compared, or reported by clients.

Standard: `ResetOffsetBody`, `ResetOffsetBodyForC`, `GetConsumerStatusBody`, `QueryCorrectionOffsetBody`,
`ConsumerOffsetSerializeWrapper`.
"""

from dataclasses import field
from typing import Any

from mqgateway.gateway.codec.bodies.body import Body, Int, body
from mqgateway.gateway.codec.bodies.message_queue import MessageQueue


@body
class ResetOffsetBody(Body):
    """New offsets by queue."""

    offset_table: dict[MessageQueue, int] = field(default_factory=dict)


@body
class MessageQueueForC(Body):
    """A queue with its new offset."""

    topic: str
    broker_name: str
    queue_id: Int
    offset: int


@body
class ResetOffsetBodyForC(Body):
    """New offsets as a list, which is what clients with language CPP read."""

    offset_table: list[MessageQueueForC] = field(default_factory=list)


@body
class GetConsumerStatusBody(Body):
    """Offsets as clients see them, those of one client or of all by client id."""

    message_queue_table: dict[MessageQueue, int] = field(default_factory=dict)
    consumer_table: dict[str, dict[MessageQueue, int]] = field(default_factory=dict)


@body
class QueryCorrectionOffsetBody(Body):
    """Offsets by queue id."""

    correction_offsets: dict[Int, int] = field(default_factory=dict)


@body
class ConsumerOffsetSerializeWrapper(Body):
    """All offsets of a broker: `topic@group`, then queue id. The data version is plain JSON."""

    offset_table: dict[str, dict[Int, int]] = field(default_factory=dict)
    data_version: dict[str, Any] | None = None
