"""Fetch: batches from partitions. Standard: `KafkaApis.handleFetchRequest`, `ReplicaManager.fetchMessages`.

Batches are given whole. A partition that can be read gives at least one, even if it is larger than the limits
of the request, as long as nothing else was read.

The leader sends a consumer to a follower in its rack that is in sync (KIP-392). A follower that has fallen
behind sends it back: NOT_LEADER_OR_FOLLOWER, OFFSET_NOT_AVAILABLE and OFFSET_OUT_OF_RANGE of a follower make
clients ask the leader again.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import Final, cast

from twisted.internet.defer import Deferred

from mqgateway.engine.ha.group_nodes import GroupNode
from mqgateway.engine.steps import PART, Steps, in_parts, run
from mqgateway.gateway.broker.operations import OperationError, Operations, Permit, Use
from mqgateway.gateway.broker.operations.batches import READ_AT_ONCE, ReadBatches, ReadPosition
from mqgateway.gateway.kafka.api import Answer, Handlers
from mqgateway.gateway.kafka.call import KafkaCall
from mqgateway.gateway.kafka.cluster_view import ClusterView
from mqgateway.gateway.kafka.codec.apis import FETCH
from mqgateway.gateway.kafka.codec.error_codes import ErrorCode
from mqgateway.gateway.kafka.codec.fetch import TOPIC_ID_SINCE
from mqgateway.gateway.kafka.codec.messages.fetch_request import FetchPartition, FetchRequest
from mqgateway.gateway.kafka.codec.messages.fetch_response import (
    AbortedTransaction,
    EpochEndOffset,
    FetchableTopicResponse,
    FetchResponse,
    PartitionData,
)
from mqgateway.gateway.kafka.codec.schema import Records
from mqgateway.gateway.kafka.errors import error_code
from mqgateway.gateway.kafka.fetch_sessions import (
    NO_SESSION,
    AnsweredOffsets,
    FetchContext,
    FetchSessions,
    Key,
    SessionError,
    TopicName,
)
from mqgateway.gateway.kafka.leader_hints import hint_in_fetch
from mqgateway.gateway.kafka.quotas.enforcement import QuotaEnforcement
from mqgateway.gateway.kafka.rights import READING
from mqgateway.gateway.kafka.topics import Admitted, Topic, Topics

SESSION_SINCE: Final = 7
READ_COMMITTED: Final = 1

Data = tuple[Key, PartitionData]


class Fetch:
    """Reads of one broker."""

    def __init__(
        self, operations: Operations, topics: Topics, cluster: ClusterView, quotas: QuotaEnforcement
    ) -> None:
        self._quotas = quotas
        self._max_bytes = operations.options.kafka_fetch_max_bytes
        self._batches = operations.batches
        self._replicas = operations.replicas
        self._cluster = cluster
        self._runner = operations.runner
        self._topics = topics
        self._sessions = FetchSessions()

    def handlers(self) -> Handlers:
        """Return the functions by API key."""
        return {FETCH: self.fetch}

    def fetch(self, call: KafkaCall, request: FetchRequest) -> Answer | Steps[Answer]:
        """Answer Fetch once there are enough bytes, or its time is up."""
        by_id = call.version >= TOPIC_ID_SINCE
        if call.version < SESSION_SINCE:
            request.session_id, request.session_epoch = NO_SESSION, -1
        try:
            context = self._sessions.context(request, by_id, call.now)
        except SessionError as error:
            return FetchResponse(error_code=error.code, session_id=request.session_id)
        steps = self._fetch(call, request, context, by_id)
        return run(steps) if len(context.partitions) <= READ_AT_ONCE else steps

    def _fetch(
        self, call: KafkaCall, request: FetchRequest, context: FetchContext, by_id: bool
    ) -> Steps[Answer]:
        sorted_out = _Sorted(
            context,
            request.isolation_level == READ_COMMITTED,
            self._cluster.serves_rack(request.rack_id),
            self._cluster.followers_for(request.rack_id),
        )
        permit: Permit | None = None
        topics: dict[TopicName, Admitted | ErrorCode] = {}
        for part in in_parts(context.partitions):
            for key, partition in part:
                name = key[0]
                if name not in topics:
                    topic_id = name.id if by_id else None
                    topics[name] = self._topics.admitted(call, Use.PULL, READING, name.name, topic_id)
                found = topics[name]
                if isinstance(found, ErrorCode):
                    sorted_out.settled.append((key, _refused(key[1], found)))
                    continue
                topic, permit = found
                self._sort(sorted_out, topic, permit, key, partition)
            yield
        if permit is None or not sorted_out.positions:
            return (yield from self._answer(call, sorted_out, ()))
        min_bytes, max_bytes = max(0, request.min_bytes), min(max(1, request.max_bytes), self._max_bytes)
        if self._quotas.is_on:
            max_bytes = self._quotas.fetch_limit(call, max_bytes)
            min_bytes = min(min_bytes, max_bytes)
        outcome = self._batches.fetch(
            permit,
            sorted_out.positions,
            min_bytes,
            max_bytes,
            0 if sorted_out.settled else max(0, request.max_wait_ms),
            may_borrow=len(context.partitions) <= READ_AT_ONCE,  # so that the answer is made at once
            is_committed=sorted_out.is_committed,
            follows=sorted_out.follows,
        )
        if isinstance(outcome, Deferred):
            return outcome.addCallback(self._waited, sorted_out, call)
        return (yield from self._answer(call, sorted_out, outcome))

    def _answer(self, call: KafkaCall, wanted: _Sorted, found: Sequence[ReadBatches]) -> Steps[FetchResponse]:
        answer = yield from _answer(wanted, found)
        if wanted.settled or not self._cluster.leads:
            return hint_in_fetch(self._cluster, self._topics, call, answer)
        return answer

    def _waited(self, found: Sequence[ReadBatches], wanted: _Sorted, call: KafkaCall) -> Answer:
        """Return the answer for what came after a wait."""
        steps = self._answer(call, wanted, found)
        if len(found) <= READ_AT_ONCE:
            return run(steps)
        return self._runner.run(f"fetch {call.connection.address}", steps)

    def _sort(
        self, wanted: _Sorted, topic: Topic, permit: Permit, key: Key, partition: FetchPartition
    ) -> None:
        """Sort a partition of a topic that the client may read."""
        limit = max(1, partition.partition_max_bytes)
        answer = self._problem(topic, partition, wanted.follows)
        queue = -1 if answer is not None else topic.queue(key[1])
        position = ReadPosition(topic.store_name, queue, partition.fetch_offset, limit)
        if answer is None and wanted.followers:
            answer = self._moved(permit, key[1], position, wanted.followers)
        if answer is not None:
            wanted.settled.append((key, answer))
            return
        wanted.positions.append(position)
        wanted.keys.append(key)

    def _problem(self, topic: Topic, partition: FetchPartition, follows: bool) -> PartitionData | None:
        """Return the answer for a partition that cannot be read, None if it can."""
        number, epoch = partition.partition, partition.current_leader_epoch
        code = topic.problem(number)
        if not code:
            check = self._cluster.follower_problem if follows else self._cluster.problem
            code = check(epoch, topic.epoch_base(number))
        if code:
            return _refused(number, code)
        if follows or partition.last_fetched_epoch < 0:  # a follower does not know all ends of epochs yet
            return None
        return self._divergence(topic, partition)

    def _moved(
        self, permit: Permit, number: int, position: ReadPosition, followers: Sequence[GroupNode]
    ) -> PartitionData | None:
        """Return the answer that names the first follower whose log has an offset, None if none has it.

        Source: `ReplicaManager.findPreferredReadReplica`.
        """
        topic, queue, offset, _ = position
        try:
            for node in followers:
                if self._batches.is_in_log(permit, topic, queue, offset, node.begin):
                    ends = self._batches.ends(permit, topic, queue)
                    return PartitionData(
                        number,
                        0,
                        ends.high_watermark,
                        ends.last_stable,
                        ends.log_start,
                        preferred_read_replica=node.id,
                        records=b"",
                    )
        except OperationError:
            pass  # the read has the same error, which is answered
        return None

    def _divergence(self, topic: Topic, partition: FetchPartition) -> PartitionData | None:
        """Return the answer to a client whose last record is not in this log, None if it may be."""
        number, fetched = partition.partition, partition.last_fetched_epoch
        epoch, end = self._replicas.epoch_end(
            topic.store_name, topic.queue(number), fetched, topic.epoch_base(number)
        )
        if end < 0:
            return _refused(number, ErrorCode.OFFSET_OUT_OF_RANGE)
        if epoch == fetched and end >= partition.fetch_offset:
            return None
        return PartitionData(number, 0, -1, diverging_epoch=EpochEndOffset(epoch, end), records=b"")


class _Sorted:
    """The partitions of a request: those that are answered without a read, and those to read.

    A consumer in this rack reads from this broker, which `follows`; another one is sent to `followers`.
    """

    __slots__ = ("context", "followers", "follows", "is_committed", "keys", "positions", "settled")

    def __init__(
        self, context: FetchContext, is_committed: bool, follows: bool, followers: Sequence[GroupNode]
    ) -> None:
        self.context = context
        self.is_committed = is_committed
        self.follows = follows
        self.followers = followers
        self.settled: list[Data] = []
        self.positions: list[ReadPosition] = []
        self.keys: list[Key] = []


def _refused(number: int, code: ErrorCode) -> PartitionData:
    return PartitionData(number, code, -1, records=b"")


def _data(number: int, read: ReadBatches, is_committed: bool, has_news: bool) -> PartitionData:
    """Return the answer for a partition that was read, among others that may have news."""
    if read.error is not None:
        code = error_code(read.error, ErrorCode.TOPIC_AUTHORIZATION_FAILED)
        return _refused(number, code)
    if read.is_out_of_range:
        return _refused(number, ErrorCode.OFFSET_OUT_OF_RANGE)
    if read.is_ahead and not has_news:  # the wait is over, and it has not come
        return _refused(number, ErrorCode.OFFSET_NOT_AVAILABLE)
    ends = read.ends
    return PartitionData(
        number,
        0,
        ends.high_watermark,
        ends.last_stable,
        ends.log_start,
        aborted_transactions=_aborted(read) if is_committed else None,
        records=cast(Records, read.spans),  # its encoder takes chunks
    )


def _aborted(read: ReadBatches) -> Sequence[AbortedTransaction]:
    return [AbortedTransaction(one.producer_id, one.first_offset) for one in read.aborted]


def _answer(wanted: _Sorted, found: Sequence[ReadBatches]) -> Steps[FetchResponse]:
    """Return the answer: in an incremental session, only partitions with news."""
    context, is_committed = wanted.context, wanted.is_committed
    by_topic: dict[TopicName, list[PartitionData]] = {}
    with_records: list[Key] = []
    has_news = bool(wanted.settled) or any(one.size for one in found)
    read = (
        (key, _data(key[1], one, is_committed, has_news)) for key, one in zip(wanted.keys, found, strict=True)
    )
    for number, (key, partition) in enumerate(chain(wanted.settled, read), 1):
        has_records = bool(partition.records)
        seen = AnsweredOffsets(partition.high_watermark, partition.log_start_offset)
        is_needed = has_records or partition.error_code != 0 or partition.preferred_read_replica >= 0
        if context.needs(key, seen, is_needed):
            by_topic.setdefault(key[0], []).append(partition)
        if has_records:
            with_records.append(key)
        if not number % PART:
            yield
    context.last(with_records)
    return FetchResponse(
        session_id=NO_SESSION if context.session is None else context.session.id,
        responses=[
            FetchableTopicResponse(name.name, name.id, partitions) for name, partitions in by_topic.items()
        ],
    )
