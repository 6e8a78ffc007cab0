"""ListOffsets: offsets of ends and of times; OffsetForLeaderEpoch: where the records of a leader end.

Standard: `ReplicaManager.fetchOffset`, `KafkaApis.handleOffsetForLeaderEpochRequest` of Apache Kafka 4.4.0.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, Final

from twisted.internet.defer import CancelledError, Deferred, gatherResults
from twisted.python.failure import Failure

from mqgateway.engine.steps import PART, Steps, mapped
from mqgateway.gateway.broker.operations import (
    Ends,
    OperationError,
    Operations,
    TimedOffset,
    Use,
)
from mqgateway.gateway.kafka.api import Answer, Handlers
from mqgateway.gateway.kafka.call import KafkaCall
from mqgateway.gateway.kafka.cluster_view import ClusterView
from mqgateway.gateway.kafka.codec.error_codes import ErrorCode
from mqgateway.gateway.kafka.codec.messages.list_offsets_request import (
    ListOffsetsPartition,
    ListOffsetsRequest,
)
from mqgateway.gateway.kafka.codec.messages.list_offsets_response import (
    ListOffsetsPartitionResponse,
    ListOffsetsResponse,
    ListOffsetsTopicResponse,
)
from mqgateway.gateway.kafka.codec.messages.offset_for_leader_epoch_request import (
    OffsetForLeaderEpochRequest,
    OffsetForLeaderPartition,
)
from mqgateway.gateway.kafka.codec.messages.offset_for_leader_epoch_response import (
    EpochEndOffset,
    OffsetForLeaderEpochResponse,
    OffsetForLeaderTopicResult,
)
from mqgateway.gateway.kafka.errors import error_code
from mqgateway.gateway.kafka.rights import VISIBLE
from mqgateway.gateway.kafka.topics import Admitted, Topic, Topics

READ_COMMITTED: Final = 1
NO_EPOCH: Final = -1
EPOCHS_SINCE: Final = 4
LATEST: Final = -1
EARLIEST: Final = -2
LARGEST_TIMESTAMP: Final = -3
EARLIEST_LOCAL: Final = -4
LATEST_TIERED: Final = -5
EARLIEST_PENDING_UPLOAD: Final = -6
_SINCE: Final = {
    LATEST: 1,
    EARLIEST: 1,
    LARGEST_TIMESTAMP: 7,
    EARLIEST_LOCAL: 8,
    LATEST_TIERED: 9,
    EARLIEST_PENDING_UPLOAD: 11,
}
"""The versions since which timestamps have a special meaning; other negative ones are not supported."""


class ListOffsets:
    """Offsets of one broker's partitions."""

    def __init__(self, operations: Operations, topics: Topics, cluster: ClusterView) -> None:
        self._batches = operations.batches
        self._replicas = operations.replicas
        self._cluster = cluster
        self._topics = topics

    def handlers(self) -> Handlers:
        """Return the functions by API key."""
        return {ListOffsetsRequest.KEY: self.list_offsets, OffsetForLeaderEpochRequest.KEY: self.epoch_ends}

    # ListOffsets

    def list_offsets(self, call: KafkaCall, request: ListOffsetsRequest) -> Steps[Answer]:
        """Answer ListOffsets once all partitions are searched. A partition is answered once only."""
        asked = Counter(
            (topic.name, partition.partition_index)
            for topic in request.topics
            for partition in topic.partitions
        )
        topics: dict[str, list[ListOffsetsPartitionResponse]] = {}
        waiting: list[Deferred[None]] = []
        for wanted in request.topics:
            place = self._topics.admitted(call, Use.QUERY, VISIBLE, wanted.name)
            responses = topics.setdefault(wanted.name, [])
            yield
            for index, partition in enumerate(wanted.partitions, 1):
                if not index % PART:
                    yield
                times = asked.pop((wanted.name, partition.partition_index), 0)
                if not times:
                    continue
                response = ListOffsetsPartitionResponse(partition.partition_index)
                responses.append(response)
                code = self._problem(call, place, partition, is_repeated=times > 1)
                if code or not isinstance(place, tuple):
                    response.error_code = code
                    continue
                is_committed = request.isolation_level == READ_COMMITTED
                outcome = self._look_up(place, partition, response, is_committed)
                if outcome is not None:
                    waiting.append(outcome)
        if not waiting:
            return _answer(call, topics)
        done: Deferred[Any] = gatherResults(waiting, consumeErrors=True)
        return done.addCallback(lambda _: _answer(call, topics))

    def _look_up(
        self,
        place: Admitted,
        partition: ListOffsetsPartition,
        response: ListOffsetsPartitionResponse,
        is_committed: bool,
    ) -> Deferred[None] | None:
        """Fill in the offset of a time; return a Deferred if that takes a search."""
        topic, permit = place
        queue, timestamp = topic.queue(partition.partition_index), partition.timestamp
        try:
            if timestamp >= 0:
                search = self._batches.at_time(permit, topic.store_name, queue, timestamp, is_committed)
            elif timestamp == LARGEST_TIMESTAMP:
                search = self._batches.latest_time(permit, topic.store_name, queue, is_committed)
            else:
                _fill(response, timestamp, self._batches.ends(permit, topic.store_name, queue), is_committed)
                self._fill_epoch(topic, response, is_latest=timestamp == LATEST)
                return None
        except OperationError as error:
            response.error_code = error_code(error, ErrorCode.TOPIC_AUTHORIZATION_FAILED)
            return None

        def found(record: TimedOffset | None) -> None:
            if record is not None:
                response.offset, response.timestamp = record
                self._fill_epoch(topic, response)

        def failed(failure: Failure) -> Failure | None:
            error = failure.value
            if error is None or isinstance(error, CancelledError):
                return failure  # the client is gone
            response.error_code = error_code(error, ErrorCode.TOPIC_AUTHORIZATION_FAILED)
            return None

        return search.addCallbacks(found, failed)

    # OffsetForLeaderEpoch

    def epoch_ends(
        self, call: KafkaCall, request: OffsetForLeaderEpochRequest
    ) -> Steps[OffsetForLeaderEpochResponse]:
        """Answer OffsetForLeaderEpoch."""
        results = []
        for wanted in request.topics:
            yield
            place = self._topics.admitted(call, Use.QUERY, VISIBLE, wanted.topic)
            ends = yield from mapped(partial(self._epoch_end, place), wanted.partitions)
            results.append(OffsetForLeaderTopicResult(wanted.topic, ends))
        return OffsetForLeaderEpochResponse(topics=results)

    def _epoch_end(self, place: Admitted | ErrorCode, partition: OffsetForLeaderPartition) -> EpochEndOffset:
        """Return the end of the records of an epoch; -1 for one that never was."""
        number = partition.partition
        code = self._partition_problem(place, number, partition.current_leader_epoch)
        if code or not isinstance(place, tuple):
            return EpochEndOffset(code, number)
        topic, permit = place
        queue = topic.queue(number)
        try:
            self._batches.ends(permit, topic.store_name, queue)
        except OperationError as error:
            return EpochEndOffset(error_code(error, ErrorCode.TOPIC_AUTHORIZATION_FAILED), number)
        base = topic.epoch_base(number)
        found = self._replicas.epoch_end(topic.store_name, queue, partition.leader_epoch, base)
        return EpochEndOffset(ErrorCode.NONE, number, *found)

    def _problem(
        self,
        call: KafkaCall,
        place: Admitted | ErrorCode,
        partition: ListOffsetsPartition,
        *,
        is_repeated: bool,
    ) -> ErrorCode:
        """Return why a partition's offset is not looked up, in Apache Kafka's order of checks."""
        if place is ErrorCode.TOPIC_AUTHORIZATION_FAILED:
            return place
        if is_repeated:
            return ErrorCode.INVALID_REQUEST
        timestamp = partition.timestamp
        if timestamp < 0 and (timestamp not in _SINCE or call.version < _SINCE[timestamp]):
            return ErrorCode.UNSUPPORTED_VERSION
        return self._partition_problem(place, partition.partition_index, partition.current_leader_epoch)

    def _partition_problem(self, place: Admitted | ErrorCode, number: int, epoch: int) -> ErrorCode:
        """Return why a partition is not this broker's to answer for; `epoch` is the leader's as the client
        knows it."""
        if isinstance(place, ErrorCode):
            return place
        topic = place[0]
        return topic.problem(number) or self._cluster.problem(epoch, topic.epoch_base(number))

    def _fill_epoch(
        self, topic: Topic, response: ListOffsetsPartitionResponse, *, is_latest: bool = False
    ) -> None:
        """Fill in the epoch of the offset in a response; the end of a partition has the current one."""
        if response.offset >= 0:
            number = response.partition_index
            epoch = (
                self._replicas.epoch
                if is_latest
                else self._replicas.epoch_at(topic.store_name, topic.queue(number), response.offset)
            )
            response.leader_epoch = NO_EPOCH if epoch == NO_EPOCH else epoch + topic.epoch_base(number)


def _answer(
    call: KafkaCall, topics: Mapping[str, Sequence[ListOffsetsPartitionResponse]]
) -> ListOffsetsResponse:
    if call.version < EPOCHS_SINCE:
        for responses in topics.values():
            for response in responses:
                response.leader_epoch = NO_EPOCH
    return ListOffsetsResponse(
        topics=[ListOffsetsTopicResponse(name, responses) for name, responses in topics.items()]
    )


def _fill(response: ListOffsetsPartitionResponse, timestamp: int, ends: Ends, is_committed: bool) -> None:
    """Fill in the offset of an end; nothing is tiered, and nothing is going to be."""
    if timestamp in (LATEST_TIERED, EARLIEST_PENDING_UPLOAD):
        return
    if timestamp == LATEST:
        response.offset = ends.last_stable if is_committed else ends.high_watermark
    else:
        response.offset = ends.log_start
