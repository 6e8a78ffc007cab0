"""The log of a coordinator, as it needs it, and one in memory."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple, Protocol

from twisted.internet.defer import Deferred, succeed

from mqgateway.engine.record_batches.batches import HEADER_SIZE
from mqgateway.engine.record_batches.records import Record as BatchRecord
from mqgateway.engine.record_batches.records import write_record
from mqgateway.gateway.kafka.codec.error_codes import ErrorCode
from mqgateway.gateway.kafka.coordinator.records import Record

BATCH_MAX: Final = 1_048_588
"""Bytes of a batch, as Apache Kafka limits them (`max.message.bytes` of the topic)."""
RECORDS_MAX: Final = 10_000
"""Records of a batch."""


class NotWritten(Exception):
    """Records that the log did not accept, and the error code for the client."""

    def __init__(self, code: ErrorCode, reason: str) -> None:
        super().__init__(reason)
        self.code = code


class Records:
    """Records that are written together, all of them or none, as one batch.

    They are encoded as they are added, so that very many can be prepared some at a time.
    """

    __slots__ = ("_records", "body")

    def __init__(self, records: Iterable[Record] = ()) -> None:
        self._records: list[Record] = []
        self.body = bytearray()
        for record in records:
            self.add(*record)

    def add(self, key: bytes, value: bytes | None) -> None:
        """Add a record."""
        write_record(self.body, BatchRecord(key, value, offset_delta=len(self._records)))
        self._records.append((key, value))

    def __len__(self) -> int:
        return len(self._records)

    def __iter__(self) -> Iterator[Record]:
        return iter(self._records)

    @property
    def is_too_large(self) -> bool:
        """True if one batch cannot have them all."""
        return HEADER_SIZE + len(self.body) > BATCH_MAX or len(self._records) > RECORDS_MAX


class Stored(NamedTuple):
    """A record of the log: its offset, and the wall time at which it was written, ms."""

    offset: int
    time: int
    key: bytes
    value: bytes | None


class RecordsLog(Protocol):
    """One queue of records."""

    def append(self, records: Records) -> Deferred[int]:
        """Write records together; return the offset of the first one once they are as durable as the settings
        demand. Fails with `NotWritten`."""
        ...

    def replay(self) -> Iterator[Stored | None]:
        """Yield all records there are, in their order; None while the next one cannot be read yet."""
        ...

    def release(self, before: int) -> None:
        """Allow that records before an offset are removed: later ones say it all."""
        ...


class MemoryRecordsLog:
    """A log in memory. `time` is the wall time of its records."""

    def __init__(self) -> None:
        self.records: list[Stored] = []
        self.time = 0
        self.end = 0

    def append(self, records: Records) -> Deferred[int]:
        """See `RecordsLog`."""
        first = self.end
        for key, value in records:
            self.records.append(Stored(self.end, self.time, key, value))
            self.end += 1
        return succeed(first)

    def replay(self) -> Iterator[Stored]:
        """See `RecordsLog`."""
        return iter(list(self.records))

    def release(self, before: int) -> None:
        """See `RecordsLog`."""
        self.records = [record for record in self.records if record.offset >= before]
