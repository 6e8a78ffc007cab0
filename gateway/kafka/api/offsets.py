"""Committed offsets: OffsetCommit, OffsetFetch, OffsetDelete.

Standard: `KafkaApis`, `OffsetMetadataManager`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from twisted.internet.defer import Deferred
from twisted.python.failure import Failure

from mqgateway.engine.steps import Steps, mapped
from mqgateway.gateway.access.operations import AclOperation
from mqgateway.gateway.broker.operations import Use
from mqgateway.gateway.kafka.api import Answer, Handlers
from mqgateway.gateway.kafka.api.groups import GroupAccess, failed
from mqgateway.gateway.kafka.api.offset_checks import CheckedOffsets, readable_topic
from mqgateway.gateway.kafka.call import KafkaCall
from mqgateway.gateway.kafka.codec.error_codes import ErrorCode
from mqgateway.gateway.kafka.codec.messages.offset_commit_request import (
    OffsetCommitRequest,
    OffsetCommitRequestTopic,
)
from mqgateway.gateway.kafka.codec.messages.offset_commit_response import (
    OffsetCommitResponse,
    OffsetCommitResponsePartition,
    OffsetCommitResponseTopic,
)
from mqgateway.gateway.kafka.codec.messages.offset_delete_request import OffsetDeleteRequest
from mqgateway.gateway.kafka.codec.messages.offset_delete_response import (
    OffsetDeleteResponse,
    OffsetDeleteResponsePartition,
    OffsetDeleteResponseTopic,
)
from mqgateway.gateway.kafka.codec.messages.offset_fetch_request import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
)
from mqgateway.gateway.kafka.codec.messages.offset_fetch_response import (
    OffsetFetchResponse,
    OffsetFetchResponseGroup,
    OffsetFetchResponsePartition,
    OffsetFetchResponsePartitions,
    OffsetFetchResponseTopic,
    OffsetFetchResponseTopics,
)
from mqgateway.gateway.kafka.codec.schema import NO_UUID, Message
from mqgateway.gateway.kafka.consumer_groups.group import ModernGroup
from mqgateway.gateway.kafka.coordinator.commits import OffsetBatch
from mqgateway.gateway.kafka.coordinator.coordinator import Coordinator
from mqgateway.gateway.kafka.coordinator.records import NEVER, OffsetKey
from mqgateway.gateway.kafka.rights import VISIBLE, shows_topic
from mqgateway.gateway.kafka.topics import Topic, Topics

OFFSET_COMMIT, OFFSET_FETCH, OFFSET_DELETE = 8, 9, 47
IDS_SINCE = 10
"""Version of OffsetCommit and OffsetFetch from which topics have ids instead of names."""
GROUPS_SINCE = 8
"""Version of OffsetFetch from which many groups may be asked for."""
GROUP_ERROR_SINCE = 2
"""Version of OffsetFetch from which a group has an error code, besides its partitions."""
INVALID_OFFSET = -1
LONG_MAX = 2**63 - 1

Wanted = tuple[str, bytes, Sequence[int]]
"""A topic by name or id, and partitions of it."""


class OffsetRequests:
    """Requests about the offsets of groups."""

    def __init__(self, coordinator: Coordinator, access: GroupAccess, topics: Topics) -> None:
        self._coordinator = coordinator
        self._access = access
        self._topics = topics

    def handlers(self) -> Handlers:
        """Return the functions by API key."""
        return {OFFSET_COMMIT: self.commit, OFFSET_FETCH: self.fetch, OFFSET_DELETE: self.delete}

    def _topic(self, call: KafkaCall, name: str, topic_id: bytes) -> Topic | ErrorCode:
        """Return a topic that the client may read, or the reason why not."""
        return readable_topic(self._topics, call, name, topic_id if call.version >= IDS_SINCE else None)

    # Commit

    def commit(self, call: KafkaCall, request: OffsetCommitRequest) -> Steps[Answer]:
        """Answer OffsetCommit once the records of all offsets are durable."""
        error = self._access.error(call, request.group_id, AclOperation.READ)
        if error:
            return _committed(request, [[error] * len(topic.partitions) for topic in request.topics])
        topics = yield from mapped(
            lambda topic: self._topic(call, topic.name, topic.topic_id), request.topics
        )
        if any(isinstance(topic, Topic) for topic in topics):
            error = self._access.commit_error(request.group_id, request.generation_id_or_member_epoch)
        answer = yield from self._commit(call, request, topics, error)
        return answer

    def _commit(
        self,
        call: KafkaCall,
        request: OffsetCommitRequest,
        topics: Sequence[Topic | ErrorCode],
        refused: ErrorCode,
    ) -> Steps[Message | Deferred[Message]]:
        """Commit the offsets of a request: check some at a time, then the member, then write all of them."""
        commits, retention = self._coordinator.commits, request.retention_time_ms
        expires = NEVER if retention < 0 else min(call.now + retention, LONG_MAX)
        checked = CheckedOffsets(commits, request.group_id, OffsetBatch(), call.now, expires)
        yield from checked.check(request.topics, topics, refused)
        error = refused
        if not error and checked.has_any:
            error = commits.error(request, call.version)
        if not error and not commits.has_room(len(checked.batch.offsets)):
            error = ErrorCode.COORDINATOR_NOT_AVAILABLE

        def answer(failure: Failure | None) -> Message:
            general = error if failure is None else failed(failure)
            checked.settle(general, is_general=bool(error))
            return _committed(request, checked.errors)

        return commits.commit(OffsetBatch() if error else checked.batch).addBoth(answer)

    # Fetch

    def fetch(self, call: KafkaCall, request: OffsetFetchRequest) -> Steps[OffsetFetchResponse]:
        """Answer OffsetFetch."""
        if call.version >= GROUPS_SINCE:
            groups = []
            for group in request.groups:
                asked: list[Wanted] | None = None
                if group.topics is not None:
                    asked = [(one.name, one.topic_id, one.partition_indexes) for one in group.topics]
                is_stable = request.require_stable
                error = self._member_error(group)
                if error:
                    groups.append(OffsetFetchResponseGroup(group.group_id, (), error))
                    continue
                groups.append((yield from self._fetch_group(call, group.group_id, asked, is_stable)))
            return OffsetFetchResponse(groups=groups)
        wanted: list[Wanted] | None = None
        if request.topics is not None:
            wanted = [(one.name, NO_UUID, one.partition_indexes) for one in request.topics]
        found = yield from self._fetch_group(call, request.group_id, wanted, request.require_stable)
        if found.error_code and call.version < GROUP_ERROR_SINCE:
            found.topics = [
                OffsetFetchResponseTopics(name, NO_UUID, [_unknown(one, found.error_code) for one in numbers])
                for name, _, numbers in wanted or ()
            ]
        return OffsetFetchResponse(topics=_old(found.topics), error_code=found.error_code)

    def _member_error(self, asked: OffsetFetchRequestGroup) -> ErrorCode:
        """Return why a member of a consumer group may not fetch: it is not one, or is in another epoch."""
        group = self._coordinator.groups.get(asked.group_id)
        is_member = asked.member_id is not None or asked.member_epoch >= 0
        if not is_member or not isinstance(group, ModernGroup):
            return ErrorCode.NONE
        return group.fetch_error(asked.member_id or "", asked.member_epoch)

    def _fetch_group(
        self, call: KafkaCall, group_id: str, wanted: Sequence[Wanted] | None, is_stable: bool
    ) -> Steps[OffsetFetchResponseGroup]:
        """Fetch the offsets of a group; if they have to be stable, none that may soon be another one.

        Topics that are refused come last, as Apache Kafka has them.
        """
        yield
        error = self._access.error(call, group_id, AclOperation.DESCRIBE)
        if error:
            return OffsetFetchResponseGroup(group_id, (), error)
        if wanted is None:
            topics = yield from self._fetch_all(call, group_id, is_stable)
        else:
            topics, refused = [], []
            for name, topic_id, numbers in wanted:
                yield
                place = self._place(call, name, topic_id)
                if isinstance(place, ErrorCode):
                    unknown = [_unknown(one, place) for one in numbers]
                    refused.append(OffsetFetchResponseTopics(name, topic_id, unknown))
                elif place is None:
                    topics.append(OffsetFetchResponseTopics(name, topic_id, [*map(_unknown, numbers)]))
                else:
                    topics.append((yield from self._offsets(group_id, place, numbers, is_stable)))
            topics += refused
        return OffsetFetchResponseGroup(group_id, topics)

    def _fetch_all(
        self, call: KafkaCall, group_id: str, is_stable: bool
    ) -> Steps[list[OffsetFetchResponseTopics]]:
        places: dict[str, list[int]] = {}
        for key in self._coordinator.shared.keys(group_id):
            places.setdefault(key.topic, []).append(key.partition)
        answers = []
        for name, numbers in places.items():
            yield
            topic = self._topics.find(name)
            if topic is not None and shows_topic(call, topic.store_name):
                answers.append((yield from self._offsets(group_id, topic, numbers, is_stable)))
        return answers

    def _place(self, call: KafkaCall, name: str, topic_id: bytes) -> Topic | ErrorCode | None:
        """Return a topic whose offsets a client may see, or the reason why not; None for a name that is
        unknown, which has no offsets and is no error."""
        by_id = topic_id if call.version >= IDS_SINCE else None
        place = self._topics.admitted(call, Use.QUERY, VISIBLE, name, by_id)
        if place is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
            return None
        return place if isinstance(place, ErrorCode) else place[0]

    def _offsets(
        self, group_id: str, topic: Topic, numbers: Iterable[int], is_stable: bool
    ) -> Steps[OffsetFetchResponseTopics]:
        def offset(number: int) -> OffsetFetchResponsePartitions:
            key = OffsetKey(group_id, topic.name, number)
            if is_stable and self._coordinator.transactional.has_pending(key):
                return _unknown(number, ErrorCode.UNSTABLE_OFFSET_COMMIT)
            known = self._coordinator.commits.committed(key)
            if known is None:
                return _unknown(number)
            return OffsetFetchResponsePartitions(number, known.offset, known.leader_epoch, known.metadata)

        partitions = yield from mapped(offset, numbers)
        return OffsetFetchResponseTopics(topic.name, topic.id, partitions)

    # Delete

    def delete(self, call: KafkaCall, request: OffsetDeleteRequest) -> Steps[Answer]:
        """Answer OffsetDelete: offsets in topics that the group does not subscribe to are deleted."""
        group_id = request.group_id
        error = self._access.error(call, group_id, AclOperation.DELETE)
        if not error and not group_id:
            error = ErrorCode.INVALID_GROUP_ID
        if error:
            return OffsetDeleteResponse(error_code=error)
        group = self._coordinator.groups.get(group_id)
        error = self._coordinator.commits.delete_error(group_id, group)
        if error:
            return OffsetDeleteResponse(error_code=error)
        keys: list[OffsetKey] = []
        answers = []
        for wanted in request.topics:
            yield
            topic = self._topic(call, wanted.name, NO_UUID)
            reason = topic if isinstance(topic, ErrorCode) else ErrorCode.NONE
            if not reason and group is not None and group.subscribes_to(wanted.name):
                reason = ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC
            partitions = []
            for number in (one.partition_index for one in wanted.partitions):
                is_known = isinstance(topic, ErrorCode) or 0 <= number < topic.partitions
                code = reason if is_known else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
                partitions.append(OffsetDeleteResponsePartition(number, code))
                if not code:
                    keys.append(OffsetKey(group_id, wanted.name, number))
            answers.append(OffsetDeleteResponseTopic(wanted.name, partitions))
        offsets = yield from mapped(self._coordinator.commits.committed, keys)
        known = [key for key, offset in zip(keys, offsets, strict=True) if offset is not None]
        done: Deferred[Message] = self._coordinator.commits.delete(known).addCallbacks(
            lambda _: OffsetDeleteResponse(topics=answers),
            lambda failure: OffsetDeleteResponse(error_code=failed(failure)),
        )
        return done


def _committed(request: OffsetCommitRequest, errors: Sequence[Sequence[ErrorCode]]) -> OffsetCommitResponse:
    """Return the answer to a commit, with an error code for each partition."""

    def answered(topic: OffsetCommitRequestTopic, codes: Sequence[ErrorCode]) -> OffsetCommitResponseTopic:
        partitions = [
            OffsetCommitResponsePartition(partition.partition_index, code)
            for partition, code in zip(topic.partitions, codes, strict=True)
        ]
        return OffsetCommitResponseTopic(topic.name, topic.topic_id, partitions)

    topics = [answered(topic, codes) for topic, codes in zip(request.topics, errors, strict=True)]
    return OffsetCommitResponse(topics=topics)


def _unknown(number: int, error: int = ErrorCode.NONE) -> OffsetFetchResponsePartitions:
    """Return a partition without an offset."""
    return OffsetFetchResponsePartitions(number, INVALID_OFFSET, -1, "", error)


def _old(topics: Iterable[OffsetFetchResponseTopics]) -> list[OffsetFetchResponseTopic]:
    """Return topics as versions have them that know one group only."""
    return [
        OffsetFetchResponseTopic(
            topic.name,
            [
                OffsetFetchResponsePartition(
                    one.partition_index,
                    one.committed_offset,
                    one.committed_leader_epoch,
                    one.metadata,
                    one.error_code,
                )
                for one in topic.partitions
            ],
        )
        for topic in topics
    ]
