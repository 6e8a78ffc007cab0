"""Share groups of KIP-932: heartbeats of members, and their description.

Standard: `KafkaApis`, `GroupMetadataManager.shareGroupDescribe`.
"""

from __future__ import annotations

from collections.abc import Iterable

from mqgateway.engine.steps import Steps
from mqgateway.gateway.access.operations import AclOperation
from mqgateway.gateway.kafka.api import Answer, Handlers
from mqgateway.gateway.kafka.api.assigned_groups import (
    GroupDescriptions,
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
from mqgateway.gateway.kafka.share_groups.group import ShareGroup
from mqgateway.gateway.kafka.share_groups.member import ShareMember
from mqgateway.gateway.kafka.topics import Topics

SHARE_GROUP_HEARTBEAT, SHARE_GROUP_DESCRIBE = 76, 77


class ShareGroupRequests:
    """Requests of members of share groups, and of administrators about them."""

    def __init__(self, coordinator: Coordinator, access: GroupAccess, topics: Topics) -> None:
        self._coordinator = coordinator
        self._access = access
        self._topics = topics
        self._descriptions = GroupDescriptions(
            coordinator, access, ShareGroup, "a share group", DescribedGroup, self._describe
        )

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
        groups = yield from self._descriptions.of(
            call, request.group_ids, request.include_authorized_operations
        )
        return ShareGroupDescribeResponse(groups=groups)

    def _describe(self, group: ShareGroup) -> Steps[DescribedGroup]:
        described = DescribedGroup(
            ErrorCode.NONE,
            None,
            group.id,
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
