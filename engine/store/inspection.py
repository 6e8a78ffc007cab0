"""Validation of records before delivery: the disk may return other bytes than were written.

A record is inspected if it may come from the disk: it was written by an earlier process, or is no longer
among the newest bytes of the log. For records read from memory the check costs one comparison. A record fails
if its form is wrong, its body (or all of it, where it ends with a checksum) does not match its checksum, or
it is not the one that the queue refers to. It is never delivered then: the reader skips it, and file and byte
are logged once.
"""

from __future__ import annotations

import logging
import struct
from typing import Final

from mqgateway.engine.message import LMQ_PREFIX
from mqgateway.engine.store.consume_queue import AnyQueue, ConsumeQueue
from mqgateway.engine.store.file_queue import file_name
from mqgateway.engine.store.log import Log
from mqgateway.engine.store.record import Invalid, examine, is_sound, topic_of

log = logging.getLogger(__name__)

DAMAGED_MAX: Final = 10_000
"""Maximum of damaged records that are remembered, so that each is logged once."""
_TOPICS_MAX: Final = 10_000
_IN_QUEUE: Final = struct.Struct(">i4xq")


class Inspection:
    """Inspects records. `damaged` has the fault of each damaged record by its offset in the log."""

    def __init__(self, commit_log: Log, is_on: bool) -> None:
        self._log = commit_log
        self._is_on = is_on
        self._topics: dict[str, bytes] = {}
        self.damaged: dict[int, str] = {}

    def is_due(self, queue: AnyQueue | None, queue_offset: int, position: int) -> bool:
        """Return True if a record, or its unit in the queue, may come from the disk."""
        commit_log = self._log
        return self._is_on and (
            position < commit_log.opened_at
            or position < commit_log.end_offset - commit_log.newest
            or (queue is not None and queue_offset < queue.opened_at)
        )

    def due_before(self, queue: AnyQueue) -> tuple[int, int]:
        """Return the log position and the queue offset before which records may come from the disk."""
        if not self._is_on:
            return 0, 0
        commit_log = self._log
        return max(commit_log.opened_at, commit_log.end_offset - commit_log.newest), queue.opened_at

    def passes(
        self, position: int, record: bytes, queue: AnyQueue | None = None, queue_offset: int = 0
    ) -> bool:
        """Return True if a record read at a log position, for a message of a queue, may be delivered."""
        if queue is not None:
            topic = self._topics.get(queue.topic) or self._topic(queue.topic)
            if is_sound(record, position, queue.queue_id, queue_offset, topic):
                return True
        found = examine(record, 0, position, True)
        if isinstance(found, Invalid):
            what = found.what
        elif found != len(record):
            what = f"the size is {found}, looked for were {len(record)} bytes"
        elif isinstance(queue, ConsumeQueue) and not queue.topic.startswith(LMQ_PREFIX):
            # Not for an LMQ queue: its units refer to records of other topics.
            belongs = (queue.queue_id, queue_offset) == _IN_QUEUE.unpack_from(record, 12)
            if belongs and topic_of(record) == topic:
                return True
            what = f"it is not message {queue_offset} of {queue.topic} queue {queue.queue_id}"
        else:
            return True
        self.report(position, what)
        return False

    def _topic(self, topic: str) -> bytes:
        if len(self._topics) >= _TOPICS_MAX:
            self._topics.clear()
        found = self._topics[topic] = topic.encode()
        return found

    def report(self, position: int, what: str) -> None:
        """Note and log, once, the fault of the record at a position of the log."""
        if position in self.damaged:
            return
        if len(self.damaged) < DAMAGED_MAX:
            self.damaged[position] = what
        files = self._log.files
        start = files.start_of(position)
        path = f"{files.directory}/{file_name(start)}"
        log.error("%s at byte %d: damaged record is not delivered: %s", path, position - start, what)
