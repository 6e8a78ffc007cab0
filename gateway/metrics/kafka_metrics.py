"""Metrics of `kafka_exporter`, by its names, of the partitions that this broker leads, for its dashboards.

Served at `/metrics?set=kafka`. Topics and groups have Kafka's names. Groups are those with committed offsets
in such a topic. All are gauges, as there. Zookeeper's are left out, as are sums that a query can compute from
others. Source: the metrics of https://github.com/danielqsj/kafka_exporter.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from mqgateway.engine.steps import in_parts
from mqgateway.engine.tables.attributes import KAFKA_PARTITIONS
from mqgateway.engine.tables.partition_layout import PartitionLayout, parse_layout
from mqgateway.engine.tables.topics import TopicConfig
from mqgateway.gateway.broker.broker import Broker
from mqgateway.gateway.broker.operations import Operations
from mqgateway.gateway.metrics.metric import Metric, MetricKind, Sample, Samples

TOPICS_A_STEP = 16
PAIRS_A_STEP = 8
PARTITION = ("topic", "partition")
OFFSET = ("consumergroup", "topic", "partition")
SUM = ("consumergroup", "topic")
Replicas = tuple[int, int, int]
"""Id of the leader, number of replicas, number of replicas in sync."""
GroupOffset = tuple[str, str, int, int, int]
"""Group, topic, partition, committed offset, lag."""


class KafkaReading:
    """One scrape of a broker. `names` maps names of topics and groups to Kafka's, None if there are none."""

    def __init__(self, broker: Broker, operations: Operations, names: tuple[KafkaName, KafkaName]) -> None:
        self._broker = broker
        self._operations = operations
        self._topic_name, self._group_name = names
        self._offsets: list[GroupOffset] | None = None

    def nodes(self) -> list[tuple[int, str]]:
        """Return the brokers that are online: id and address."""
        replicas = self._operations.replicas
        found = [
            (one.node.id, f"{one.node.host}:{one.node.port}")
            for one in replicas.nodes().nodes
            if one.is_online
        ]
        return found or [(self._own_id, self._broker.options.broker_ip1)]

    def replicas(self) -> Replicas:
        """Return the leader and the replicas of every partition."""
        view = self._operations.replicas.nodes()
        if not view.nodes:
            return self._own_id, 1, 1
        return view.leader, len(view.nodes), sum(one.is_in_sync for one in view.nodes)

    @property
    def _own_id(self) -> int:
        configured = self._broker.options.kafka_node_id
        return configured if configured >= 0 else self._operations.replicas.own_id

    def topics(self) -> Iterator[list[tuple[str, TopicConfig]]]:
        """Yield the topics that Kafka clients see, in chunks."""
        table = self._broker.tables.topics
        for part in in_parts(list(table.all()), TOPICS_A_STEP):
            yield [
                (name, config)
                for config in part
                if not table.is_system(config.topic_name)
                and (name := self._topic_name(config.topic_name)) is not None
            ]

    def partitions(self, value: Callable[[str, int], float]) -> Iterator[list[Sample]]:
        """Yield a value of each partition, which is read by RocketMQ's names of topics."""
        for topics in self.topics():
            for name, config in topics:
                layout, count = self._layout(config), _count(config)
                queues = {index: index for index in range(count)}
                if layout is not None:
                    queues = layout.partitions(self._broker.options.broker_name)
                yield [
                    ((name, str(number)), value(config.topic_name, index))
                    for index, number in queues.items()
                    if index < count
                ]

    def end(self, topic: str, queue_id: int) -> int:
        """Return the offset of the next record."""
        return self._broker.store.max_offset(topic, queue_id)

    def start(self, topic: str, queue_id: int) -> int:
        """Return the offset of the first record."""
        return self._broker.store.min_offset(topic, queue_id)

    def group_offsets(self) -> Iterator[Sequence[GroupOffset]]:
        """Yield what groups have committed, in chunks. Read once a scrape."""
        if self._offsets is not None:
            yield from in_parts(self._offsets, PAIRS_A_STEP)
            return
        found: list[GroupOffset] = []
        topics, groups = self._broker.tables.topics, self._broker.tables.groups
        for part in in_parts(list(self._broker.tables.offsets.pairs()), PAIRS_A_STEP):
            before = len(found)
            for topic, group in part:
                if topic in topics and group in groups and not topics.is_system(topic):
                    found += self._offsets_of(topic, group)
            yield found[before:]
        self._offsets = found

    def _offsets_of(self, topic: str, group: str) -> Iterable[GroupOffset]:
        name, group_name = self._topic_name(topic), self._group_name(group)
        if name is None or group_name is None:
            return
        ends, layout = (
            self._broker.store.max_offsets(topic),
            self._layout(self._broker.tables.topics.get(topic)),
        )
        own = self._broker.options.broker_name
        first = None if layout is None else layout.first_partitions(own)
        for key, committed in self._broker.tables.offsets.queues_of(group, topic).items():
            number = queue_id = key
            if layout is not None and first is not None:
                if key not in first or layout.places[first[key]].group != own:
                    continue  # another group has its end
                number, queue_id = first[key], layout.places[first[key]].queue_id
            yield group_name, name, number, committed, max(0, ends.get(queue_id, 0) - committed)

    def _layout(self, config: TopicConfig | None) -> PartitionLayout | None:
        """Return the layout of a topic that several broker groups have, None for another topic."""
        if config is None or self._broker.peers is None:
            return None
        return parse_layout(config.attributes.get(KAFKA_PARTITIONS, ""))

    def members(self) -> Iterator[list[Sample]]:
        """Yield the groups with committed offsets and their numbers of members, of either protocol."""
        groups = sorted({group for _, group in self._broker.tables.offsets.pairs()})
        for part in in_parts(groups, PAIRS_A_STEP):
            yield [
                ((name,), self._members(group))
                for group in part
                if group in self._broker.tables.groups and (name := self._group_name(group)) is not None
            ]

    def _members(self, group: str) -> int:
        coordinated = self._operations.coordinated.group(group)
        if coordinated is not None:
            return len(coordinated.members)
        clients = self._broker.clients.consumer_group(group)
        return 0 if clients is None else len(clients.clients)


KafkaName = Callable[[str], str | None]
"""Function that returns Kafka's name of a topic or group, None if it has none."""


def _count(config: TopicConfig) -> int:
    return max(config.read_queue_nums, config.write_queue_nums)


def _gauge(
    name: str, meaning: str, read: Callable[[KafkaReading], Samples], *labels: str
) -> Metric[KafkaReading]:
    return Metric(name=name, kind=MetricKind.GAUGE, meaning=meaning, read=read, labels=labels)


def _of_replicas(value: Callable[[Replicas], float]) -> Callable[[KafkaReading], Samples]:
    """Return a reader of a value that is equal for all partitions."""

    def read(reading: KafkaReading) -> Samples:
        one = value(reading.replicas())
        return reading.partitions(lambda topic, index: one)

    return read


def _of_offsets(value: Callable[[GroupOffset], float]) -> Callable[[KafkaReading], Samples]:
    """Return a reader of a value of each group and partition."""

    def read(reading: KafkaReading) -> Samples:
        for part in reading.group_offsets():
            yield [((one[0], one[1], str(one[2])), value(one)) for one in part]

    return read


def _sums(value: Callable[[GroupOffset], int]) -> Callable[[KafkaReading], Samples]:
    """Return a reader of a sum over the partitions of each group and topic."""

    def read(reading: KafkaReading) -> Samples:
        totals: dict[tuple[str, str], int] = {}
        for part in reading.group_offsets():
            for one in part:
                totals[one[:2]] = totals.get(one[:2], 0) + value(one)
            yield None
        for chunk in in_parts(list(totals.items()), TOPICS_A_STEP):
            yield [*chunk]

    return read


def _partition_counts(reading: KafkaReading) -> Samples:
    for topics in reading.topics():
        yield [((name,), _count(config)) for name, config in topics]


KAFKA_METRICS: tuple[Metric[KafkaReading], ...] = (
    _gauge("kafka_brokers", "Number of brokers.", lambda reading: [((), len(reading.nodes()))]),
    _gauge(
        "kafka_broker_info",
        "Always 1. The labels are a broker's id and address.",
        lambda reading: [((str(number), address), 1) for number, address in reading.nodes()],
        "id",
        "address",
    ),
    _gauge("kafka_topic_partitions", "Number of partitions.", _partition_counts, "topic"),
    _gauge(
        "kafka_topic_partition_current_offset",
        "Offset of the next record.",
        lambda reading: reading.partitions(reading.end),
        *PARTITION,
    ),
    _gauge(
        "kafka_topic_partition_oldest_offset",
        "Offset of the first record.",
        lambda reading: reading.partitions(reading.start),
        *PARTITION,
    ),
    _gauge("kafka_topic_partition_leader", "Id of the leader.", _of_replicas(lambda one: one[0]), *PARTITION),
    _gauge(
        "kafka_topic_partition_leader_is_preferred",
        "Always 1: the master leads all partitions.",
        _of_replicas(lambda one: 1),
        *PARTITION,
    ),
    _gauge(
        "kafka_topic_partition_replicas", "Number of replicas.", _of_replicas(lambda one: one[1]), *PARTITION
    ),
    _gauge(
        "kafka_topic_partition_in_sync_replica",
        "Number of replicas in sync.",
        _of_replicas(lambda one: one[2]),
        *PARTITION,
    ),
    _gauge(
        "kafka_topic_partition_under_replicated_partition",
        "1 if a replica is not in sync, else 0.",
        _of_replicas(lambda one: int(one[2] < one[1])),
        *PARTITION,
    ),
    _gauge(
        "kafka_consumergroup_members",
        "Number of connected members of a group with committed offsets.",
        lambda reading: reading.members(),
        "consumergroup",
    ),
    _gauge(
        "kafka_consumergroup_current_offset", "Committed offset.", _of_offsets(lambda one: one[3]), *OFFSET
    ),
    _gauge(
        "kafka_consumergroup_lag",
        "Records after the committed offset.",
        _of_offsets(lambda one: one[4]),
        *OFFSET,
    ),
    _gauge(
        "kafka_consumergroup_current_offset_sum",
        "Sum of the committed offsets in a topic.",
        _sums(lambda one: one[3]),
        *SUM,
    ),
    _gauge(
        "kafka_consumergroup_lag_sum",
        "Sum of the lag in a topic.",
        _sums(lambda one: one[4]),
        *SUM,
    ),
)
