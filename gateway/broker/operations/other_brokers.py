"""Questions of administration to the other brokers of the cluster, whatever server they run.

Requests are read-only, and signed as the broker's own. Callers name addresses that a name server lists.
"""

from __future__ import annotations

from twisted.internet.defer import Deferred

from mqgateway.gateway.broker.broker import Broker
from mqgateway.gateway.broker.operations.gate import Gate, Permit
from mqgateway.gateway.broker.operations.uses import Use
from mqgateway.gateway.codec.bodies import (
    ConsumeStats,
    HARuntimeInfo,
    TopicConfigAndMappingSerializeWrapper,
    TopicStatsTable,
)


class OtherBrokerOperations:
    """Other brokers, by address.

    Outcomes fail with `RequestError`, and with `BodyError` or `ConfigError` for an answer that is not valid.
    """

    def __init__(self, broker: Broker, gate: Gate) -> None:
        self._broker = broker
        self._gate = gate

    def runtime_info(self, permit: Permit, address: str) -> Deferred[dict[str, str]]:
        """Return the figures of a broker by name."""
        self._gate.enter(permit, Use.QUERY)
        return self._broker.cluster.broker_directory.runtime_info(address)

    def settings(self, permit: Permit, address: str) -> Deferred[dict[str, str]]:
        """Return the settings of a broker by name; brokers hide their secrets."""
        self._gate.enter(permit, Use.QUERY)
        return self._broker.cluster.broker_directory.settings(address)

    def topics(
        self, permit: Permit, address: str, *, has_figures: bool
    ) -> Deferred[TopicConfigAndMappingSerializeWrapper]:
        """Return the topics of a broker, with their figures if `has_figures` and it is not RocketMQ's."""
        self._gate.enter(permit, Use.QUERY)
        return self._broker.cluster.broker_directory.topics(address, has_figures=has_figures)

    def group_lags(self, permit: Permit, address: str) -> Deferred[dict[str, int | None]]:
        """Return the lag of each consumer group of a broker in messages, by name; None if the broker returns
        no lags."""
        self._gate.enter(permit, Use.QUERY)
        return self._broker.cluster.broker_directory.group_lags(address)

    def topic_stats(self, permit: Permit, address: str, topic: str) -> Deferred[TopicStatsTable]:
        """Return the queues of a topic at a broker: ends, and times of last messages."""
        self._gate.enter(permit, Use.QUERY)
        return self._broker.cluster.broker_directory.topic_stats(address, topic)

    def consume_stats(self, permit: Permit, address: str, group: str) -> Deferred[ConsumeStats]:
        """Return the progress of a group in the queues of a broker."""
        self._gate.enter(permit, Use.QUERY)
        return self._broker.cluster.broker_directory.consume_stats(address, group)

    def members(self, permit: Permit, address: str, group: str) -> Deferred[list[str]]:
        """Return the client ids of the members of a group that a broker knows; empty if there are none."""
        self._gate.enter(permit, Use.QUERY)
        return self._broker.cluster.broker_directory.members(address, group)

    def replication(self, permit: Permit, address: str) -> Deferred[HARuntimeInfo]:
        """Return the state of the replicas of a master."""
        self._gate.enter(permit, Use.QUERY)
        return self._broker.cluster.broker_directory.replication(address)
