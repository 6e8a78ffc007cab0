"""Kafka's groups and transactions, as administrators of the broker see them.

Standard: `ConsumerGroupCommand`, `TransactionsCommand`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

from mqgateway.engine.record_batches.errors import CodecError
from mqgateway.gateway.broker.operations import (
    CoordinatedGroup,
    CoordinatedMember,
    CoordinatedTransaction,
    HangingTransaction,
    Operations,
    SharedPartition,
)
from mqgateway.gateway.kafka.api.groups import CLASSIC, TYPES
from mqgateway.gateway.kafka.codec.messages.consumer_protocol_assignment import ConsumerProtocolAssignment
from mqgateway.gateway.kafka.codec.messages.consumer_protocol_subscription import ConsumerProtocolSubscription
from mqgateway.gateway.kafka.codec.plans import decode
from mqgateway.gateway.kafka.consumer_groups.group import ModernGroup
from mqgateway.gateway.kafka.coordinator.coordinator import Coordinator
from mqgateway.gateway.kafka.coordinator.group import CONSUMER, Group
from mqgateway.gateway.kafka.coordinator.group_table import AnyGroup
from mqgateway.gateway.kafka.coordinator.topic_catalog import TopicPartition
from mqgateway.gateway.kafka.group_names import kafka_group
from mqgateway.gateway.kafka.share_coordination import ShareCoordination
from mqgateway.gateway.kafka.share_groups.assignor import SIMPLE
from mqgateway.gateway.kafka.share_groups.group import ShareGroup
from mqgateway.gateway.kafka.stuck_transactions import HangingTransactions, is_late, terminate_command
from mqgateway.gateway.kafka.topics import Topics, store_name
from mqgateway.gateway.kafka.transactions.coordinator import TxnCoordinator
from mqgateway.gateway.kafka.transactions.status import TxnState

Item = TypeVar("Item")

VERSION_BYTES = 2
"""Bytes of the version before what a consumer of a classic group sends."""


class KafkaView:
    """See `broker.coordinated.CoordinatorView`. Groups that only RocketMQ's clients use are not shown."""

    def __init__(
        self,
        operations: Operations,
        coordinator: Coordinator,
        shares: ShareCoordination,
        transactions: TxnCoordinator,
        hanging: HangingTransactions,
        topics: Topics,
    ) -> None:
        self._operations = operations
        self._coordinator = coordinator
        self._shares = shares
        self._transactions = transactions
        self._hanging = hanging
        self._topics = topics

    def group(self, name: str) -> CoordinatedGroup | None:
        """See `CoordinatorView`."""
        group = self._group(name)
        if isinstance(group, Group):
            return _classic(group)
        if isinstance(group, ModernGroup):
            return self._consumer(group)
        if isinstance(group, ShareGroup):
            return self._share(group)
        return None

    def has_members(self, name: str) -> bool:
        """See `CoordinatorView`."""
        group = self._group(name)
        return group is not None and not group.is_empty

    def transactions(self) -> Sequence[CoordinatedTransaction]:
        """See `CoordinatorView`."""
        table, now = self._transactions.table, self._operations.clock.millis()
        entries = {**table.open, **table.prepared}
        found = [(entry.id, entry.status) for entry in entries.values() if entry.status is not None]
        return [
            CoordinatedTransaction(
                transactional_id,
                status.producer_id,
                status.epoch,
                status.state.label,
                status.started,
                status.timeout,
                _named((one.topic, one.partition) for one in status.partitions),
                is_late(status.started, status.timeout, now),
                terminate_command(transactional_id) if status.state is TxnState.ONGOING else "",
            )
            for transactional_id, status in sorted(found, key=lambda pair: pair[1].started)
        ]

    def hanging_transactions(self) -> Sequence[HangingTransaction]:
        """See `CoordinatorView`."""
        return self._hanging.found()

    def _group(self, name: str) -> AnyGroup | None:
        group_id = kafka_group(name)
        return None if group_id is None else self._coordinator.groups.get(group_id)

    def _consumer(self, group: ModernGroup) -> CoordinatedGroup:
        members = [
            CoordinatedMember(
                member.id,
                member.client.id,
                member.client.host.lstrip("/"),
                member.instance_id or "",
                [*map(store_name, member.topics), *filter(None, [member.regex])],
                self._assigned(member.position.held),
            )
            for member in group.members.values()
        ]
        return CoordinatedGroup(TYPES[ModernGroup], group.state.value, group.assignor, members, ())

    def _share(self, group: ShareGroup) -> CoordinatedGroup:
        members = [
            CoordinatedMember(
                member.id,
                member.client.id,
                member.client.host.lstrip("/"),
                "",
                [store_name(topic) for topic in member.topics],
                self._assigned(member.assigned),
            )
            for member in group.members.values()
        ]
        shared = [
            SharedPartition(topic.store_name, partition, state.start_offset, state.lag)
            for (topic_id, partition), state in self._shares.describe(group.id).items()
            if (topic := self._topics.by_id(topic_id)) is not None
        ]
        return CoordinatedGroup(TYPES[ShareGroup], group.state.value, SIMPLE, members, sorted(shared))

    def _assigned(self, partitions: Iterable[TopicPartition]) -> list[tuple[str, int]]:
        return sorted(
            (topic.store_name, partition)
            for topic_id, partition in partitions
            if (topic := self._topics.by_id(topic_id)) is not None
        )


def _classic(group: Group) -> CoordinatedGroup:
    is_consumer = group.protocol_type == CONSUMER
    members = [
        CoordinatedMember(
            member.id,
            member.client.id,
            member.client.host.lstrip("/"),
            member.instance_id or "",
            _read(_subscribed, member.metadata(group.protocol)) if is_consumer else (),
            _read(_given, member.assignment) if is_consumer else (),
        )
        for member in group.members.values()
    ]
    return CoordinatedGroup(CLASSIC, group.state.value, group.protocol or "", members, ())


def _read(decoded: Callable[[bytes], Sequence[Item]], data: bytes) -> Sequence[Item]:
    """Return what a member or its leader sent; nothing if it sent nothing, or other bytes."""
    try:
        return decoded(data) if len(data) > VERSION_BYTES else ()
    except CodecError:
        return ()


def _subscribed(metadata: bytes) -> Sequence[str]:
    topics = decode(ConsumerProtocolSubscription, metadata, 0, VERSION_BYTES).topics
    return [store_name(topic) for topic in topics]


def _given(assignment: bytes) -> Sequence[tuple[str, int]]:
    given = decode(ConsumerProtocolAssignment, assignment, 0, VERSION_BYTES)
    return sorted(
        (store_name(one.topic), partition)
        for one in given.assigned_partitions
        for partition in one.partitions
    )


def _named(partitions: Iterable[tuple[str, int]]) -> list[str]:
    """Return a text for each topic, with its partitions."""
    found: dict[str, list[int]] = {}
    for topic, partition in sorted(partitions):
        found.setdefault(topic, []).append(partition)
    return [f"{topic}: {', '.join(map(str, numbers))}" for topic, numbers in found.items()]
