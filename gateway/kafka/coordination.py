"""The coordinator of groups over a broker: its log, the table of offsets it shares, and its time."""

from __future__ import annotations

import uuid

from mqgateway.engine.message import KAFKA_OFFSETS_TOPIC
from mqgateway.engine.options import BrokerOptions
from mqgateway.gateway.broker.operations import Operations, Use
from mqgateway.gateway.kafka.broker_offsets import BrokerOffsets
from mqgateway.gateway.kafka.coordinator.coordinator import Coordinator
from mqgateway.gateway.kafka.coordinator.group import GroupState
from mqgateway.gateway.kafka.coordinator.records_log import RecordsLog
from mqgateway.gateway.kafka.coordinator.settings import GroupSettings
from mqgateway.gateway.kafka.coordinator_queue import CoordinatorQueue
from mqgateway.gateway.kafka.coordinator_topic import CoordinatorTopic
from mqgateway.gateway.kafka.group_names import kafka_group
from mqgateway.gateway.kafka.topics import Topics

LOAD_SECONDS = 0.04
"""Time that a tick spends on reading groups from the log."""
MINUTE = 60 * 1000
HOUR = 60 * MINUTE


def group_settings(options: BrokerOptions) -> GroupSettings:
    """Return what the broker's settings say of groups."""
    return GroupSettings(
        min_session_timeout=options.kafka_group_min_session_timeout_millis,
        max_session_timeout=options.kafka_group_max_session_timeout_millis,
        initial_rebalance_delay=options.kafka_group_initial_rebalance_delay_millis,
        max_size=options.kafka_group_max_size,
        offset_metadata_max=options.kafka_offset_metadata_max_bytes,
        offsets_retention=options.kafka_offsets_retention_minutes * MINUTE,
    )


def _groups_log(operations: Operations) -> RecordsLog:
    queue = CoordinatorQueue(operations, KAFKA_OFFSETS_TOPIC)
    return CoordinatorTopic(queue, operations.clock.millis, "groups and offsets")


class Coordination:
    """A coordinator, which reads its log at once and, what takes longer, at the first ticks.

    A slave coordinates nothing, and reads the log once it is master.
    """

    def __init__(self, operations: Operations, topics: Topics, records: RecordsLog | None = None) -> None:
        self._gate = operations.gate
        self._clock = operations.clock
        self._options = operations.store_options
        self.coordinator = Coordinator(
            group_settings(operations.options),
            operations.clock,
            _groups_log(operations) if records is None else records,
            BrokerOffsets(operations, topics),
            new_id=lambda: str(uuid.uuid4()),
            retention=lambda: self._options.file_reserved_time * HOUR,
            run_steps=lambda steps: operations.runner.run("offsets of Kafka groups", steps),
        )
        self._loading = self.coordinator.load()
        operations.clients.reserve_groups(self._has_members)
        operations.gate.on_role_change(self._start_again)
        self.tick()

    def _start_again(self) -> None:
        """Forget the groups, and read them again if this broker coordinates them."""
        self.coordinator.unload()
        self._loading = self.coordinator.load()

    def tick(self) -> None:
        """Do what is due."""
        if self.coordinator.is_loaded:
            self.coordinator.tick()
            return
        if not self._gate.allows(Use.SEND):
            return
        end = self._clock.monotonic() + LOAD_SECONDS
        for has_to_wait in self._loading:
            if has_to_wait or self._clock.monotonic() >= end:
                break

    def _has_members(self, name: str) -> bool:
        """Return True if a group, by RocketMQ's name, has members that speak Kafka's protocol."""
        group_id = kafka_group(name)
        group = None if group_id is None else self.coordinator.groups.get(group_id)
        return group is not None and group.state is not GroupState.EMPTY
