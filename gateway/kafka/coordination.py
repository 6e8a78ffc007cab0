"""The coordinator of groups over a broker: its log, the table of offsets it shares, and its time."""

from __future__ import annotations

import uuid

from mqgateway.engine.message import KAFKA_OFFSETS_TOPIC
from mqgateway.engine.options import BrokerOptions
from mqgateway.gateway.broker.operations import Operations
from mqgateway.gateway.kafka.broker_offsets import BrokerOffsets
from mqgateway.gateway.kafka.coordinated import Coordinated
from mqgateway.gateway.kafka.coordinator.coordinator import Coordinator
from mqgateway.gateway.kafka.coordinator.records_log import RecordsLog
from mqgateway.gateway.kafka.coordinator.settings import GroupSettings
from mqgateway.gateway.kafka.coordinator_partitions import CoordinatorPartitions
from mqgateway.gateway.kafka.coordinator_queue import coordinator_log, log_retention
from mqgateway.gateway.kafka.group_settings import StoredSettings
from mqgateway.gateway.kafka.group_topics import GroupTopics
from mqgateway.gateway.kafka.topics import Topics

MINUTE = 60 * 1000


def group_settings(options: BrokerOptions) -> GroupSettings:
    """Return what the broker's settings say of groups."""
    return GroupSettings(
        min_session_timeout=options.kafka_group_min_session_timeout_millis,
        max_session_timeout=options.kafka_group_max_session_timeout_millis,
        initial_rebalance_delay=options.kafka_group_initial_rebalance_delay_millis,
        max_size=options.kafka_group_max_size,
        share_max_size=options.kafka_group_share_max_size,
        offset_metadata_max=options.kafka_offset_metadata_max_bytes,
        offsets_retention=options.kafka_offsets_retention_minutes * MINUTE,
    )


class Coordination:
    """The coordinator of groups of one broker."""

    def __init__(self, operations: Operations, topics: Topics, records: RecordsLog | None = None) -> None:
        self.partitions = CoordinatorPartitions(operations, topics.everywhere, KAFKA_OFFSETS_TOPIC)
        settings = StoredSettings(operations)
        self.coordinator = Coordinator(
            group_settings(operations.options),
            operations.clock,
            coordinator_log(operations, KAFKA_OFFSETS_TOPIC, "groups and offsets")
            if records is None
            else records,
            BrokerOffsets(operations, topics.everywhere),
            GroupTopics(topics.everywhere),
            GroupTopics(topics),
            new_id=lambda: str(uuid.uuid4()),
            retention=log_retention(operations),
            run_steps=lambda steps: operations.runner.run("offsets of Kafka groups", steps),
            consumer_settings=settings.consumer,
            share_settings=settings.share,
        )
        self._coordinated = Coordinated(operations, self.coordinator, self.partitions.coordinates)
        self.tick()

    def tick(self) -> None:
        """Do what is due."""
        self._coordinated.tick()

    def stop(self) -> None:
        """Answer what waits: the broker stops, and nothing is due any more."""
        self.coordinator.stop()
