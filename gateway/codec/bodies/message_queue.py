"""MessageQueue, which is a member of many bodies and a key of some.

Standard: `MessageQueue`, `MessageQueueForC`.
"""

from dataclasses import dataclass

from mqgateway.gateway.codec.bodies.body import Body, Int


@dataclass(frozen=True, slots=True, order=True)
class MessageQueue(Body):
    """One queue of a topic on one broker."""

    topic: str
    broker_name: str
    queue_id: Int
