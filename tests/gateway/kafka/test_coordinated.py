"""A coordinator in the broker's time."""

from __future__ import annotations

from collections.abc import Iterator

from mqgateway.engine.ha.role import RoleKind
from mqgateway.engine.message import KAFKA_OFFSETS_TOPIC
from mqgateway.gateway.kafka.coordinated import Coordinated
from mqgateway.gateway.kafka.coordinator_partitions import CoordinatorPartitions
from tests.gateway.kafka.test_coordination import become
from tests.support.gateway.kafka.broker import KafkaBroker


class Slow:
    """A coordinator that is loaded after some steps, each of which has to wait."""

    def __init__(self) -> None:
        self.is_loaded = False
        self.calls: list[str] = []

    def load(self) -> Iterator[bool]:
        """See `LoadedCoordinator`."""
        for _ in range(2):
            self.calls.append("step")
            yield True
        self.is_loaded = True

    def unload(self) -> None:
        """See `LoadedCoordinator`."""
        self.is_loaded = False
        self.calls.append("unload")

    def tick(self) -> None:
        """See `LoadedCoordinator`."""
        self.calls.append("tick")


def test_log_is_read_before_the_first_tick_and_again_by_a_new_master() -> None:
    kafka = KafkaBroker()
    slow = Slow()
    partitions = CoordinatorPartitions(kafka.operations, kafka.topics, KAFKA_OFFSETS_TOPIC)
    coordinated = Coordinated(kafka.operations, slow, partitions.coordinates)
    for _ in range(4):
        coordinated.tick()
    assert slow.calls == ["step", "step", "tick"]
    become(kafka, RoleKind.SLAVE)
    coordinated.tick()
    assert slow.calls[3:] == ["unload"]
    become(kafka, RoleKind.MASTER)
    for _ in range(4):
        coordinated.tick()
    assert slow.calls[4:] == ["unload", "step", "step", "tick"]
