"""Transactional producers, of both versions of transactions, and copiers that commit the offsets they read.

Two clients may have the same transactional id: each fences the other one when it begins. A client of version
2 may leave requests in flight when it gives a connection up. One of version 1 closes it: a late EndTxn would
end its next transaction, which only KIP-890 prevents.
"""

from __future__ import annotations

from typing import Any

from mqgateway.gateway.kafka.codec.error_codes import ErrorCode
from mqgateway.gateway.kafka.codec.messages.add_offsets_to_txn_request import AddOffsetsToTxnRequest
from mqgateway.gateway.kafka.codec.messages.add_partitions_to_txn_request import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnTopic,
)
from mqgateway.gateway.kafka.codec.messages.end_txn_request import EndTxnRequest
from mqgateway.gateway.kafka.codec.messages.init_producer_id_request import InitProducerIdRequest
from mqgateway.gateway.kafka.codec.messages.offset_fetch_request import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
)
from mqgateway.gateway.kafka.codec.messages.txn_offset_commit_request import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
)
from tests.sim.kafka.connection import Unanswered
from tests.sim.kafka.consumers import CommittedReads
from tests.sim.kafka.observations import GroupOffsets, Partition, Transaction
from tests.sim.kafka.producers import DONE, TIMEOUT, Batch, IdempotentProducer
from tests.support.gateway.kafka.requests import fetch_request
from tests.support.gateway.kafka.transactions import COMMITTED, NEW_PRODUCE, OLD_PRODUCE

FENCED = frozenset(
    (
        ErrorCode.INVALID_PRODUCER_EPOCH,
        ErrorCode.PRODUCER_FENCED,
        ErrorCode.INVALID_PRODUCER_ID_MAPPING,
    )
)
ABORTABLE = frozenset((ErrorCode.TRANSACTION_ABORTABLE, ErrorCode.INVALID_TXN_STATE))


class Failed(Exception):
    """A transaction that cannot continue: the producer has to begin again."""


class TransactionalProducer(IdempotentProducer):
    """Writes transactions to several partitions, and commits most of them."""

    def __init__(self, *given: Any, name: str, version: int, **named: Any) -> None:
        super().__init__(*given, closes=version < 2, **named)
        self.name, self.version = name, version
        self._added: set[Partition] = set()
        self._transactions = 0

    async def _turn(self) -> None:
        if self.producer_id < 0:
            await self._begin_producer()
        try:
            await self._play()
        except Failed:
            self.producer_id = self.epoch = -1
            await self._pause(self.random.choice((0.3, 3.0, 10.0, 40.0)))

    async def _end(self) -> None:
        """End an open transaction, which would otherwise be open until its timeout."""
        await self._begin_producer()

    async def _play(self) -> None:
        transaction = self.new_transaction()
        await self._send_all(transaction)
        await self.end(transaction, commit=self.random.random() < 0.7)

    def new_transaction(self) -> Transaction:
        """Return a transaction that has begun."""
        self._added.clear()
        self._transactions += 1
        return self.seen.begin(f"{self.name}-{self}-{self._transactions}")

    async def _send_all(self, transaction: Transaction) -> None:
        for _ in range(self.random.randint(1, 4)):
            await self.send(self.new_batch(self.random.choice(self.partitions), transaction), transaction)
            if self.random.random() < 0.3:
                await self._pause(self.random.choice((0.1, 1.0)))
        if self.random.random() < 0.05:
            transaction.outcome = False
            raise Failed

    async def _begin_producer(self) -> None:
        """Ask for the producer until there is one."""
        answer: Any = await self._until_done(InitProducerIdRequest(self.name, TIMEOUT))
        if answer.error_code:
            code = ErrorCode(answer.error_code)
            self.seen.report(f"client {self}: {code.name} for a new producer of {self.name}")
        self.become(answer.producer_id, answer.producer_epoch)

    async def _until_done(self, request: Any, version: int | None = None) -> Any:
        """Return the answer to a request that is repeated as long as that may help."""
        while True:
            try:
                answer = await self.ask(request, version)
            except Unanswered:
                await self._pause()
                continue
            if not await self.retry(ErrorCode(_code_of(answer))):
                return answer

    async def send(self, batch: Batch, transaction: Transaction) -> None:
        """Send a batch until it is acknowledged. Raises `Failed`."""
        if self.version < 2 and batch.partition not in self._added:
            topic, number = batch.partition
            wanted = [AddPartitionsToTxnTopic(topic, (number,))]
            request = AddPartitionsToTxnRequest((), self.name, self.producer_id, self.epoch, wanted)
            self._check(await self._until_done(request, 3), transaction)
            self._added.add(batch.partition)
        request = self.request(batch, self.name)
        answer = await self._until_done(request, NEW_PRODUCE if self.version >= 2 else OLD_PRODUCE)
        code = self.noted(batch, answer)
        if code not in DONE:
            self._check(answer, transaction)

    def _check(self, answer: Any, transaction: Transaction) -> None:
        """Give the transaction up if an answer has an error. Its commit has not been requested then."""
        code = ErrorCode(_code_of(answer))
        if code is ErrorCode.NONE:
            return
        transaction.outcome = False
        if code not in FENCED | ABORTABLE:
            self.seen.report(f"client {self}: {code.name} in {transaction}")
        raise Failed

    async def end(self, transaction: Transaction, *, commit: bool) -> None:
        """End a transaction. Raises `Failed` if the producer does not know how it ended."""
        if not commit:
            transaction.outcome = False
        transaction.is_commit_requested = commit
        request = EndTxnRequest(self.name, self.producer_id, self.epoch, commit)
        version = 5 if self.version >= 2 else 4
        is_clear = True
        while True:
            try:
                answer = await self.ask(request, version)
            except Unanswered:
                is_clear = False
                await self._pause()
                continue
            code = ErrorCode(answer.error_code)
            if code is ErrorCode.NONE:
                break
            is_clear = is_clear and code in FENCED | ABORTABLE | {ErrorCode.CONCURRENT_TRANSACTIONS}
            if not await self.retry(code):
                if is_clear:
                    transaction.outcome = False
                raise Failed
        transaction.outcome = commit
        if self.version >= 2:
            self.become(answer.producer_id, answer.producer_epoch)
        if self.random.random() < 0.1:
            self.producer_id = self.epoch = -1


def _code_of(answer: Any) -> int:
    """Return the first error code of an answer."""
    if hasattr(answer, "responses"):
        return int(answer.responses[0].partition_responses[0].error_code)
    if hasattr(answer, "results_by_topic_v3_and_below"):
        return int(answer.results_by_topic_v3_and_below[0].results_by_partition[0].partition_error_code)
    if hasattr(answer, "groups"):
        [group] = answer.groups
        return int(group.error_code or group.topics[0].partitions[0].error_code)
    if hasattr(answer, "topics"):
        return int(answer.topics[0].partitions[0].error_code)
    return int(answer.error_code)


class Copier(TransactionalProducer):
    """Copies the committed records of a partition, and commits their offsets in the same transactions."""

    def __init__(self, *given: Any, source: Partition, **named: Any) -> None:
        super().__init__(*given, **named)
        self.source = source

    @property
    def offsets(self) -> GroupOffsets:
        """Knowledge of the offset of the group."""
        return self.seen.group(self.name)

    async def _play(self) -> None:
        begin = max(0, await self._committed())
        values, end = await self._read(begin)
        if end == begin:
            return
        transaction = self.new_transaction()
        for value in values:
            partition = self.random.choice(self.partitions)
            self._count += 1
            copy = b"%s@%s-%d" % (value, repr(self).encode(), self._count)
            write = self.seen.sent(partition, b"copy", copy, transaction)
            await self.send(self.sequenced([write]), transaction)
        await self._commit_offset(transaction, end)
        await self.end(transaction, commit=self.random.random() < 0.7)

    async def _committed(self) -> int:
        topic, number = self.source
        wanted = (OffsetFetchRequestTopics(topic, partition_indexes=(number,)),)
        groups = (OffsetFetchRequestGroup(self.name, topics=wanted),)
        least = self.offsets.least()
        answer = await self._until_done(OffsetFetchRequest(groups=groups, require_stable=True), 9)
        if _code_of(answer):
            raise Failed
        offset = int(answer.groups[0].topics[0].partitions[0].committed_offset)
        self.offsets.answered(offset, least)
        return offset

    async def _read(self, begin: int) -> tuple[list[bytes], int]:
        """Return the values of some committed records, and the offset after them."""
        topic, number = self.source
        size = self.random.choice((1, 200, 1000))
        request = fetch_request(
            topic, begin, partition=number, partition_bytes=size, isolation_level=COMMITTED
        )
        answer = await self.ask(request, 12)
        [partition] = answer.responses[0].partitions
        if partition.error_code:
            await self.retry(ErrorCode(partition.error_code))
            return [], begin
        reads = CommittedReads(partition, begin)
        return [value for _, value in reads.delivered], reads.end

    async def _commit_offset(self, transaction: Transaction, offset: int) -> None:
        if self.version < 2:
            request = AddOffsetsToTxnRequest(self.name, self.producer_id, self.epoch, self.name)
            self._check(await self._until_done(request, 3), transaction)
        topic, number = self.source
        wanted = TxnOffsetCommitRequestTopic(
            topic, partitions=[TxnOffsetCommitRequestPartition(number, offset, -1, "")]
        )
        commit = TxnOffsetCommitRequest(self.name, self.name, self.producer_id, self.epoch, topics=[wanted])
        transaction.offset = offset
        self.offsets.transactions.append(transaction)
        self._check(await self._until_done(commit, 5 if self.version >= 2 else 3), transaction)
