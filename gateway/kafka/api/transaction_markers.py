"""WriteTxnMarkers: ends of transactions in partitions, as coordinators and administrators write them.

Kafka: `KafkaApis.handleWriteTxnMarkersRequest`.
"""

from __future__ import annotations

from typing import Any, Final

from twisted.internet.defer import Deferred, gatherResults, succeed
from twisted.python.failure import Failure

from mqgateway.engine.message import KAFKA_OFFSETS_TOPIC
from mqgateway.engine.producers.markers import Marker
from mqgateway.engine.steps import Steps
from mqgateway.gateway.access.operations import AclOperation
from mqgateway.gateway.broker.operations import (
    NotAdmitted,
    OldCoordinator,
    OldEpoch,
    OperationError,
    Operations,
    Permit,
    Use,
)
from mqgateway.gateway.kafka.api import Answer, Handlers
from mqgateway.gateway.kafka.call import KafkaCall
from mqgateway.gateway.kafka.codec.error_codes import ErrorCode
from mqgateway.gateway.kafka.codec.messages.write_txn_markers_request import (
    WritableTxnMarker,
    WritableTxnMarkerTopic,
    WriteTxnMarkersRequest,
)
from mqgateway.gateway.kafka.codec.messages.write_txn_markers_response import (
    WritableTxnMarkerPartitionResult,
    WritableTxnMarkerResult,
    WritableTxnMarkerTopicResult,
    WriteTxnMarkersResponse,
)
from mqgateway.gateway.kafka.coordinator.records_log import NotWritten
from mqgateway.gateway.kafka.coordinator.transactional import TransactionalCommits
from mqgateway.gateway.kafka.coordinator_partitions import CoordinatorPartitions
from mqgateway.gateway.kafka.errors import error_code
from mqgateway.gateway.kafka.rights import admit_one, on_cluster
from mqgateway.gateway.kafka.topics import Topics
from mqgateway.gateway.kafka.transactions.rules import EPOCH_BUMPS_SINCE

WRITE_MARKERS: Final = 27


class TransactionMarkers:
    """Markers that clients write. Those of the topic of offsets end pending `offsets`.

    `partitions` are those of groups.
    """

    def __init__(
        self,
        operations: Operations,
        topics: Topics,
        offsets: TransactionalCommits,
        partitions: CoordinatorPartitions,
    ) -> None:
        self._operations = operations
        self._topics = topics
        self._offsets = offsets
        self._partitions = partitions

    def handlers(self) -> Handlers:
        """Return the functions by API key."""
        return {WRITE_MARKERS: self.write}

    def write(self, call: KafkaCall, request: WriteTxnMarkersRequest) -> Steps[Answer]:
        """Answer WriteTxnMarkers once all markers are durable."""
        try:
            allowed = AclOperation.ALTER, AclOperation.CLUSTER_ACTION
            needs = (on_cluster(self._operations, operation) for operation in allowed)
            permit = admit_one(call, Use.SEND, *needs)
        except NotAdmitted:
            return _refused(request, ErrorCode.CLUSTER_AUTHORIZATION_FAILED)
        except OperationError:
            return _refused(request, ErrorCode.NOT_LEADER_OR_FOLLOWER)
        answers: list[WritableTxnMarkerResult] = []
        waiting: list[Deferred[None]] = []
        for marker in request.markers:
            topics: list[WritableTxnMarkerTopicResult] = []
            for topic in marker.topics:
                partitions = []
                for number in topic.partition_indexes:
                    result = WritableTxnMarkerPartitionResult(number)
                    partitions.append(result)
                    written = self._write(permit, marker, topic.name, result)
                    if not written.called:
                        waiting.append(written)
                    yield
                topics.append(WritableTxnMarkerTopicResult(topic.name, partitions))
            answers.append(WritableTxnMarkerResult(marker.producer_id, topics))
        done: Deferred[list[None]] = gatherResults(waiting)
        return done.addCallback(lambda _: WriteTxnMarkersResponse(answers))

    def _write(
        self,
        permit: Permit,
        wanted: WritableTxnMarker,
        name: str,
        result: WritableTxnMarkerPartitionResult,
    ) -> Deferred[None]:
        """Write the marker of a partition; the result gets the error.

        A transaction of version 2 ends with a new epoch of its producer, so that a late marker of the one
        before is recognised (KIP-890, KIP-1228).
        """
        producer_id, epoch = wanted.producer_id, wanted.producer_epoch
        has_new_epoch = wanted.transaction_version >= EPOCH_BUMPS_SINCE
        written: Deferred[Any]
        topic = self._topics.find(name)
        coordinator = (
            self._partitions.group_of(result.partition_index) if name == KAFKA_OFFSETS_TOPIC else None
        )
        if coordinator:
            result.error_code = ErrorCode.NOT_LEADER_OR_FOLLOWER
            return succeed(None)
        if coordinator is not None:
            is_commit, epoch_max = wanted.transaction_result, epoch - has_new_epoch
            written = self._offsets.complete(producer_id, epoch, is_commit, epoch_max=epoch_max)
        elif topic is None or topic.is_internal:
            result.error_code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
            return succeed(None)
        elif code := topic.problem(result.partition_index):
            result.error_code = code
            return succeed(None)
        else:
            marker = Marker(producer_id, epoch, wanted.transaction_result, wanted.coordinator_epoch)
            written = self._operations.batches.write_marker(
                permit,
                topic.store_name,
                topic.queue(result.partition_index),
                marker,
                has_new_epoch=has_new_epoch,
            )

        def refused(failure: Failure) -> None:
            result.error_code = _code(failure)

        return written.addCallbacks(lambda _: None, refused)


def _code(failure: Failure) -> ErrorCode:
    error = failure.value
    assert error is not None
    if isinstance(error, NotWritten):
        return error.code
    if isinstance(error, OldEpoch):
        return ErrorCode.INVALID_PRODUCER_EPOCH
    if isinstance(error, OldCoordinator):
        return ErrorCode.TRANSACTION_COORDINATOR_FENCED
    return error_code(error, ErrorCode.CLUSTER_AUTHORIZATION_FAILED)


def _refused(request: WriteTxnMarkersRequest, code: ErrorCode) -> WriteTxnMarkersResponse:
    def refused(topic: WritableTxnMarkerTopic) -> WritableTxnMarkerTopicResult:
        results = [WritableTxnMarkerPartitionResult(number, code) for number in topic.partition_indexes]
        return WritableTxnMarkerTopicResult(topic.name, results)

    return WriteTxnMarkersResponse(
        [WritableTxnMarkerResult(one.producer_id, [*map(refused, one.topics)]) for one in request.markers]
    )
