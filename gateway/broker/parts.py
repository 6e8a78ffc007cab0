"""Makes the parts of a broker out of its options: store, tables, schedule, and the object that holds them.

Nothing is read or written yet: the store is started and the tables are loaded by the service.
Standard: `BrokerController.initialize`.
"""

import os
import random
import socket
from collections.abc import Callable

from engine.assignment import RequestModes
from engine.broadcasts import BroadcastOffsets
from engine.clock import Clock
from engine.cold_reads import ColdReads
from engine.configuration import Configuration
from engine.delays import DelayLevels, DelaySchedule
from engine.disk import Disk
from engine.filters import ConsumerFilters
from engine.groups import GroupTable
from engine.laggards import Laggards
from engine.message import UniqueKeys, pack_host
from engine.offsets import ConsumerOffsets
from engine.options import BrokerOptions, OptionSet, StoreOptions
from engine.store.message_store import MessageStore
from engine.timers.timers import Timers
from engine.topics import TopicTable
from engine.transactions import TransactionCounts, TransactionLog
from engine.worker import Worker
from gateway.broker.broker import Broker
from gateway.broker.clients import ClientTable
from gateway.broker.durable import Durability
from gateway.broker.flow_control import FlowControl
from gateway.broker.locks import QueueLocks
from gateway.broker.longpoll import PullHolds, resume_all
from gateway.broker.stats import BrokerStats
from gateway.broker.topic_queues import Ask, TopicQueues


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
) -> Broker:
    """A broker that clients reach on `port` and that asks other servers with `ask`.

    Raises `OSError` when the name in `brokerIP1` has no address.
    """
    store_host = _store_host(options.broker_ip1, port)
    folder = os.path.join(store_options.store_path_root_dir, "config")
    holds, locks = PullHolds(options), QueueLocks(options)
    topics = TopicTable(options, disk, f"{folder}/topics.json", clock, worker)
    store = MessageStore(
        store_options,
        disk=disk,
        clock=clock,
        worker=worker,
        store_host=store_host,
        on_arrivals=lambda arrivals: resume_all(holds.arrived(arrivals)),
        is_batch_topic=topics.has_batch_queues,
        aside=aside,
    )
    filters = ConsumerFilters(options, disk, f"{folder}/consumerFilter.json", clock, worker)
    now = clock.millis()
    stats = BrokerStats(options, now)
    offsets = ConsumerOffsets(options, disk, f"{folder}/consumerOffset.json", clock, worker)
    counts = TransactionCounts(disk, f"{folder}/transactionMetrics", clock, worker)
    unique_keys = UniqueKeys(store_host[:-4], os.getpid(), random.getrandbits(32), now)
    levels = DelayLevels(store_options.message_delay_level)
    delay_path = f"{folder}/delayOffset.json"
    return Broker(
        options=options,
        store_options=store_options,
        clock=clock,
        store=store,
        topics=topics,
        groups=GroupTable(options, disk, f"{folder}/subscriptionGroup.json", clock, worker),
        offsets=offsets,
        filters=filters,
        clients=_clients(options, clock, filters, locks, stats),
        locks=locks,
        holds=holds,
        delays=_delays(options, store_options, store, levels, disk, delay_path, clock, worker),
        delay_levels=levels,
        timers=_timers(store_options, store, disk, clock, worker, stats),
        transactions=TransactionLog(
            store, topics, offsets, counts, options, store_options, clock, unique_keys, store_host
        ),
        durable=Durability(store, options, store_options),
        stats=stats,
        flow_control=FlowControl(clock, stats),
        broadcasts=BroadcastOffsets(options, clock),
        cold_reads=ColdReads(options, store_options, clock),
        laggards=Laggards(options),
        request_modes=RequestModes(options, disk, f"{folder}/messageRequestMode.json", worker),
        topic_queues=TopicQueues(options, topics, ask),
        unique_keys=unique_keys,
        store_host=store_host,
        configuration=Configuration(settings, disk, clock, options.broker_config_path),
        register_soon=register_soon,
    )


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


def _delays(
    options: BrokerOptions,
    store_options: StoreOptions,
    store: MessageStore,
    levels: DelayLevels,
    disk: Disk,
    path: str,
    clock: Clock,
    worker: Worker,
) -> DelaySchedule:
    """What delivers messages with a delay level."""
    return DelaySchedule(
        store,
        levels,
        disk,
        path,
        clock,
        worker,
        max_per_tick=store_options.max_delayed_per_tick,
        version_step=options.delay_offset_update_version_step,
    )


def _timers(
    store_options: StoreOptions,
    store: MessageStore,
    disk: Disk,
    clock: Clock,
    worker: Worker,
    stats: BrokerStats,
) -> Timers:
    """What delivers messages with a timer, each of which counts as put into its topic."""
    return Timers(
        store,
        store_options,
        disk,
        clock,
        worker,
        on_delivered=lambda topic, size: stats.put(topic, 1, size),
    )


def _store_host(host: str, port: int) -> bytes:
    """Where messages lie, as records hold it: an address, which a configured name is looked up for."""
    try:
        return pack_host(host, port)
    except OSError:
        return pack_host(socket.gethostbyname(host), port)
