"""Values of one scrape, read from the tables of a broker. Of this package, only `lag` and `health` also read
these.

A value that several metrics show is computed once a scrape. Times that are compared with store times are
wall time in ms.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice

from mqgateway.engine.disk import Disk
from mqgateway.engine.message import DLQ_PREFIX, RETRY_PREFIX, TIMER_TOPIC
from mqgateway.engine.meters import Labels, MessageSizes, Meters
from mqgateway.engine.names import is_system_group
from mqgateway.engine.pop.names import REVIVE_GROUP
from mqgateway.engine.steps import columns_in_parts, in_parts
from mqgateway.engine.store.saved_log import DeletedObjects
from mqgateway.gateway.broker.admin.broker import runtime_info
from mqgateway.gateway.broker.broker import Broker
from mqgateway.gateway.broker.clients.members import CONSUME_ACTIVELY, ConsumerGroup, GroupClient
from mqgateway.gateway.broker.stats import GROUP_GET_NUMS, GROUP_GET_SIZE, Count
from mqgateway.gateway.codec.codes import version_name
from mqgateway.gateway.metrics.lag import GroupLag, GroupProgress, StoreTimes, progress, shown
from mqgateway.gateway.metrics.metric import Sample

WITHIN = (5, 60, 300, 900, 3600, 14400, 28800, 86400)
"""Bounds, in seconds, by which pending timers are counted. RocketMQ: `TimerMetrics.timerDist`."""
SLOTS_A_STEP = 2048
SERIES_A_STEP = 64
GROUPS_A_STEP = 8
_CONSUME_MODES = {CONSUME_ACTIVELY: "pull", "CONSUME_POP": "pop"}


def kind_of(topic: str) -> str:
    """Return the prefix of a retry topic or DLQ topic; "" for any other."""
    if topic.startswith(RETRY_PREFIX):
        return RETRY_PREFIX
    return DLQ_PREFIX if topic.startswith(DLQ_PREFIX) else ""


def _version(client: GroupClient) -> str:
    return client.release or version_name(client.version).lower()


class BrokerReading:
    """One scrape of a broker. `meters` are the values that are counted while requests are served.

    `times` are kept from one scrape to the next.
    """

    def __init__(self, broker: Broker, meters: Meters, disk: Disk, times: StoreTimes) -> None:
        self._broker = broker
        self._disk = disk
        self._times = times
        self._now = broker.clock.millis()
        self._progress: list[GroupProgress] | None = None
        self._runtime: dict[str, str] | None = None
        self._topics: dict[str, list[tuple[str, int]]] | None = None
        self._systems: dict[str, str] = {}
        self.meters = meters

    # Identity and role.

    @property
    def cluster(self) -> str:
        """The cluster's name."""
        return self._broker.options.broker_cluster_name

    @property
    def name(self) -> str:
        """The broker's name."""
        return self._broker.options.broker_name

    @property
    def host(self) -> str:
        """The address under which clients reach the broker."""
        return self._broker.options.broker_ip1

    @property
    def permission(self) -> int:
        """Permission bits: 6 to read and write, 4 to read, 2 to write."""
        return self._broker.options.broker_permission

    @property
    def topic_count(self) -> int:
        """Number of topics, including system topics."""
        return len(self._broker.tables.topics)

    @property
    def group_count(self) -> int:
        """Number of consumer groups, including system groups."""
        return len(self._broker.tables.groups)

    @property
    def role(self) -> str:
        """Replication role: `engine.ha.role`."""
        return self._broker.role.state.kind.value

    @property
    def epoch(self) -> int:
        """Epoch of the role."""
        return self._broker.role.state.epoch

    def is_system(self, topic: str, group: str = "") -> str:
        """Return the label value "true" if topic or group belongs to the system, else "false"."""
        if group and is_system_group(group):
            return "true"
        known = self._systems.get(topic)
        if known is None:
            known = self._systems[topic] = "true" if self._broker.tables.topics.is_system(topic) else "false"
        return known

    def is_system_group(self, group: str) -> str:
        """Return the label value "true" if the group belongs to the system, else "false"."""
        return "true" if is_system_group(group) else "false"

    def topics(self, prefix: str) -> Iterator[Sequence[tuple[str, int]]]:
        """Yield chunks of topics with a prefix (see `kind_of`), each with the number of messages ever put
        into its queues."""
        if self._topics is not None:
            yield from in_parts(self._topics[prefix], SERIES_A_STEP)
            return
        ever_put = self._broker.store.admin.ever_put
        found: dict[str, list[tuple[str, int]]] = {"": [], RETRY_PREFIX: [], DLQ_PREFIX: []}
        for part in in_parts(list(self._broker.tables.topics.all()), SERIES_A_STEP):
            before = len(found[prefix])
            for config in part:
                name = config.topic_name
                found[kind_of(name)].append((name, ever_put(name, config.write_queue_nums)))
            yield found[prefix][before:]
        self._topics = found

    def runtime(self) -> dict[str, str]:
        """Return the figures of request 28 (GET_BROKER_RUNTIME_INFO), read once a scrape."""
        if self._runtime is None:
            self._runtime = runtime_info(self._broker)
        return self._runtime

    # Traffic.

    def incoming(self) -> Iterator[tuple[Sequence[Labels | None], Sequence[MessageSizes]]]:
        """Yield the incoming messages by topic and message type, in chunks; an empty chunk yields to the
        event loop."""
        self._broker.stats.settle()
        for labels, part in columns_in_parts(self.meters.incoming, SERIES_A_STEP):
            for one in part:
                while one.sizes:
                    one.settle()
                    if one.sizes:
                        yield (), ()
            yield labels, part
        if self.meters.incoming_overflow.messages:
            yield (None,), (self.meters.incoming_overflow,)

    def counts(self, name: str) -> Iterator[tuple[list[str], list[Count]]]:
        """Yield the keys and counts of the statistics of a name, in chunks."""
        return columns_in_parts(self._broker.stats.table(name), SERIES_A_STEP)

    def messages_out(self) -> Iterator[list[Sample]]:
        """Yield delivered messages by group, topic and retry flag (set only for popped messages, else "")."""
        return self._given(GROUP_GET_NUMS, self.meters.messages_popped.table)

    def throughput_out(self) -> Iterator[list[Sample]]:
        """Yield the bytes of delivered messages, by the labels of `messages_out`."""
        return self._given(GROUP_GET_SIZE, self.meters.throughput_popped.table)

    def _given(self, name: str, popped: dict[tuple[str, ...], int]) -> Iterator[list[Sample]]:
        for keys, counts in self.counts(name):
            found: list[Sample] = []
            for key, count in zip(keys, counts, strict=True):
                topic, _, group = key.rpartition("@")
                by_pops = popped.get((topic, group), 0) if popped else 0
                if by_pops:
                    found.append((shown(topic, group), by_pops))
                if count.value > by_pops:
                    found.append(((group, topic, ""), count.value - by_pops))
            yield found

    def flow_control(self) -> dict[str, int]:
        """Return the number of requests refused by flow control, by cause."""
        return dict(self._broker.flow_control.totals)

    def discarded(self) -> dict[str, int]:
        """Return the number of messages and pops discarded because their topic was deleted, by topic."""
        return dict(self._broker.tables.topics.left_out)

    @property
    def expired_messages(self) -> int:
        """Number of messages deleted by the retention of their topics."""
        return self._broker.retention.deleted

    @property
    def compactions(self) -> int:
        """Number of compactions of queues of topics that Kafka made."""
        return self._broker.compaction.compacted

    @property
    def failed_compactions(self) -> int:
        """Number of such compactions that failed."""
        return self._broker.compaction.failed

    # Progress of groups.

    def progress(self) -> Iterator[Sequence[GroupProgress]]:
        """Yield the progress of all groups in all their topics, in chunks. Read once a scrape."""
        if self._progress is not None:
            yield from in_parts(self._progress, SERIES_A_STEP)
            return
        found: list[GroupProgress] = []
        every = progress(self._broker, self._times, self._now)
        while part := list(islice(every, GROUPS_A_STEP)):
            known = [one for one in part if one is not None]
            found += known
            yield known
        self._progress = found
        self._times.end_scrape()

    def lags(self) -> Iterator[list[GroupLag]]:
        """Yield the lags that RocketMQ's metrics show, in chunks."""
        for part in self.progress():
            yield [one.lag for one in part if one.lag is not None]

    # Connected clients.

    def producers(self) -> dict[tuple[str, str, str], int]:
        """Return the number of producers by language, version and protocol.

        A client counts once for each of its groups.
        """
        found: dict[tuple[str, str, str], int] = {}
        for clients in list(self._broker.clients.producer_groups.values()):
            for client in clients.values():
                key = client.language.lower(), _version(client), client.protocol
                found[key] = found.get(key, 0) + 1
        return found

    def producer_groups(self) -> list[tuple[str, int]]:
        """Return the producer groups, each with its number of clients."""
        return [(group, len(clients)) for group, clients in self._broker.clients.producer_groups.items()]

    def consumer_groups(self) -> list[ConsumerGroup]:
        """Return the consumer groups that have a connected client."""
        return list(self._broker.clients.consumer_groups.values())

    def consumer_group(self, group: str) -> ConsumerGroup | None:
        """Return the group, None if no client of it is connected."""
        return self._broker.clients.consumer_group(group)

    def consumers(self) -> Iterator[tuple[tuple[str, str, str, str, str], int]]:
        """Yield the number of consumers by group, language, version, consume mode and protocol."""
        for group in self.consumer_groups():
            mode = _CONSUME_MODES.get(group.consume_type, "push")
            found: dict[tuple[str, str, str, str, str], int] = {}
            for client in group.clients.values():
                key = group.name, client.language.lower(), _version(client), mode, client.protocol
                found[key] = found.get(key, 0) + 1
            yield from found.items()

    @property
    def inconsistent_groups(self) -> int:
        """Number of groups whose members have different subscriptions."""
        return len(self._broker.clients.inconsistent_groups)

    def held(self) -> dict[str, int]:
        """Return the number of parked requests by kind."""
        broker = self._broker
        return {
            "pull": len(broker.consume.held_pulls),
            "pop": len(broker.pop.parked),
            "notification": len(broker.pop.parked_notifications),
            "lite_pop": len(broker.lite.parked),
        }

    # The store.

    @property
    def capacity(self) -> tuple[int, int]:
        """Total and free bytes of the store's file system."""
        return self._disk.capacity(self._broker.store_options.store_path_root_dir)

    @property
    def usable(self) -> tuple[int, int]:
        """Total and free bytes of the store's file system without those reserved for root, as `df` counts."""
        return self._disk.usage(self._broker.store_options.store_path_root_dir)

    @property
    def used_bytes(self) -> int:
        """Used bytes of the store's file system, by any program."""
        size, free = self.capacity
        return size - free

    @property
    def saved_behind(self) -> tuple[int, float] | None:
        """Bytes of the log that are not saved to an object store, and the age in seconds of the oldest
        message in them; None if the log is not to be saved.
        """
        store = self._broker.store
        saved = store.admin.saved
        if not saved.is_on:
            return None
        return saved.behind_bytes(store.max_physical_offset), saved.behind_millis(self._now) / 1000

    @property
    def deleted_objects(self) -> DeletedObjects | None:
        """Objects that the process which saves the log has deleted from the object store; None if the log is
        not to be saved.
        """
        saved = self._broker.store.admin.saved
        return saved.deleted if saved.is_on else None

    @property
    def log_bytes(self) -> int:
        """Bytes of the log, from its first to its end."""
        store = self._broker.store
        return store.max_physical_offset - store.min_physical_offset

    @property
    def flush_behind(self) -> int:
        """Bytes of the log that are not flushed."""
        return self._broker.store.max_physical_offset - self._broker.store.flushed_offset

    @property
    def dispatch_behind(self) -> int:
        """Bytes of the log that are not dispatched to queues."""
        return self._broker.store.admin.dispatch_behind_bytes

    @property
    def reserve_time(self) -> int | None:
        """Age of the oldest message, in ms; None if there is none."""
        earliest = self._broker.store.earliest_store_time()
        return None if earliest < 0 else self._now - earliest

    @property
    def is_writable(self) -> bool:
        """True if the store accepts messages."""
        return self._broker.store.is_writable

    def slaves(self) -> list[tuple[str, int]]:
        """Return the addresses of the slaves, each with its lag in bytes of the log."""
        replication = self._broker.replication
        if replication is None:
            return []
        found = replication.runtime_info().ha_connection_info or ()
        return [(slave.addr or "", max(0, slave.diff)) for slave in found]

    # Timers.

    @property
    def has_timers(self) -> bool:
        """True if timer messages are enabled."""
        return self._broker.timers.is_enabled

    @property
    def timers_behind(self) -> tuple[int, int]:
        """Number of messages of the timer topic that are not in the wheel, and age of the oldest in ms."""
        enqueue, store = self._broker.timers.enqueue, self._broker.store
        behind = enqueue.behind
        stored = store.store_time(TIMER_TOPIC, 0, enqueue.queue_offset) if behind else -1
        return behind, 0 if stored < 0 else max(0, self._now - stored)

    @property
    def timers_waiting(self) -> int:
        """Number of timers in the wheel."""
        return self._broker.timers.pending

    @property
    def timers_late(self) -> int:
        """Time since the next slot to deliver was due, in ms."""
        return max(0, self._broker.store.steady.now() - self._broker.timers.dequeue.read_time)

    def timers_by_topic(self) -> dict[str, int]:
        """Return the number of pending timers by topic."""
        counts, topics = self._broker.timers.metrics.counts(), self._broker.tables.topics
        return {topic: max(0, count) for topic, count in counts.items() if count > 0 or topic in topics}

    def timers_within(self) -> Iterator[tuple[int, int] | None]:
        """Yield each bound of `WITHIN` with the number of timers due between the previous bound and it.

        None in between yields to the event loop. Nothing if there is no timer wheel.
        """
        wheel, now = self._broker.timers.wheel, self._broker.store.steady.now()
        if not self.has_timers or wheel.file is None:
            return
        if not self.timers_waiting:  # saves reading a day of slots
            yield from ((seconds, 0) for seconds in WITHIN)
            return
        begin = wheel.floor(now)
        for seconds in WITHIN:
            end, total = wheel.floor(now + seconds * 1000), 0
            while begin < end:
                part = min(end, begin + SLOTS_A_STEP * wheel.precision)
                total += sum(slot.total for slot in wheel.used(begin, part))
                begin = part
                yield None
            yield seconds, total

    # Transactions and pops.

    def half_messages(self) -> dict[str, int]:
        """Return the number of open transactions by topic."""
        return self._broker.transactions.counts.table

    def revive_lags(self) -> Iterator[tuple[int, int, int]]:
        """Yield each revive queue with the number of its unprocessed messages and the age of the first, in
        ms."""
        broker = self._broker
        topic = broker.pop.log.topic
        for queue_id in range(broker.options.revive_queue_num):
            done = broker.tables.offsets.query(REVIVE_GROUP, topic, queue_id)
            behind = max(0, broker.store.max_offset(topic, queue_id) - 1 - done)
            first = broker.store.store_time(topic, queue_id, done + 1) if behind else -1
            yield queue_id, behind, 0 if first < 0 else max(0, self._now - first)
