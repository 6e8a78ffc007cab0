"""ShareFetch: records for members of share groups, and outcomes of those that they had before.

Standard: `KafkaApis.handleShareFetchRequest`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from twisted.internet.defer import Deferred, gatherResults, succeed

from mqgateway.engine.steps import PART, Steps
from mqgateway.gateway.broker.operations import ClientConnection, Permit
from mqgateway.gateway.kafka.api import Answer, Handlers
from mqgateway.gateway.kafka.api.share_requests import AckError, AckErrors, ShareRequests
from mqgateway.gateway.kafka.call import KafkaCall
from mqgateway.gateway.kafka.codec.error_codes import ErrorCode
from mqgateway.gateway.kafka.codec.messages.share_fetch_request import (
    FetchTopic,
    ForgottenTopic,
    ShareFetchRequest,
)
from mqgateway.gateway.kafka.codec.messages.share_fetch_response import (
    AcquiredRecords,
    PartitionData,
    ShareFetchableTopicResponse,
    ShareFetchResponse,
)
from mqgateway.gateway.kafka.share_partitions.records import ShareKey
from mqgateway.gateway.kafka.share_partitions.sessions import (
    CLOSING_EPOCH,
    OPENING_EPOCH,
    MemberKey,
    ShareSession,
    ShareSessionError,
    TopicPartitionId,
)
from mqgateway.gateway.kafka.share_partitions.settings import SESSION_PARTITIONS_MAX
from mqgateway.gateway.kafka.share_reads import Outcome, SharedRecords, ShareReads, ShareWish
from mqgateway.gateway.kafka.topics import Topic
from mqgateway.gateway.runtime.outcomes import as_deferred

SHARE_FETCH: Final = 78
RECORD_LIMIT: Final = 1
"""Mode in which no more records are acquired than a client wants."""


class ShareFetch:
    """Fetches of members of share groups."""

    def __init__(self, requests: ShareRequests, reads: ShareReads) -> None:
        self._requests = requests
        self._reads = reads
        self._connections: set[ClientConnection] = set()

    def handlers(self) -> Handlers:
        """Return the functions by API key."""
        return {SHARE_FETCH: self.fetch}

    def fetch(self, call: KafkaCall, request: ShareFetchRequest) -> Steps[Answer]:
        """Answer ShareFetch once there are records, or its time is up, and what it changed is durable."""
        refusal = self._requests.refusal(call, request.group_id, request.member_id)
        if refusal is None and request.is_renew_ack and _wants_records(request):
            refusal = AckError(ErrorCode.INVALID_REQUEST, "A request that renews locks cannot fetch records.")
        if refusal is not None:
            return ShareFetchResponse(error_code=refusal.code, error_message=refusal.message)
        member = MemberKey(request.group_id or "", request.member_id or "")
        try:
            session = self._session(call, request, member)
        except ShareSessionError as error:
            return self._refused(error.code, request)
        done = yield from self._requests.acknowledge(
            call, member, _acknowledging(request), request.is_renew_ack
        )
        found: Deferred[Outcome] = succeed({})
        if session is None:
            self._requests.close(member)
        elif not request.is_renew_ack:
            found = yield from self._found(call, request, member, session)
        is_full = request.share_session_epoch == OPENING_EPOCH
        places = () if session is None or not is_full else tuple(session.partitions)
        both: Deferred[list[Any]] = gatherResults([found, done], consumeErrors=True)
        lock_duration = self._requests.settings(member.group).record_lock_duration
        return both.addCallback(_answer, places, lock_duration)

    def _session(self, call: KafkaCall, request: ShareFetchRequest, member: MemberKey) -> ShareSession | None:
        """Return the session of a request, None for its last one. Raises `ShareSessionError`."""
        sessions, epoch = self._requests.table.sessions, request.share_session_epoch
        if max(_size(request.topics), _size(request.forgotten_topics_data)) > SESSION_PARTITIONS_MAX:
            raise ShareSessionError(ErrorCode.SHARE_SESSION_LIMIT_REACHED)
        named = [
            TopicPartitionId(one.topic_id, part.partition_index)
            for one in request.topics
            for part in one.partitions
        ]
        if epoch == CLOSING_EPOCH:
            sessions.found(member)
            return None
        if epoch == OPENING_EPOCH:
            if any(_acknowledging(request)):
                raise ShareSessionError(ErrorCode.INVALID_REQUEST)
            session = sessions.open(member, call.connection, named)
            if call.connection not in self._connections:
                self._connections.add(call.connection)
                call.connection.on_lost(self._lost)
            return session
        session = sessions.next(member, epoch)
        forgotten = (
            TopicPartitionId(one.topic_id, number)
            for one in request.forgotten_topics_data
            for number in one.partitions
        )
        sessions.change(session, named, forgotten)
        return session

    def _lost(self, connection: ClientConnection) -> None:
        """Close the sessions of a connection that is lost."""
        self._connections.discard(connection)
        for member in self._requests.table.sessions.members(connection):
            self._requests.close(member)

    def _refused(self, code: ErrorCode, request: ShareFetchRequest) -> Answer:
        """Answer a request that does not fit its session.

        Without room for its session a client is answered after its time: it tries again at once.
        """
        answer = ShareFetchResponse(error_code=code)
        if code is not ErrorCode.SHARE_SESSION_LIMIT_REACHED or request.max_wait_ms <= 0:
            return answer
        return self._reads.pause(request.max_wait_ms).addCallback(lambda _: answer)

    def _found(
        self, call: KafkaCall, request: ShareFetchRequest, member: MemberKey, session: ShareSession
    ) -> Steps[Deferred[Outcome]]:
        """Read the partitions of a session."""
        refused: Outcome = {}
        places: dict[ShareKey, Topic] = {}
        permit: Permit | None = None
        for number, place in enumerate(session.rotated(request.share_session_epoch), 1):
            key, found = ShareKey(member.group, *place), self._requests.admitted(call, place)
            if isinstance(found, ErrorCode):
                refused[key] = SharedRecords(found)
            else:
                places[key], permit = found
            if not number % PART:
                yield
        if permit is None or request.max_records <= 0 or request.max_bytes <= 0:
            return succeed(refused)
        wish = ShareWish(
            call.connection,
            permit,
            member.member,
            request.max_records,
            request.batch_size,
            request.share_acquire_mode == RECORD_LIMIT,
            max(0, request.min_bytes),
            request.max_bytes,
            0 if refused else max(0, request.max_wait_ms),
        )
        read = as_deferred(self._reads.read(wish, member.group, places))
        return read.addCallback(lambda outcome: {**refused, **outcome})


def _size(topics: Sequence[FetchTopic] | Sequence[ForgottenTopic]) -> int:
    return sum(len(topic.partitions) for topic in topics)


def _wants_records(request: ShareFetchRequest) -> bool:
    return any((request.max_bytes, request.min_bytes, request.max_records, request.max_wait_ms))


def _acknowledging(request: ShareFetchRequest) -> list[FetchTopic]:
    """Return the partitions of a request that have acknowledgements, by topic."""
    topics: list[FetchTopic] = []
    for topic in request.topics:
        partitions = [one for one in topic.partitions if one.acknowledgement_batches]
        if partitions:
            topics.append(FetchTopic(topic.topic_id, partitions))
    return topics


def _answer(results: list[Any], places: Sequence[TopicPartitionId], lock_duration: int) -> ShareFetchResponse:
    """Return the answer: the partitions with records, errors or acknowledgements, and those in `places`.

    `results` are the outcomes of the read and of the acknowledgements.
    """
    found: Outcome = results[0]
    errors: AckErrors = results[1]
    partitions = {place: PartitionData(place.partition) for place in (*places, *errors)}
    for key, records in found.items():
        place = TopicPartitionId(key.topic_id, key.partition)
        data = partitions.setdefault(place, PartitionData(place.partition))
        data.error_code = records.error
        data.records = b"".join(records.batches)
        data.acquired_records = [AcquiredRecords(*one) for one in records.acquired]
    for place, error in errors.items():
        partitions[place].acknowledge_error_code = error.code
        partitions[place].acknowledge_error_message = error.message
    by_topic: dict[bytes, list[PartitionData]] = {}
    for place, data in partitions.items():
        by_topic.setdefault(place.topic_id, []).append(data)
    return ShareFetchResponse(
        acquisition_lock_timeout_ms=lock_duration,
        responses=[ShareFetchableTopicResponse(*topic) for topic in by_topic.items()],
    )
