"""Tables that all packages share, and their loading and writing.

Each has a file of its own, at RocketMQ's path. RocketMQ: `BrokerController.initializeMetadata`.
"""

from __future__ import annotations

from collections.abc import Callable

from mqgateway.engine.filters import ConsumerFilters
from mqgateway.engine.static_topics.mappings import Mappings
from mqgateway.engine.tables.assignment import RequestModes
from mqgateway.engine.tables.client_metrics import ClientMetricsTable
from mqgateway.engine.tables.client_quotas import ClientQuotasTable
from mqgateway.engine.tables.groups import GroupTable
from mqgateway.engine.tables.offsets import ConsumerOffsets
from mqgateway.engine.tables.peer_topics import PeerTopicTable
from mqgateway.engine.tables.topics import TopicTable
from mqgateway.gateway.broker.environment import BrokerEnvironment


class Tables:
    """Topics, groups, consumer offsets, filters and request modes of groups; mappings of static topics.

    Client-metrics resources, quotas of clients and topics of other groups are Kafka's. `log_range` returns
    begin and end of the log.
    """

    def __init__(self, environment: BrokerEnvironment, log_range: Callable[[], tuple[int, int]]) -> None:
        options, disk = environment.options, environment.disk
        clock, worker, path = environment.clock, environment.worker, environment.table_path
        has_lmq = environment.store_options.enable_lmq
        self.topics = TopicTable(options, disk, path("topics.json"), clock, worker, log_range=log_range)
        self.topics.has_lmq_topics = has_lmq
        self.mappings = Mappings(options, disk, path("topicQueueMapping.json"), clock, worker)
        self.groups = GroupTable(options, disk, path("subscriptionGroup.json"), clock, worker)
        self.groups.has_lmq_groups = has_lmq
        self.offsets = _offsets(environment)
        self.filters = ConsumerFilters(options, disk, path("consumerFilter.json"), clock, worker)
        self.request_modes = RequestModes(options, disk, path("messageRequestMode.json"), clock, worker)
        self.client_metrics = ClientMetricsTable(disk, path("kafkaClientMetrics.json"), clock, worker)
        self.client_quotas = ClientQuotasTable(disk, path("kafkaClientQuotas.json"), clock, worker)
        self.peer_topics = PeerTopicTable(disk, path("kafkaPeerTopics.json"), clock, worker)

    def load_topics(self) -> None:
        """Load topics and mappings, before the store: its recovery depends on the topics' types.

        Raises `ConfigError`.
        """
        self.topics.load()
        self.mappings.load()

    def load(self) -> None:
        """Load the other tables. Raises `ConfigError`."""
        for table in (self.groups, self.offsets, self.filters, self.request_modes):
            table.load()
        self.client_metrics.load()
        self.client_quotas.load()
        self.peer_topics.load()

    def forget_deleted(self) -> None:
        """Drop offsets in deleted topics: a process may have ended before that was written."""
        for name in self.topics.ends():
            if name not in self.topics:
                self.offsets.remove_topic(name)

    def retry(self) -> None:
        """Write again the tables whose last write failed; also the filters, written only periodically."""
        for table in (self.topics, self.mappings, self.groups, self.request_modes):
            table.retry()
        self.client_metrics.retry()
        self.client_quotas.retry()
        self.peer_topics.retry()
        self.filters.persist()

    def persist(self) -> None:
        """Write the tables that are written only periodically."""
        self.offsets.persist()
        self.filters.persist()

    def close(self) -> None:
        """Close the tables, once everything is written."""
        for table in (self.topics, self.mappings, self.groups, self.request_modes):
            table.close()
        self.client_metrics.close()
        self.client_quotas.close()
        self.peer_topics.close()


def _offsets(environment: BrokerEnvironment) -> ConsumerOffsets:
    """Return the consumer offsets; with LMQ queues in a file of their own."""
    options, disk = environment.options, environment.disk
    clock, worker, path = environment.clock, environment.worker, environment.table_path
    plain = path("consumerOffset.json")
    if not environment.store_options.enable_lmq:
        return ConsumerOffsets(options, disk, plain, clock, worker)
    return ConsumerOffsets(options, disk, path("lmqConsumerOffset.json"), clock, worker, plain_path=plain)
