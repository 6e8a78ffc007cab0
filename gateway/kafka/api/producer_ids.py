"""InitProducerId, DescribeProducers: ids of producers. Standard: `TransactionCoordinator`, `KafkaApis`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from mqgateway.engine.producers.state import ProducerFigures
from mqgateway.engine.producers.transactions import ProducerTransaction
from mqgateway.engine.steps import Steps, mapped
from mqgateway.gateway.access.operations import AclOperation
from mqgateway.gateway.broker.operations import NotAdmitted, Operations, Use
from mqgateway.gateway.kafka.api import Answer, Handlers
from mqgateway.gateway.kafka.call import KafkaCall
from mqgateway.gateway.kafka.codec.error_codes import ErrorCode
from mqgateway.gateway.kafka.codec.messages.describe_producers_request import (
    DescribeProducersRequest,
    TopicRequest,
)
from mqgateway.gateway.kafka.codec.messages.describe_producers_response import (
    DescribeProducersResponse,
    PartitionResponse,
    ProducerState,
    TopicResponse,
)
from mqgateway.gateway.kafka.codec.messages.init_producer_id_request import InitProducerIdRequest
from mqgateway.gateway.kafka.codec.messages.init_producer_id_response import InitProducerIdResponse
from mqgateway.gateway.kafka.ids import new_producer_id
from mqgateway.gateway.kafka.rights import READING, admit_one, on_any_topic, on_cluster
from mqgateway.gateway.kafka.topics import Topic, Topics

INIT_PRODUCER_ID, DESCRIBE_PRODUCERS = 22, 61
NONE: Final = -1
EPOCH_LAST: Final = 32766
"""The last epoch of an id; the next one has a new id. Standard: `TransactionMetadata.isEpochExhausted`."""


InitTransactional = Callable[[KafkaCall, InitProducerIdRequest, str], Answer]
"""Answers InitProducerId for a transactional id."""


class ProducerIds:
    """Producers of one broker. `init_transactional` answers those that have a transactional id."""

    def __init__(self, operations: Operations, topics: Topics, init_transactional: InitTransactional) -> None:
        self._operations = operations
        self._topics = topics
        self._init_transactional = init_transactional

    def handlers(self) -> Handlers:
        """Return the functions by API key."""
        return {INIT_PRODUCER_ID: self.init, DESCRIBE_PRODUCERS: self.describe}

    def init(self, call: KafkaCall, request: InitProducerIdRequest) -> Answer:
        """Answer InitProducerId: a new id, or the next epoch of the producer's own.

        Ids are random, so that a slave gives them too: clients ask any node.
        """
        producer_id, epoch = request.producer_id, request.producer_epoch
        if request.transactional_id is not None:
            return self._init_transactional(call, request, request.transactional_id)
        if (producer_id == NONE) != (epoch == NONE) or producer_id < NONE or epoch < NONE:
            return _refused(ErrorCode.INVALID_REQUEST)
        try:
            cluster = on_cluster(self._operations, AclOperation.IDEMPOTENT_WRITE)
            admit_one(call, Use.CONNECT, on_any_topic(AclOperation.WRITE), cluster)
        except NotAdmitted:
            return _refused(ErrorCode.CLUSTER_AUTHORIZATION_FAILED)
        if producer_id == NONE or epoch >= EPOCH_LAST:
            return InitProducerIdResponse(producer_id=new_producer_id(), producer_epoch=0)
        return InitProducerIdResponse(producer_id=producer_id, producer_epoch=epoch + 1)

    def describe(
        self, call: KafkaCall, request: DescribeProducersRequest
    ) -> Steps[DescribeProducersResponse]:
        """Answer DescribeProducers."""
        topics = yield from mapped(lambda topic: self._describe(call, topic), request.topics)
        return DescribeProducersResponse(topics=topics)

    def _describe(self, call: KafkaCall, wanted: TopicRequest) -> TopicResponse:
        place = self._topics.admitted(call, Use.QUERY, READING, wanted.name)
        if isinstance(place, ErrorCode):
            return TopicResponse(
                wanted.name, [PartitionResponse(number, place) for number in wanted.partition_indexes]
            )
        topic, permit = place
        figures = self._operations.batches.producers(permit, topic.store_name)
        transactions = self._operations.batches.open_transactions(permit, topic.store_name)
        return TopicResponse(
            wanted.name,
            [_partition(number, topic, figures, transactions) for number in wanted.partition_indexes],
        )


def _partition(
    number: int,
    topic: Topic,
    figures_by_queue: Mapping[int, Sequence[ProducerFigures]],
    transactions_by_queue: Mapping[int, Mapping[int, ProducerTransaction]],
) -> PartitionResponse:
    code = topic.problem(number)
    if code:
        return PartitionResponse(number, code)
    queue = topic.queue(number)
    figures, transactions = figures_by_queue.get(queue, ()), transactions_by_queue.get(queue, {})
    states = {
        one.producer_id: ProducerState(one.producer_id, one.epoch, one.last_sequence, one.last_time, NONE)
        for one in figures
    }
    for producer_id, known in transactions.items():
        state = states.get(producer_id)
        if state is None or state.producer_epoch != known.epoch:  # a marker raised the epoch
            state = states[producer_id] = ProducerState(producer_id, known.epoch)
        state.last_timestamp = known.stored
        state.coordinator_epoch = known.coordinator_epoch
        state.current_txn_start_offset = known.first_offset
    return PartitionResponse(number, active_producers=list(states.values()))


def _refused(code: ErrorCode) -> InitProducerIdResponse:
    return InitProducerIdResponse(error_code=code, producer_epoch=NONE)
