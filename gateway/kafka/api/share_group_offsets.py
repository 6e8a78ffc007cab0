"""DescribeShareGroupOffsets, AlterShareGroupOffsets, DeleteShareGroupOffsets: start offsets of share groups.

Standard: `KafkaApis`, `GroupCoordinatorService`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from mqgateway.engine.steps import Steps, mapped
from mqgateway.gateway.access.operations import AclOperation
from mqgateway.gateway.kafka.api import Answer, Handlers
from mqgateway.gateway.kafka.api.groups import GroupAccess
from mqgateway.gateway.kafka.call import KafkaCall
from mqgateway.gateway.kafka.codec.error_codes import ErrorCode
from mqgateway.gateway.kafka.codec.messages.alter_share_group_offsets_request import (
    AlterShareGroupOffsetsRequest,
    AlterShareGroupOffsetsRequestPartition,
    AlterShareGroupOffsetsRequestTopic,
)
from mqgateway.gateway.kafka.codec.messages.alter_share_group_offsets_response import (
    AlterShareGroupOffsetsResponse,
    AlterShareGroupOffsetsResponsePartition,
    AlterShareGroupOffsetsResponseTopic,
)
from mqgateway.gateway.kafka.codec.messages.delete_share_group_offsets_request import (
    DeleteShareGroupOffsetsRequest,
)
from mqgateway.gateway.kafka.codec.messages.delete_share_group_offsets_response import (
    DeleteShareGroupOffsetsResponse,
    DeleteShareGroupOffsetsResponseTopic,
)
from mqgateway.gateway.kafka.codec.messages.describe_share_group_offsets_request import (
    DescribeShareGroupOffsetsRequest,
    DescribeShareGroupOffsetsRequestGroup,
    DescribeShareGroupOffsetsRequestTopic,
)
from mqgateway.gateway.kafka.codec.messages.describe_share_group_offsets_response import (
    DescribeShareGroupOffsetsResponse,
    DescribeShareGroupOffsetsResponseGroup,
    DescribeShareGroupOffsetsResponsePartition,
    DescribeShareGroupOffsetsResponseTopic,
)
from mqgateway.gateway.kafka.codec.schema import NO_UUID
from mqgateway.gateway.kafka.coordinator.group_records import by_topic
from mqgateway.gateway.kafka.coordinator.refusal import Refused
from mqgateway.gateway.kafka.coordinator.topic_catalog import TopicPartition
from mqgateway.gateway.kafka.rights import reads_topic, shows_topic
from mqgateway.gateway.kafka.share_groups.partitions import SharePartitionOffset
from mqgateway.gateway.kafka.share_groups.service import ShareGroups
from mqgateway.gateway.kafka.topics import Topic, Topics, store_name

DESCRIBE_SHARE_GROUP_OFFSETS, ALTER_SHARE_GROUP_OFFSETS, DELETE_SHARE_GROUP_OFFSETS = 90, 91, 92
PART = 100
"""Partitions that are worked on in one step."""
UNKNOWN = -1
"""Stands for a start offset or a lag that is not known."""
MESSAGES = {
    ErrorCode.TOPIC_AUTHORIZATION_FAILED: "Topic authorization failed.",
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION: "This server does not host this topic-partition.",
}
NOTHING = "There is no offset information to delete."

Altered = AlterShareGroupOffsetsResponsePartition
Deleted = DeleteShareGroupOffsetsResponseTopic
Offsets = Mapping[TopicPartition, SharePartitionOffset | None]


class _Alteration:
    """Start offsets that are set by one request, with the answers that wait for that."""

    def __init__(self) -> None:
        self.names: dict[bytes, str] = {}
        self.offsets: dict[TopicPartition, int] = {}
        self.known: list[tuple[TopicPartition, Altered]] = []

    def add(self, topic: Topic, asked: AlterShareGroupOffsetsRequestPartition, answer: Altered) -> None:
        place = topic.id, asked.partition_index
        self.names[topic.id] = topic.name
        self.offsets[place] = asked.start_offset
        self.known.append((place, answer))


class ShareGroupOffsetRequests:
    """Requests of administrators about the start offsets of share groups."""

    def __init__(self, shares: ShareGroups, access: GroupAccess, topics: Topics) -> None:
        self._shares = shares
        self._access = access
        self._topics = topics

    def handlers(self) -> Handlers:
        """Return the functions by API key."""
        return {
            DESCRIBE_SHARE_GROUP_OFFSETS: self.describe,
            ALTER_SHARE_GROUP_OFFSETS: self.alter,
            DELETE_SHARE_GROUP_OFFSETS: self.delete,
        }

    # Describe

    def describe(
        self, call: KafkaCall, request: DescribeShareGroupOffsetsRequest
    ) -> Steps[DescribeShareGroupOffsetsResponse]:
        """Answer DescribeShareGroupOffsets."""
        groups = []
        for group in request.groups:
            groups.append((yield from self._describe(call, group)))
        return DescribeShareGroupOffsetsResponse(groups=groups)

    def _describe(
        self, call: KafkaCall, group: DescribeShareGroupOffsetsRequestGroup
    ) -> Steps[DescribeShareGroupOffsetsResponseGroup]:
        yield
        error = self._access.error(call, group.group_id, AclOperation.DESCRIBE)
        if error:
            return DescribeShareGroupOffsetsResponseGroup(group.group_id, (), error)
        offsets = self._shares.offsets.describe(group.group_id)
        if group.topics is None:
            topics = yield from self._all_topics(call, offsets)
        else:
            topics = []
            for topic in group.topics:
                yield
                topics.append((yield from self._described_topic(call, topic, offsets)))
        return DescribeShareGroupOffsetsResponseGroup(group.group_id, topics)

    def _all_topics(
        self, call: KafkaCall, offsets: Offsets
    ) -> Steps[list[DescribeShareGroupOffsetsResponseTopic]]:
        """Return the topics of a group that still exist and that the client may see."""
        topics = []
        for topic_id, indexes in by_topic(offsets):
            yield
            topic = self._topics.by_id(topic_id)
            if topic is not None and shows_topic(call, topic.store_name):
                topics.append((yield from _topic_offsets(topic, indexes, offsets)))
        return topics

    def _described_topic(
        self, call: KafkaCall, asked: DescribeShareGroupOffsetsRequestTopic, offsets: Offsets
    ) -> Steps[DescribeShareGroupOffsetsResponseTopic]:
        name = asked.topic_name
        topic = self._topics.find(name)
        if not shows_topic(call, store_name(name)):
            error = ErrorCode.TOPIC_AUTHORIZATION_FAILED
        elif topic is None:
            error = ErrorCode.NONE
        else:
            described = yield from _topic_offsets(topic, asked.partitions, offsets)
            return described
        start, message = 0 if error else UNKNOWN, MESSAGES.get(error)
        partitions = yield from mapped(
            lambda index: DescribeShareGroupOffsetsResponsePartition(
                index, start, 0, UNKNOWN, error, message
            ),
            asked.partitions,
            PART,
        )
        return DescribeShareGroupOffsetsResponseTopic(name, NO_UUID, partitions)

    # Alter

    def alter(self, call: KafkaCall, request: AlterShareGroupOffsetsRequest) -> Steps[Answer]:
        """Answer AlterShareGroupOffsets once the offsets are durable."""
        yield
        error = self._group_error(call, request.group_id, AclOperation.READ)
        if not error:
            error = self._access.share_error(request.group_id)
        if error:
            return AlterShareGroupOffsetsResponse(error_code=error)
        alteration = _Alteration()
        answers: list[AlterShareGroupOffsetsResponseTopic] = []
        for topic in request.topics:
            yield
            answers.append((yield from self._alterable(call, topic, alteration)))
        names, offsets, known = alteration.names, alteration.offsets, alteration.known
        try:
            done = yield from self._shares.offsets.alter(request.group_id, names, offsets)
        except Refused as refused:
            return AlterShareGroupOffsetsResponse(error_code=refused.code, error_message=str(refused))

        def altered(errors: Mapping[TopicPartition, ErrorCode]) -> AlterShareGroupOffsetsResponse:
            for place, one in known:
                one.error_code = errors[place]
            return AlterShareGroupOffsetsResponse(responses=answers)

        return done.addCallback(altered)

    def _alterable(
        self, call: KafkaCall, asked: AlterShareGroupOffsetsRequestTopic, alteration: _Alteration
    ) -> Steps[AlterShareGroupOffsetsResponseTopic]:
        """Add the offsets that may be set; return what is known of the topic's answer."""
        topic = self._topics.find(asked.topic_name)
        error = self._topic_error(call, asked.topic_name, topic)

        def checked(one: AlterShareGroupOffsetsRequestPartition) -> Altered:
            problem = error or _offset_error(topic, one)
            answer = Altered(one.partition_index, problem, MESSAGES.get(problem))
            if topic is not None and not problem:
                alteration.add(topic, one, answer)
            return answer

        partitions = yield from mapped(checked, asked.partitions, PART)
        topic_id = NO_UUID if topic is None else topic.id
        return AlterShareGroupOffsetsResponseTopic(asked.topic_name, topic_id, partitions)

    def _topic_error(self, call: KafkaCall, name: str, topic: Topic | None) -> ErrorCode:
        if not reads_topic(call, store_name(name)):
            return ErrorCode.TOPIC_AUTHORIZATION_FAILED
        return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION if topic is None else ErrorCode.NONE

    def _group_error(self, call: KafkaCall, group_id: str, operation: AclOperation) -> ErrorCode:
        error = self._access.error(call, group_id, operation)
        return error or (ErrorCode.NONE if group_id else ErrorCode.INVALID_GROUP_ID)

    # Delete

    def delete(self, call: KafkaCall, request: DeleteShareGroupOffsetsRequest) -> Steps[Answer]:
        """Answer DeleteShareGroupOffsets once the offsets are gone."""
        yield
        error = self._group_error(call, request.group_id, AclOperation.DELETE)
        if error:
            return DeleteShareGroupOffsetsResponse(error_code=error)
        answers: dict[str, Deleted] = {}
        known: dict[bytes, Deleted] = {}
        for one in request.topics:
            yield
            name = one.topic_name
            topic = self._topics.find(name)
            error = self._topic_error(call, name, topic)
            answer = answers[name] = Deleted(name, NO_UUID, error, MESSAGES.get(error))
            if topic is not None and not error:
                known[topic.id] = answer
        try:
            done = self._shares.offsets.delete(request.group_id, list(known))
        except Refused as refused:
            return DeleteShareGroupOffsetsResponse(error_code=refused.code, error_message=str(refused))

        def deleted(errors: Mapping[bytes, ErrorCode | None]) -> DeleteShareGroupOffsetsResponse:
            for topic_id, error in errors.items():
                _complete(known[topic_id], topic_id, error)
            return DeleteShareGroupOffsetsResponse(responses=tuple(answers.values()))

        return done.addCallback(deleted)


def _topic_offsets(
    topic: Topic, indexes: Sequence[int], offsets: Offsets
) -> Steps[DescribeShareGroupOffsetsResponseTopic]:
    """Return the start offsets of partitions; -1 for those that have none yet."""

    def described(index: int) -> DescribeShareGroupOffsetsResponsePartition:
        known = offsets.get((topic.id, index)) or SharePartitionOffset(UNKNOWN, 0, None)
        lag = UNKNOWN if known.lag is None else known.lag
        return DescribeShareGroupOffsetsResponsePartition(index, known.start_offset, known.leader_epoch, lag)

    partitions = yield from mapped(described, indexes, PART)
    return DescribeShareGroupOffsetsResponseTopic(topic.name, topic.id, partitions)


def _offset_error(topic: Topic | None, one: AlterShareGroupOffsetsRequestPartition) -> ErrorCode:
    if topic is None or not 0 <= one.partition_index < topic.partitions:
        return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    return ErrorCode.INVALID_REQUEST if one.start_offset < 0 else ErrorCode.NONE


def _complete(answer: Deleted, topic_id: bytes, error: ErrorCode | None) -> None:
    """Add the outcome of a deletion to its answer; None if there was nothing to delete."""
    if error is None:
        answer.error_code, answer.error_message = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, NOTHING
    else:
        answer.topic_id, answer.error_code = topic_id, error
