"""What request functions see of the broker: its parts, by name, and nothing of sockets.

`BrokerService` in `service.py` builds the parts, puts them in here and moves their time; a test
builds the same object on a disk in memory. A request function gets it as its first argument.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from twisted.internet.defer import Deferred

    from mqgateway.engine.clock import Clock
    from mqgateway.engine.cold_reads import ColdReads
    from mqgateway.engine.configuration import Configuration
    from mqgateway.engine.delays import DelayLevels, DelaySchedule
    from mqgateway.engine.filters import ConsumerFilters
    from mqgateway.engine.ha.role import Role
    from mqgateway.engine.message import UniqueKeys
    from mqgateway.engine.options import BrokerOptions, StoreOptions
    from mqgateway.engine.slow_consumers import SlowConsumers
    from mqgateway.engine.static_topics.mappings import Mappings
    from mqgateway.engine.store.message_store import MessageStore
    from mqgateway.engine.tables.assignment import RequestModes
    from mqgateway.engine.tables.broadcasts import BroadcastOffsets
    from mqgateway.engine.tables.groups import GroupTable
    from mqgateway.engine.tables.offsets import ConsumerOffsets
    from mqgateway.engine.tables.topics import TopicTable
    from mqgateway.engine.timers.timers import Timers
    from mqgateway.engine.transactions import TransactionLog
    from mqgateway.gateway.broker.clients.locks import QueueLocks
    from mqgateway.gateway.broker.clients.table import ClientTable
    from mqgateway.gateway.broker.cluster.broker_directory import BrokerDirectory
    from mqgateway.gateway.broker.cluster.route_cache import RouteCache
    from mqgateway.gateway.broker.consume.long_polling import HeldPulls
    from mqgateway.gateway.broker.flow_control import FlowControl
    from mqgateway.gateway.broker.lite.state import LiteState
    from mqgateway.gateway.broker.pop.state import PopState
    from mqgateway.gateway.broker.produce.durability import Durability
    from mqgateway.gateway.broker.replication.group import Member, Replica
    from mqgateway.gateway.broker.stats import BrokerStats


class WhenRegistered(Protocol):
    """Tells name servers what is new; fires once they know, or cannot, or after `within` seconds."""

    def __call__(self, within: float | None = None) -> Deferred[None]: ...


class Broker:
    """The parts of one broker.

    `role` is who it is to its replicas, `store_host` is the broker's own address as records hold it,
    `unique_keys` makes the keys of messages that came without one, `register_soon` asks the registration to
    tell the name servers what has changed, and what `when_registered` gives fires once they have heard it, or
    cannot, or, where it is given seconds, after so many.
    """

    replication: Replica | None = None
    """The broker's part in its group of replicas, once the service has made it."""
    membership: Member | None = None
    """What the broker knows of its group of replicas, once the service has made it."""

    def __init__(
        self,
        *,
        options: BrokerOptions,
        store_options: StoreOptions,
        clock: Clock,
        role: Role,
        store: MessageStore,
        topics: TopicTable,
        groups: GroupTable,
        offsets: ConsumerOffsets,
        filters: ConsumerFilters,
        clients: ClientTable,
        locks: QueueLocks,
        held_pulls: HeldPulls,
        pop: PopState,
        lite: LiteState,
        mappings: Mappings,
        broker_directory: BrokerDirectory,
        delays: DelaySchedule,
        delay_levels: DelayLevels,
        timers: Timers,
        transactions: TransactionLog,
        durability: Durability,
        stats: BrokerStats,
        flow_control: FlowControl,
        broadcasts: BroadcastOffsets,
        cold_reads: ColdReads,
        slow_consumers: SlowConsumers,
        request_modes: RequestModes,
        route_cache: RouteCache,
        unique_keys: UniqueKeys,
        store_host: bytes,
        configuration: Configuration,
        register_soon: Callable[[], None],
        when_registered: WhenRegistered,
    ) -> None:
        self.options = options
        self.store_options = store_options
        self.clock = clock
        self.role = role
        self.store = store
        self.topics = topics
        self.groups = groups
        self.offsets = offsets
        self.filters = filters
        self.clients = clients
        self.locks = locks
        self.held_pulls = held_pulls
        self.pop = pop
        self.lite = lite
        self.mappings = mappings
        self.broker_directory = broker_directory
        self.delays = delays
        self.delay_levels = delay_levels
        self.timers = timers
        self.transactions = transactions
        self.durability = durability
        self.stats = stats
        self.flow_control = flow_control
        self.broadcasts = broadcasts
        self.cold_reads = cold_reads
        self.slow_consumers = slow_consumers
        self.request_modes = request_modes
        self.route_cache = route_cache
        self.unique_keys = unique_keys
        self.store_host = store_host
        self.configuration = configuration
        self.register_soon = register_soon
        self.when_registered = when_registered

    @property
    def is_active(self) -> bool:
        """Whether this broker delivers of its own accord what is delayed. Standard:
        `isSpecialServiceRunning`."""
        return self.membership is None or self.membership.is_active

    @property
    def has_master(self) -> bool:
        """Whether this is a slave that is connected to its master, and does not act for it."""
        replication, membership = self.replication, self.membership
        if membership is not None and membership.group.acts:
            return False
        return replication is not None and replication.follows
