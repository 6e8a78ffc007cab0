"""Operations over a broker in memory."""

from __future__ import annotations

from typing import Any

from mqgateway.engine.tables.groups import SubscriptionGroupConfig
from mqgateway.gateway.broker.operations import NewMessage, Operations, Permit, Principal, SendOutcome, Use
from tests.support.gateway.broker.helpers import FakePeer, InlineRunner
from tests.support.gateway.broker.pop import PopBroker
from tests.support.gateway.broker.producing import outcome_of

BORN = 1_699_999_999_000


def principal(peer: FakePeer | None = None) -> Principal:
    """A principal whom the front end authenticated."""
    return Principal(FakePeer() if peer is None else peer, None)


class OperatedBroker:
    """A broker that pops, with topic T of one queue and group G, and its operations outside of a turn."""

    def __init__(self, **given: Any) -> None:
        self.memory = PopBroker(**given)
        self.broker = self.memory.broker
        self.memory.add_topic("T", queues=1)
        self.broker.tables.groups.put(SubscriptionGroupConfig("G"))
        self.operations = Operations(self.broker, InlineRunner(self.memory))
        self.client = FakePeer()

    def permit(self, use: Use) -> Permit:
        """A permit of the client."""
        return self.operations.gate.admit(principal(self.client), use)

    def send(self, body: bytes, sys_flag: int = 0, topic: str = "T", **properties: str) -> SendOutcome:
        """Send a message, which is stored at once."""
        named = {"UNIQ_KEY": body.decode(), **properties}
        message = NewMessage(topic, body, BORN, named, sys_flag=sys_flag, producer_group="PG")
        return outcome_of(self.operations.produce.send(self.permit(Use.SEND), message))

    def bodies(self, topic: str) -> list[bytes]:
        """Bodies of the messages in queue 0 of a topic."""
        return [message.body for message in self.memory.stored(topic)]
