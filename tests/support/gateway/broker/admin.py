"""What the tests of administration share: a whole broker in memory, and peers that answer."""

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
    """A client that answers what the broker asks it with what it was given to say."""

    def __init__(self, address: str, says: RemotingCommand | Exception) -> None:
        super().__init__(address)
        self.says = says

    def request(self, command: RemotingCommand, timeout: float) -> Deferred[RemotingCommand]:
        """Keep the question and give the answer."""
        self.sent.append(command)
        return fail(self.says) if isinstance(self.says, Exception) else succeed(self.says)


class AdminBroker(MemoryBroker):
    """A broker that answers everything a real one answers."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)

    def json(self, code: int, header: Header | None = None, body: bytes = b"") -> Any:
        """The body of a request that succeeds, read as the standard's JSON."""
        answer = self.ask(code, header, body)
        assert answer.code == 0, answer.remark
        return loads(answer.arrived.body)

    def refusal(self, code: int, header: Header | None = None, body: bytes = b"") -> tuple[int, str | None]:
        """Code and remark of a request that is refused."""
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
        """34 of a client that is in these groups."""
        body = HeartbeatData(
            client_id=client_id or peer.address,
            consumer_data_set=list(consumers),
            producer_data_set=[ProducerData(group) for group in producers],
            **more,
        )
        return self.ask(RequestCode.HEART_BEAT, body=body.encode(), peer=peer)

    def fill(self, topic: str, *counts: int) -> None:
        """So many messages into queue 0, 1, ... of a topic, a second apart."""
        for queue_id, count in enumerate(counts):
            for _ in range(count):
                self.clock.advance(1000)
                assert self.send(topic, queue_id=queue_id).code == 0


def consumer(group: str, *topics: str, **more: Any) -> ConsumerData:
    """A push consumer of a group."""
    usual: dict[str, Any] = {
        "consume_type": "CONSUME_PASSIVELY",
        "message_model": "CLUSTERING",
        "consume_from_where": "CONSUME_FROM_LAST_OFFSET",
        "subscription_data_set": [subscription(topic) for topic in topics],
    }
    return ConsumerData(group_name=group, **usual | more)


def queue(topic: str, queue_id: int) -> tuple[tuple[str, Any], ...]:
    """A message queue as a key of a JSON table, for `keyed`."""
    return (("brokerName", "broker-a"), ("queueId", queue_id), ("topic", topic))


def keyed(table: Any) -> dict[Any, Any]:
    """A table with message queues as keys, as plain dictionaries can be compared."""
    return {tuple(sorted(key.items())): value for key, value in table.items()}
