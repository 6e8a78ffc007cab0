"""Makes the parts of a broker out of its options: store, tables, schedule, and the object that holds them.

Nothing is read or written yet: the store is started and the tables are loaded by the service.
Standard: `BrokerController.initialize`.
"""

import os
import random
import socket
from collections.abc import Callable
from typing import NamedTuple

from mqgateway.engine.clock import Clock
from mqgateway.engine.cold_reads import ColdReads
from mqgateway.engine.compaction import Compaction
from mqgateway.engine.configuration import Configuration
from mqgateway.engine.delays import DelayLevels, DelaySchedule
from mqgateway.engine.disk import Disk
from mqgateway.engine.filters import ConsumerFilters
from mqgateway.engine.ha.role import Role
from mqgateway.engine.message import UniqueKeys, pack_host
from mqgateway.engine.options import BrokerOptions, OptionSet, StoreOptions
from mqgateway.engine.slow_consumers import SlowConsumers
from mqgateway.engine.static_topics.mappings import Mappings
from mqgateway.engine.store.message_store import Arrival, MessageStore
from mqgateway.engine.tables.assignment import RequestModes
from mqgateway.engine.tables.broadcasts import BroadcastOffsets
from mqgateway.engine.tables.groups import GroupTable
from mqgateway.engine.tables.offsets import ConsumerOffsets
from mqgateway.engine.tables.topics import PERM_WRITE, TopicTable
from mqgateway.engine.timers.timers import Timers
from mqgateway.engine.transactions import TransactionCounts, TransactionLog
from mqgateway.engine.worker import Worker
from mqgateway.gateway.broker.broker import Broker, WhenRegistered
from mqgateway.gateway.broker.clients.locks import QueueLocks
from mqgateway.gateway.broker.clients.table import ClientTable
from mqgateway.gateway.broker.cluster.broker_directory import BrokerDirectory
from mqgateway.gateway.broker.cluster.route_cache import Ask, RouteCache
from mqgateway.gateway.broker.consume.long_polling import HeldPulls, resume_all
from mqgateway.gateway.broker.flow_control import FlowControl
from mqgateway.gateway.broker.lite.state import LiteState
from mqgateway.gateway.broker.pop.state import PopState
from mqgateway.gateway.broker.produce.durability import Durability
from mqgateway.gateway.broker.replication.write_gate import closed_gate
from mqgateway.gateway.broker.stats import BrokerStats


def build_broker(
    options: BrokerOptions,
    store_options: StoreOptions,
    settings: OptionSet,
    *,
    disk: Disk,
    clock: Clock,
    worker: Worker,
    aside: Worker | None = None,
    port: int,
    ask: Ask,
    register_soon: Callable[[], None],
    when_registered: WhenRegistered,
) -> Broker:
    """A broker that clients reach on `port` and that asks other servers with `ask`.

    Raises `OSError` when the name in `brokerIP1` has no address.
    """
    folder = os.path.join(store_options.store_path_root_dir, "config")
    host = _store_host(options.broker_ip1, port)
    environment = Environment(options, store_options, disk, clock, worker, folder, host)
    held_pulls, locks = HeldPulls(options), QueueLocks(options)
    topics = TopicTable(options, disk, f"{folder}/topics.json", clock, worker)
    role = Role.initial(store_options.broker_role, options.broker_id)
    store = _store(environment, role, topics, aside, lambda arrivals: _wake(held_pulls, pop, lite, arrivals))
    if store_options.enable_compaction:
        store.compaction = _compaction(environment, topics, store, aside or worker)
    topics.has_lmq_topics = store_options.enable_lmq
    filters = ConsumerFilters(options, disk, f"{folder}/consumerFilter.json", clock, worker)
    stats = BrokerStats(options, clock.millis(), topics.is_system)
    groups = GroupTable(options, disk, f"{folder}/subscriptionGroup.json", clock, worker)
    groups.has_lmq_groups = store_options.enable_lmq
    offsets = _offsets(environment)
    unique_keys = UniqueKeys(host[:-4], os.getpid(), random.getrandbits(32), clock.millis())
    levels = DelayLevels(store_options.message_delay_level)
    timers = _timers(environment, store, stats)
    pop = _pop(environment, store, timers, topics, groups, offsets, stats)
    writable_routes = RouteCache(options, topics, ask, PERM_WRITE)
    lite = LiteState(options, store, topics, groups, offsets, disk, clock, writable_routes)
    return Broker(
        options=options,
        store_options=store_options,
        clock=clock,
        role=role,
        store=store,
        topics=topics,
        groups=groups,
        offsets=offsets,
        filters=filters,
        clients=_clients(options, clock, filters, locks, stats),
        locks=locks,
        held_pulls=held_pulls,
        pop=pop,
        lite=lite,
        mappings=Mappings(options, disk, f"{folder}/topicQueueMapping.json", clock, worker),
        broker_directory=BrokerDirectory(options, clock, ask),
        delays=_delays(environment, store, levels, stats),
        delay_levels=levels,
        timers=timers,
        transactions=_transactions(environment, store, topics, offsets, unique_keys, stats),
        durability=Durability(store, options, store_options, clock, role),
        stats=stats,
        flow_control=FlowControl(clock, stats),
        broadcasts=BroadcastOffsets(options, clock),
        cold_reads=ColdReads(options, store_options, clock),
        slow_consumers=SlowConsumers(options),
        request_modes=RequestModes(options, disk, f"{folder}/messageRequestMode.json", worker),
        route_cache=RouteCache(options, topics, ask),
        unique_keys=unique_keys,
        store_host=host,
        configuration=Configuration(settings, disk, clock, options.broker_config_path),
        register_soon=register_soon,
        when_registered=when_registered,
    )


class Environment(NamedTuple):
    """What all parts stand on; `folder` is for their tables."""

    options: BrokerOptions
    store_options: StoreOptions
    disk: Disk
    clock: Clock
    worker: Worker
    folder: str
    store_host: bytes


def _store(
    environment: Environment,
    role: Role,
    topics: TopicTable,
    aside: Worker | None,
    on_arrivals: Callable[[list[Arrival]], None],
) -> MessageStore:
    store = MessageStore(
        environment.store_options,
        disk=environment.disk,
        clock=environment.clock,
        worker=environment.worker,
        store_host=environment.store_host,
        on_arrivals=on_arrivals,
        is_batch_topic=topics.has_batch_queues,
        aside=aside,
    )
    if not role.is_master:
        store.gate = closed_gate(role.state.kind)
    return store


def _compaction(
    environment: Environment, topics: TopicTable, store: MessageStore, worker: Worker
) -> Compaction:
    """What keeps of each key the newest message, for topics that want it so."""
    return Compaction(
        environment.store_options,
        disk=environment.disk,
        clock=environment.clock,
        worker=worker,
        root=environment.store_options.store_path_root_dir,
        source=store,
        topics=topics.compacted,
        is_compacted=topics.is_compacted,
    )


def _offsets(environment: Environment) -> ConsumerOffsets:
    """Where groups are; with light queues in a file of its own."""
    plain = f"{environment.folder}/consumerOffset.json"
    if not environment.store_options.enable_lmq:
        return ConsumerOffsets(
            environment.options, environment.disk, plain, environment.clock, environment.worker
        )
    path = f"{environment.folder}/lmqConsumerOffset.json"
    return ConsumerOffsets(
        environment.options, environment.disk, path, environment.clock, environment.worker, plain_path=plain
    )


def _wake(held_pulls: HeldPulls, pop: PopState, lite: LiteState, arrivals: list[Arrival]) -> None:
    """Let those read who wait for what arrived."""
    resume_all(held_pulls.arrived(arrivals))
    pop.arrived(arrivals)
    lite.arrived(arrivals)


def _clients(
    options: BrokerOptions, clock: Clock, filters: ConsumerFilters, locks: QueueLocks, stats: BrokerStats
) -> ClientTable:
    """Who is connected, and who hears of it when somebody goes or groups disagree."""
    return ClientTable(
        options,
        clock,
        on_group_gone=filters.unregister,
        on_member_lost=locks.orphan,
        on_disagreement=stats.inconsistent,
    )


def _pop(
    environment: Environment,
    store: MessageStore,
    timers: Timers,
    topics: TopicTable,
    groups: GroupTable,
    offsets: ConsumerOffsets,
    stats: BrokerStats,
) -> PopState:
    """What gives messages out one by one."""
    return PopState(
        environment.options,
        store,
        timers,
        topics,
        groups,
        offsets,
        environment.disk,
        f"{environment.folder}/consumerOrderInfo.json",
        environment.clock,
        environment.worker,
        environment.store_host,
        stats,
    )


def _delays(
    environment: Environment, store: MessageStore, levels: DelayLevels, stats: BrokerStats
) -> DelaySchedule:
    """What delivers messages with a delay level."""

    def delivered(topic: str, size: int) -> None:
        if environment.store_options.enable_schedule_message_stats:
            stats.delivered(topic, size)

    return DelaySchedule(
        store,
        levels,
        environment.disk,
        f"{environment.folder}/delayOffset.json",
        environment.clock,
        environment.worker,
        max_per_tick=environment.store_options.max_delayed_per_tick,
        version_step=environment.options.delay_offset_update_version_step,
        file_size=environment.store_options.mapped_file_size_commit_log,
        on_delivered=delivered,
    )


def _timers(environment: Environment, store: MessageStore, stats: BrokerStats) -> Timers:
    """What delivers messages with a timer, each of which counts as put into its topic."""
    return Timers(
        store,
        environment.store_options,
        environment.disk,
        environment.clock,
        environment.worker,
        on_delivered=lambda topic, size: stats.put(topic, 1, size),
    )


def _transactions(
    environment: Environment,
    store: MessageStore,
    topics: TopicTable,
    offsets: ConsumerOffsets,
    unique_keys: UniqueKeys,
    stats: BrokerStats,
) -> TransactionLog:
    """What keeps half messages until their transactions end."""
    counts = TransactionCounts(
        environment.disk, f"{environment.folder}/transactionMetrics", environment.clock, environment.worker
    )
    return TransactionLog(
        store,
        topics,
        offsets,
        counts,
        environment.options,
        environment.store_options,
        environment.clock,
        unique_keys,
        environment.store_host,
        stats,
    )


def _store_host(host: str, port: int) -> bytes:
    """Where messages lie, as records hold it: an address, which a configured name is looked up for."""
    try:
        return pack_host(host, port)
    except OSError:
        return pack_host(socket.gethostbyname(host), port)
