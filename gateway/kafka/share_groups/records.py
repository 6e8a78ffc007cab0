"""Share groups as records of the topic `__consumer_offsets`, in Kafka's own schemas.

Standard: `GroupCoordinatorRecordHelpers`.
"""

from __future__ import annotations

from typing import Final

from mqgateway.gateway.kafka.codec.messages.share_group_current_member_assignment_key import (
    ShareGroupCurrentMemberAssignmentKey,
)
from mqgateway.gateway.kafka.codec.messages.share_group_current_member_assignment_value import (
    ShareGroupCurrentMemberAssignmentValue,
)
from mqgateway.gateway.kafka.codec.messages.share_group_current_member_assignment_value import (
    TopicPartitions as AssignedPartitions,
)
from mqgateway.gateway.kafka.codec.messages.share_group_member_metadata_key import ShareGroupMemberMetadataKey
from mqgateway.gateway.kafka.codec.messages.share_group_member_metadata_value import (
    ShareGroupMemberMetadataValue,
)
from mqgateway.gateway.kafka.codec.messages.share_group_metadata_key import ShareGroupMetadataKey
from mqgateway.gateway.kafka.codec.messages.share_group_metadata_value import ShareGroupMetadataValue
from mqgateway.gateway.kafka.codec.messages.share_group_state_partition_metadata_key import (
    ShareGroupStatePartitionMetadataKey,
)
from mqgateway.gateway.kafka.codec.messages.share_group_state_partition_metadata_value import (
    ShareGroupStatePartitionMetadataValue,
    TopicPartitionsInfo,
)
from mqgateway.gateway.kafka.codec.messages.share_group_target_assignment_member_key import (
    ShareGroupTargetAssignmentMemberKey,
)
from mqgateway.gateway.kafka.codec.messages.share_group_target_assignment_member_value import (
    ShareGroupTargetAssignmentMemberValue,
)
from mqgateway.gateway.kafka.codec.messages.share_group_target_assignment_member_value import (
    TopicPartition as TargetPartitions,
)
from mqgateway.gateway.kafka.codec.messages.share_group_target_assignment_metadata_key import (
    ShareGroupTargetAssignmentMetadataKey,
)
from mqgateway.gateway.kafka.codec.messages.share_group_target_assignment_metadata_value import (
    ShareGroupTargetAssignmentMetadataValue,
)
from mqgateway.gateway.kafka.codec.schema import Message
from mqgateway.gateway.kafka.coordinator.assigned_group import Kind, RecordKey
from mqgateway.gateway.kafka.coordinator.group_records import GroupRecords, by_topic, flat, read_value
from mqgateway.gateway.kafka.coordinator.member import RequestSender
from mqgateway.gateway.kafka.share_groups.group import InitializedTopic, ShareGroup
from mqgateway.gateway.kafka.share_groups.member import ShareMember

_STABLE: Final = 0
"""The state of every member: it has nothing to give up."""


def _group(group: ShareGroup, name: str) -> Message:
    return ShareGroupMetadataValue(group.epoch, group.metadata_hash)


def _target_epoch(group: ShareGroup, name: str) -> Message:
    return ShareGroupTargetAssignmentMetadataValue(group.assignment_epoch, group.assigned_time)


def _member(group: ShareGroup, name: str) -> Message | None:
    member = group.members.get(name)
    if member is None:
        return None
    client = member.client
    return ShareGroupMemberMetadataValue(member.rack_id, client.id, client.host, member.topics)


def _target(group: ShareGroup, name: str) -> Message | None:
    target = group.targets.get(name)
    if target is None:
        return None
    return ShareGroupTargetAssignmentMemberValue([TargetPartitions(*one) for one in by_topic(target)])


def _position(group: ShareGroup, name: str) -> Message | None:
    member = group.members.get(name)
    if member is None:
        return None
    assigned = [AssignedPartitions(*one) for one in by_topic(member.assigned)]
    return ShareGroupCurrentMemberAssignmentValue(member.epoch, member.previous_epoch, _STABLE, assigned)


def _partitions(group: ShareGroup, name: str) -> Message:
    initialized = [
        TopicPartitionsInfo(topic_id, one.name, sorted(one.partitions))
        for topic_id, one in group.initialized.items()
    ]
    return ShareGroupStatePartitionMetadataValue((), initialized, ())


SHARE_RECORDS: Final[GroupRecords[ShareGroup]] = GroupRecords(
    {
        Kind.GROUP: ShareGroupMetadataKey,
        Kind.MEMBER: ShareGroupMemberMetadataKey,
        Kind.TARGET_EPOCH: ShareGroupTargetAssignmentMetadataKey,
        Kind.TARGET: ShareGroupTargetAssignmentMemberKey,
        Kind.POSITION: ShareGroupCurrentMemberAssignmentKey,
        Kind.PARTITIONS: ShareGroupStatePartitionMetadataKey,
    },
    {
        Kind.GROUP: _group,
        Kind.MEMBER: _member,
        Kind.TARGET_EPOCH: _target_epoch,
        Kind.TARGET: _target,
        Kind.POSITION: _position,
        Kind.PARTITIONS: _partitions,
    },
)
"""The records of share groups."""


def replay(group: ShareGroup, key: RecordKey, value: bytes | None) -> None:
    """Take over a record that was read from the log. Raises `CodecError`.

    The records of a group may come in any order.
    """
    if value is None:
        _forget(group, key)
    elif key.kind is Kind.GROUP:
        known = read_value(ShareGroupMetadataValue, value)
        group.epoch, group.metadata_hash = known.epoch, known.metadata_hash
    elif key.kind is Kind.TARGET_EPOCH:
        target = read_value(ShareGroupTargetAssignmentMetadataValue, value)
        group.assignment_epoch, group.assigned_time = target.assignment_epoch, target.assignment_timestamp
    elif key.kind is Kind.TARGET:
        assigned = read_value(ShareGroupTargetAssignmentMemberValue, value)
        group.targets[key.name] = flat((one.topic_id, one.partitions) for one in assigned.topic_partitions)
    elif key.kind is Kind.PARTITIONS:
        state = read_value(ShareGroupStatePartitionMetadataValue, value)
        group.initialized = {
            one.topic_id: InitializedTopic(one.topic_name, set(one.partitions))
            for one in state.initialized_topics
        }
    elif key.kind is Kind.MEMBER:
        metadata = read_value(ShareGroupMemberMetadataValue, value)
        client = RequestSender(metadata.client_id, metadata.client_host)
        member = _replayed(group, key.name)
        group.put(member.changed(client, metadata.rack_id, tuple(metadata.subscribed_topic_names)))
    else:
        position = read_value(ShareGroupCurrentMemberAssignmentValue, value)
        owned = flat((one.topic_id, one.partitions) for one in position.assigned_partitions)
        _replayed(group, key.name).move(position.member_epoch, position.previous_member_epoch, owned)


def _forget(group: ShareGroup, key: RecordKey) -> None:
    if key.kind is Kind.MEMBER:
        group.remove(key.name)
    elif key.kind is Kind.TARGET:
        group.targets.pop(key.name, None)
    elif key.kind is Kind.PARTITIONS:
        group.initialized = {}


def _replayed(group: ShareGroup, member_id: str) -> ShareMember:
    """Return a member, added if its other record comes later."""
    member = group.members.get(member_id)
    if member is None:
        member = ShareMember(member_id, RequestSender("", ""))
        group.put(member)
    return member
