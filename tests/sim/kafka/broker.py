"""A broker with Kafka's protocol, alone or as a member of a set under a controller."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from mqgateway.engine.meters import FrontEndMeter
from mqgateway.engine.options import BrokerOptions
from mqgateway.gateway.broker.operations import Use
from mqgateway.gateway.front_end import FrontEndEnvironment
from mqgateway.gateway.kafka.creation import new_topic
from mqgateway.gateway.kafka.front_end import KAFKA
from mqgateway.gateway.kafka.topics import store_name
from tests.sim.machines import Broker, SlowWorker

PORT = 9092


class KafkaBroker(Broker):
    """See `Broker`. Without controllers it is the only broker, and always the master."""

    def begin(self, worker: SlowWorker) -> None:
        super().begin(worker)
        self.started.addCallback(self._listen)

    def _listen(self, _: None) -> None:
        self.front_end: Any = KAFKA.start(
            FrontEndEnvironment(
                operations=self.service.operations,
                server=self.service.server,
                reactor=self.process,  # type: ignore[arg-type]
                clock=self.process,  # type: ignore[arg-type]
                host="",
                port=PORT,
                advertised=self.address,
                meter=FrontEndMeter(has_latency=False),
            )
        )

    def options(self) -> BrokerOptions:
        return replace(super().options(), enable_controller_mode=bool(self.cluster.controllers))

    @property
    def in_sync(self) -> set[int]:
        return super().in_sync if self.cluster.controllers else {self.role.broker_id}

    def make_topic(self, name: str, partitions: int, **configs: str) -> None:
        """Make a topic as a Kafka client does; settings are named with underscores."""
        operations = self.service.operations
        settings = {key.replace("_", "."): value for key, value in configs.items()}
        permit = operations.gate.internal(Use.ADMINISTER)
        operations.administration.put_topic(permit, new_topic(name, partitions, settings))

    def has_topic(self, name: str) -> bool:
        """Return True if the broker has the topic."""
        return self.service.operations.topics.get(store_name(name)) is not None
