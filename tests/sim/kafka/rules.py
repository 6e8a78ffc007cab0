"""The rules of a history's end: the log as it is then, all that was acknowledged, and all that was read.

The rules are Jepsen's for queues: no aborted read, no lost write, no duplicate, no torn transaction, no
offset with two values, no skip or inversion of a reader. Which records are committed is computed from the
log's batches and markers alone, not from what the broker says of it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from mqgateway.engine.producers.markers import marker_of
from mqgateway.engine.record_batches.batches import Batch
from tests.sim.kafka.observations import Observations, Partition, Write


class LogRecord(NamedTuple):
    """A record of a partition; `transaction` is its producer's id, -1 if it belongs to none."""

    offset: int
    value: bytes
    transaction: int


class LogMarker(NamedTuple):
    """The end of a producer's transaction."""

    transaction: int
    is_commit: bool


Log = Sequence[LogRecord | LogMarker]


def log_of(batches: Sequence[Batch]) -> Log:
    """Return what batches have."""
    log: list[LogRecord | LogMarker] = []
    for batch in batches:
        marker = marker_of(batch.data) if batch.is_control else None
        if marker is not None:
            log.append(LogMarker(marker.producer_id, marker.commit))
            continue
        transaction = batch.producer_id if batch.is_transactional else -1
        for one in batch.records():
            log.append(LogRecord(batch.base_offset + one.offset_delta, bytes(one.value or b""), transaction))
    return log


def committed(log: Log) -> dict[int, bytes]:
    """Return the committed records of a log, by offset."""
    found: dict[int, bytes] = {}
    opened: dict[int, list[LogRecord]] = {}
    for one in log:
        if isinstance(one, LogMarker):
            ended = opened.pop(one.transaction, [])
            if one.is_commit:
                found.update((record.offset, record.value) for record in ended)
        elif one.transaction < 0:
            found[one.offset] = one.value
        else:
            opened.setdefault(one.transaction, []).append(one)
    return dict(sorted(found.items()))


def records(log: Log) -> dict[int, bytes]:
    """Return all records of a log, by offset."""
    return {one.offset: one.value for one in log if isinstance(one, LogRecord)}


class Rules:
    """The end of a history: what was observed, and the logs of all partitions but compacted ones."""

    def __init__(self, seen: Observations, logs: Mapping[Partition, Log]) -> None:
        self._seen, self._logs = seen, logs
        self._records = {partition: records(log) for partition, log in logs.items()}
        self._committed = {partition: committed(log) for partition, log in logs.items()}
        self._count: Counter[str] = seen.checks

    def problems(self) -> Iterator[str]:
        """Yield the rules that are broken."""
        yield from self._log_problems()
        yield from self._torn()
        yield from self._lost()
        yield from self._changed()

    def _log_problems(self) -> Iterator[str]:
        for partition in self._logs:
            self._count["no duplicate"] += 1
            for value, count in Counter(self._records[partition].values()).items():
                write = self._seen.writes.get(value)
                if count > 1:
                    yield f"{value!r} is {count} times in {partition}: it is a duplicate"
                if write is None or write.partition != partition:
                    yield f"{value!r} in {partition} was not sent to it"
            for value in self._committed[partition].values():
                write = self._seen.writes.get(value)
                if write is not None and write.is_aborted:
                    yield f"{value!r} of {partition} is committed, though of the aborted {write.transaction}"

    def _changed(self) -> Iterator[str]:
        for (partition, offset), value in self._seen.at.items():
            if partition in self._logs:
                self._count["what was seen stays"] += 1
                found = self._records[partition].get(offset)
                if found != value:
                    yield f"{value!r} was at {offset} of {partition}, where {found!r} is now"

    def _lost(self) -> Iterator[str]:
        for write in self._seen.writes.values():
            if write.offset is None or write.partition not in self._logs:
                continue
            self._count["no lost write"] += 1
            logs = self._committed if self._is_committed(write) else self._records
            if logs[write.partition].get(write.offset) != write.value:
                yield f"{write.value!r}, acknowledged at {write.offset} of {write.partition}, is lost"

    @staticmethod
    def _is_committed(write: Write) -> bool:
        return write.transaction is None or write.transaction.outcome is True

    def _torn(self) -> Iterator[str]:
        values = {value for one in self._committed.values() for value in one.values()}
        for transaction in self._seen.transactions:
            self._count["no torn transaction"] += 1
            count = sum(value in values for value in transaction.values)
            writes = [self._seen.writes[value] for value in transaction.values]
            if any(one.partition not in self._logs for one in writes):
                continue
            if count not in (0, len(writes)):
                yield f"{count} of {len(writes)} values are committed of {transaction}: it is torn"
            if transaction.outcome is True and count < len(writes):
                yield f"the committed {transaction} is lost"

    def reader_problems(
        self, partition: Partition, read: Mapping[int, bytes], end: int, *, is_committed: bool
    ) -> Iterator[str]:
        """Yield the problems of a consumer that has read a partition from its beginning up to an offset."""
        log = (self._committed if is_committed else self._records)[partition]
        self._count["no skip"] += 1
        for offset, value in log.items():
            if offset < end and read.get(offset) != value:
                yield f"a reader has skipped {value!r} at {offset} of {partition}"
        for offset, value in read.items():
            if log.get(offset) != value:
                yield f"a reader got {value!r} at {offset} of {partition}, which is not there"

    def copy_problems(
        self, source: Partition, offset: int, copies: Sequence[Partition], group: str
    ) -> Iterator[str]:
        """Yield what differs between the records of a partition before the offset of a group, and their
        copies by the group."""
        self._count["copied exactly once"] += 1
        wanted = [value for at, value in self._committed[source].items() if at < offset]
        found = Counter(
            value.rpartition(b"@")[0]
            for partition in copies
            for value in self._committed[partition].values()
            if self._is_copy(value, group)
        )
        for value in wanted:
            if found[value] != 1:
                yield f"{value!r}, before offset {offset} of {group}, was copied {found[value]} times"
        for value in found.keys() - set(wanted):
            yield f"{value!r} was copied, though {group} is at {offset}"

    def _is_copy(self, value: bytes, group: str) -> bool:
        write = self._seen.writes.get(value)
        transaction = None if write is None else write.transaction
        return b"@" in value and transaction is not None and transaction.name.startswith(f"{group}-")
