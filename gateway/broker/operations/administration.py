"""Changes of topics, groups, offsets and settings by an administrator, and the state of the broker.

The state shows no message, so reading it takes no permit.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from twisted.internet.defer import Deferred

from mqgateway.engine.ha.role import RoleState
from mqgateway.engine.options import Option, Setting
from mqgateway.engine.tables.groups import SubscriptionGroupConfig
from mqgateway.engine.tables.topics import TopicConfig
from mqgateway.gateway.broker.admin import broker as settings
from mqgateway.gateway.broker.admin import groups, progress, topics
from mqgateway.gateway.broker.admin.health import Health, broker_health
from mqgateway.gateway.broker.broker import Broker
from mqgateway.gateway.broker.operations.gate import Gate, Permit
from mqgateway.gateway.broker.operations.uses import Use
from mqgateway.gateway.broker.replication.status import ha_status
from mqgateway.gateway.codec.bodies import BrokerData, HARuntimeInfo


class BrokerFigures(NamedTuple):
    """Figures of a broker.

    `messages_in` and `messages_out` count messages of users' topics since the start. The log has the bytes
    from `log_begin` to `log_end`. `consumers` and `producers` count a client once for each of its groups.
    `waiting` counts the pulls and pops that wait for messages.
    """

    messages_in: int
    messages_out: int
    log_begin: int
    log_end: int
    consumers: int
    producers: int
    waiting: int


class SettingState(NamedTuple):
    """A setting: its text (a secret is hidden), the origin of it, a note, and its declaration.

    `why_fixed` is the reason why it cannot be changed by a request, empty if it can.
    """

    name: str
    value: str
    origin: str
    note: str
    option: Option
    why_fixed: str


class BrokerAdministration:
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

    def repeat_topic(self, permit: Permit, config: TopicConfig) -> Deferred[dict[str, str]]:
        """Repeat `put_topic` at the other brokers of the cluster.

        The outcome has the reasons of those that refused it, by name.
        """
        self._gate.enter(permit, Use.ADMINISTER)
        return topics.repeat_update(self._broker, config)

    def delete_topic(self, permit: Permit, name: str) -> None:
        """Delete a topic with its messages and offsets. Raises `OperationError`."""
        self._gate.enter(permit, Use.ADMINISTER)
        topics.delete_topic(self._broker, name)

    def withdraw_topic(self, permit: Permit, name: str) -> Deferred[None]:
        """Remove a topic that was deleted from the name servers; the outcome fires once they have answered.

        RocketMQ: `DeleteTopicSubCommand`, where the tool does it.
        """
        self._gate.enter(permit, Use.ADMINISTER)
        return self._broker.cluster.registration.withdraw(name)

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

    def settings(self) -> list[SettingState]:
        """Return all settings as they are in effect."""
        configuration = self._broker.configuration
        return [
            SettingState(*one, configuration.option(one.name), configuration.why_fixed(one.name))
            for one in configuration.effective()
        ]

    @property
    def role(self) -> RoleState:
        """The broker's role among its replicas."""
        return self._broker.role.state

    @property
    def is_writable_master(self) -> bool:
        """True for a master that is not fenced: a change of its tables lasts."""
        return self._broker.store.gate is None and self._broker.role.is_master

    def health(self) -> Health:
        """Return the checks of the broker, by the name of the part."""
        return broker_health(self._broker, self.name_servers())

    def name_servers(self) -> Mapping[str, bool]:
        """Return the addresses of the name servers, each with True if the broker is registered there."""
        return self._broker.cluster.registration.registered

    def broker_groups(self) -> Deferred[list[BrokerData]]:
        """Return all broker groups of the cluster, as a name server knows them; empty if none answers."""
        return self._broker.cluster.broker_directory.groups()

    def refusals(self) -> Mapping[str, int]:
        """Return how many requests flow control has refused since the start, by cause."""
        return dict(self._broker.flow_control.totals)

    def figures(self) -> BrokerFigures:
        """Return the figures that the broker counts all the time."""
        broker = self._broker
        clients, stats, store = broker.clients, broker.stats, broker.store
        return BrokerFigures(
            stats.put_total,
            stats.get_total,
            store.min_physical_offset,
            store.max_physical_offset,
            sum(len(group.clients) for group in clients.consumer_groups.values()),
            sum(map(len, clients.producer_groups.values())),
            len(broker.consume.held_pulls) + len(broker.pop.parked),
        )

    def runtime_info(self) -> dict[str, str]:
        """Return the figures of the broker by name."""
        return settings.runtime_info(self._broker)

    def replication(self) -> HARuntimeInfo | None:
        """Return the state of the replicas, None for a broker that has joined no group yet."""
        return None if self._broker.replication is None else ha_status(self._broker)
