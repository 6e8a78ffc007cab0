"""Checks of what a heartbeat says. Standard: `GroupMetadataManager`, its `throwIf...` methods."""

from __future__ import annotations

from collections.abc import Set

from mqgateway.gateway.kafka.codec.error_codes import ErrorCode
from mqgateway.gateway.kafka.codec.messages.consumer_group_heartbeat_request import (
    ConsumerGroupHeartbeatRequest,
)
from mqgateway.gateway.kafka.consumer_groups.assignors import ASSIGNORS
from mqgateway.gateway.kafka.consumer_groups.group import ModernGroup
from mqgateway.gateway.kafka.consumer_groups.member import LEFT_EPOCH, STATIC_LEFT_EPOCH, ModernMember
from mqgateway.gateway.kafka.coordinator.member import RequestSender
from mqgateway.gateway.kafka.coordinator.refusal import Refused
from mqgateway.gateway.kafka.coordinator.topic_catalog import TopicPartition

OWN_ID_SINCE = 1
"""Version from which a client chooses its id itself."""


def check(request: ConsumerGroupHeartbeatRequest, version: int, partitions_max: int) -> None:
    """Check a heartbeat by itself. Raises `Refused`.

    It names so many topics and partitions at most. Apache Kafka has no limit.
    """
    owned = sum(len(topic.partitions) for topic in request.topic_partitions or ())
    if max(owned, len(request.subscribed_topic_names or ())) > partitions_max:
        raise _invalid(f"At most {partitions_max} topics and partitions are allowed.")
    epoch = request.member_epoch
    if not request.member_id and (version >= OWN_ID_SINCE or epoch > 0 or epoch == LEFT_EPOCH):
        raise _invalid("MemberId can't be empty.")
    texts = (
        ("GroupId", request.group_id),
        ("InstanceId", request.instance_id),
        ("RackId", request.rack_id),
    )
    for name, text in texts:
        if text is not None and not text.strip():
            raise _invalid(f"{name} can't be empty.")
    if epoch == 0:
        _check_join(request)
    elif epoch == STATIC_LEFT_EPOCH and request.instance_id is None:
        raise _invalid("InstanceId can't be null.")
    elif epoch < STATIC_LEFT_EPOCH:
        raise _invalid("MemberEpoch is invalid.")
    if request.server_assignor is not None and request.server_assignor not in ASSIGNORS:
        raise Refused(
            ErrorCode.UNSUPPORTED_ASSIGNOR,
            f"ServerAssignor {request.server_assignor} is not supported. "
            f"Supported assignors: {', '.join(ASSIGNORS)}.",
        )


def _check_join(request: ConsumerGroupHeartbeatRequest) -> None:
    if request.rebalance_timeout_ms == -1:
        raise _invalid("RebalanceTimeoutMs must be provided in first request.")
    if request.topic_partitions is None or request.topic_partitions:
        raise _invalid("TopicPartitions must be empty when (re-)joining.")
    if request.subscribed_topic_names is None and request.subscribed_topic_regex is None:
        raise _invalid(
            "Either SubscribedTopicNames or SubscribedTopicRegex must be non-null when (re-)joining."
        )


def _invalid(message: str) -> Refused:
    return Refused(ErrorCode.INVALID_REQUEST, message)


def owned_partitions(request: ConsumerGroupHeartbeatRequest) -> Set[TopicPartition] | None:
    """Return the partitions that a member says it owns, None if it does not say."""
    if request.topic_partitions is None:
        return None
    return {(topic.topic_id, index) for topic in request.topic_partitions for index in topic.partitions}


def check_epoch(member: ModernMember, epoch: int, owned: Set[TopicPartition] | None) -> None:
    """Check the epoch of a member. Raises `Refused`.

    The previous epoch is accepted if the member owns nothing new: it may not have received the last answer.
    """
    position = member.position
    if epoch == position.epoch:
        return
    is_repeated = epoch == position.previous_epoch and owned is not None and owned <= position.assigned.keys()
    if epoch > position.epoch or not is_repeated:
        size = "greater" if epoch > position.epoch else "smaller"
        raise Refused(
            ErrorCode.FENCED_MEMBER_EPOCH,
            f"The consumer group member has a {size} member epoch ({epoch}) than the one known by the group "
            f"coordinator ({position.epoch}). The member must abandon all its partitions and rejoin.",
        )


def known_member(group: ModernGroup, member_id: str, instance_id: str | None) -> ModernMember:
    """Return the member that a request names. Raises `Refused`."""
    if instance_id is None:
        member = group.members.get(member_id)
        if member is None:
            raise Refused(
                ErrorCode.UNKNOWN_MEMBER_ID, f"Member {member_id} is not a member of group {group.id}."
            )
        return member
    holder = group.members.get(group.static.get(instance_id, ""))
    if holder is None:
        raise Refused(ErrorCode.UNKNOWN_MEMBER_ID, f"Instance id {instance_id} is unknown.")
    if holder.id != member_id:
        raise Refused(
            ErrorCode.FENCED_INSTANCE_ID,
            f"Static member {member_id} with instance id {instance_id} was fenced by member {holder.id}.",
        )
    return holder


def former_self(group: ModernGroup, request: ConsumerGroupHeartbeatRequest) -> ModernMember | None:
    """Return the member whose place a static member takes, None if there is none. Raises `Refused`."""
    holder = group.members.get(group.static.get(request.instance_id or "", ""))
    if holder is None or holder.id == request.member_id:
        return None
    if holder.position.epoch != STATIC_LEFT_EPOCH:
        raise Refused(
            ErrorCode.UNRELEASED_INSTANCE_ID,
            f"Static member {request.member_id} with instance id {request.instance_id} cannot join the group "
            f"because the instance id is owned by {holder.id} member.",
        )
    return holder


def updated(
    member: ModernMember, request: ConsumerGroupHeartbeatRequest, client: RequestSender
) -> ModernMember:
    """Return a member with what its heartbeat says of it; what is not said stays as it is."""
    names = request.subscribed_topic_names
    changed = ModernMember(
        member.id,
        client,
        instance_id=member.instance_id,
        rack_id=member.rack_id if request.rack_id is None else request.rack_id,
        rebalance_timeout=(
            member.rebalance_timeout if request.rebalance_timeout_ms == -1 else request.rebalance_timeout_ms
        ),
        topics=member.topics if names is None else tuple(sorted(set(names))),
        regex=member.regex if request.subscribed_topic_regex is None else request.subscribed_topic_regex,
        assignor=member.assignor if request.server_assignor is None else request.server_assignor,
    )
    changed.position = member.position
    return changed


def is_full(request: ConsumerGroupHeartbeatRequest) -> bool:
    """Return True if a member says all of itself, because it does not know what the broker knows."""
    names, regex = request.subscribed_topic_names, request.subscribed_topic_regex
    return (
        request.rebalance_timeout_ms != -1
        and not (names is None and regex is None)
        and request.topic_partitions is not None
    )
