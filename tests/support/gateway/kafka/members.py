"""A broker set under a controller in memory, whose members have Kafka's port."""

from __future__ import annotations

from typing import Any

from mqgateway.engine.meters import FrontEndMeter
from mqgateway.gateway.broker.operations import Use
from mqgateway.gateway.front_end import FrontEndEnvironment
from mqgateway.gateway.kafka.codec.messages.metadata_request import MetadataRequest, MetadataRequestTopic
from mqgateway.gateway.kafka.creation import new_topic
from mqgateway.gateway.kafka.front_end import KAFKA
from tests.support.gateway.broker.controlled import BrokerSet, Replica
from tests.support.gateway.kafka.client import KafkaClient

FIRST_PORT = 9091


class _Loop:
    """The time of a set, as clients have it. `settle` lets a tenth of a second pass at least."""

    def __init__(self, brokers: BrokerSet) -> None:
        self.net = brokers.net
        self._brokers = brokers

    def settle(self, seconds: float) -> None:
        """Let time pass."""
        self._brokers.net.settle(max(seconds, 0.1))


class KafkaSet(BrokerSet):
    """Member n has Kafka's port 9091 + n."""

    def join(self, number: int, **settings: Any) -> Replica:
        """Add a broker, and have it listen for Kafka's clients."""
        replica = super().join(number, **settings)
        self.listen(replica, number)
        self.wait(3)
        return replica

    def listen(self, replica: Replica, number: int) -> None:
        """Start Kafka's port of a member."""
        environment: Any = FrontEndEnvironment(
            operations=replica.service.operations,
            server=replica.service.server,
            reactor=replica.host,  # type: ignore[arg-type]
            clock=self.clock,
            host="",
            port=FIRST_PORT + number,
            advertised=f"broker-{number}",
            meter=FrontEndMeter(has_latency=False),
        )
        KAFKA.start(environment)

    def client(self, number: int) -> KafkaClient:
        """Return a client of a member."""
        return KafkaClient(_Loop(self), FIRST_PORT + number)

    def make_topic(self, master: Replica, name: str) -> None:
        """Make a topic of one partition as a Kafka client does; all members have it afterwards."""
        operations = master.service.operations
        permit = operations.gate.internal(Use.ADMINISTER)
        operations.administration.put_topic(permit, new_topic(name, 1, {}))
        self.wait(15)

    def metadata(self, number: int, topic: str) -> Any:
        """Return what a member answers of a topic."""
        return self.client(number).ask(MetadataRequest(topics=[MetadataRequestTopic(name=topic)]))
