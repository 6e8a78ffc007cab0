"""State of the broker as operations see it: the states of its packages by name, without sockets.

`assembly.py` builds it, `BrokerService` in `service.py` runs its periodic work. It is the first argument of
an operation.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mqgateway.engine.configuration import Configuration
    from mqgateway.engine.delays import DelaySchedule
    from mqgateway.engine.ha.epochs import Epochs
    from mqgateway.engine.ha.role import ReplicationRole
    from mqgateway.engine.store.message_store import MessageStore
    from mqgateway.engine.timers.timers import Timers
    from mqgateway.engine.topic_compaction import TopicCompaction
    from mqgateway.engine.topic_retention import TopicRetention
    from mqgateway.engine.transactions import TransactionLog
    from mqgateway.gateway.access.administration import AccessAdministration
    from mqgateway.gateway.broker.clients.table import ClientTable
    from mqgateway.gateway.broker.cluster.state import ClusterState
    from mqgateway.gateway.broker.consume.state import ConsumeState
    from mqgateway.gateway.broker.coordinated import CoordinatorView
    from mqgateway.gateway.broker.environment import BrokerEnvironment
    from mqgateway.gateway.broker.flow_control import FlowControl
    from mqgateway.gateway.broker.lite.state import LiteState
    from mqgateway.gateway.broker.pop.state import PopState
    from mqgateway.gateway.broker.produce.state import ProduceState
    from mqgateway.gateway.broker.replication.group import (
        Controlled,
        GroupView,
        LogReplication,
        Nodes,
        Peers,
    )
    from mqgateway.gateway.broker.stats import BrokerStats
    from mqgateway.gateway.broker.tables import Tables


@dataclass(eq=False)
class Broker:
    """A broker. `role` is its role among its replicas; `tables` is the state that packages share."""

    environment: BrokerEnvironment
    configuration: Configuration
    role: ReplicationRole
    store: MessageStore
    tables: Tables
    stats: BrokerStats
    flow_control: FlowControl
    clients: ClientTable
    cluster: ClusterState
    produce: ProduceState
    consume: ConsumeState
    pop: PopState
    lite: LiteState
    delays: DelaySchedule
    timers: Timers
    transactions: TransactionLog
    retention: TopicRetention
    compaction: TopicCompaction
    access: AccessAdministration | None = None
    """Users and policies; None without authentication."""
    replication: LogReplication | None = None
    """The broker's replication in its group, once it has joined (`join`); so are the next fields."""
    membership: GroupView | None = None
    """The broker's view of its group's members."""
    controlled: Controlled | None = None
    """The broker as a replica of a controller; None without one."""
    nodes: Nodes | None = None
    """The nodes of the group that clients of a front end see."""
    peers: Peers | None = None
    """The other groups of the cluster that these clients see; None if there are none."""
    epochs: Epochs | None = None
    """The epochs of the log; of a DLedger group's there are none."""
    term: Callable[[], int] | None = None
    """Returns the term of the broker's DLedger group; None outside a group."""
    coordinated: CoordinatorView | None = None
    """Groups and transactions that a front end coordinates; None without one."""
    is_draining: bool = False
    """True while clients are moved to other brokers, and until the stop."""

    def __post_init__(self) -> None:
        self.options = self.environment.options
        self.store_options = self.environment.store_options
        self.clock = self.environment.clock
        self.store_host = self.environment.store_host

    def join(
        self,
        *,
        replication: LogReplication,
        membership: GroupView,
        controlled: Controlled | None,
        nodes: Nodes,
        peers: Peers | None,
        epochs: Epochs,
        term: Callable[[], int] | None,
    ) -> None:
        """Take part in a group of replicas: its parts are made of a broker, so they are added to it."""
        self.replication, self.membership, self.controlled = replication, membership, controlled
        self.nodes, self.peers, self.epochs, self.term = nodes, peers, epochs, term

    def attach(self, view: CoordinatorView) -> None:
        """Show groups and transactions of a front end, which starts once the broker has."""
        self.coordinated = view

    @property
    def is_active(self) -> bool:
        """True if this broker delivers delayed messages. RocketMQ: `isSpecialServiceRunning`."""
        return self.membership is None or self.membership.is_active

    @property
    def leader_epoch(self) -> int:
        """Epoch of the master for clients: the controller's, the term of a DLedger group, or 0."""
        return self.role.state.epoch if self.term is None else self.term()

    @property
    def has_master(self) -> bool:
        """Return True if this is a slave that is connected to its master and does not act for it."""
        replication, membership = self.replication, self.membership
        if membership is not None and membership.group.acts:
            return False
        return replication is not None and replication.follows
