"""TxnOffsetCommit: offsets that are committed with a transaction.

Kafka: `KafkaApis`, `GroupCoordinatorService.commitTransactionalOffsets`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from twisted.internet.defer import Deferred, fail
from twisted.python.failure import Failure

from mqgateway.engine.steps import Steps, mapped
from mqgateway.gateway.access.operations import AclOperation
from mqgateway.gateway.kafka.api import Answer, Handlers
from mqgateway.gateway.kafka.api.groups import GroupAccess
from mqgateway.gateway.kafka.api.offset_checks import CheckedOffsets, readable_topic
from mqgateway.gateway.kafka.api.transaction_access import PRODUCING, id_error
from mqgateway.gateway.kafka.call import KafkaCall
from mqgateway.gateway.kafka.codec.error_codes import ErrorCode
from mqgateway.gateway.kafka.codec.messages.txn_offset_commit_request import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestTopic,
)
from mqgateway.gateway.kafka.codec.messages.txn_offset_commit_response import (
    TxnOffsetCommitResponse,
    TxnOffsetCommitResponsePartition,
    TxnOffsetCommitResponseTopic,
)
from mqgateway.gateway.kafka.coordinator.coordinator import Coordinator
from mqgateway.gateway.kafka.coordinator.records_log import NotWritten
from mqgateway.gateway.kafka.coordinator.transactional import PendingBatch
from mqgateway.gateway.kafka.topics import Topic, Topics
from mqgateway.gateway.kafka.transaction_coordination import TransactionCoordination
from mqgateway.gateway.kafka.transactions.rules import TxnRefused
from mqgateway.gateway.kafka.transactions.status import ProducerEpoch
from mqgateway.gateway.kafka.verification import NotVerified, Verify

TXN_OFFSET_COMMIT: Final = 28
IDS_SINCE: Final = 6
"""Version from which topics have ids instead of names."""
ADDS_SINCE: Final = 5
"""Version from which a commit adds the offsets to the transaction (KIP-890)."""
ABORTABLE_SINCE: Final = 4
"""Version from which clients know TRANSACTION_ABORTABLE."""
LOADING_SINCE: Final = 2
"""Version from which clients know COORDINATOR_LOAD_IN_PROGRESS."""


class TransactionalOffsets:
    """Commits of offsets in transactions. `verify` asks the coordinators of these."""

    def __init__(
        self,
        coordinator: Coordinator,
        coordination: TransactionCoordination,
        groups: GroupAccess,
        topics: Topics,
        verify: Verify,
    ) -> None:
        self._coordinator = coordinator
        self._coordination = coordination
        self._groups = groups
        self._topics = topics
        self._verify = verify

    def handlers(self) -> Handlers:
        """Return the functions by API key."""
        return {TXN_OFFSET_COMMIT: self.commit}

    def commit(self, call: KafkaCall, request: TxnOffsetCommitRequest) -> Steps[Answer]:
        """Answer TxnOffsetCommit once the records of all pending offsets are durable."""
        error = id_error(call, request.transactional_id, PRODUCING)
        error = error or self._groups.error(call, request.group_id, AclOperation.READ)
        if error:
            code = _known(call, error)
            return _answer(request, [[code] * len(topic.partitions) for topic in request.topics])
        topics = yield from mapped(lambda topic: self._topic(call, topic), request.topics)
        batch = PendingBatch(request.producer_id, request.producer_epoch)
        checked = CheckedOffsets(self._coordinator.commits, request.group_id, batch, call.now)
        yield from checked.check(request.topics, topics)
        if not checked.has_any:
            return _answer(request, checked.errors)

        def answer(failure: Failure | None) -> TxnOffsetCommitResponse:
            code = _known(call, ErrorCode.NONE if failure is None else _code(failure))
            checked.settle(code, is_general=False)
            return _answer(request, checked.errors)

        return self._commit(call, request, batch).addBoth(answer)

    def _topic(self, call: KafkaCall, wanted: TxnOffsetCommitRequestTopic) -> Topic | ErrorCode:
        topic_id = wanted.topic_id if call.version >= IDS_SINCE else None
        return readable_topic(self._topics, call, wanted.name, topic_id)

    def _commit(
        self, call: KafkaCall, request: TxnOffsetCommitRequest, batch: PendingBatch
    ) -> Deferred[None]:
        """Record pending offsets of a transaction that is open. Fails with `NotVerified`, `TxnRefused`,
        `NotWritten`."""
        partition = self._coordination.offsets_partition(request.group_id)
        if partition is None or self._coordination.abandoned.has(request.producer_id):
            return fail(TxnRefused(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS))
        producer, adds = (
            ProducerEpoch(request.producer_id, request.producer_epoch),
            call.version >= ADDS_SINCE,
        )
        verified = self._verify(request.transactional_id, *producer, *partition, adds=adds)
        return verified.addCallback(lambda _: self._add(request, batch))

    def _add(self, request: TxnOffsetCommitRequest, batch: PendingBatch) -> Deferred[None]:
        commits = self._coordinator.commits
        error = self._groups.commit_error(request.group_id, request.generation_id_or_member_epoch)
        error = error or commits.transactional_error(request)
        if not error and not commits.has_room(len(batch.offsets)):
            error = ErrorCode.COORDINATOR_NOT_AVAILABLE
        if error:
            raise TxnRefused(error)
        return self._coordinator.transactional.add(batch)


def _code(failure: Failure) -> ErrorCode:
    """Return the code of a commit that was refused."""
    error = failure.value
    if not isinstance(error, (NotVerified, TxnRefused, NotWritten)):
        failure.raiseException()
    return error.code


def _known(call: KafkaCall, code: ErrorCode) -> ErrorCode:
    """Return a code that clients of the version know."""
    if code is ErrorCode.PRODUCER_FENCED:
        return ErrorCode.INVALID_PRODUCER_EPOCH
    if code is ErrorCode.TRANSACTION_ABORTABLE and call.version < ABORTABLE_SINCE:
        return ErrorCode.INVALID_TXN_STATE
    if code is ErrorCode.CONCURRENT_TRANSACTIONS and call.version < ADDS_SINCE:
        return ErrorCode.COORDINATOR_NOT_AVAILABLE
    if code is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS and call.version < LOADING_SINCE:
        return ErrorCode.COORDINATOR_NOT_AVAILABLE
    return code


def _answer(
    request: TxnOffsetCommitRequest, errors: Sequence[Sequence[ErrorCode]]
) -> TxnOffsetCommitResponse:
    """Return the answer, with an error code for each partition."""

    def answered(
        topic: TxnOffsetCommitRequestTopic, codes: Sequence[ErrorCode]
    ) -> TxnOffsetCommitResponseTopic:
        partitions = [
            TxnOffsetCommitResponsePartition(partition.partition_index, code)
            for partition, code in zip(topic.partitions, codes, strict=True)
        ]
        return TxnOffsetCommitResponseTopic(topic.name, topic.topic_id, partitions)

    return TxnOffsetCommitResponse(
        topics=[answered(topic, codes) for topic, codes in zip(request.topics, errors, strict=True)]
    )
