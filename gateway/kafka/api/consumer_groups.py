"""Consumer groups of KIP-848: heartbeats of members, and their description.

Standard: `KafkaApis`, `GroupMetadataManager.consumerGroupDescribe`.
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
from mqgateway.gateway.kafka.codec.messages.consumer_group_describe_request import (
    ConsumerGroupDescribeRequest,
)
from mqgateway.gateway.kafka.codec.messages.consumer_group_describe_response import (
    Assignment,
    ConsumerGroupDescribeResponse,
    DescribedGroup,
    Member,
    TopicPartitions,
)
from mqgateway.gateway.kafka.codec.messages.consumer_group_heartbeat_request import (
    ConsumerGroupHeartbeatRequest,
)
from mqgateway.gateway.kafka.codec.messages.consumer_group_heartbeat_response import (
    ConsumerGroupHeartbeatResponse,
)
from mqgateway.gateway.kafka.consumer_groups.group import ModernGroup
from mqgateway.gateway.kafka.consumer_groups.member import ModernMember
from mqgateway.gateway.kafka.coordinator.coordinator import Coordinator
from mqgateway.gateway.kafka.coordinator.member import RequestSender
from mqgateway.gateway.kafka.coordinator.topic_catalog import TopicPartition
from mqgateway.gateway.kafka.rights import shows_topic
from mqgateway.gateway.kafka.topics import Topics, store_name

CONSUMER_GROUP_HEARTBEAT, CONSUMER_GROUP_DESCRIBE = 68, 69
CONSUMER_TYPE = 1
"""Type of a member that uses the consumer protocol, in the description."""


class ConsumerGroupRequests:
    """Requests of members and administrators of consumer groups."""

    def __init__(self, coordinator: Coordinator, access: GroupAccess, topics: Topics) -> None:
        self._coordinator = coordinator
        self._access = access
        self._topics = topics
        self._descriptions = GroupDescriptions(
            coordinator, access, ModernGroup, "a consumer group", DescribedGroup, self._describe
        )

    def handlers(self) -> Handlers:
        """Return the functions by API key."""
        return {
            CONSUMER_GROUP_HEARTBEAT: self.heartbeat,
            CONSUMER_GROUP_DESCRIBE: self.describe,
        }

    def heartbeat(self, call: KafkaCall, request: ConsumerGroupHeartbeatRequest) -> Steps[Answer]:
        """Answer ConsumerGroupHeartbeat once what it changed is durable."""
        error = self._access.error(call, request.group_id, AclOperation.READ)
        if not error and request.member_epoch == 0 and request.group_id:
            error = self._join_error(request.group_id)
        if error:
            return ConsumerGroupHeartbeatResponse(error_code=error)
        if not (yield from shows_all(call, request.subscribed_topic_names or ())):
            return ConsumerGroupHeartbeatResponse(error_code=ErrorCode.TOPIC_AUTHORIZATION_FAILED)
        client = RequestSender(call.client_id, f"/{call.client_host}")
        return self._coordinator.consumers.heartbeats.heartbeat(
            request, client, call.version, lambda name: shows_topic(call, store_name(name))
        )

    def _join_error(self, group_id: str) -> ErrorCode:
        """Return why a group accepts no members: RocketMQ's are in it, or it cannot be made."""
        group = self._coordinator.groups.get(group_id)
        if (group is None or group.is_empty) and self._coordinator.shared.has_members(group_id):
            return ErrorCode.GROUP_ID_NOT_FOUND
        return self._access.create_error(group_id)

    # Administrators

    def describe(
        self, call: KafkaCall, request: ConsumerGroupDescribeRequest
    ) -> Steps[ConsumerGroupDescribeResponse]:
        """Answer ConsumerGroupDescribe."""
        groups = yield from self._descriptions.of(
            call, request.group_ids, request.include_authorized_operations
        )
        return ConsumerGroupDescribeResponse(groups=groups)

    def _describe(self, group: ModernGroup) -> Steps[DescribedGroup]:
        described = DescribedGroup(
            ErrorCode.NONE,
            None,
            group.id,
            group.state.value,
            group.epoch,
            group.assignment_epoch,
            group.assignor,
        )
        described.members = yield from described_members(
            group.members.values(), lambda member: self._described(group, member)
        )
        return described

    def _described(self, group: ModernGroup, member: ModernMember) -> Member:
        return Member(
            member.id,
            member.instance_id,
            member.rack_id,
            member.position.epoch,
            member.client.id,
            member.client.host,
            member.topics,
            member.regex,
            self._assignment(member.position.held),
            self._assignment(group.target(member.id).partitions),
            CONSUMER_TYPE,
        )

    def _assignment(self, partitions: Iterable[TopicPartition]) -> Assignment:
        """Return partitions of topics that still exist."""
        found = existing(self._topics, partitions)
        return Assignment([TopicPartitions(topic.id, topic.name, indexes) for topic, indexes in found])
