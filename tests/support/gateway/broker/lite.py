"""A broker in memory with lite topics, and clients of them like proxies."""

from __future__ import annotations

from typing import Any

from mqgateway.engine.lite.names import lmq_name
from mqgateway.engine.message import StoredMessage
from mqgateway.engine.tables.groups import SubscriptionGroupConfig
from mqgateway.gateway.codec.bodies.lite import LiteSubscription, LiteSubscriptionCtlRequestBody, OffsetOption
from mqgateway.gateway.codec.codes import RequestCode
from mqgateway.gateway.codec.headers import (
    AckMessageRequestHeader,
    ChangeInvisibleTimeRequestHeader,
    PopLiteMessageRequestHeader,
)
from tests.support.gateway.broker.helpers import Answer, FakePeer, MemoryBroker, split_records

PARENT = "chat"
INVISIBLE = 10_000


def queue(lite: str) -> str:
    """Return the LMQ queue of a lite topic of the parent."""
    return lmq_name(PARENT, lite)


class LiteBroker(MemoryBroker):
    """A broker with parent topic `chat` and group G."""

    def __init__(self, *, store_options: dict[str, Any] | None = None, **given: Any) -> None:
        light = {"enable_lmq": True, "enable_multi_dispatch": True}
        super().__init__(store_options=light | (store_options or {}), **given)
        self.add_topic(PARENT, attributes={"message.type": "LITE", "lite.topic.expiration": "20"})
        self.bind("G")

    def bind(self, group: str, topic: str = PARENT, **attributes: str) -> None:
        """Create a group of the parent; attributes without their `lite.sub.`"""
        given = {f"lite.sub.{name.replace('_', '.')}": value for name, value in attributes.items()}
        self.broker.tables.groups.put(
            SubscriptionGroupConfig(group, attributes={"lite.bind.topic": topic} | given)
        )

    def post(self, lite: str, *bodies: bytes) -> None:
        """Send messages of a lite topic."""
        for body in bodies:
            assert self.send(PARENT, body, properties={"__LITE_TOPIC": lite}).code == 0

    def control(
        self,
        action: str,
        *names: str,
        client_id: str = "c1",
        group: str = "G",
        option: tuple[str, int] | None = None,
        peer: FakePeer | None = None,
    ) -> Answer:
        """Send one LITE_SUBSCRIPTION_CTL."""
        change = LiteSubscription(
            action=action,
            client_id=client_id,
            group=group,
            topic=PARENT,
            lite_topic_set=set(names),
            offset_option=None if option is None else OffsetOption(*option),
        )
        body = LiteSubscriptionCtlRequestBody([change]).encode()
        return self.ask(RequestCode.LITE_SUBSCRIPTION_CTL, None, body, peer=peer or self.consumer)

    def ask_pop(self, client_id: str = "c1", **fields: Any) -> Answer:
        """Send one POP_LITE_MESSAGE; it waits only with a `poll_time`."""
        usual: dict[str, Any] = {
            "client_id": client_id,
            "consumer_group": "G",
            "topic": PARENT,
            "max_msg_num": 32,
            "invisible_time": INVISIBLE,
            "poll_time": 0,
            "born_time": self.clock.millis(),
        }
        header = PopLiteMessageRequestHeader(**usual | fields)
        return self.ask(RequestCode.POP_LITE_MESSAGE, header, peer=self.consumer)

    def pop(self, client_id: str = "c1", **fields: Any) -> list[bytes]:
        """Return the bodies of popped messages."""
        answer = self.ask_pop(client_id, **fields)
        return [message.body for message in split_records(answer.arrived.body)]

    def ack(self, answer: Answer, message: StoredMessage, **fields: Any) -> Answer:
        """Send one ACK_MESSAGE of a popped message."""
        header = AckMessageRequestHeader(**self._acked(answer, message) | fields)
        return self.ask(RequestCode.ACK_MESSAGE, header, peer=self.consumer)

    def change(self, answer: Answer, message: StoredMessage, millis: int, **fields: Any) -> Answer:
        """Send one CHANGE_MESSAGE_INVISIBLETIME of a popped message."""
        given = {"invisible_time": millis, "suspend": False}
        header = ChangeInvisibleTimeRequestHeader(**self._acked(answer, message) | given | fields)
        return self.ask(RequestCode.CHANGE_MESSAGE_INVISIBLETIME, header, peer=self.consumer)

    def _acked(self, answer: Answer, message: StoredMessage) -> dict[str, Any]:
        offset = int(message.properties["INNER_MULTI_QUEUE_OFFSET"])
        ext = answer.ext
        receipt = f"0 {ext['popTime']} {ext['invisibleTime']} {ext['reviveQid']} 0 broker-a 0 {offset}"
        return {
            "consumer_group": "G",
            "topic": PARENT,
            "queue_id": 0,
            "extra_info": receipt,
            "offset": offset,
            "lite_topic": message.properties["__LITE_TOPIC"],
        }
