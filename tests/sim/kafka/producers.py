"""Idempotent producers, with up to three batches in flight to a partition and repeated batches."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from twisted.internet.defer import Deferred, DeferredList

from mqgateway.engine.record_batches.batches import TRANSACTIONAL, build_batch
from mqgateway.engine.record_batches.records import Record
from mqgateway.gateway.kafka.codec.error_codes import ErrorCode
from mqgateway.gateway.kafka.codec.messages.init_producer_id_request import InitProducerIdRequest
from tests.sim.kafka.clients import SECONDS, KafkaClient
from tests.sim.kafka.connection import Unanswered
from tests.sim.kafka.observations import Partition, Write
from tests.support.gateway.kafka.requests import NAME_ONLY, produce_request

IN_FLIGHT = 3
KEYS = 5
"""Number of keys that the records of a producer have."""
TIMEOUT = 20_000
"""Timeout of transactions, ms."""
DONE = (ErrorCode.NONE, ErrorCode.DUPLICATE_SEQUENCE_NUMBER)


class Batch:
    """Writes that are sent to a partition as one batch, with their sequence."""

    def __init__(self, writes: Sequence[Write], sequence: int) -> None:
        self.writes, self.sequence = writes, sequence

    @property
    def partition(self) -> Partition:
        return self.writes[0].partition

    def encoded(self, now: int, producer_id: int, epoch: int) -> bytearray:
        """Return the batch of a producer."""
        records = [Record(one.key, one.value, (), 0, number) for number, one in enumerate(self.writes)]
        return build_batch(
            records,
            base_timestamp=now,
            flags=0 if self.writes[0].transaction is None else TRANSACTIONAL,
            producer_id=producer_id,
            producer_epoch=epoch,
            base_sequence=self.sequence,
        )


class IdempotentProducer(KafkaClient):
    """Sends batches, and again those without an answer, in their order."""

    def __init__(self, *given: Any, partitions: Sequence[Partition], **named: Any) -> None:
        super().__init__(*given, **named)
        self.partitions = partitions
        self.producer_id = self.epoch = -1
        self._sequences: dict[Partition, int] = {}
        self._pending: list[Batch] = []
        self._count = 0

    def new_batch(self, partition: Partition, transaction: Any = None) -> Batch:
        """Return a batch of new values."""
        writes = []
        for _ in range(self.random.choice((1, 1, 2, 4))):
            self._count += 1
            key = b"%s/%d" % (repr(self).encode(), self.random.randrange(KEYS))
            value = b"%s-%d" % (repr(self).encode(), self._count)
            writes.append(self.seen.sent(partition, key, value, transaction))
        return self.sequenced(writes)

    def sequenced(self, writes: Sequence[Write]) -> Batch:
        """Return writes as the next batch of their partition."""
        partition = writes[0].partition
        sequence = self._sequences.get(partition, 0)
        self._sequences[partition] = sequence + len(writes)
        return Batch(writes, sequence)

    def become(self, producer_id: int, epoch: int) -> None:
        """Continue as a producer, whose sequences begin with 0 if it is a new one."""
        if (producer_id, epoch) != (self.producer_id, self.epoch):
            self._sequences.clear()
        self.producer_id, self.epoch = producer_id, epoch

    async def _turn(self) -> None:
        if self.producer_id < 0 or self.random.random() < 0.02:
            await self._init()
        if not self._pending:
            partition = self.random.choice(self.partitions)
            self._pending = [self.new_batch(partition) for _ in range(self.random.randint(1, IN_FLIGHT))]
        while self._pending:
            await self._send_pending()

    async def _init(self) -> None:
        """Begin as a new producer or with a new epoch; what was not acknowledged is given up."""
        answer = await self.ask(InitProducerIdRequest(None, 60_000, self.producer_id, self.epoch))
        if not answer.error_code:
            self._pending.clear()
            self.become(answer.producer_id, answer.producer_epoch)
        elif not await self.retry(answer.error_code):
            raise AssertionError(answer)

    async def _send_pending(self) -> None:
        """Send all batches, some twice, and keep those that are not acknowledged."""
        connection = await self.connection()
        asked: list[tuple[Batch, Deferred[Any]]] = []
        for batch in self._pending:
            for _ in range(1 + (self.random.random() < 0.1)):
                asked.append((batch, connection.ask(self.request(batch), NAME_ONLY, SECONDS)))
        outcomes = await DeferredList([one for _, one in asked], consumeErrors=True)
        codes: dict[Batch, ErrorCode] = {}
        for (batch, _), (has_answer, outcome) in zip(asked, outcomes, strict=True):
            if not has_answer:
                outcome.trap(Unanswered)
            elif codes.get(batch) not in DONE:
                codes[batch] = self.noted(batch, outcome)
        self._pending = [one for one in self._pending if codes.get(one) not in DONE]
        if len(codes) < len({batch for batch, _ in asked}):
            self.leave()
        if self._pending:
            await self._refused(codes.get(self._pending[0]))

    async def _refused(self, code: ErrorCode | None) -> None:
        """Try again, if the first batch without an acknowledgement may be sent again."""
        if code is None:
            await self._pause()
        elif not await self.retry(code):
            self.seen.report(f"client {self}: {code.name} for {self._pending[0].writes[0]}")
            self._pending.clear()
            self.producer_id = self.epoch = -1

    def request(self, batch: Batch, transactional_id: str | None = None) -> Any:
        """Return the request that sends a batch."""
        data = batch.encoded(self.process.millis(), self.producer_id, self.epoch)
        topic, number = batch.partition
        return produce_request(topic, data, partition=number, transactional_id=transactional_id)

    def noted(self, batch: Batch, answer: Any) -> ErrorCode:
        """Take note of the answer to a batch, and return its code."""
        [topic] = answer.responses
        [partition] = topic.partition_responses
        code = ErrorCode(partition.error_code)
        if code is ErrorCode.NONE:
            for number, write in enumerate(batch.writes):
                self.seen.acknowledged(write, partition.base_offset + number)
        return code
