"""Transactional ids: their producers, and the partitions, the end and the figures of their transactions.

Kafka: `KafkaApis`, `TransactionCoordinator`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeVar

from twisted.internet.defer import Deferred, gatherResults, succeed
from twisted.python.failure import Failure

from mqgateway.engine.message import KAFKA_OFFSETS_TOPIC
from mqgateway.engine.steps import Steps, in_parts, mapped
from mqgateway.gateway.access.operations import AclOperation
from mqgateway.gateway.broker.operations import NotAdmitted, OperationError, Operations, Use
from mqgateway.gateway.kafka.api import Answer, Handlers
from mqgateway.gateway.kafka.api.groups import GroupAccess
from mqgateway.gateway.kafka.api.transaction_access import PRODUCING, SHOWING, id_error
from mqgateway.gateway.kafka.call import KafkaCall
from mqgateway.gateway.kafka.codec.error_codes import ErrorCode
from mqgateway.gateway.kafka.codec.messages.add_offsets_to_txn_request import AddOffsetsToTxnRequest
from mqgateway.gateway.kafka.codec.messages.add_offsets_to_txn_response import AddOffsetsToTxnResponse
from mqgateway.gateway.kafka.codec.messages.add_partitions_to_txn_request import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnTopic,
    AddPartitionsToTxnTransaction,
)
from mqgateway.gateway.kafka.codec.messages.add_partitions_to_txn_response import (
    AddPartitionsToTxnPartitionResult,
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnResult,
    AddPartitionsToTxnTopicResult,
)
from mqgateway.gateway.kafka.codec.messages.describe_transactions_request import DescribeTransactionsRequest
from mqgateway.gateway.kafka.codec.messages.describe_transactions_response import (
    DescribeTransactionsResponse,
    TopicData,
)
from mqgateway.gateway.kafka.codec.messages.describe_transactions_response import (
    TransactionState as DescribedTransaction,
)
from mqgateway.gateway.kafka.codec.messages.end_txn_request import EndTxnRequest
from mqgateway.gateway.kafka.codec.messages.end_txn_response import EndTxnResponse
from mqgateway.gateway.kafka.codec.messages.init_producer_id_request import InitProducerIdRequest
from mqgateway.gateway.kafka.codec.messages.init_producer_id_response import InitProducerIdResponse
from mqgateway.gateway.kafka.codec.messages.list_transactions_request import ListTransactionsRequest
from mqgateway.gateway.kafka.codec.messages.list_transactions_response import (
    ListTransactionsResponse,
)
from mqgateway.gateway.kafka.codec.messages.list_transactions_response import (
    TransactionState as ListedTransaction,
)
from mqgateway.gateway.kafka.pattern_syntax import PatternError
from mqgateway.gateway.kafka.patterns import NamePattern
from mqgateway.gateway.kafka.rights import WRITING, on_cluster, shows_topic
from mqgateway.gateway.kafka.topics import Topics, store_name
from mqgateway.gateway.kafka.transaction_coordination import TransactionCoordination
from mqgateway.gateway.kafka.transactions.rules import EPOCH_BUMPS_SINCE, EndRequest, TxnRefused
from mqgateway.gateway.kafka.transactions.status import (
    NO_EPOCH,
    NO_IDENTITY,
    NO_PRODUCER,
    STATES,
    ProducerEpoch,
    TopicPartition,
    TxnStatus,
)

INIT, ADD_PARTITIONS, ADD_OFFSETS, END = 22, 24, 25, 26
DESCRIBE, LIST = 65, 66
FENCED_SINCE: Final = {INIT: 4, ADD_PARTITIONS: 2, ADD_OFFSETS: 2, END: 2}
"""Version of each API from which clients know PRODUCER_FENCED; before, INVALID_PRODUCER_EPOCH is its name."""
BROKERS_SINCE: Final = 4
"""Version of AddPartitionsToTxn from which brokers send it, for many transactions."""
END_BUMPS_SINCE: Final = 5
"""Version of EndTxn from which each transaction has an epoch of its own."""

SLICE: Final = 40
"""Partitions that are worked on in one step."""

T = TypeVar("T")
M = TypeVar("M")


class TransactionRequests:
    """Requests of transactional producers, and of administrators about their transactions."""

    def __init__(
        self,
        operations: Operations,
        coordination: TransactionCoordination,
        groups: GroupAccess,
        topics: Topics,
    ) -> None:
        self._operations = operations
        self._coordination = coordination
        self._coordinator = coordination.coordinator
        self._groups = groups
        self._topics = topics

    def handlers(self) -> Handlers:
        """Return the functions by API key."""
        return {
            ADD_PARTITIONS: self.add_partitions,
            ADD_OFFSETS: self.add_offsets,
            END: self.end,
            DESCRIBE: self.describe,
            LIST: self.list_transactions,
        }

    def _id_error(self, call: KafkaCall, transactional_id: str, operation: AclOperation) -> ErrorCode:
        """Return why a request about a transactional id is refused: rights, role of the broker, or another
        coordinator."""
        error = id_error(call, transactional_id, operation)
        return error or self._coordination.partitions.error(transactional_id)

    # Producers

    def init(
        self, call: KafkaCall, request: InitProducerIdRequest, transactional_id: str
    ) -> InitProducerIdResponse | Deferred[InitProducerIdResponse]:
        """Answer InitProducerId for a transactional id: a producer that fences all earlier ones."""

        def answer(code: ErrorCode, producer: ProducerEpoch | None) -> InitProducerIdResponse:
            return InitProducerIdResponse(0, code, *(producer or NO_IDENTITY))

        error = self._id_error(call, transactional_id, PRODUCING)
        if error:
            return answer(error, None)
        expected = ProducerEpoch(request.producer_id, request.producer_epoch)
        if expected != NO_IDENTITY and (expected.producer_id == NO_PRODUCER or expected.epoch == NO_EPOCH):
            return answer(ErrorCode.INVALID_REQUEST, None)
        made = self._coordinator.init(
            transactional_id,
            request.transaction_timeout_ms,
            None if expected == NO_IDENTITY else expected,
        )
        return _answered(call, made, answer)

    def end(self, call: KafkaCall, request: EndTxnRequest) -> EndTxnResponse | Deferred[EndTxnResponse]:
        """Answer EndTxn once the outcome is decided; the markers are written after that."""

        def answer(code: ErrorCode, producer: ProducerEpoch | None) -> EndTxnResponse:
            return EndTxnResponse(0, code, *(producer or NO_IDENTITY))

        error = self._id_error(call, request.transactional_id, PRODUCING)
        if error:
            return answer(error, None)
        producer = ProducerEpoch(request.producer_id, request.producer_epoch)
        version = EPOCH_BUMPS_SINCE if call.version >= END_BUMPS_SINCE else 0
        ended = self._coordinator.end(
            request.transactional_id, EndRequest(producer, request.committed, version)
        )
        return _answered(call, ended, answer)

    # Partitions

    def add_partitions(self, call: KafkaCall, request: AddPartitionsToTxnRequest) -> Steps[Answer]:
        """Answer AddPartitionsToTxn: all partitions of a transaction are added, or none."""
        if call.version < BROKERS_SINCE:
            one = AddPartitionsToTxnTransaction(
                request.v3_and_below_transactional_id,
                request.v3_and_below_producer_id,
                request.v3_and_below_producer_epoch,
                False,
                request.v3_and_below_topics,
            )
            added = yield from self._add(call, one)
            return added.addCallback(
                lambda results: AddPartitionsToTxnResponse(results_by_topic_v3_and_below=results)
            )
        try:
            call.admit(Use.COORDINATE, on_cluster(self._operations, AclOperation.CLUSTER_ACTION))
        except NotAdmitted:
            return AddPartitionsToTxnResponse(error_code=ErrorCode.CLUSTER_AUTHORIZATION_FAILED)
        except OperationError:
            return AddPartitionsToTxnResponse(error_code=ErrorCode.NOT_COORDINATOR)
        all_added: list[Deferred[list[AddPartitionsToTxnTopicResult]]] = []
        for each in request.transactions:
            all_added.append((yield from self._add(call, each)))
        done: Deferred[list[list[AddPartitionsToTxnTopicResult]]] = gatherResults(all_added)
        return done.addCallback(
            lambda results: AddPartitionsToTxnResponse(
                results_by_transaction=[
                    AddPartitionsToTxnResult(each.transactional_id, topics)
                    for each, topics in zip(request.transactions, results, strict=True)
                ]
            )
        )

    def _add(
        self, call: KafkaCall, wanted: AddPartitionsToTxnTransaction
    ) -> Steps[Deferred[list[AddPartitionsToTxnTopicResult]]]:
        """Add the partitions of a transaction, or verify them; return the results by topic."""
        error = self._id_error(call, wanted.transactional_id, PRODUCING)
        results = _PartitionResults()
        for topic in wanted.topics:
            yield from results.add(topic, self._errors_of(call, topic, error))
        if results.has_errors:
            return succeed(results.refused())
        producer = ProducerEpoch(wanted.producer_id, wanted.producer_epoch)
        if wanted.verify_only:
            yield from results.each(lambda place: self._verify(wanted.transactional_id, producer, place))
            return succeed(results.topics)
        added = self._coordinator.add_partitions(
            wanted.transactional_id, producer, results.places(), version=0
        )
        return _answered(call, added, lambda code, _: results.all(code))

    def _errors_of(
        self, call: KafkaCall, wanted: AddPartitionsToTxnTopic, error: ErrorCode
    ) -> Callable[[int], ErrorCode]:
        """Return the function that says why a partition of a topic cannot be in a transaction."""
        place = error or self._topics.admitted(call, Use.SEND, WRITING, wanted.name)
        if isinstance(place, ErrorCode):
            return lambda number: place
        topic = place[0]
        if topic.is_internal:
            return lambda number: ErrorCode.INVALID_TOPIC_EXCEPTION
        known = ErrorCode.NONE if topic.keeps_batches else ErrorCode.INVALID_TXN_STATE
        partitions = topic.partitions
        return lambda number: known if 0 <= number < partitions else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION

    def _verify(self, transactional_id: str, producer: ProducerEpoch, place: TopicPartition) -> ErrorCode:
        try:
            self._coordinator.check_member(transactional_id, producer, place)
        except TxnRefused as error:
            return error.code
        return ErrorCode.NONE

    def add_offsets(
        self, call: KafkaCall, request: AddOffsetsToTxnRequest
    ) -> AddOffsetsToTxnResponse | Deferred[AddOffsetsToTxnResponse]:
        """Answer AddOffsetsToTxn: the transaction will commit offsets of a group."""

        def answer(code: ErrorCode, _: None) -> AddOffsetsToTxnResponse:
            return AddOffsetsToTxnResponse(0, code)

        error = self._id_error(call, request.transactional_id, PRODUCING)
        error = error or self._groups.rights_error(call, request.group_id, AclOperation.READ)
        partition = self._coordination.offsets_partition(request.group_id)
        if partition is None:
            error = error or ErrorCode.COORDINATOR_NOT_AVAILABLE
        if error or partition is None:
            return answer(error, None)
        producer = ProducerEpoch(request.producer_id, request.producer_epoch)
        added = self._coordinator.add_partitions(
            request.transactional_id, producer, frozenset((partition,)), version=0
        )
        return _answered(call, added, answer)

    # Administrators

    def describe(
        self, call: KafkaCall, request: DescribeTransactionsRequest
    ) -> Steps[DescribeTransactionsResponse]:
        """Answer DescribeTransactions."""
        states = yield from mapped(lambda name: self._describe(call, name), request.transactional_ids)
        return DescribeTransactionsResponse(0, states)

    def _describe(self, call: KafkaCall, transactional_id: str) -> DescribedTransaction:
        error = self._id_error(call, transactional_id, SHOWING)
        if not error and not self._coordinator.is_loaded:
            error = ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
        if not error and not transactional_id:
            error = ErrorCode.INVALID_REQUEST
        if error:
            return DescribedTransaction(error, transactional_id)
        entry = self._coordinator.table.get(transactional_id)
        if entry is None or entry.status is None:
            return DescribedTransaction(ErrorCode.TRANSACTIONAL_ID_NOT_FOUND, transactional_id)
        status = entry.status
        topics: dict[str, list[int]] = {}
        for topic, partition in sorted(status.partitions):
            topics.setdefault(topic, []).append(partition)
        return DescribedTransaction(
            ErrorCode.NONE,
            transactional_id,
            status.state.label,
            status.timeout,
            status.started,
            *status.producer,
            [
                TopicData(topic, numbers)
                for topic, numbers in topics.items()
                if topic == KAFKA_OFFSETS_TOPIC or shows_topic(call, store_name(topic))
            ],
        )

    def list_transactions(
        self, call: KafkaCall, request: ListTransactionsRequest
    ) -> Steps[ListTransactionsResponse]:
        """Answer ListTransactions; a slave has none, and neither has a broker group that coordinates none."""
        if not self._coordination.partitions.coordinates():
            return ListTransactionsResponse()
        if not self._coordinator.is_loaded:
            return ListTransactionsResponse(error_code=ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
        unknown = [name for name in request.state_filters if name not in STATES]
        states = {STATES[name] for name in request.state_filters if name in STATES}
        try:
            pattern = NamePattern(text) if (text := request.transactional_id_pattern) else None
        except PatternError:
            return ListTransactionsResponse(error_code=ErrorCode.INVALID_REGULAR_EXPRESSION)
        producers = frozenset(request.producer_id_filters)
        listed: list[ListedTransaction] = []
        for entry in self._coordinator.table:
            status = entry.status
            if (
                status is not None
                and (not request.state_filters or status.state in states)
                and (not producers or status.producer_id in producers)
                and _is_longer(status, request.duration_filter, call.now)
                and (pattern is None or (yield from pattern.matching(entry.id)))
                and not id_error(call, entry.id, SHOWING)
            ):
                listed.append(ListedTransaction(entry.id, status.producer_id, status.state.label))
            yield
        return ListTransactionsResponse(0, ErrorCode.NONE, unknown, listed)


def _is_longer(status: TxnStatus, duration: int, now: int) -> bool:
    """Return True if a transaction runs for longer than a duration in ms; one that never began has run since
    1970, as in Kafka."""
    return duration < 0 or now - status.started > duration


class _PartitionResults:
    """Results of the partitions of a transaction, made some at a time."""

    def __init__(self) -> None:
        self.topics: list[AddPartitionsToTxnTopicResult] = []
        self.has_errors = False
        self._rows: list[tuple[TopicPartition, AddPartitionsToTxnPartitionResult]] = []

    def add(self, wanted: AddPartitionsToTxnTopic, error_of: Callable[[int], ErrorCode]) -> Steps[None]:
        """Add the partitions of a topic."""
        results: list[AddPartitionsToTxnPartitionResult] = []
        self.topics.append(AddPartitionsToTxnTopicResult(wanted.name, results))
        for part in in_parts(wanted.partitions, SLICE):
            for number in part:
                result = AddPartitionsToTxnPartitionResult(number, error_of(number))
                self.has_errors = self.has_errors or bool(result.partition_error_code)
                results.append(result)
                self._rows.append((TopicPartition(wanted.name, number), result))
            yield

    def places(self) -> frozenset[TopicPartition]:
        """Return the partitions."""
        return frozenset([place for place, _ in self._rows])

    def each(self, code_of: Callable[[TopicPartition], ErrorCode]) -> Steps[None]:
        """Give each partition a code of its own."""
        for part in in_parts(self._rows, SLICE):
            for place, result in part:
                result.partition_error_code = code_of(place)
            yield

    def all(self, code: ErrorCode) -> list[AddPartitionsToTxnTopicResult]:
        """Give all partitions the code, and return the results."""
        for _, result in self._rows:
            result.partition_error_code = code
        return self.topics

    def refused(self) -> list[AddPartitionsToTxnTopicResult]:
        """Return the results if others than those with errors were not tried."""
        for _, result in self._rows:
            result.partition_error_code = result.partition_error_code or ErrorCode.OPERATION_NOT_ATTEMPTED
        return self.topics


def _answered(call: KafkaCall, done: Deferred[T], answer: Callable[[ErrorCode, T | None], M]) -> Deferred[M]:
    """Return the answer to a request that is done or refused, with a code that its version knows."""

    def refused(failure: Failure) -> M:
        error = failure.value
        if not isinstance(error, TxnRefused):
            failure.raiseException()
        is_old = error.code is ErrorCode.PRODUCER_FENCED and call.version < FENCED_SINCE[call.header.key]
        return answer(ErrorCode.INVALID_PRODUCER_EPOCH if is_old else error.code, None)

    return done.addCallbacks(lambda value: answer(ErrorCode.NONE, value), refused)
