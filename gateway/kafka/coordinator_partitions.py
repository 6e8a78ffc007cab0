"""Which broker group coordinates a consumer group or a transactional id.

The hash of the key picks a partition of the coordinators' topic, and the group of brokers that has the
partition coordinates the key. The topic is made with one partition in each broker group, and never gets
more: its layout (`engine/tables/partition_layout`) is the table that all brokers answer from. The log of a
coordinator is the queue of its group's partition. Kafka: `GroupCoordinatorService.partitionFor`.
"""

from __future__ import annotations

import logging
from typing import Final, NamedTuple

from twisted.internet.defer import Deferred, maybeDeferred
from twisted.python.failure import Failure

from mqgateway.engine.clock import elapsed_millis
from mqgateway.engine.message import KAFKA_COORDINATOR_TOPICS, java_hash
from mqgateway.gateway.broker.operations import OperationError, Operations, Use
from mqgateway.gateway.kafka.codec.error_codes import ErrorCode
from mqgateway.gateway.kafka.creation import COORDINATOR_CONFIGS, Creation, CreationRejected
from mqgateway.gateway.kafka.topics import Topic, Topics

log = logging.getLogger(__name__)

PERIOD_MILLIS: Final = 1000
_HASH_BITS: Final = 0x7FFFFFFF


class CoordinatorPlace(NamedTuple):
    """The partition of a key, and the broker group that has it; empty for this broker's."""

    partition: int
    group: str


_ONLY: Final = CoordinatorPlace(0, "")


class CoordinatorPartitions:
    """The partitions of one topic of coordinators, `name`. `topics` are those of all broker groups."""

    def __init__(self, operations: Operations, topics: Topics, name: str) -> None:
        self._gate = operations.gate
        self._peers = operations.peers
        self._topics = topics
        self.name = name

    def place(self, key: str) -> CoordinatorPlace | None:
        """Return where a key is coordinated, None while the topic is not made.

        A topic without a layout was made before partitions were spread: its group coordinates all keys.
        """
        if self._peers is None:
            return _ONLY
        topic = self._topics.find(self.name)
        if topic is None:
            return None
        if topic.layout is None:
            return CoordinatorPlace(0, topic.group)
        partition = (java_hash(key) & _HASH_BITS) % topic.partitions
        return CoordinatorPlace(partition, topic.place(partition).group)

    def error(self, key: str) -> ErrorCode:
        """Return why this broker's group does not coordinate a key."""
        place = self.place(key)
        if place is None:
            return ErrorCode.COORDINATOR_NOT_AVAILABLE
        return ErrorCode.NOT_COORDINATOR if place.group else ErrorCode.NONE

    def group_of(self, partition: int) -> str | None:
        """Return the group that has a partition, empty for this broker's; None if there is no such one."""
        if self._peers is None:
            return "" if partition == 0 else None
        topic = self._topics.find(self.name)
        is_known = topic is not None and 0 <= partition < topic.partitions
        return topic.place(partition).group if topic is not None and is_known else None

    @property
    def groups(self) -> list[str] | None:
        """All groups that coordinate, empty for this broker's; None while the topic is not made."""
        if self._peers is None:
            return [""]
        topic = self._topics.find(self.name)
        return None if topic is None else list(dict.fromkeys(_groups(topic)))

    def coordinates(self) -> bool:
        """Return True if this broker coordinates keys: its role allows it, its group has a partition, and it
        has the queue of its log."""
        if not self._gate.allows(Use.COORDINATE):
            return False
        if self._peers is None:
            return True
        topic = self._topics.find(self.name)
        return topic is not None and "" in _groups(topic) and (topic.layout is None or topic.queues_here > 0)


def _groups(topic: Topic) -> list[str]:
    count = 1 if topic.layout is None else topic.partitions
    return [topic.place(partition).group for partition in range(count)]


class CoordinatorTopics:
    """Makes the topics of coordinators over all broker groups, at the controller.

    Each group has to have answered once: one of them may have such a topic. A group that is down then gets
    its partition when it is back. `topics` are those of all groups.
    """

    def __init__(self, operations: Operations, topics: Topics, creation: Creation) -> None:
        self._operations = operations
        self._topics = topics
        self._creation = creation
        self._next = 0
        self._making: set[str] = set()
        self._problems: dict[str, str] = {}

    def tick(self) -> None:
        """Make topics that do not exist; tried again in a second."""
        operations, now = self._operations, elapsed_millis(self._operations.clock)
        peers = operations.peers
        if peers is None or peers.names[0] != peers.own or now < self._next or not operations.replicas.leads:
            return
        self._next = now + PERIOD_MILLIS
        for name in KAFKA_COORDINATOR_TOPICS:
            if name not in self._making and self._topics.find(name) is None:
                self._making.add(name)
                made: Deferred[None] = maybeDeferred(self._make, name)
                made.addErrback(self._not_made, name).addBoth(self._ended, name)

    def _make(self, name: str) -> Deferred[None]:
        creation, count = self._creation, self._creation.coordinator_partitions()
        creation.check(name, count, COORDINATOR_CONFIGS)
        permit = self._operations.gate.internal(Use.ADMINISTER)
        return creation.create(permit, name, count, COORDINATOR_CONFIGS, creation.layout(name, count))

    def _ended(self, _: None, name: str) -> None:
        self._making.discard(name)

    def _not_made(self, failure: Failure, name: str) -> None:
        """Log once why a topic is not made, or not in all groups, which is tried again."""
        problem = failure.getErrorMessage()
        if self._problems.get(name) == problem:
            return
        self._problems[name] = problem
        if isinstance(failure.value, CreationRejected | OperationError):
            log.info("topic %s is not in all broker groups yet: %s", name, problem)
        else:
            log.error("topic %s: %s", name, failure.getTraceback())
