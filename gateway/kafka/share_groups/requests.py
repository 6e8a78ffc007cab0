"""Checks of what a heartbeat says. Standard: `GroupCoordinatorService`, `GroupMetadataManager`."""

from __future__ import annotations

from mqgateway.gateway.kafka.codec.error_codes import ErrorCode
from mqgateway.gateway.kafka.codec.messages.share_group_heartbeat_request import ShareGroupHeartbeatRequest
from mqgateway.gateway.kafka.coordinator.member import RequestSender
from mqgateway.gateway.kafka.coordinator.refusal import Refused
from mqgateway.gateway.kafka.share_groups.group import ShareGroup
from mqgateway.gateway.kafka.share_groups.member import ShareMember

LEFT_EPOCH = -1
"""Epoch with which a member leaves."""
MEMBER_ID_MAX = 36
"""Longest id of a member: that of a UUID."""


def check(request: ShareGroupHeartbeatRequest, partitions_max: int) -> None:
    """Check a heartbeat by itself. Raises `Refused`.

    It names so many topics at most. Apache Kafka has no limit.
    """
    if not 0 < len(request.member_id) <= MEMBER_ID_MAX:
        raise _invalid("Invalid member id in the request.")
    if len(request.subscribed_topic_names or ()) > partitions_max:
        raise _invalid(f"At most {partitions_max} topics are allowed.")
    texts = (("MemberId", request.member_id), ("GroupId", request.group_id), ("RackId", request.rack_id))
    for name, text in texts:
        if text is not None and not text.strip():
            raise _invalid(f"{name} can't be empty.")
    if request.member_epoch == 0 and not request.subscribed_topic_names:
        raise _invalid("SubscribedTopicNames must be set in first request.")
    if request.member_epoch < LEFT_EPOCH:
        raise _invalid("MemberEpoch is invalid.")


def _invalid(message: str) -> Refused:
    return Refused(ErrorCode.INVALID_REQUEST, message)


def known_member(group: ShareGroup, member_id: str) -> ShareMember:
    """Return a member. Raises `Refused`."""
    member = group.members.get(member_id)
    if member is None:
        text = f"Member {member_id} is not a member of group {group.id}."
        raise Refused(ErrorCode.UNKNOWN_MEMBER_ID, text)
    return member


def check_room(group: ShareGroup, member_id: str, max_size: int) -> None:
    """Check that a group may have a member, unless it has it. Raises `Refused`."""
    if member_id not in group.members and len(group.members) >= max_size:
        text = f"The share group has reached its maximum capacity of {max_size} members."
        raise Refused(ErrorCode.GROUP_MAX_SIZE_REACHED, text)


def check_epoch(member: ShareMember, epoch: int) -> None:
    """Check the epoch of a member, 0 if it joins. Raises `Refused`.

    The previous epoch is accepted: the member may not have received the last answer.
    """
    if epoch in (0, member.epoch, member.previous_epoch):
        return
    size, more = "greater", ""
    if epoch < member.epoch:
        size = "smaller"
        more = f", and it does not match the previous member epoch ({member.previous_epoch})"
    raise Refused(
        ErrorCode.FENCED_MEMBER_EPOCH,
        f"The share group member has a {size} member epoch ({epoch}) than the one known by the group "
        f"coordinator ({member.epoch}){more}. The member must abandon all its partitions and rejoin.",
    )


def updated(member: ShareMember, request: ShareGroupHeartbeatRequest, client: RequestSender) -> ShareMember:
    """Return a member with what its heartbeat says of it; what is not said stays as it is."""
    names = request.subscribed_topic_names
    return member.changed(client, request.rack_id, None if names is None else tuple(sorted(set(names))))
