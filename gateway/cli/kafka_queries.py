"""Groups, transactions and producers of a Kafka cluster, as `mqgateway kafka` shows them.

All functions raise `ClientError`. Source: `ConsumerGroupCommand`, `ShareGroupCommand`, `TransactionsCommand`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final, NamedTuple

from mqgateway.engine.record_batches.errors import CodecError
from mqgateway.gateway.client.errors import NoBroker
from mqgateway.gateway.kafka.codec.messages.consumer_group_describe_request import (
    ConsumerGroupDescribeRequest,
)
from mqgateway.gateway.kafka.codec.messages.consumer_protocol_assignment import ConsumerProtocolAssignment
from mqgateway.gateway.kafka.codec.messages.describe_groups_request import DescribeGroupsRequest
from mqgateway.gateway.kafka.codec.messages.describe_producers_request import (
    DescribeProducersRequest,
    TopicRequest,
)
from mqgateway.gateway.kafka.codec.messages.describe_transactions_request import DescribeTransactionsRequest
from mqgateway.gateway.kafka.codec.messages.list_transactions_request import ListTransactionsRequest
from mqgateway.gateway.kafka.codec.messages.share_group_describe_request import ShareGroupDescribeRequest
from mqgateway.gateway.kafka.codec.plans import decode
from mqgateway.gateway.migration.kafka.cluster import KafkaCluster, Partition, by_topic
from mqgateway.gateway.migration.kafka.connection import check
from mqgateway.gateway.migration.kafka.groups import KafkaGroup, committed_offsets, read_groups
from mqgateway.gateway.migration.kafka.reading import LATEST, offsets
from mqgateway.gateway.migration.kafka.share_groups import SHARE, share_offsets

CONSUMER, STREAMS = "consumer", "streams"
"""Types of groups that are described by requests of their own; any other one is a classic group."""
UNFINISHED: Final = ("Ongoing", "PrepareCommit", "PrepareAbort", "PrepareEpochFence")
"""States of transactions that readers of committed records wait for."""
UNKNOWN_LAG: Final = -1
NOT_OPEN: Final = -1
"""First offset of a transaction that is not open."""
_VERSION_BYTES: Final = 2
"""Bytes of the version before the assignment of a member of a classic group."""


class KafkaMember(NamedTuple):
    """A member of a group, and the partitions that it has."""

    member_id: str
    client_id: str
    host: str
    instance_id: str
    partitions: tuple[Partition, ...]


class KafkaPosition(NamedTuple):
    """Progress of a group in a partition.

    `offset` is the next one to read, of a share group the first one without an outcome. `lag` is the number
    of records that wait, `UNKNOWN_LAG` if the cluster does not report it.
    """

    partition: Partition
    offset: int
    lag: int


class KafkaGroupDetails(NamedTuple):
    """A group with its members and positions. `assignor` is the protocol that the members of a classic group
    chose."""

    name: str
    kind: str
    state: str
    assignor: str
    members: tuple[KafkaMember, ...]
    positions: tuple[KafkaPosition, ...]

    @property
    def lag(self) -> int:
        """The number of records that wait in all partitions."""
        return sum(max(0, one.lag) for one in self.positions)


class ListedTransaction(NamedTuple):
    """A transaction: when it started, ms, and the time after which the coordinator aborts it, ms."""

    transactional_id: str
    state: str
    producer_id: int
    epoch: int
    started: int
    timeout: int
    partitions: frozenset[Partition]


class PartitionProducer(NamedTuple):
    """A producer of a partition. `open_since` is the first offset of its open transaction, or `NOT_OPEN`."""

    partition: Partition
    producer_id: int
    epoch: int
    last_sequence: int
    last_timestamp: int
    open_since: int


def describe_group(cluster: KafkaCluster, name: str) -> KafkaGroupDetails:
    """Return a group of any type. Raises `NoBroker` if there is none, `ClientError`."""
    group = next((one for one in read_groups(cluster) if one.name == name), None)
    if group is None:
        raise NoBroker(f"there is no group {name}; mqgateway kafka groups lists them")
    return details_of(cluster, group)


def details_of(cluster: KafkaCluster, group: KafkaGroup) -> KafkaGroupDetails:
    """Return members and positions of a group that was listed. Raises `ClientError`."""
    kind = group.kind or "classic"
    positions = _share_positions(cluster, group.name) if kind == SHARE else _positions(cluster, group.name)
    if kind == STREAMS:
        return KafkaGroupDetails(group.name, kind, group.state, "", (), positions)
    request: Any = DescribeGroupsRequest([group.name])
    if kind == CONSUMER:
        request = ConsumerGroupDescribeRequest([group.name])
    elif kind == SHARE:
        request = ShareGroupDescribeRequest([group.name])
    [found] = cluster.ask_at(cluster.coordinator(group.name), request).groups
    check(found.error_code, f"group {group.name}", found.error_message)
    if kind in (CONSUMER, SHARE):
        members = tuple(map(_member, found.members))
        return KafkaGroupDetails(group.name, kind, found.group_state, found.assignor_name, members, positions)
    members = tuple(map(_classic_member, found.members))
    return KafkaGroupDetails(group.name, kind, found.group_state, found.protocol_data, members, positions)


def _positions(cluster: KafkaCluster, name: str) -> tuple[KafkaPosition, ...]:
    committed = {
        one: found.offset for one, found in committed_offsets(cluster, name).items() if found.offset >= 0
    }
    ends = offsets(cluster, committed, LATEST)
    return tuple(
        KafkaPosition(one, offset, max(0, ends[one] - offset) if one in ends else UNKNOWN_LAG)
        for one, offset in sorted(committed.items())
    )


def _share_positions(cluster: KafkaCluster, name: str) -> tuple[KafkaPosition, ...]:
    found = share_offsets(cluster, name)
    return tuple(KafkaPosition(one, start, lag) for one, (start, lag) in sorted(found.items()))


def _member(found: Any) -> KafkaMember:
    """Return a member of a group whose partitions the coordinator assigns."""
    assigned = sorted(
        Partition(topic.topic_name, number)
        for topic in found.assignment.topic_partitions
        for number in topic.partitions
    )
    instance_id = getattr(found, "instance_id", None) or ""
    host = found.client_host.lstrip("/")
    return KafkaMember(found.member_id, found.client_id, host, instance_id, tuple(assigned))


def _classic_member(found: Any) -> KafkaMember:
    host, instance_id = found.client_host.lstrip("/"), found.group_instance_id or ""
    assigned = tuple(_assigned(bytes(found.member_assignment)))
    return KafkaMember(found.member_id, found.client_id, host, instance_id, assigned)


def _assigned(assignment: bytes) -> list[Partition]:
    """Return the partitions that a member's leader gave it; none if these are not Kafka consumers."""
    if len(assignment) <= _VERSION_BYTES:
        return []
    try:
        given = decode(ConsumerProtocolAssignment, assignment, 0, _VERSION_BYTES).assigned_partitions
    except CodecError:
        return []
    return sorted(Partition(topic.topic, number) for topic in given for number in topic.partitions)


def transactions(cluster: KafkaCluster, states: Sequence[str] = UNFINISHED) -> list[ListedTransaction]:
    """Return the transactions in these states, or all if none is named, by their start."""
    found: list[ListedTransaction] = []
    for address in cluster.nodes():
        listed = cluster.ask_at(address, ListTransactionsRequest(state_filters=states))
        check(listed.error_code, f"transactions of {address}")
        names = [one.transactional_id for one in listed.transaction_states]
        if not names:
            continue
        for one in cluster.ask_at(address, DescribeTransactionsRequest(names)).transaction_states:
            if one.error_code:  # it has ended meanwhile
                continue
            partitions = frozenset(
                Partition(topic.topic, number) for topic in one.topics for number in topic.partitions
            )
            found.append(
                ListedTransaction(
                    one.transactional_id,
                    one.transaction_state,
                    one.producer_id,
                    one.producer_epoch,
                    one.transaction_start_time_ms,
                    one.transaction_timeout_ms,
                    partitions,
                )
            )
    return sorted(found, key=lambda one: (one.started, one.transactional_id))


def partitions_of(cluster: KafkaCluster, topics: Sequence[str] | None) -> list[Partition]:
    """Return the partitions of topics, or of all that are not internal. Raises `ClientError`."""
    found = []
    for topic in cluster.metadata(topics).topics:
        check(topic.error_code, f"topic {topic.name}")
        if topics is not None or not topic.is_internal:
            found += [Partition(topic.name or "", one.partition_index) for one in topic.partitions]
    return sorted(found)


def producers(cluster: KafkaCluster, partitions: Iterable[Partition]) -> list[PartitionProducer]:
    """Return the idempotent producers that partitions know. Those without a leader are left out."""
    found: list[PartitionProducer] = []
    for address, led in cluster.by_leader(partitions).items():
        topics = [
            TopicRequest(topic, [number for number, _ in numbers])
            for topic, numbers in by_topic(dict.fromkeys(led)).items()
        ]
        for answered in cluster.ask_at(address, DescribeProducersRequest(topics)).topics:
            for one in answered.partitions:
                partition = Partition(answered.name, one.partition_index)
                check(one.error_code, f"producers of {partition}", one.error_message)
                found += [
                    PartitionProducer(
                        partition,
                        each.producer_id,
                        each.producer_epoch,
                        each.last_sequence,
                        each.last_timestamp,
                        each.current_txn_start_offset,
                    )
                    for each in one.active_producers
                ]
    return sorted(found)
