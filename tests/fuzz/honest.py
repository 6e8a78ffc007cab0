"""A well-behaved client that knows the correct answers to its requests."""

from __future__ import annotations

from mqgateway.engine.lenient_json import loads
from mqgateway.engine.message import StoredMessage
from mqgateway.engine.store.message_store import GetStatus
from mqgateway.gateway.codec import headers
from mqgateway.gateway.codec.bodies import ConsumerData, HeartbeatData, ProducerData
from mqgateway.gateway.codec.codes import RequestCode, ResponseCode
from mqgateway.gateway.codec.command import RemotingCommand
from tests.fuzz.sizes import check_sizes
from tests.fuzz.world import BROKER_PORT, NAMESRV_PORT, World
from tests.support.gateway.broker.helpers import pull_header, send_header, split_records, subscription
from tests.support.topics import topic_header

TOPIC = "Honest"
GROUP = "HonestGroup"
LATER = "HonestAfterwards"
"""A second topic, to see that topics can still be made."""


def check(world: World, honest: HonestClient) -> None:
    """Assert what holds after every attack: the honest client is served, no table exceeds its limit."""
    world.settle()
    check_sizes(world)
    honest.check()
    check_sizes(world)


class HonestClient:
    """A client that sends, pulls and requests routes on connections of its own."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.sent: list[bytes] = []
        self.connect()
        self.make_topic(TOPIC)

    def connect(self) -> None:
        """Connect to both services, as a client does again when a connection is lost."""
        self.namesrv = self.world.meet(NAMESRV_PORT, "192.168.1.1")
        self.producer = self.world.meet(BROKER_PORT, "192.168.1.1")
        self.consumer = self.world.meet(BROKER_PORT, "192.168.1.1")

    def make_topic(self, topic: str) -> None:
        """Create the topic, as an administrator does beforehand."""
        header = topic_header(topic)
        answer = self.producer.ask(RequestCode.UPDATE_AND_CREATE_TOPIC, header)
        assert answer.code == 0, answer.remark

    def check(self) -> None:
        """Assert that all requests work: heartbeat, route, send, pull, and a long poll."""
        self.heart_beat()
        self.check_route()
        self.send()
        self.check_pull()
        self.check_waiting_pull()

    def check_administration(self) -> None:
        """Assert that administrators can read the tables and create a topic."""
        for code in (
            RequestCode.GET_ALL_TOPIC_CONFIG,
            RequestCode.GET_ALL_SUBSCRIPTIONGROUP_CONFIG,
            RequestCode.GET_ALL_CONSUMER_OFFSET,
            RequestCode.GET_BROKER_RUNTIME_INFO,
            RequestCode.GET_ALL_PRODUCER_INFO,
        ):
            assert loads(self._good(self.producer.ask(code)).body)
        for code in (RequestCode.GET_BROKER_CLUSTER_INFO, RequestCode.GET_ALL_TOPIC_LIST_FROM_NAMESERVER):
            assert loads(self._good(self.namesrv.ask(code)).body)
        members = headers.GetConsumerConnectionListRequestHeader(consumer_group=GROUP)
        assert loads(self._good(self.producer.ask(RequestCode.GET_CONSUMER_CONNECTION_LIST, members)).body)
        progress = headers.GetConsumeStatsRequestHeader(consumer_group=GROUP, topic=TOPIC)
        assert loads(self._good(self.producer.ask(RequestCode.GET_CONSUME_STATS, progress)).body)
        self.make_topic(LATER)
        self.world.settle(1.0)
        self.check_route(LATER)

    def heart_beat(self) -> None:
        """Send the heartbeats of the producer and of the consumer."""
        consumer = ConsumerData(
            GROUP,
            "CONSUME_PASSIVELY",
            "CLUSTERING",
            "CONSUME_FROM_FIRST_OFFSET",
            [subscription(TOPIC, version=self.world.clock.millis())],
        )
        for speaker, body in (
            (self.producer, HeartbeatData("honest@1", [ProducerData("HonestProducers")])),
            (self.consumer, HeartbeatData("honest@2", [], [consumer])),
        ):
            self._good(speaker.ask(RequestCode.HEART_BEAT, body=body.encode()))

    def check_route(self, topic: str = TOPIC) -> None:
        """Assert that the route of a topic names the broker."""
        header = headers.GetRouteInfoRequestHeader(topic=topic)
        route = loads(self._good(self.namesrv.ask(RequestCode.GET_ROUTEINFO_BY_TOPIC, header)).body)
        ours = [one for one in route["brokerDatas"] if one["brokerName"] == "broker-a"]
        assert [one["brokerAddrs"]["0"] for one in ours] == [f"10.0.0.1:{BROKER_PORT}"]
        assert "broker-a" in [one["brokerName"] for one in route["queueDatas"]]

    def send(self) -> None:
        """Send a message, which must get the offset after the last."""
        body = f"message {len(self.sent)}".encode()
        answer = self._good(self.producer.ask(RequestCode.SEND_MESSAGE_V2, send_header(TOPIC), body))
        assert answer.ext_fields["queueOffset"] == str(len(self.sent))
        self.sent.append(body)

    def check_pull(self) -> None:
        """Assert that the last messages arrive as they were sent."""
        start = max(0, len(self.sent) - 32)
        assert [message.body for message in self.pull(start)] == self.sent[start:]

    def check_everything_sent(self) -> None:
        """Assert that all messages arrive as they were sent."""
        found: list[bytes] = []
        while len(found) < len(self.sent):
            found += [message.body for message in self.pull(len(found))]
        assert found == self.sent

    def check_everything_sent_before(self) -> None:
        """Assert that all messages arrive on new connections, which send their heartbeats first."""
        self.heart_beat()
        self.check_everything_sent()

    def pull(self, offset: int) -> list[StoredMessage]:
        """Return the messages from an offset on."""
        header = pull_header(TOPIC, offset=offset, group=GROUP)
        return split_records(self._good(self.consumer.ask(RequestCode.PULL_MESSAGE, header)).body)

    def check_waiting_pull(self) -> None:
        """Assert that the next message answers a parked pull."""
        header = pull_header(TOPIC, offset=len(self.sent), group=GROUP, sys_flag=2)
        opaque = self.consumer.send(RequestCode.PULL_MESSAGE, header)
        self.world.settle()
        early = [command.code for command in self.consumer.take() if command.opaque == opaque]
        assert early in ([], [ResponseCode.PULL_NOT_FOUND]), early  # at once where no more may wait
        self.send()
        if not early:
            (answer,) = (c for c in self.consumer.take() if c.is_response and c.opaque == opaque)
            (message,) = split_records(self._good(answer).body)
            assert message.body == self.sent[-1]
            assert answer.remark == GetStatus.FOUND.name

    def _good(self, answer: RemotingCommand) -> RemotingCommand:
        assert answer.code == 0, f"{answer.code} {answer.remark}"
        return answer
