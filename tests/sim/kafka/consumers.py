"""Consumers of both isolation levels, and what they make of the answers, as Kafka's clients do."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from mqgateway.engine.producers.markers import marker_of
from mqgateway.engine.record_batches.batches import Batch
from mqgateway.gateway.kafka.codec.error_codes import ErrorCode
from mqgateway.gateway.kafka.codec.messages.fetch_request import FetchPartition, FetchTopic
from tests.sim.kafka.clients import KafkaClient
from tests.sim.kafka.leaders import CHANGED, NO_EPOCH, LeaderKnowledge
from tests.sim.kafka.observations import Partition
from tests.support.gateway.kafka.requests import NAME_ONLY, batches_in, fetch_request
from tests.support.gateway.kafka.transactions import COMMITTED

MAX_WAIT = 500
"""Time for which a Fetch request may wait, ms."""


class Reads:
    """The records of a partition in an answer, from `begin` on. `delivered` are those that the consumer's
    application gets, with their offsets; `end` is where the next request begins. `epochs` are those of the
    batches."""

    def __init__(self, answer: Any, begin: int) -> None:
        self.end = begin
        self.delivered: list[tuple[int, bytes]] = []
        self.epochs: list[int] = []
        for batch in batches_in(answer):
            self.epochs.append(batch.leader_epoch)
            if self.accepts(batch):
                self.delivered += records_of(batch, begin)
            self.end = max(self.end, batch.last_offset + 1)

    def accepts(self, batch: Batch) -> bool:
        """Return True if the application gets the records of the next batch."""
        return not batch.is_control


class CommittedReads(Reads):
    """Records of an answer to a consumer of committed records. Source: `CompletedFetch`."""

    def __init__(self, answer: Any, begin: int) -> None:
        self._aborted = sorted(
            (one.first_offset, one.producer_id) for one in answer.aborted_transactions or ()
        )
        self._skipped: set[int] = set()
        super().__init__(answer, begin)

    def accepts(self, batch: Batch) -> bool:
        while self._aborted and self._aborted[0][0] <= batch.last_offset:
            self._skipped.add(self._aborted.pop(0)[1])
        if batch.is_control:
            marker = marker_of(batch.data)
            if marker is not None and not marker.commit:
                self._skipped.discard(batch.producer_id)
            return False
        return not (batch.is_transactional and batch.producer_id in self._skipped)


def records_of(batch: Batch, begin: int) -> list[tuple[int, bytes]]:
    """Return offsets and values of the records of a batch from an offset on."""
    found = [(batch.base_offset + one.offset_delta, bytes(one.value or b"")) for one in batch.records()]
    return [one for one in found if one[0] >= begin]


class Consumer(KafkaClient):
    """Reads partitions from their beginning, and sometimes again from an earlier offset.

    `read` has the value of each offset before the position that the application got.
    """

    def __init__(
        self, *given: Any, partitions: Sequence[Partition], is_committed: bool, **named: Any
    ) -> None:
        super().__init__(*given, **named)
        self.is_committed = is_committed
        self.positions = dict.fromkeys(partitions, 0)
        self.leader = LeaderKnowledge(partitions)
        self.read: dict[Partition, dict[int, bytes]] = {one: {} for one in partitions}
        self.lags = dict.fromkeys(partitions, -1)
        """Number of offsets that are not read, by the last answer: those that are not stable count."""

    async def _turn(self) -> None:
        if self.random.random() < 0.03:
            self._seek(self.random.choice(tuple(self.positions)))
        if not await self._knows_leader():
            await self._pause()
            return
        answer = await self.ask(self._request(), NAME_ONLY)
        for topic in answer.responses:
            for one in topic.partitions:
                await self._take(Partition(topic.topic, one.partition_index), one)

    async def _knows_leader(self) -> bool:
        """Return True once the consumer knows the leader, and has checked its positions in a new epoch."""
        leader = self.leader
        if leader.epoch < 0:
            found = leader.learn(await self.ask(leader.request))
            if found is None:
                self.leave()
                return False
            self.seen.led(*found)
        request = leader.check_request()
        if request is None:
            return True
        truncated = leader.truncated(await self.ask(request), self.positions)
        if truncated is None:
            leader.forget()
            self.leave()
            return False
        for partition in truncated:
            at = self.positions[partition]
            self.seen.report(f"{partition} was truncated before {at}, in an answer to client {self}")
        return not truncated

    def _seek(self, partition: Partition) -> None:
        """Continue at an earlier offset: what is read from there on has to be read again."""
        self.leader.read(partition, NO_EPOCH)
        offset = self.random.randint(0, self.positions[partition])
        self.positions[partition] = offset
        read = self.read[partition]
        self.read[partition] = {at: value for at, value in read.items() if at < offset}

    def _request(self) -> Any:
        topics: dict[str, list[FetchPartition]] = {}
        size = self.random.choice((1, 300, 2000, 1 << 16))
        for (topic, number), offset in self.positions.items():
            wanted = FetchPartition(number, self.leader.epoch, offset, partition_max_bytes=size)
            topics.setdefault(topic, []).append(wanted)
        level = COMMITTED if self.is_committed else 0
        request = fetch_request("", 0, max_wait=MAX_WAIT, isolation_level=level)
        request.topics = [FetchTopic(topic, partitions=wanted) for topic, wanted in topics.items()]
        return request

    async def _take(self, partition: Partition, answer: Any) -> None:
        if answer.error_code:
            code = ErrorCode(answer.error_code)
            if code in CHANGED:
                self.leader.forget()
            if not await self.retry(code):
                self.seen.report(f"client {self}: {code.name} at {self.positions[partition]} of {partition}")
                self.positions[partition] = 0
            return
        begin = self.positions[partition]
        reads = CommittedReads(answer, begin) if self.is_committed else Reads(answer, begin)
        last = begin - 1
        for offset, value in reads.delivered:
            if offset <= last:
                self.seen.report(f"client {self} gets offset {offset} of {partition} after {last}")
            last = offset
            self.read[partition][offset] = value
            if self.is_committed:
                self.seen.read_committed(partition, offset, value)
            else:
                self.seen.placed(partition, offset, value)
        if reads.epochs:
            if reads.epochs != sorted(reads.epochs):
                self.seen.report(f"client {self} gets epochs {reads.epochs} of {partition}")
            self.leader.read(partition, reads.epochs[-1])
        self.positions[partition] = reads.end
        self.lags[partition] = answer.high_watermark - reads.end
