"""DeleteRecords: the start of partitions is moved. Standard: `KafkaApis.handleDeleteRecordsRequest`,
`ReplicaManager.deleteRecords` of Apache Kafka 4.4.0."""

from __future__ import annotations

from typing import Any

from twisted.internet.defer import Deferred, gatherResults
from twisted.python.failure import Failure

from mqgateway.engine.steps import Steps
from mqgateway.gateway.access.operations import AclOperation
from mqgateway.gateway.broker.operations import (
    NotEnoughReplicas,
    OffsetOutOfRange,
    OperationError,
    Operations,
    Permit,
    Use,
)
from mqgateway.gateway.kafka.api import Answer, Handlers
from mqgateway.gateway.kafka.call import KafkaCall
from mqgateway.gateway.kafka.codec.error_codes import ErrorCode
from mqgateway.gateway.kafka.codec.messages.delete_records_request import DeleteRecordsRequest
from mqgateway.gateway.kafka.codec.messages.delete_records_response import (
    DeleteRecordsPartitionResult,
    DeleteRecordsResponse,
    DeleteRecordsTopicResult,
)
from mqgateway.gateway.kafka.errors import error_code
from mqgateway.gateway.kafka.topics import Topic, Topics
from mqgateway.gateway.runtime.outcomes import pending, then

NO_OFFSET = -1


class DeleteRecords:
    """Deletions of records in one broker's partitions."""

    def __init__(self, operations: Operations, topics: Topics) -> None:
        self._batches = operations.batches
        self._topics = topics

    def handlers(self) -> Handlers:
        """Return the functions by API key."""
        return {DeleteRecordsRequest.KEY: self.delete}

    def delete(self, call: KafkaCall, request: DeleteRecordsRequest) -> Steps[Answer]:
        """Answer DeleteRecords once all starts are moved. Of a partition that is named again the last offset
        counts."""
        wanted: dict[str, dict[int, int]] = {}
        for topic in request.topics:
            for partition in topic.partitions:
                wanted.setdefault(topic.name, {})[partition.partition_index] = partition.offset
        results: list[DeleteRecordsTopicResult] = []
        waiting: list[Deferred[None]] = []
        for name, offsets in wanted.items():
            yield
            place = self._topics.admitted(call, Use.DELETE_RECORDS, AclOperation.DELETE, name)
            partitions = []
            for number, offset in offsets.items():
                partitions.append(self._delete(place, number, offset, waiting))
                yield
            results.append(DeleteRecordsTopicResult(name, partitions))
        answer = DeleteRecordsResponse(topics=results)
        if not waiting:
            return answer
        done: Deferred[Any] = gatherResults(waiting, consumeErrors=True)
        return done.addCallback(lambda _: answer)

    def _delete(
        self,
        place: tuple[Topic, Permit] | ErrorCode,
        number: int,
        offset: int,
        waiting: list[Deferred[None]],
    ) -> DeleteRecordsPartitionResult:
        """Return the result of a partition; if a Deferred is added to `waiting`, it is filled in then."""
        result = DeleteRecordsPartitionResult(number, NO_OFFSET)
        if isinstance(place, ErrorCode):
            result.error_code = place
            return result
        topic, permit = place
        result.error_code = topic.problem(number)
        if result.error_code:
            return result
        if topic.is_internal:
            result.error_code = ErrorCode.INVALID_TOPIC_EXCEPTION
            return result

        def moved(start: int) -> None:
            result.low_watermark = start

        def failed(failure: Failure) -> None:
            error = failure.value
            result.error_code = _code(error if isinstance(error, Exception) else RuntimeError(str(error)))

        try:
            outcome = self._batches.delete_before(permit, topic.store_name, topic.queue(number), offset)
        except OperationError as error:
            result.error_code = _code(error)
            return result
        settled = pending(then(outcome, moved, failed))
        if settled is not None:
            waiting.append(settled)
        return result


def _code(error: Exception) -> ErrorCode:
    if isinstance(error, OffsetOutOfRange):
        return ErrorCode.OFFSET_OUT_OF_RANGE
    if isinstance(error, NotEnoughReplicas):
        return ErrorCode.REQUEST_TIMED_OUT  # the replicas do not follow
    return error_code(error, ErrorCode.TOPIC_AUTHORIZATION_FAILED)
