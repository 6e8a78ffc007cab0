"""Fixtures of administration tests: a whole broker in memory, and peers that answer."""

from __future__ import annotations

from typing import Any

from twisted.internet.defer import Deferred, fail, succeed

from mqgateway.engine.lenient_json import loads
from mqgateway.gateway.codec.bodies import ConsumerData, HeartbeatData, ProducerData
from mqgateway.gateway.codec.codes import RequestCode
from mqgateway.gateway.codec.command import RemotingCommand
from mqgateway.gateway.codec.fields import Header
from tests.support.gateway.broker.helpers import Answer, FakePeer, MemoryBroker, subscription


class AnsweringPeer(FakePeer):
    """A client that answers each request of the broker with a given command or error."""

    def __init__(self, address: str, says: RemotingCommand | Exception) -> None:
        super().__init__(address)
        self.says = says

    def request(self, command: RemotingCommand, timeout: float) -> Deferred[RemotingCommand]:
        """Record the request and return the answer."""
        self.sent.append(command)
        return fail(self.says) if isinstance(self.says, Exception) else succeed(self.says)


class AdminBroker(MemoryBroker):
    """A broker that serves all requests of a real one."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)

    def json(self, code: int, header: Header | None = None, body: bytes = b"") -> Any:
        """Return the body of a successful request, decoded from RocketMQ's JSON."""
        answer = self.ask(code, header, body)
        assert answer.code == 0, answer.remark
        return loads(answer.arrived.body)

    def refusal(self, code: int, header: Header | None = None, body: bytes = b"") -> tuple[int, str | None]:
        """Return code and remark of a refused request."""
        answer = self.ask(code, header, body)
        assert answer.code != 0
        return answer.code, answer.remark

    def heart_beat(
        self,
        peer: FakePeer,
        *consumers: ConsumerData,
        producers: tuple[str, ...] = (),
        client_id: str = "",
        **more: Any,
    ) -> Answer:
        """34: heartbeat of a client in these groups."""
        body = HeartbeatData(
            client_id=client_id or peer.address,
            consumer_data_set=list(consumers),
            producer_data_set=[ProducerData(group) for group in producers],
            **more,
        )
        return self.ask(RequestCode.HEART_BEAT, body=body.encode(), peer=peer)

    def fill(self, topic: str, *counts: int) -> None:
        """Send so many messages to queue 0, 1, ... of a topic, a second apart."""
        for queue_id, count in enumerate(counts):
            for _ in range(count):
                self.clock.advance(1000)
                assert self.send(topic, queue_id=queue_id).code == 0


def consumer(group: str, *topics: str, **more: Any) -> ConsumerData:
    """Return the data of a push consumer of a group."""
    usual: dict[str, Any] = {
        "consume_type": "CONSUME_PASSIVELY",
        "message_model": "CLUSTERING",
        "consume_from_where": "CONSUME_FROM_LAST_OFFSET",
        "subscription_data_set": [subscription(topic) for topic in topics],
    }
    return ConsumerData(group_name=group, **usual | more)


def queue(topic: str, queue_id: int) -> tuple[tuple[str, Any], ...]:
    """Return a message queue as a key of a JSON table, for `keyed`."""
    return (("brokerName", "broker-a"), ("queueId", queue_id), ("topic", topic))


def keyed(table: Any) -> dict[Any, Any]:
    """Return a table with message queues as comparable keys."""
    return {tuple(sorted(key.items())): value for key, value in table.items()}
