"""A broker in memory that is popped from like by a client: receipts are built from the answer."""

from __future__ import annotations

from typing import Any, NamedTuple

from mqgateway.engine.message import StoredMessage
from mqgateway.gateway.codec.bodies.pop import BatchAck, BatchAckMessageRequestBody, bit_set
from mqgateway.gateway.codec.codes import RequestCode
from mqgateway.gateway.codec.headers import (
    AckMessageRequestHeader,
    ChangeInvisibleTimeRequestHeader,
    NotificationRequestHeader,
    PeekMessageRequestHeader,
    PollingInfoRequestHeader,
    PopMessageRequestHeader,
)
from tests.support.gateway.broker.helpers import Answer, FakePeer, MemoryBroker

INVISIBLE = 10_000
GRACE = 4_000
"""Milliseconds after its time within which a message is visible again."""


class Popped(NamedTuple):
    """A popped message. `topic` is the topic that stores it, `receipt` acknowledges it."""

    topic: str
    queue_id: int
    offset: int
    receipt: str
    stored: StoredMessage

    @property
    def body(self) -> bytes:
        return self.stored.body


class PopBroker(MemoryBroker):
    """A broker with topic T of 4 queues and group G; its random number is `chance`."""

    def __init__(self, **given: Any) -> None:
        given["store_options"] = {"message_index_enable": False} | given.get("store_options", {})
        super().__init__(**given)
        self.given = given
        self.chance = 50
        self.broker.pop.chance = lambda: self.chance
        self.broker.tables.topics.load()
        self.broker.tables.groups.load()
        self.broker.tables.offsets.load()
        self.broker.timers.load()
        self.broker.pop.load()
        if self.broker.tables.topics.get("T") is None:
            self.add_topic("T")

    def ask_pop(self, *, peer: FakePeer | None = None, **fields: Any) -> Answer:
        """Send one POP_MESSAGE; it waits only with a `poll_time`."""
        usual: dict[str, Any] = {
            "consumer_group": "G",
            "topic": "T",
            "queue_id": -1,
            "max_msg_nums": 32,
            "invisible_time": INVISIBLE,
            "poll_time": 0,
            "init_mode": 0,
            "born_time": self.clock.millis(),
        }
        header = PopMessageRequestHeader(**usual | fields)
        return self.ask(RequestCode.POP_MESSAGE, header, peer=peer or self.consumer)

    def pop(self, **fields: Any) -> list[Popped]:
        """Return the popped messages."""
        return self.popped(self.ask_pop(**fields), fields.get("consumer_group", "G"))

    def ack(self, message: Popped, group: str = "G") -> Answer:
        """Send one ACK_MESSAGE."""
        header = AckMessageRequestHeader(
            consumer_group=group,
            topic=message.topic,
            queue_id=message.queue_id,
            extra_info=message.receipt,
            offset=message.offset,
        )
        return self.ask(RequestCode.ACK_MESSAGE, header, peer=self.consumer)

    def batch_ack(self, *messages: Popped, group: str = "G") -> Answer:
        """Send one BATCH_ACK_MESSAGE of messages of one pop of one queue."""
        fields = messages[0].receipt.split(" ")
        start = int(fields[0])
        ack = BatchAck(
            consumer_group=group,
            topic="T",
            retry=fields[4],
            start_offset=start,
            queue_id=messages[0].queue_id,
            revive_queue_id=int(fields[3]),
            pop_time=int(fields[1]),
            invisible_time=int(fields[2]),
            bit_set=bit_set([message.offset - start for message in messages]),
        )
        body = BatchAckMessageRequestBody(broker_name=fields[5], acks=[ack])
        return self.ask(RequestCode.BATCH_ACK_MESSAGE, None, body.encode(), peer=self.consumer)

    def change(self, message: Popped, millis: int, *, suspend: bool = False, group: str = "G") -> Answer:
        """Send one CHANGE_MESSAGE_INVISIBLETIME."""
        header = ChangeInvisibleTimeRequestHeader(
            consumer_group=group,
            topic=message.topic,
            queue_id=message.queue_id,
            extra_info=message.receipt,
            offset=message.offset,
            invisible_time=millis,
            suspend=suspend,
        )
        return self.ask(RequestCode.CHANGE_MESSAGE_INVISIBLETIME, header, peer=self.consumer)

    def popped(self, answer: Answer, group: str = "G") -> list[Popped]:
        """Return the messages of an answer, if there are any."""
        return [] if answer.code == 210 else popped(answer, group)

    def changed(self, message: Popped, millis: int) -> Popped:
        """Return the message with its receipt after a change of its time."""
        return self.with_receipt(message, self.change(message, millis))

    def with_receipt(self, message: Popped, answer: Answer) -> Popped:
        """Return the message with the receipt in the answer to a change."""
        ext = answer.ext
        fields = message.receipt.split(" ")
        fields[:4] = [str(message.offset), ext["popTime"], ext["invisibleTime"], ext["reviveQid"]]
        return message._replace(receipt=" ".join(fields))

    def notify(self, **fields: Any) -> Answer:
        """Send one NOTIFICATION."""
        usual: dict[str, Any] = {
            "consumer_group": "G",
            "topic": "T",
            "queue_id": -1,
            "poll_time": 0,
            "born_time": self.clock.millis(),
        }
        header = NotificationRequestHeader(**usual | fields)
        return self.ask(RequestCode.NOTIFICATION, header, peer=self.consumer)

    def peek(self, **fields: Any) -> Answer:
        """Send one PEEK_MESSAGE."""
        usual: dict[str, Any] = {"consumer_group": "G", "topic": "T", "queue_id": -1, "max_msg_nums": 32}
        return self.ask(
            RequestCode.PEEK_MESSAGE, PeekMessageRequestHeader(**usual | fields), peer=self.consumer
        )

    def waiting(self, queue_id: int = -1) -> int:
        """Return the number of POLLING_INFO."""
        header = PollingInfoRequestHeader(consumer_group="G", topic="T", queue_id=queue_id)
        return int(self.ask(RequestCode.POLLING_INFO, header).ext["pollingNum"])

    def pass_time(self, millis: int, step: int = 500) -> None:
        """Advance the clock in steps, with the periodic work of the service."""
        while millis > 0:
            self.wait(min(step, millis))
            millis -= step

    def persist(self) -> None:
        """Do the work of the service that is due every five seconds."""
        self.broker.pop.persist()
        self.broker.store.tick()

    def restart(self) -> PopBroker:
        """Stop cleanly and start again."""
        self.broker.tables.offsets.persist()
        self.broker.pop.orders.persist()
        self.broker.store.stop()
        self.broker.timers.close()
        return self._again(self.disk)

    def kill(self) -> PopBroker:
        """Restart after the process was killed."""
        return self._again(self.disk.kill())  # type: ignore[attr-defined]

    def crash(self, seed: int) -> PopBroker:
        """Restart after a power cut."""
        return self._again(self.disk.crash(seed))  # type: ignore[attr-defined]

    def _again(self, disk: Any) -> PopBroker:
        again = PopBroker(**{**self.given, "disk": disk, "clock": self.clock})
        again.chance = self.chance
        return again


def popped(answer: Answer, group: str = "G") -> list[Popped]:
    """Return the messages of an answer with their receipts, like `MQClientAPIImpl.processPopResponse`."""
    ext = answer.ext
    starts = {}
    for text in filter(None, ext["startOffsetInfo"].split(";")):
        kind, queue_id, start = text.split(" ")
        starts[kind, int(queue_id)] = start
    found = []
    for stored in answer.messages:
        receipt = stored.properties.get("POP_CK")
        if receipt is None:
            common = [ext["popTime"], ext["invisibleTime"], ext["reviveQid"], "0", "broker-a"]
            start = starts["0", stored.queue_id]
            receipt = " ".join([start, *common, str(stored.queue_id), str(stored.queue_offset)])
        kind = receipt.split(" ")[4]
        topic = {"0": "T", "1": f"%RETRY%{group}_T", "2": f"%RETRY%{group}+T"}[kind]
        found.append(Popped(topic, stored.queue_id, stored.queue_offset, receipt, stored))
    return found
