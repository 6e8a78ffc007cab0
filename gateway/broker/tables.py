"""The tables that all rooms share, and when they are read and written.

Each has a file of its own, where the standard has it. Standard: `BrokerController.initializeMetadata`.
"""

from __future__ import annotations

from mqgateway.engine.filters import ConsumerFilters
from mqgateway.engine.static_topics.mappings import Mappings
from mqgateway.engine.tables.assignment import RequestModes
from mqgateway.engine.tables.groups import GroupTable
from mqgateway.engine.tables.offsets import ConsumerOffsets
from mqgateway.engine.tables.topics import TopicTable
from mqgateway.gateway.broker.environment import Environment


class Tables:
    """Topics, groups, where groups are, their filters and how they read; pieces of static topics."""

    def __init__(self, environment: Environment) -> None:
        options, disk = environment.options, environment.disk
        clock, worker, path = environment.clock, environment.worker, environment.table_path
        has_lmq = environment.store_options.enable_lmq
        self.topics = TopicTable(options, disk, path("topics.json"), clock, worker)
        self.topics.has_lmq_topics = has_lmq
        self.mappings = Mappings(options, disk, path("topicQueueMapping.json"), clock, worker)
        self.groups = GroupTable(options, disk, path("subscriptionGroup.json"), clock, worker)
        self.groups.has_lmq_groups = has_lmq
        self.offsets = _offsets(environment)
        self.filters = ConsumerFilters(options, disk, path("consumerFilter.json"), clock, worker)
        self.request_modes = RequestModes(options, disk, path("messageRequestMode.json"), clock, worker)

    def load_topics(self) -> None:
        """Before the store: how queues are rebuilt depends on the kind of the topic. Raises `ConfigError`."""
        self.topics.load()
        self.mappings.load()

    def load(self) -> None:
        """The others. Raises `ConfigError`."""
        for table in (self.groups, self.offsets, self.filters, self.request_modes):
            table.load()

    def forget_deleted(self) -> None:
        """Forget offsets in topics that are deleted: a process may have ended before that was written."""
        for name in self.topics.ends():
            if name not in self.topics:
                self.offsets.remove_topic(name)

    def retry(self) -> None:
        """Write again what could not be written; and filters, which are written now and then only."""
        for table in (self.topics, self.mappings, self.groups, self.request_modes):
            table.retry()
        self.filters.persist()

    def persist(self) -> None:
        """Write what is written now and then only."""
        self.offsets.persist()
        self.filters.persist()

    def close(self) -> None:
        """Once everything is written."""
        for table in (self.topics, self.mappings, self.groups, self.request_modes):
            table.close()


def _offsets(environment: Environment) -> ConsumerOffsets:
    """Where groups are; with light queues in a file of its own."""
    options, disk = environment.options, environment.disk
    clock, worker, path = environment.clock, environment.worker, environment.table_path
    plain = path("consumerOffset.json")
    if not environment.store_options.enable_lmq:
        return ConsumerOffsets(options, disk, plain, clock, worker)
    return ConsumerOffsets(options, disk, path("lmqConsumerOffset.json"), clock, worker, plain_path=plain)
