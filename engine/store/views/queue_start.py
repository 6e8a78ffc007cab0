"""Loading consume queues at a start.

After a clean stop of many queues a table has their ends; otherwise each queue is looked at. After an unclean
stop units count as far as the checkpoint promised them, and the last one must belong to its record.
"""

from __future__ import annotations

import logging

from mqgateway.engine.names import is_lmq
from mqgateway.engine.steps import Steps
from mqgateway.engine.store.consume_queue import AnyQueue, ConsumeQueues
from mqgateway.engine.store.lmq import lmq_offsets
from mqgateway.engine.store.queue_table import QueueTable
from mqgateway.engine.store.record import decode
from mqgateway.engine.store.scan import Scan, first_file, valid_at
from mqgateway.engine.store.views.view import NOTHING, StoreStart, ViewCoverage

log = logging.getLogger(__name__)


class QueueStart:
    """Loads the queues of one store."""

    def __init__(self, queues: ConsumeQueues, start: StoreStart, table: QueueTable | None) -> None:
        self._queues = queues
        self._start = start
        self._table = table
        self._last_place = NOTHING

    def load(self) -> Steps[ViewCoverage | None]:
        """Load the queues. After an unclean stop the log is read again from where the checkpoint ends, or
        from its beginning if there are no queues any more."""
        start = self._start
        if start.is_clean:
            return (yield from self._load_clean())
        yield from self._queues.load(start.point, self._found_unclean, start.oldest, start.promise_nothing)
        if start.files.starts and not self._queues.table:
            # An operator removed them, to have them rebuilt.
            start.point = start.files.starts[0]
        return ViewCoverage(start.point, start.point - 1)

    def _load_clean(self) -> Steps[ViewCoverage | None]:
        start = self._start
        newest = self._restore()
        if newest is None:
            yield from self._queues.load(None, self._found, start.oldest, start.promise_nothing)
            newest = self._last_place
        if newest >= 0 and valid_at(start.files, newest, start.check_crc):
            return ViewCoverage(newest, newest)
        last = newest
        return ViewCoverage(first_file(start.files, lambda position, _: position <= last), last)

    def _restore(self) -> int | None:
        """Restore the queues from the table of the last stop; return the newest record with a unit, or None
        without a table that can be trusted."""
        start, log_files = self._start, self._start.files
        noted = None if self._table is None else self._table.restore(start.log, self._queues)
        if noted is None:
            return None
        newest, end = noted
        scan = Scan(log_files, max(newest, 0), start.check_crc)
        if log_files.starts and newest >= start.log.min_offset:
            for _ in scan.records():
                pass
            if scan.end == end:
                return newest
        log.warning("the log does not end at %d as recorded: all queues are examined", end)
        self._queues.forget()
        return None

    def _found(self, queue: AnyQueue) -> None:
        """Look at a queue once, while its last file is open."""
        place = queue.place(queue.end - 1) if queue.end > queue.first else None
        if place is not None and place[0] > self._last_place:
            self._last_place = place[0]
        queue.correct_min(self._start.oldest)

    def _found_unclean(self, queue: AnyQueue) -> None:
        self._check_last(queue)
        self._found(queue)

    def _check_last(self, queue: AnyQueue) -> None:
        """Check each unit if the last one is not the queue's: old bytes can mislead the binary search."""
        last = queue.end - 1
        if last >= queue.first and not self._matches(queue, last):
            log.warning(
                "%s queue %d: unit %d is invalid, checking all units", queue.topic, queue.queue_id, last
            )
            queue.cut_at_first(lambda number: not self._matches(queue, number))

    def _matches(self, queue: AnyQueue, number: int) -> bool:
        """Return True if a unit's record is the queue's, or has left with the oldest files."""
        files = self._start.files
        place = queue.place(number)
        if place is None or place[1] <= 0:
            return False
        if files.starts and place[0] < files.starts[0]:
            return True
        size = valid_at(files, place[0], False)
        if not size:
            return False
        message = decode(files.read(place[0], size))
        if is_lmq(queue.topic):
            return (queue.topic, number) in lmq_offsets(message.topic, message.properties)
        return (message.topic, message.queue_id, message.queue_offset) == (
            queue.topic,
            queue.queue_id,
            queue.offset_of(number),
        )

    def end_at(self, end: int) -> None:
        """Cut units of records that lie at the end of the log or after it, and settle the offsets."""
        queues = self._queues
        if self._last_place >= end:
            for queue in queues:
                queue.cut_places_from(end)
        for queue in queues.dirty:
            queue.correct_min(self._start.log.min_offset)
        for queue in queues:
            queue.opened_at = queue.next_offset = queue.max_offset
            if queue.was_cut:
                # Or the next start could find the units again.
                queues.written.update((queue.directory, start) for start in queue.touched(queue.end))
                queue.was_cut = False
