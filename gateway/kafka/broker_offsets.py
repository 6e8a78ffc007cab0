"""The broker's table of offsets, which RocketMQ's clients and tools use, by Kafka's names."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator

from mqgateway.engine.names import is_system_group
from mqgateway.gateway.broker.operations import OperationError, Operations, Use
from mqgateway.gateway.kafka.codec.error_codes import ErrorCode
from mqgateway.gateway.kafka.coordinator.records import OffsetKey
from mqgateway.gateway.kafka.coordinator.records_log import NotWritten
from mqgateway.gateway.kafka.group_names import kafka_group, store_group
from mqgateway.gateway.kafka.topics import Topic, Topics, kafka_name, store_name

log = logging.getLogger(__name__)


class BrokerOffsets:
    """See `coordinator.shared_offsets.SharedOffsets`."""

    def __init__(self, operations: Operations, topics: Topics) -> None:
        self._operations = operations
        self._topics = topics

    def get(self, key: OffsetKey) -> int | None:
        """See `SharedOffsets`."""
        number = self._number(key.topic, key.partition)
        return self._operations.offsets.recorded(store_group(key.group), store_name(key.topic), number)

    def put(self, key: OffsetKey, offset: int) -> None:
        """See `SharedOffsets`."""
        group = store_group(key.group)
        self._operations.groups.take_up(group)
        permit = self._operations.gate.internal(Use.COMMIT_OFFSET)
        try:
            number = self._number(key.topic, key.partition)
            self._operations.offsets.record(permit, group, store_name(key.topic), number, offset)
        except OperationError as error:
            raise NotWritten(ErrorCode.COORDINATOR_NOT_AVAILABLE, str(error)) from error

    def remove(self, group: str, topic: str, partitions: Iterable[int]) -> None:
        """See `SharedOffsets`."""
        permit = self._operations.gate.internal(Use.COMMIT_OFFSET)
        for partition in partitions:
            number = self._number(topic, partition)
            self._operations.offsets.forget(permit, store_group(group), store_name(topic), number)

    def keys(self, group: str) -> list[OffsetKey]:
        """See `SharedOffsets`."""
        places = sorted(self._operations.offsets.keys(store_group(group)))
        return [
            OffsetKey(group, topic.name, partition)
            for stored, number in places
            for topic in self._shown(stored)
            if (partition := topic.partition_of(number)) >= 0
        ]

    def groups(self) -> set[str]:
        """See `SharedOffsets`."""
        names = {
            name
            for name, topics in self._operations.offsets.groups().items()
            if any(True for topic in topics for _ in self._shown(topic))
        }
        names.update(self._operations.clients.consumer_groups())
        return {
            group for name in names if not is_system_group(name) and (group := kafka_group(name)) is not None
        }

    def has_group(self, group: str) -> bool:
        """See `SharedOffsets`."""
        name = store_group(group)
        if is_system_group(name) or kafka_group(name) != group:
            return False
        return self.has_members(group) or any(
            True for topic in self._operations.offsets.topics_of(name) for _ in self._shown(topic)
        )

    def topic_id(self, topic: str) -> bytes | None:
        """See `SharedOffsets`."""
        known = self._topics.find(topic)
        return None if known is None else known.id

    def has_members(self, group: str) -> bool:
        """See `SharedOffsets`."""
        return self._operations.groups.has_members(store_group(group))

    def _number(self, name: str, partition: int) -> int:
        """Return the number by which the table has a partition."""
        topic = self._topics.find(name)
        return partition if topic is None else topic.offset_key(partition)

    def _shown(self, stored: str) -> Iterator[Topic]:
        """Yield a topic, if it is shown."""
        name = kafka_name(stored)
        topic = None if name is None else self._topics.find(name)
        if topic is not None:
            yield topic
