"""Share groups of KIP-932: heartbeats of members, and their description.

Standard: `KafkaApis`, `GroupMetadataManager.shareGroupDescribe`.
"""

from __future__ import annotations

from collections.abc import Iterable

from mqgateway.engine.steps import Steps
from mqgateway.gateway.access.operations import AclOperation
from mqgateway.gateway.kafka.api import Answer, Handlers
from mqgateway.gateway.kafka.api.assigned_groups import (
    HIDDEN_TOPICS,
    described_groups,
    described_members,
    existing,
    shows_all,
)
from mqgateway.gateway.kafka.api.groups import GroupAccess
from mqgateway.gateway.kafka.call import KafkaCall
from mqgateway.gateway.kafka.codec.error_codes import ErrorCode
from mqgateway.gateway.kafka.codec.messages.share_group_describe_request import ShareGroupDescribeRequest
from mqgateway.gateway.kafka.codec.messages.share_group_describe_response import (
    Assignment,
    DescribedGroup,
    Member,
    ShareGroupDescribeResponse,
    TopicPartitions,
)
from mqgateway.gateway.kafka.codec.messages.share_group_heartbeat_request import ShareGroupHeartbeatRequest
from mqgateway.gateway.kafka.codec.messages.share_group_heartbeat_response import ShareGroupHeartbeatResponse
from mqgateway.gateway.kafka.coordinator.coordinator import Coordinator
from mqgateway.gateway.kafka.coordinator.member import RequestSender
from mqgateway.gateway.kafka.coordinator.topic_catalog import TopicPartition
from mqgateway.gateway.kafka.share_groups.assignor import SIMPLE
from mqgateway.gateway.kafka.share_groups.member import ShareMember
from mqgateway.gateway.kafka.topics import Topics

SHARE_GROUP_HEARTBEAT, SHARE_GROUP_DESCRIBE = 76, 77


class ShareGroupRequests:
    """Requests of members of share groups, and of administrators about them."""

    def __init__(self, coordinator: Coordinator, access: GroupAccess, topics: Topics) -> None:
        self._coordinator = coordinator
        self._access = access
        self._topics = topics

    def handlers(self) -> Handlers:
        """Return the functions by API key."""
        return {SHARE_GROUP_HEARTBEAT: self.heartbeat, SHARE_GROUP_DESCRIBE: self.describe}

    def heartbeat(self, call: KafkaCall, request: ShareGroupHeartbeatRequest) -> Steps[Answer]:
        """Answer ShareGroupHeartbeat once what it changed is durable."""
        error = self._access.error(call, request.group_id, AclOperation.READ)
        if not error and request.member_epoch == 0 and request.group_id:
            error = self._access.share_error(request.group_id)
        if error:
            return ShareGroupHeartbeatResponse(error_code=error)
        if not (yield from shows_all(call, request.subscribed_topic_names or ())):
            return ShareGroupHeartbeatResponse(error_code=ErrorCode.TOPIC_AUTHORIZATION_FAILED)
        client = RequestSender(call.client_id, f"/{call.client_host}")
        return self._coordinator.shares.heartbeats.heartbeat(request, client)

    # Administrators

    def describe(
        self, call: KafkaCall, request: ShareGroupDescribeRequest
    ) -> Steps[ShareGroupDescribeResponse]:
        """Answer ShareGroupDescribe."""
        groups = yield from described_groups(
            call,
            request.group_ids,
            request.include_authorized_operations,
            lambda group_id: self._describe(call, group_id),
        )
        return ShareGroupDescribeResponse(groups=groups)

    def _describe(self, call: KafkaCall, group_id: str) -> Steps[DescribedGroup]:
        yield
        error = self._access.error(call, group_id, AclOperation.DESCRIBE)
        if not error and not group_id:
            error = ErrorCode.INVALID_GROUP_ID
        if error:
            return DescribedGroup(error, None, group_id)
        group = self._coordinator.shares.get(group_id)
        if group is None:
            groups, shared = self._coordinator.groups, self._coordinator.shared
            is_known = groups.get(group_id) is not None or shared.has_group(group_id)
            message = f"Group {group_id} {'is not a share group' if is_known else 'not found'}."
            return DescribedGroup(ErrorCode.GROUP_ID_NOT_FOUND, message, group_id)
        if not (yield from shows_all(call, tuple(group.topics))):
            return DescribedGroup(ErrorCode.TOPIC_AUTHORIZATION_FAILED, HIDDEN_TOPICS, group_id)
        described = DescribedGroup(
            ErrorCode.NONE,
            None,
            group_id,
            group.state.value,
            group.epoch,
            group.assignment_epoch,
            SIMPLE,
        )
        described.members = yield from described_members(group.members.values(), self._described)
        return described

    def _described(self, member: ShareMember) -> Member:
        return Member(
            member.id,
            member.rack_id,
            member.epoch,
            member.client.id,
            member.client.host,
            member.topics,
            self._assignment(member.assigned),
        )

    def _assignment(self, partitions: Iterable[TopicPartition]) -> Assignment:
        """Return partitions of topics that still exist."""
        found = existing(self._topics, partitions)
        return Assignment([TopicPartitions(topic.id, topic.name, indexes) for topic, indexes in found])
