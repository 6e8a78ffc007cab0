"""The newest record of each key, and its way into the log.

The log is not compacted. Instead, records that would be lost with old files are written again, and so are the
oldest ones while most of the log is obsolete; all that precedes the oldest record in use is then released.
"""

from __future__ import annotations

import logging
from collections import Counter, deque
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import NamedTuple

from twisted.internet.defer import Deferred
from twisted.python.failure import Failure

from mqgateway.gateway.kafka.coordinator.records import Record
from mqgateway.gateway.kafka.coordinator.records_log import NotWritten, Records, RecordsLog

log = logging.getLogger(__name__)

BATCH_MAX = 500
BYTES_MAX = 256 * 1024
"""Records and bytes that are written again at a time."""
OBSOLETE_MIN = 10_000
"""Number of obsolete records that are left alone."""


class _Entry(NamedTuple):
    offset: int
    time: int
    value: bytes


@dataclass(slots=True)
class _Write:
    """Records on their way. `outcome` is the offset of the first one, or the failure."""

    records: Records
    time: int
    done: Deferred[None]
    outcome: int | Failure | None = None


class RecordJournal:
    """Writes records, and knows those in use, the oldest first. Writes end in the order of their begin.

    `subject` says what the records are about.
    """

    def __init__(self, records: RecordsLog, subject: str) -> None:
        self._log = records
        self._subject = subject
        self._entries: dict[bytes, _Entry] = {}
        self._writes: deque[_Write] = deque()
        self._in_flight: Counter[bytes] = Counter()
        self._end = 0
        self._released = 0
        self._is_refreshing = False

    def __len__(self) -> int:
        return len(self._entries)

    def load(self) -> Iterator[Record | None]:
        """Read the log; yield its records, and None while the next one cannot be read yet."""
        self._entries.clear()
        self._end = self._released = 0
        for stored in self._log.replay():
            if stored is None:
                yield None
                continue
            self._note(*stored)
            yield stored.key, stored.value

    def abandon(self, reason: NotWritten) -> None:
        """Let all writes in flight fail; whether the log has them is not known."""
        writes = tuple(self._writes)
        self._writes.clear()
        self._in_flight.clear()
        for write in writes:
            write.done.errback(reason)

    def write(self, records: Records, now: int) -> Deferred[None]:
        """Write records; `now` is the wall time, ms. Fails with `NotWritten`."""

        write = _Write(records, now, Deferred())
        self._writes.append(write)
        self._in_flight.update(key for key, _ in records)
        self._log.append(records).addBoth(self._landed, write)
        return write.done

    def _landed(self, outcome: int | Failure, write: _Write) -> None:
        write.outcome = outcome
        while self._writes and (first := self._writes[0]).outcome is not None:
            self._writes.popleft()
            self._in_flight -= Counter(key for key, _ in first.records)
            if isinstance(first.outcome, Failure):
                first.done.errback(first.outcome)
                continue
            for offset, (key, value) in enumerate(first.records, first.outcome):
                self._note(offset, first.time, key, value)
            first.done.callback(None)

    def _note(self, offset: int, time: int, key: bytes, value: bytes | None) -> None:
        self._end = max(self._end, offset + 1)
        self._entries.pop(key, None)
        if value is not None:
            self._entries[key] = _Entry(offset, time, value)

    def refresh(self, now: int, max_age: int) -> None:
        """Write the oldest records again if they are older than `max_age` ms or most of the log is obsolete.

        Some at a time: to be called again and again.
        """
        self._release()
        if self._is_refreshing or not self._entries:
            return
        oldest = next(iter(self._entries.values()))
        span = self._end - oldest.offset
        is_sparse = span > OBSOLETE_MIN + 2 * len(self._entries)
        due = Records()
        for key, entry in islice(self._entries.items(), BATCH_MAX):
            if len(due.body) > BYTES_MAX or not (is_sparse or entry.time < now - max_age):
                break
            if key not in self._in_flight:
                due.add(key, entry.value)
        if not due:
            return
        self._is_refreshing = True
        self._rewrite(due, now)

    def _rewrite(self, due: Records, now: int) -> None:
        def done(_: object) -> None:
            self._is_refreshing = False
            self._release()

        def failed(failure: Failure) -> None:
            self._is_refreshing = False
            log.warning("%s are not written again: %s", self._subject, failure.getErrorMessage())

        self.write(due, now).addCallbacks(done, failed)

    def _release(self) -> None:
        """Release what precedes the oldest record in use."""
        oldest = next(iter(self._entries.values())).offset if self._entries else self._end
        if oldest > self._released:
            self._released = oldest
            self._log.release(oldest)
