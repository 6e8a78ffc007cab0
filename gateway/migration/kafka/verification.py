"""Comparison of the source's records with their copies, by count and checksum of each partition."""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from mqgateway.engine.record_batches.errors import CodecError
from mqgateway.engine.record_batches.records import Record
from mqgateway.gateway.client.errors import ClientError
from mqgateway.gateway.migration.kafka.cluster import KafkaCluster, Partition
from mqgateway.gateway.migration.kafka.connection import check
from mqgateway.gateway.migration.kafka.plan import PartitionProgress
from mqgateway.gateway.migration.kafka.reading import EARLIEST, fetched, offsets
from mqgateway.gateway.migration.kafka.records import (
    Aborted,
    committed,
    contents_of,
    timestamp_of,
    whole_batches,
)
from mqgateway.gateway.migration.plan import MigrationError

_TIME: Final = struct.Struct(">q")
ATTEMPTS: Final = 50
"""Empty answers after which a partition is taken to be unreadable."""


@dataclass
class Digest:
    """Number of records and a SHA-256 over them. Of a compacted topic: the last record of each key."""

    is_compacted: bool
    has_time: bool
    count: int = 0
    latest: dict[bytes | None, bytes] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._hash = hashlib.sha256()

    def add(self, timestamp: int, record: Record) -> None:
        """Add the next record."""
        data = _TIME.pack(timestamp if self.has_time else 0) + contents_of(record)
        if not self.is_compacted:
            self.count += 1
            self._hash.update(data)
            return
        key = None if record.key is None else bytes(record.key)
        self.latest.pop(key, None)
        if record.value is not None:  # a tombstone may have been removed at one side
            self.latest[key] = hashlib.sha256(data).digest()

    def hexadecimal(self) -> str:
        """Return the checksum."""
        if not self.is_compacted:
            return self._hash.hexdigest()
        self.count = len(self.latest)
        return hashlib.sha256(b"".join(sorted(self.latest.values()))).hexdigest()


@dataclass
class Comparison:
    """Records of a partition at both clusters. `problem` is empty if they are equal."""

    partition: Partition
    source_records: int = 0
    target_records: int = 0
    checksum: str = ""
    problem: str = ""


def compare(
    source: KafkaCluster,
    target: KafkaCluster,
    partition: Partition,
    progress: PartitionProgress,
    configs: dict[str, str],
) -> Comparison:
    """Compare the copied records that both clusters still have."""
    result = Comparison(partition)
    is_compacted = "compact" in configs.get("cleanup.policy", "")
    has_time = configs.get("message.timestamp.type") != "LogAppendTime"
    ours, theirs = Digest(is_compacted, has_time), Digest(is_compacted, has_time)
    try:
        begin, target_begin = _begins(source, target, partition, progress)
        _read(source, partition, begin, progress.position, theirs)
        _read(target, partition, target_begin, progress.offsets.target_end, ours)
    except (ClientError, MigrationError, CodecError) as error:
        result.problem = str(error)
        return result
    result.checksum = theirs.hexadecimal()
    is_same = result.checksum == ours.hexadecimal()
    result.source_records, result.target_records = theirs.count, ours.count
    if not is_same:
        result.problem = (
            "the records differ" if ours.count == theirs.count else "the numbers of records differ"
        )
    return result


def _begins(
    source: KafkaCluster, target: KafkaCluster, partition: Partition, progress: PartitionProgress
) -> tuple[int, int]:
    """Return the first offsets that both have, after what retention has deleted at either side."""
    begin = offsets(source, [partition], EARLIEST).get(partition, 0)
    target_begin = offsets(target, [partition], EARLIEST).get(partition, 0)
    mapped = progress.offsets.target(begin)
    if target_begin <= mapped:
        return begin, mapped
    return progress.offsets.source(target_begin), target_begin


def _read(cluster: KafkaCluster, partition: Partition, begin: int, end: int, digest: Digest) -> None:
    """Add the committed records of a range of offsets to a digest. Raises `MigrationError`, `ClientError`."""
    position, empty = begin, 0
    while position < end:
        before = position
        for timestamp, offset, record, following in _records(cluster, partition, position):
            if begin <= offset < end and offset >= before and record is not None:
                digest.add(timestamp, record)
            position = following
        empty = empty + 1 if position == before else 0
        if empty >= ATTEMPTS:
            raise MigrationError(f"{partition} cannot be read from offset {position} on")


def _records(
    cluster: KafkaCluster, partition: Partition, position: int
) -> Iterator[tuple[int, int, Record | None, int]]:
    """Yield records of one answer with time and offset, and the position after what was read.

    The last one has no record: its position is the end of the answer.
    """
    for _, data in fetched(cluster, {partition: position}):
        check(data.error_code, f"reading {partition}")
        batches = list(whole_batches(data.records or b""))
        aborted = [Aborted(one.producer_id, one.first_offset) for one in data.aborted_transactions or ()]
        for batch in committed(batches, aborted):
            for record in batch.records():
                offset = batch.base_offset + record.offset_delta
                yield timestamp_of(batch, record), offset, record, position
        if batches:
            yield 0, -1, None, batches[-1].last_offset + 1
