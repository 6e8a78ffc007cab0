"""The copy of records, a pass over all partitions at a time.

What a pass sends is a function of the source's log alone: its committed records, in order. So after a failure
the target's end shows how many records of the next ones it has already, and these are passed over. The last
of them is compared: compaction or retention may have removed some from the source, or another client may have
written to the target. An idempotent producer keeps batches in order that are sent together.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from mqgateway.engine.record_batches.batches import Batch
from mqgateway.engine.record_batches.errors import CodecError
from mqgateway.gateway.kafka.codec.error_codes import ErrorCode
from mqgateway.gateway.kafka.codec.messages.fetch_response import PartitionData
from mqgateway.gateway.kafka.codec.messages.init_producer_id_request import InitProducerIdRequest
from mqgateway.gateway.kafka.codec.messages.produce_request import (
    PartitionProduceData,
    ProduceRequest,
    TopicProduceData,
)
from mqgateway.gateway.migration.kafka.cluster import KafkaCluster, Partition, by_topic
from mqgateway.gateway.migration.kafka.connection import KafkaError, check
from mqgateway.gateway.migration.kafka.plan import KafkaProgress
from mqgateway.gateway.migration.kafka.reading import EARLIEST, LATEST, fetched, offsets
from mqgateway.gateway.migration.kafka.records import (
    Aborted,
    CopiedBatch,
    Stamp,
    committed,
    contents_at,
    copied,
    offsets_from,
    whole_batches,
)
from mqgateway.gateway.migration.plan import MigrationError

TOGETHER: Final = 5
"""Produce requests that are sent before answers are read; an idempotent producer may have so many."""
ACKS_ALL: Final = -1
PRODUCE_MILLIS: Final = 30_000
REQUEST_BYTES: Final = 16 << 20
"""Bytes of batches in a request. A broker closes the connection of a request above 100 MiB by default."""
BEGIN_AGAIN: Final = "delete all topics of the plan at the target and the progress file, and begin again"
"""Remedy for a target that has other records. The file is that of all topics: those left would be doubled."""


@dataclass
class CopyFigures:
    """Figures of a partition's copy: records copied since the start, and the source's ends.

    `deleted` counts offsets that the source deleted before they were copied.
    """

    records: int = 0
    stable_end: int = -1
    end: int = -1
    deleted: int = 0


@dataclass
class _Target:
    """A partition at the target as this producer sees it: records that it has already, and the sequence."""

    already: int
    sequence: int = 0


@dataclass
class _Work:
    """Batches of a partition for the target, and the position after all that was read."""

    batches: list[CopiedBatch] = field(default_factory=list)
    next_position: int = 0


class Copier:
    """Copies partitions from one cluster to another. `begin` is called first, and again after each error."""

    def __init__(
        self,
        source: KafkaCluster,
        target: KafkaCluster,
        partitions: Sequence[Partition],
        progress: KafkaProgress,
    ) -> None:
        self._source = source
        self._target = target
        self._partitions = list(partitions)
        self._progress = progress
        self.figures = {partition: CopyFigures() for partition in partitions}
        self._targets: dict[Partition, _Target] = {}
        self._producer = (-1, -1)

    @property
    def lag(self) -> int:
        """Offsets that are still to be read, as far as passes have seen; -1 before the first one."""
        known = self._progress.partitions
        if any(self.figures[one].stable_end < 0 for one in self._partitions):
            return -1
        return sum(max(0, self.figures[one].stable_end - known[one].position) for one in self._partitions)

    def open_transactions(self) -> list[Partition]:
        """Return the partitions with records after the end of those that are decided."""
        return [one for one in self._partitions if self.figures[one].stable_end < self.figures[one].end]

    def unmatched(self) -> list[Partition]:
        """Return the partitions of the target with records after those of the source."""
        return [partition for partition, one in self._targets.items() if one.already]

    def begin(self) -> None:
        """Find out what the target has. Raises `ClientError`, `MigrationError`."""
        for cluster in (self._source, self._target):
            cluster.forget_leaders()
        self._begin_new_partitions()
        ends = offsets(self._target, self._partitions, LATEST)
        for partition in self._partitions:
            if partition not in ends:
                raise KafkaError(ErrorCode.LEADER_NOT_AVAILABLE, f"{partition} of the target")
            expected = self._progress.partitions[partition].offsets.target_end
            if ends[partition] < expected:
                raise MigrationError(
                    f"{partition} of the target ends at {ends[partition]}, but was copied up to {expected}: "
                    f"{BEGIN_AGAIN}"
                )
            self._targets[partition] = _Target(ends[partition] - expected)
        answer = self._target.ask_any(InitProducerIdRequest(None, PRODUCE_MILLIS))
        check(answer.error_code, "producer id of the target")
        self._producer = (answer.producer_id, answer.producer_epoch)

    def _begin_new_partitions(self) -> None:
        new = [one for one in self._partitions if one not in self._progress.partitions]
        starts = offsets(self._source, new, EARLIEST)
        ends = offsets(self._target, new, LATEST)
        for partition in new:
            if partition not in starts or partition not in ends:
                raise KafkaError(ErrorCode.LEADER_NOT_AVAILABLE, f"{partition}")
            self._progress.begin(partition, starts[partition], ends[partition])

    def copy(self) -> int:
        """Copy what the next answers of all leaders have; return the number of records copied.

        Raises `ClientError`, `MigrationError`; then `begin` is called before the next pass.
        """
        positions = {one: self._progress.partitions[one].position for one in self._partitions}
        work: dict[Partition, _Work] = {}
        unread = set(positions)
        for partition, data in fetched(self._source, positions):
            unread.discard(partition)
            if self._is_readable(partition, data):
                try:
                    work[partition] = self._read(partition, data)
                except CodecError as error:
                    raise MigrationError(f"{partition} of the source: {error}") from None
        before = sum(one.records for one in self.figures.values())
        self._produce(work)
        for partition, done in work.items():
            one = self._progress.partitions[partition]
            one.position = max(one.position, done.next_position)
        # The next answer begins with another partition.
        self._partitions = self._partitions[1:] + self._partitions[:1]
        if unread:
            raise KafkaError(ErrorCode.LEADER_NOT_AVAILABLE, f"{min(unread)} of the source")
        return sum(one.records for one in self.figures.values()) - before

    def _is_readable(self, partition: Partition, data: PartitionData) -> bool:
        figures, code = self.figures[partition], data.error_code
        if code == ErrorCode.OFFSET_OUT_OF_RANGE:
            progress = self._progress.partitions[partition]
            start = offsets(self._source, [partition], EARLIEST).get(partition, progress.position)
            if start <= progress.position:
                raise MigrationError(f"{partition} of the source lost records that were copied")
            figures.deleted += start - progress.position
            progress.position = start
            return False
        check(code, f"reading {partition}")
        figures.stable_end, figures.end = data.last_stable_offset, data.high_watermark
        if figures.stable_end < 0:
            figures.stable_end = figures.end
        return True

    def _read(self, partition: Partition, data: PartitionData) -> _Work:
        """Return what is to be sent of an answer. What the target has already is noted as copied."""
        progress, target = self._progress.partitions[partition], self._targets[partition]
        work = _Work(next_position=progress.position)
        batches = list(whole_batches(data.records or b""))
        aborted = [Aborted(one.producer_id, one.first_offset) for one in data.aborted_transactions or ()]
        sequence = target.sequence
        for batch in committed(batches, aborted):
            if target.already:
                self._pass_over(partition, batch)
            first = progress.position
            made = copied(batch, first, Stamp(*self._producer, sequence))
            if made is not None:
                work.batches.append(made)
                sequence = (sequence + made.record_count) & 0x7FFF_FFFF
        if batches:
            work.next_position = batches[-1].last_offset + 1
        return work

    def _pass_over(self, partition: Partition, batch: Batch) -> None:
        """Note records as copied that the target has already. Raises `MigrationError` for other records."""
        progress, target = self._progress.partitions[partition], self._targets[partition]
        for offset, count in offsets_from(batch, progress.position):
            taken = min(count, target.already)
            if not taken:
                return
            if taken == target.already:
                self._compare_last(partition, batch, offset + taken - 1)
            progress.offsets.add(offset, taken)
            progress.position = offset + taken
            target.already -= taken

    def _compare_last(self, partition: Partition, batch: Batch, offset: int) -> None:
        """Raise `MigrationError` unless the target's last record is that at an offset of the source."""
        progress, target = self._progress.partitions[partition], self._targets[partition]
        end = progress.offsets.target_end + target.already
        theirs = b""
        for _, data in fetched(self._target, {partition: end - 1}):
            check(data.error_code, f"reading {partition} of the target")
            for one in whole_batches(data.records or b""):
                theirs = theirs or contents_at(one, end - 1)
        if theirs != contents_at(batch, offset):
            raise MigrationError(
                f"{partition} of the target ends with other records than the source has next: {BEGIN_AGAIN}"
            )

    def _produce(self, work: Mapping[Partition, _Work]) -> None:
        queues = {partition: one.batches for partition, one in work.items() if one.batches}
        while queues:
            for address, led in self._target.by_leader(queues).items():
                self._send(address, {one: queues[one][:TOGETHER] for one in led})
            unled = set(queues) - {one for led in self._target.by_leader(queues).values() for one in led}
            if unled:
                raise KafkaError(ErrorCode.LEADER_NOT_AVAILABLE, f"{min(unled)} of the target")
            queues = {one: left for one, batches in queues.items() if (left := batches[TOGETHER:])}

    def _send(self, address: str, batches: Mapping[Partition, Sequence[CopiedBatch]]) -> None:
        """Send batches of each partition to its leader, at most one of each partition in a request."""
        waves = [
            part
            for index in range(max(map(len, batches.values())))
            for part in _parts(
                {partition: queue[index] for partition, queue in batches.items() if index < len(queue)}
            )
        ]
        answers = self._target.ask_together(address, [_request(wave) for wave in waves])
        for wave, answer in zip(waves, answers, strict=True):
            for topic in answer.responses:
                for one in topic.partition_responses:
                    partition = Partition(topic.name, one.index)
                    check(one.error_code, f"writing {partition}", one.error_message)
                    self._stored(partition, wave[partition], one.base_offset)

    def _stored(self, partition: Partition, batch: CopiedBatch, base_offset: int) -> None:
        progress = self._progress.partitions[partition]
        expected = progress.offsets.target_end
        if base_offset != expected:
            raise MigrationError(
                f"{partition} of the target has records of others: a batch came to {base_offset} instead of "
                f"{expected}: {BEGIN_AGAIN}"
            )
        for offset, count in batch.spans:
            progress.offsets.add(offset, count)
            progress.position = offset + count
        self.figures[partition].records += batch.record_count
        target = self._targets[partition]
        target.sequence = (target.sequence + batch.record_count) & 0x7FFF_FFFF


def _parts(batches: Mapping[Partition, CopiedBatch]) -> Iterator[dict[Partition, CopiedBatch]]:
    """Yield batches as those of one request each, which has one batch at least."""
    part: dict[Partition, CopiedBatch] = {}
    size = 0
    for partition, batch in batches.items():
        if part and size + len(batch.data) > REQUEST_BYTES:
            yield part
            part, size = {}, 0
        part[partition] = batch
        size += len(batch.data)
    yield part


def _request(batches: Mapping[Partition, CopiedBatch]) -> ProduceRequest:
    topics = [
        TopicProduceData(
            name, partition_data=[PartitionProduceData(index, batch.data) for index, batch in partitions]
        )
        for name, partitions in by_topic(batches).items()
    ]
    return ProduceRequest(None, ACKS_ALL, PRODUCE_MILLIS, topics)
