"""The state of idempotent producers: which batch a queue takes, knows already, or refuses.

For each queue and producer it has the epoch and the last five batches. A producer sends a batch again when
the answer was lost; it gets the offset of the first time then. A producer that is not known may begin with
any sequence, as its state may have expired. A state expires some time after its last batch was stored, so
that it is a function of the log and of the time. Kafka: `ProducerStateManager`, `ProducerStateEntry`,
`ProducerAppendInfo`.

An entry is bytes: epoch i2, then the batches, oldest first, each

    first sequence i4, last sequence i4, last offset i8, end of its record in the log i8, store time i8 (ms)
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping
from enum import Enum
from typing import Final, NamedTuple

from mqgateway.engine.producers.batch import SEQUENCE_MAX, ProducerBatch

BATCHES_KEPT: Final = 5
"""Kafka: `ProducerStateEntry.NUM_BATCHES_TO_RETAIN`."""

Key = tuple[str, int, int]
"""Topic, queue and producer id."""

_EPOCH: Final = struct.Struct(">h")
_BATCH: Final = struct.Struct(">iiqqq")
_EPOCH_SIZE: Final = 2
_BATCH_SIZE: Final = 32
assert (_EPOCH.size, _BATCH.size) == (_EPOCH_SIZE, _BATCH_SIZE)
_ENTRY_MAX: Final = _EPOCH_SIZE + BATCHES_KEPT * _BATCH_SIZE


class StoredBatch(NamedTuple):
    """A batch that a queue has. Its record ends at `end` of the log and was stored at `stored`, ms."""

    first_sequence: int
    last_sequence: int
    last_offset: int
    end: int
    stored: int


class Duplicate(NamedTuple):
    """The queue has the batch: its first offset, and what was stored."""

    base_offset: int
    stored: StoredBatch


class BatchRefusal(Enum):
    """A reason to take no batch."""

    OUT_OF_ORDER = "the sequence does not follow the producer's last batch"
    OLD_EPOCH = "the producer has a newer epoch"
    NOT_TRANSACTIONAL = "the producer has an open transaction, and the batch is not part of it"


Verdict = Duplicate | BatchRefusal | None
"""None: the batch is new, and follows."""


class ProducerFigures(NamedTuple):
    """Figures of a producer of a queue. `last_time` is in ms; `last_offset` is that of its last record."""

    producer_id: int
    epoch: int
    last_sequence: int
    last_time: int
    last_offset: int


def epoch_of(entry: bytes) -> int:
    """Return the producer's epoch."""
    return int(_EPOCH.unpack_from(entry)[0])


def batches_of(entry: bytes) -> list[StoredBatch]:
    """Return the batches, oldest first."""
    return [StoredBatch(*fields) for fields in _BATCH.iter_unpack(entry[_EPOCH_SIZE:])]


def last_of(entry: bytes) -> StoredBatch:
    """Return the newest batch."""
    return StoredBatch(*_BATCH.unpack_from(entry, len(entry) - _BATCH_SIZE))


def _last_offset(entry: bytes) -> int:
    return int(_BATCH.unpack_from(entry, len(entry) - _BATCH_SIZE)[2])


def judge(entry: bytes | None, batch: ProducerBatch) -> Verdict:
    """Decide on a batch, given the state of its producer, None for an unknown one."""
    if entry is None:
        return None
    epoch = epoch_of(entry)
    if batch.epoch < epoch:
        return BatchRefusal.OLD_EPOCH
    if batch.epoch > epoch:
        return None if batch.first_sequence == 0 else BatchRefusal.OUT_OF_ORDER
    if batch.first_sequence == last_of(entry).last_sequence + 1 & SEQUENCE_MAX:
        return None
    last_sequence = batch.last_sequence
    for stored in batches_of(entry):
        if stored.first_sequence == batch.first_sequence and stored.last_sequence == last_sequence:
            return Duplicate(stored.last_offset - batch.count + 1, stored)
    return BatchRefusal.OUT_OF_ORDER


def advance(entry: bytes | None, batch: ProducerBatch, end: int, stored: int) -> bytes:
    """Return the state after a batch of the log, whatever it was before."""
    added = _BATCH.pack(batch.first_sequence, batch.last_sequence, batch.last_offset, end, stored)
    if entry is None or epoch_of(entry) != batch.epoch:
        return _EPOCH.pack(batch.epoch) + added
    if len(entry) < _ENTRY_MAX:
        return entry + added
    return entry[:_EPOCH_SIZE] + entry[_EPOCH_SIZE + _BATCH_SIZE :] + added


class _Expected:
    """A state that an entry gets once the record is dispatched that ends at `end` of the log. `before` is the
    entry that it follows."""

    __slots__ = ("after", "before", "end")

    def __init__(self, before: bytes | None, after: bytes, end: int) -> None:
        self.before = before
        self.after = after
        self.end = end


class Producers:
    """The states of all producers, those first whose last batch is oldest.

    `entries` says what has been dispatched; `expect` adds what is in the log and waits for that, so that
    `check` knows of each batch as soon as it is written. At most `limit` producers are kept; a state expires
    `expires_after` ms after its last batch.
    """

    def __init__(self, limit: int, expires_after: int) -> None:
        self.limit = limit
        self.expires_after = expires_after
        self.entries: dict[Key, bytes] = {}
        self._expected: dict[Key, _Expected] = {}

    def check(self, topic: str, queue_id: int, batch: ProducerBatch, now: int) -> Verdict:
        """Decide on a batch that is to be appended to a queue at `now`, ms."""
        entry = self._newest((topic, queue_id, batch.producer_id))
        if entry is None:
            return None
        _, last_sequence, _, _, stored = _BATCH.unpack_from(entry, len(entry) - _BATCH_SIZE)
        if now - stored >= self.expires_after:
            return None
        if batch.first_sequence == last_sequence + 1 & SEQUENCE_MAX and batch.epoch == epoch_of(entry):
            return None  # as nearly all do
        return judge(entry, batch)

    def expect(self, topic: str, queue_id: int, batch: ProducerBatch, end: int, stored: int) -> None:
        """Take note of a batch that was written and will be dispatched."""
        key = topic, queue_id, batch.producer_id
        entry = self._newest(key)
        self._expected[key] = _Expected(entry, self._after(entry, batch, end, stored), end)

    def expect_nothing(self) -> None:
        """Forget the batches that were to be dispatched."""
        self._expected.clear()

    def add(self, topic: str, queue_id: int, batch: ProducerBatch, end: int, stored: int) -> None:
        """Take a batch of the log. If the queue began again, as its topic was deleted, what it had is
        forgotten."""
        key = topic, queue_id, batch.producer_id
        entry = before = self.entries.pop(key, None)
        if entry is not None and _last_offset(entry) >= batch.last_offset:
            entry = None
        expected = self._expected.get(key)
        if expected is not None and expected.end == end and entry is before is expected.before:
            self.entries[key] = expected.after  # what is computed below was computed for `check`
        else:
            self.entries[key] = self._after(entry, batch, end, stored)
        if expected is not None and expected.end <= end:
            del self._expected[key]
        if len(self.entries) > self.limit:
            del self.entries[next(iter(self.entries))]

    def _newest(self, key: Key) -> bytes | None:
        """Return the state after everything that was written, None for an unknown producer."""
        expected = self._expected.get(key)
        return self.entries.get(key) if expected is None else expected.after

    def _after(self, entry: bytes | None, batch: ProducerBatch, end: int, stored: int) -> bytes:
        if entry is not None and self._is_expired(entry, stored):
            entry = None
        return advance(entry, batch, end, stored)

    def _is_expired(self, entry: bytes, now: int) -> bool:
        stored = int(_BATCH.unpack_from(entry, len(entry) - _BATCH_SIZE)[4])
        return now - stored >= self.expires_after

    def expire(self, now: int) -> None:
        """Forget the producers that have stored nothing for long. Store times ascend, but for a clock that
        was set."""
        for key in [key for key, entry in self.entries.items() if self._is_expired(entry, now)]:
            del self.entries[key]

    def forget_topic(self, topic: str) -> bool:
        """Forget the producers of a topic; return True if there were any."""
        before = len(self.entries)
        self.entries = {key: entry for key, entry in self.entries.items() if key[0] != topic}
        self._expected = {key: entry for key, entry in self._expected.items() if key[0] != topic}
        return len(self.entries) < before

    def clear(self) -> None:
        """Forget everything."""
        self.entries.clear()
        self._expected.clear()

    def figures(self, topic: str, now: int) -> Mapping[int, list[ProducerFigures]]:
        """Return the producers of each queue of a topic that has any."""
        found: dict[int, list[ProducerFigures]] = {}
        for (name, queue_id, producer_id), entry in self.entries.items():
            if name == topic and not self._is_expired(entry, now):
                last = last_of(entry)
                figures = ProducerFigures(
                    producer_id, epoch_of(entry), last.last_sequence, last.stored, last.last_offset
                )
                found.setdefault(queue_id, []).append(figures)
        return found

    def since(self, oldest: int, now: int) -> Iterator[tuple[Key, int, list[StoredBatch]]]:
        """Yield epoch and batches of each producer that has not expired, of records at `oldest` of the log or
        later."""
        for key, entry in self.entries.items():
            batches = [batch for batch in batches_of(entry) if batch.end > oldest]
            if batches and not self._is_expired(entry, now):
                yield key, epoch_of(entry), batches
