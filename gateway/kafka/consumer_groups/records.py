"""Consumer groups as records of the topic `__consumer_offsets`, in Kafka's own schemas.

Standard: `GroupCoordinatorRecordHelpers`.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from mqgateway.gateway.kafka.codec.messages.consumer_group_current_member_assignment_key import (
    ConsumerGroupCurrentMemberAssignmentKey,
)
from mqgateway.gateway.kafka.codec.messages.consumer_group_current_member_assignment_value import (
    ConsumerGroupCurrentMemberAssignmentValue,
)
from mqgateway.gateway.kafka.codec.messages.consumer_group_current_member_assignment_value import (
    TopicPartitions as OwnedPartitions,
)
from mqgateway.gateway.kafka.codec.messages.consumer_group_member_metadata_key import (
    ConsumerGroupMemberMetadataKey,
)
from mqgateway.gateway.kafka.codec.messages.consumer_group_member_metadata_value import (
    ConsumerGroupMemberMetadataValue,
)
from mqgateway.gateway.kafka.codec.messages.consumer_group_metadata_key import ConsumerGroupMetadataKey
from mqgateway.gateway.kafka.codec.messages.consumer_group_metadata_value import ConsumerGroupMetadataValue
from mqgateway.gateway.kafka.codec.messages.consumer_group_regular_expression_key import (
    ConsumerGroupRegularExpressionKey,
)
from mqgateway.gateway.kafka.codec.messages.consumer_group_regular_expression_value import (
    ConsumerGroupRegularExpressionValue,
)
from mqgateway.gateway.kafka.codec.messages.consumer_group_target_assignment_member_key import (
    ConsumerGroupTargetAssignmentMemberKey,
)
from mqgateway.gateway.kafka.codec.messages.consumer_group_target_assignment_member_value import (
    ConsumerGroupTargetAssignmentMemberValue,
)
from mqgateway.gateway.kafka.codec.messages.consumer_group_target_assignment_member_value import (
    TopicPartition as TargetPartitions,
)
from mqgateway.gateway.kafka.codec.messages.consumer_group_target_assignment_metadata_key import (
    ConsumerGroupTargetAssignmentMetadataKey,
)
from mqgateway.gateway.kafka.codec.messages.consumer_group_target_assignment_metadata_value import (
    ConsumerGroupTargetAssignmentMetadataValue,
)
from mqgateway.gateway.kafka.codec.schema import Message
from mqgateway.gateway.kafka.consumer_groups.group import ModernGroup, ResolvedRegex
from mqgateway.gateway.kafka.consumer_groups.member import (
    AssignmentState,
    MemberPosition,
    ModernMember,
    Owned,
)
from mqgateway.gateway.kafka.coordinator.assigned_group import Kind, RecordKey
from mqgateway.gateway.kafka.coordinator.group_records import GroupRecords, by_topic, flat, read_value
from mqgateway.gateway.kafka.coordinator.member import RequestSender

_KEYS: Final[dict[Kind, type[Message]]] = {
    Kind.GROUP: ConsumerGroupMetadataKey,
    Kind.MEMBER: ConsumerGroupMemberMetadataKey,
    Kind.TARGET_EPOCH: ConsumerGroupTargetAssignmentMetadataKey,
    Kind.TARGET: ConsumerGroupTargetAssignmentMemberKey,
    Kind.POSITION: ConsumerGroupCurrentMemberAssignmentKey,
    Kind.REGEX: ConsumerGroupRegularExpressionKey,
}


def _group(group: ModernGroup, name: str) -> Message:
    return ConsumerGroupMetadataValue(group.epoch, group.metadata_hash)


def _target_epoch(group: ModernGroup, name: str) -> Message:
    return ConsumerGroupTargetAssignmentMetadataValue(group.assignment_epoch, group.assigned_time)


def _member(group: ModernGroup, name: str) -> Message | None:
    member = group.members.get(name)
    if member is None:
        return None
    return ConsumerGroupMemberMetadataValue(
        member.instance_id,
        member.rack_id,
        member.client.id,
        member.client.host,
        member.topics,
        member.regex,
        member.rebalance_timeout,
        member.assignor,
    )


def _target(group: ModernGroup, name: str) -> Message | None:
    target = group.targets.get(name)
    if target is None:
        return None
    topics = [TargetPartitions(*one) for one in by_topic(target)]
    return ConsumerGroupTargetAssignmentMemberValue(topics)


def _position(group: ModernGroup, name: str) -> Message | None:
    member = group.members.get(name)
    if member is None:
        return None
    position = member.position
    return ConsumerGroupCurrentMemberAssignmentValue(
        position.epoch,
        position.previous_epoch,
        position.state.value,
        _owned(position.assigned),
        _owned(position.revoking),
    )


def _regex(group: ModernGroup, name: str) -> Message | None:
    resolved = group.regexes.get(name)
    if resolved is None:
        return None
    return ConsumerGroupRegularExpressionValue(sorted(resolved.topics), 0, resolved.time)


CONSUMER_RECORDS: Final[GroupRecords[ModernGroup]] = GroupRecords(
    _KEYS,
    {
        Kind.GROUP: _group,
        Kind.MEMBER: _member,
        Kind.TARGET_EPOCH: _target_epoch,
        Kind.TARGET: _target,
        Kind.POSITION: _position,
        Kind.REGEX: _regex,
    },
)
"""The records of consumer groups."""


def replay(group: ModernGroup, key: RecordKey, value: bytes | None) -> None:
    """Take over a record that was read from the log. Raises `CodecError`.

    The records of a group may come in any order.
    """
    if value is None:
        _forget(group, key)
        return
    if key.kind is Kind.GROUP:
        known = read_value(ConsumerGroupMetadataValue, value)
        group.epoch, group.metadata_hash = known.epoch, known.metadata_hash
    elif key.kind is Kind.TARGET_EPOCH:
        target = read_value(ConsumerGroupTargetAssignmentMetadataValue, value)
        group.assignment_epoch, group.assigned_time = target.assignment_epoch, target.assignment_timestamp
    elif key.kind is Kind.REGEX:
        regex = read_value(ConsumerGroupRegularExpressionValue, value)
        group.regexes[key.name] = ResolvedRegex(frozenset(regex.topics), b"", regex.timestamp)
    elif key.kind is Kind.TARGET:
        assigned = read_value(ConsumerGroupTargetAssignmentMemberValue, value)
        group.targets[key.name] = flat((one.topic_id, one.partitions) for one in assigned.topic_partitions)
    elif key.kind is Kind.MEMBER:
        group.put(_read_member(group, key.name, read_value(ConsumerGroupMemberMetadataValue, value)))
    else:
        position = read_value(ConsumerGroupCurrentMemberAssignmentValue, value)
        _replay_position(group, key.name, position)


def _forget(group: ModernGroup, key: RecordKey) -> None:
    if key.kind is Kind.MEMBER:
        group.remove(key.name)
    elif key.kind is Kind.TARGET:
        group.targets.pop(key.name, None)
    elif key.kind is Kind.REGEX:
        group.regexes.pop(key.name, None)


def _read_member(group: ModernGroup, member_id: str, value: ConsumerGroupMemberMetadataValue) -> ModernMember:
    member = ModernMember(
        member_id,
        RequestSender(value.client_id, value.client_host),
        instance_id=value.instance_id,
        rack_id=value.rack_id,
        rebalance_timeout=value.rebalance_timeout_ms,
        topics=tuple(value.subscribed_topic_names),
        regex=value.subscribed_topic_regex or "",
        assignor=value.server_assignor,
    )
    known = group.members.get(member_id)
    if known is not None:
        member.position = known.position
    return member


def _replay_position(
    group: ModernGroup, member_id: str, value: ConsumerGroupCurrentMemberAssignmentValue
) -> None:
    member = group.members.get(member_id)
    if member is None:
        member = ModernMember(member_id, RequestSender("", ""))
        group.put(member)
    state = next((one for one in AssignmentState if one.value == value.state), AssignmentState.STABLE)
    assigned = _read_owned(value.assigned_partitions, value.member_epoch)
    revoking = _read_owned(value.partitions_pending_revocation, value.member_epoch)
    group.move(
        member, MemberPosition(value.member_epoch, value.previous_member_epoch, state, assigned, revoking)
    )


def _owned(owned: Owned) -> list[OwnedPartitions]:
    return [
        OwnedPartitions(topic_id, indexes, [owned[topic_id, index] for index in indexes])
        for topic_id, indexes in by_topic(owned)
    ]


def _read_owned(topics: Iterable[OwnedPartitions], epoch: int) -> Owned:
    owned: Owned = {}
    for topic in topics:
        epochs = topic.assignment_epochs
        if epochs is None or len(epochs) != len(topic.partitions):
            epochs = [epoch] * len(topic.partitions)
        owned.update(
            ((topic.topic_id, index), since) for index, since in zip(topic.partitions, epochs, strict=True)
        )
    return owned
