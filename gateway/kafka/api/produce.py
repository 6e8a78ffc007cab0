"""Produce: batches into partitions. Standard: `KafkaApis.handleProduceRequest`, `ReplicaManager`."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, Final, NamedTuple

from twisted.internet.defer import Deferred, gatherResults
from twisted.python.failure import Failure

from mqgateway.engine.record_batches.batches import Batch
from mqgateway.engine.record_batches.errors import CodecError
from mqgateway.engine.record_batches.mapping import PropertiesTooLarge
from mqgateway.engine.steps import Steps, in_parts
from mqgateway.gateway.access.operations import AclOperation
from mqgateway.gateway.broker.operations import (
    Appended,
    BatchTooLarge,
    NotAdmitted,
    NotEnoughReplicas,
    NotInTransaction,
    OldEpoch,
    Operations,
    OutOfOrder,
    Permit,
    Use,
)
from mqgateway.gateway.kafka.api import Answer, Handlers
from mqgateway.gateway.kafka.call import KafkaCall
from mqgateway.gateway.kafka.cluster_view import ClusterView
from mqgateway.gateway.kafka.codec.apis import PRODUCE
from mqgateway.gateway.kafka.codec.error_codes import ErrorCode
from mqgateway.gateway.kafka.codec.messages.produce_request import (
    PartitionProduceData,
    ProduceRequest,
    TopicProduceData,
)
from mqgateway.gateway.kafka.codec.messages.produce_response import (
    BatchIndexAndErrorMessage,
    PartitionProduceResponse,
    ProduceResponse,
    TopicProduceResponse,
)
from mqgateway.gateway.kafka.codec.produce import TOPIC_ID_SINCE
from mqgateway.gateway.kafka.errors import error_code
from mqgateway.gateway.kafka.leader_hints import hint_in_produce
from mqgateway.gateway.kafka.rights import WRITING, on_transactional_id
from mqgateway.gateway.kafka.topics import Topic, Topics
from mqgateway.gateway.kafka.validation import BatchRefused, BatchRules, checked, rules_of
from mqgateway.gateway.kafka.verification import (
    NotVerified,
    TransactionBatch,
    Verification,
    Verify,
)

ALL: Final = -1
ACKS: Final = (ALL, 0, 1)
AT_ONCE: Final = 200
"""Topics and partitions of a request that is carried out at once."""
RULES_KEPT: Final = 1000
"""Topics whose rules are kept."""
ADMIN_CLIENT: Final = "__admin_client"
"""Client id that may write to internal topics, as with Apache Kafka."""

Outcome = PartitionProduceResponse | Deferred[PartitionProduceResponse]


class _Place(NamedTuple):
    """A topic that the client may write, with the permit and the rules for it."""

    topic: Topic
    permit: Permit
    rules: BatchRules


class Produce:
    """Appends of one broker. `verify` asks coordinators about first batches of transactions."""

    def __init__(self, operations: Operations, topics: Topics, cluster: ClusterView, verify: Verify) -> None:
        self._batches = operations.batches
        self._cluster = cluster
        self._verification = Verification(operations.batches, verify)
        self._topics = topics
        self._rules: dict[str, tuple[Topic, BatchRules]] = {}

    def handlers(self) -> Handlers:
        """Return the functions by API key."""
        return {PRODUCE: self.produce}

    def produce(self, call: KafkaCall, request: ProduceRequest) -> Answer | Steps[Answer]:
        """Answer Produce once every partition has its batch, or an error; acks 0 has no answer."""
        if sum([1 + len(wanted.partition_data) for wanted in request.topic_data]) > AT_ONCE:
            return self._produce_many(call, request)
        topics: list[TopicProduceResponse] = []
        waiting: list[Deferred[PartitionProduceResponse]] = []
        for wanted in request.topic_data:
            place = self._place(call, wanted, request)
            responses: list[PartitionProduceResponse] = []
            self._append_all(call, place, wanted.partition_data, request, responses, waiting)
            topics.append(TopicProduceResponse(wanted.name, wanted.topic_id, responses))
        return self._outcome(call, request, topics, waiting)

    def _produce_many(self, call: KafkaCall, request: ProduceRequest) -> Steps[Answer]:
        """Do the same as a cooperative task."""
        topics: list[TopicProduceResponse] = []
        waiting: list[Deferred[PartitionProduceResponse]] = []
        for wanted in request.topic_data:
            place = self._place(call, wanted, request)
            responses: list[PartitionProduceResponse] = []
            for part in in_parts(wanted.partition_data):
                self._append_all(call, place, part, request, responses, waiting)
                yield
            topics.append(TopicProduceResponse(wanted.name, wanted.topic_id, responses))
        return self._outcome(call, request, topics, waiting)

    def _append_all(
        self,
        call: KafkaCall,
        place: _Place | ErrorCode,
        partitions: Sequence[PartitionProduceData],
        request: ProduceRequest,
        responses: list[PartitionProduceResponse],
        waiting: list[Deferred[PartitionProduceResponse]],
    ) -> None:
        """Append the batches of partitions; add their answers, and those that come later to `waiting`."""
        for data in partitions:
            outcome = self._append(call, place, data, request)
            if isinstance(outcome, Deferred):
                position = len(responses)
                responses.append(PartitionProduceResponse(data.index))
                waiting.append(outcome)
                outcome.addCallback(partial(_fill, responses, position))
            else:
                responses.append(outcome)

    def _place(
        self, call: KafkaCall, wanted: TopicProduceData, request: ProduceRequest
    ) -> _Place | ErrorCode:
        if request.acks not in ACKS:
            return ErrorCode.INVALID_REQUIRED_ACKS
        topic_id = wanted.topic_id if call.version >= TOPIC_ID_SINCE else None
        place = self._topics.admitted(call, Use.SEND, WRITING, wanted.name, topic_id)
        if isinstance(place, ErrorCode):
            return place
        topic, permit = place
        if topic.is_internal and call.client_id != ADMIN_CLIENT:
            return ErrorCode.INVALID_TOPIC_EXCEPTION
        known = self._rules.get(topic.name)
        if known is None or known[0] is not topic:
            if len(self._rules) >= RULES_KEPT:
                self._rules.clear()
            known = self._rules[topic.name] = topic, rules_of(topic)
        return _Place(topic, permit, known[1])

    def _append(
        self, call: KafkaCall, place: _Place | ErrorCode, data: PartitionProduceData, request: ProduceRequest
    ) -> Outcome:
        if isinstance(place, ErrorCode):
            return _refused(data.index, place, None)
        topic, permit, rules = place
        code = topic.problem(data.index)
        if code:
            return _refused(data.index, code, None)
        queue = topic.queue(data.index)
        try:
            batch = checked(memoryview(data.records or b""), rules, call.version, call.now)
            is_all = request.acks == ALL
            outcome = (
                self._append_verified(call, place, data.index, batch, request)
                if batch.is_transactional
                else self._batches.append(permit, topic.store_name, queue, batch, is_all=is_all)
            )
        except Exception as error:
            return failed(data.index, error)
        time = call.now if rules.has_log_append_time else -1
        if isinstance(outcome, Deferred):
            return outcome.addCallbacks(
                _appended, failed_later, callbackArgs=(data.index, time), errbackArgs=(data.index,)
            )
        return _appended(outcome, data.index, time)

    def _append_verified(
        self, call: KafkaCall, place: _Place, index: int, batch: Batch, request: ProduceRequest
    ) -> Appended | Deferred[Appended]:
        """Append a transactional batch, once its coordinator knows of the transaction in the partition."""
        topic, permit, _ = place
        transactional_id, name = request.transactional_id, topic.store_name
        if transactional_id is None:
            text = "A transactional batch needs a transactional id"
            raise BatchRefused(ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED, text)
        try:
            call.admit(Use.SEND, on_transactional_id(transactional_id, AclOperation.WRITE))
        except NotAdmitted as error:
            raise BatchRefused(ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED, str(error)) from None
        queue = topic.queue(index)
        append = partial(self._batches.append, permit, name, queue, batch, is_all=request.acks == ALL)
        producer = batch.producer_id, batch.producer_epoch, batch.base_sequence
        claim = TransactionBatch(transactional_id, *producer, topic.name, name, index, queue, call.version)
        return self._verification.append(claim, append)

    def _outcome(
        self,
        call: KafkaCall,
        request: ProduceRequest,
        topics: Sequence[TopicProduceResponse],
        waiting: Sequence[Deferred[PartitionProduceResponse]],
    ) -> Answer:
        """Return the answer, once nothing of it is waited for."""
        answer = ProduceResponse(topics)
        if not waiting:
            return self._answered(None, call, request, answer)
        done: Deferred[Any] = gatherResults(waiting, consumeErrors=True)
        return done.addCallback(self._answered, call, request, answer)

    def _answered(
        self, _: object, call: KafkaCall, request: ProduceRequest, answer: ProduceResponse
    ) -> ProduceResponse | None:
        return (
            hint_in_produce(self._cluster, self._topics, call, answer)
            if _is_answered(call, request, answer)
            else None
        )


def _fill(
    responses: list[PartitionProduceResponse], position: int, response: PartitionProduceResponse
) -> PartitionProduceResponse:
    responses[position] = response
    return response


def _is_answered(call: KafkaCall, request: ProduceRequest, answer: ProduceResponse) -> bool:
    """Return True if there is an answer; with acks 0 there is none, and an error closes the connection."""
    if request.acks != 0:
        return True
    for topic in answer.responses:
        for partition in topic.partition_responses:
            if partition.error_code:
                name = ErrorCode(partition.error_code).name
                call.connection.close(f"it produced with acks=0, which failed with {name}")
                return False
    return False


def _appended(appended: Appended, index: int, time: int) -> PartitionProduceResponse:
    return PartitionProduceResponse(index, 0, appended.base_offset, time, appended.log_start_offset)


def failed_later(failure: Failure, index: int) -> PartitionProduceResponse:
    """Return the answer for a partition whose batch was stored and did not become safe."""
    error = failure.value
    return failed(index, error if isinstance(error, Exception) else RuntimeError(str(error)))


def failed(index: int, error: Exception) -> PartitionProduceResponse:
    """Return the answer for a partition whose batch was not appended."""
    if isinstance(error, NotVerified):
        return _refused(index, error.code, str(error) or None)
    if isinstance(error, NotInTransaction):
        return _refused(index, ErrorCode.INVALID_TXN_STATE, error.message)
    if isinstance(error, BatchRefused):
        return _refused(index, error.code, str(error), error.records)
    if isinstance(error, PropertiesTooLarge):
        records = [BatchIndexAndErrorMessage(error.index, str(error))]
        return _refused(index, ErrorCode.INVALID_RECORD, str(error), records)
    if isinstance(error, CodecError):
        return _refused(index, ErrorCode.INVALID_RECORD, str(error))
    if isinstance(error, BatchTooLarge):
        return _refused(index, ErrorCode.MESSAGE_TOO_LARGE, error.message)
    if isinstance(error, NotEnoughReplicas):
        return _refused(index, ErrorCode.NOT_ENOUGH_REPLICAS, error.message)
    if isinstance(error, OutOfOrder):
        return _refused(index, ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER, error.message)
    if isinstance(error, OldEpoch):
        return _refused(index, ErrorCode.INVALID_PRODUCER_EPOCH, error.message)
    return _refused(index, error_code(error, ErrorCode.TOPIC_AUTHORIZATION_FAILED), str(error))


def _refused(
    index: int,
    code: ErrorCode,
    message: str | None,
    records: Sequence[BatchIndexAndErrorMessage] = (),
) -> PartitionProduceResponse:
    return PartitionProduceResponse(index, code, -1, record_errors=records, error_message=message)
