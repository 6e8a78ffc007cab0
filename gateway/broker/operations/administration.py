"""Changes of topics, groups, offsets and settings by an administrator."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from twisted.internet.defer import Deferred

from mqgateway.engine.options import Setting
from mqgateway.engine.tables.groups import SubscriptionGroupConfig
from mqgateway.engine.tables.topics import TopicConfig
from mqgateway.gateway.broker.admin import broker as settings
from mqgateway.gateway.broker.admin import groups, progress, topics
from mqgateway.gateway.broker.broker import Broker
from mqgateway.gateway.broker.operations.gate import Gate, Permit, Use
from mqgateway.gateway.broker.replication.status import ha_status
from mqgateway.gateway.codec.bodies import HARuntimeInfo


class Administration:
    """Administration of one broker."""

    def __init__(self, broker: Broker, gate: Gate) -> None:
        self._broker = broker
        self._gate = gate

    def put_topic(self, permit: Permit, config: TopicConfig) -> Deferred[None]:
        """Create or change a topic; keys of its attributes are changes, `+name` or `-name`.

        The outcome fires once the name servers know the topic. Raises `OperationError`.
        """
        self._gate.enter(permit, Use.ADMINISTER)
        return topics.update_topic(self._broker, config)

    def delete_topic(self, permit: Permit, name: str) -> None:
        """Delete a topic with its messages and offsets. Raises `OperationError`."""
        self._gate.enter(permit, Use.ADMINISTER)
        topics.delete_topic(self._broker, name)

    def put_group(self, permit: Permit, config: SubscriptionGroupConfig) -> None:
        """Create or change a group; attributes are changes, as of topics. Raises `OperationError`."""
        self._gate.enter(permit, Use.ADMINISTER)
        groups.update_group(self._broker, config)

    def delete_group(self, permit: Permit, name: str, *, with_offsets: bool = False) -> None:
        """Delete a group. Raises `OperationError`."""
        self._gate.enter(permit, Use.ADMINISTER)
        groups.delete_group(self._broker, name, with_offsets=with_offsets)

    def restart_targets(self, permit: Permit, restart: progress.Restart) -> dict[int, int]:
        """Return the offsets, by queue, that a restart of a group leads to. Raises `OperationError`."""
        self._gate.enter(permit, Use.QUERY, Use.ADMINISTER)
        return progress.restart_targets(self._broker, restart)

    def set_offsets(self, permit: Permit, group: str, topic: str, targets: Mapping[int, int]) -> None:
        """Restart a group at these offsets, by queue: with its next pull, or when it connects again."""
        self._gate.enter(permit, Use.ADMINISTER)
        progress.set_offsets(self._broker, group, topic, targets)

    def forget_offsets(self, permit: Permit, group: str, topic: str) -> None:
        """Remove the offsets of a group in a topic."""
        self._gate.enter(permit, Use.ADMINISTER)
        self._broker.tables.offsets.remove(group, topic)

    def change_settings(self, permit: Permit, changes: Sequence[Setting]) -> str:
        """Change settings, all or none, and return a note for the administrator. Raises `OperationError`."""
        self._gate.enter(permit, Use.CONFIGURE)
        return settings.update_settings(self._broker, changes, permit.now)

    def runtime_info(self) -> dict[str, str]:
        """Return the figures of the broker by name."""
        return settings.runtime_info(self._broker)

    def replication(self) -> HARuntimeInfo | None:
        """Return the state of the replicas, None for a broker that has joined no group yet."""
        return None if self._broker.replication is None else ha_status(self._broker)
