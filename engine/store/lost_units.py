"""Repair of consume queues that lost files, from the log.

A queue's files show that one of them may be gone: there is a gap, one is cut short, the first begins with a
record that is not the log's oldest, the last is full to its end, or there is none (`UnitQueue.load`). Most of
these signs are harmless. So the log is read from the first position with possibly missing units, and the
missing units of these queues, and of no others, are dispatched again: a deleted topic stays deleted. Before
the first change the checkpoint is moved back to that position, so that a start after a crash begins there
too. RocketMQ starts with the remaining files instead.
"""

from __future__ import annotations

import logging

from mqgateway.engine.message import PROPERTY_INNER_MULTI_DISPATCH, StoredMessage
from mqgateway.engine.steps import Steps
from mqgateway.engine.store.checkpoint import Checkpoint
from mqgateway.engine.store.consume_queue import AnyQueue, ConsumeQueues
from mqgateway.engine.store.dispatch_request import enters_queue
from mqgateway.engine.store.file_queue import FileQueue
from mqgateway.engine.store.lmq import LMQ_QUEUE_ID, lmq_offsets
from mqgateway.engine.store.record import STORE_TIME_HEAD_SIZE, decode, store_timestamp
from mqgateway.engine.store.scan import RECORDS_A_STEP, Scan
from mqgateway.engine.store.views.view import StoreStart, View

log = logging.getLogger(__name__)

_NAMES_MAX = 5


class LostUnits:
    """Finds missing units of suspect queues and restores them. `found` counts them."""

    def __init__(
        self,
        start: StoreStart,
        queues: ConsumeQueues,
        view: View,
    ) -> None:
        self._files = start.files
        self._queues = queues
        self._view = view
        self._checkpoint = start.checkpoint
        self._check_crc = start.check_crc
        self._progress = start.progress
        self._doubts: dict[AnyQueue, int] = {}
        self.found = 0

    def look(self, until: int) -> Steps[None]:
        """Read the log up to the record at `until`, as far as a queue may lack units. Raises `OSError`."""
        self._doubts = {queue: queue.doubt for queue in self._queues if queue.doubt >= 0}
        begin = self._begin()
        if self._doubts and self._files.starts and begin <= until:
            log.info("%d consume queues may lack units: the log is read from %d on", len(self._doubts), begin)
            yield from self._read(begin, until)
        for queue in [queue for queue in self._queues if queue.doubt >= 0]:
            queue.doubt, queue.doubt_end = -1, 1 << 63
            queue.is_holed = False
            if not queue.max_offset and not queue.has_files:
                self._queues.forget_queue(queue)

    def _begin(self) -> int:
        return min(self._doubts.values(), default=0)

    def _read(self, begin: int, until: int) -> Steps[None]:
        durable = self._checkpoint.physic_msg_timestamp
        scan = Scan(self._files, begin, self._check_crc, self._progress, durable_until=durable)
        settled = self._next_settled()
        for number, (data, at, position, _size) in enumerate(scan.records()):
            if number % RECORDS_A_STEP == 0:
                yield
            if position > until:
                break
            message = decode(data, at)
            if self._is_lacking(message):
                if not self.found:
                    self._report(begin)
                    rewind(self._checkpoint, self._files, begin)
                self._view.repeat(message)
                self._view.settle(0)
                self.found += 1
            elif position >= settled:
                self._doubts = {
                    queue: doubt for queue, doubt in self._doubts.items() if queue.doubt_end > position
                }
                settled = self._next_settled()
                if not self._doubts:
                    break
        if self.found:
            log.warning("%d units of consume queues were rebuilt", self.found)

    def _next_settled(self) -> int:
        return min((queue.doubt_end for queue in self._doubts), default=0)

    def _is_lacking(self, message: StoredMessage) -> bool:
        """Return True if a suspect queue lacks the unit of a message."""
        if not enters_queue(message.sys_flag):
            return False
        places = [(message.topic, message.queue_id, message.queue_offset)]
        if PROPERTY_INNER_MULTI_DISPATCH in message.properties:
            light = lmq_offsets(message.topic, message.properties)
            places += [(name, LMQ_QUEUE_ID, offset) for name, offset in light]
        for topic, queue_id, offset in places:
            queue = self._queues.get(topic, queue_id)
            if queue is not None and message.physical_offset >= self._doubts.get(queue, 1 << 63):
                unit = queue.unit(offset)
                if unit is None or unit[0] != message.physical_offset:
                    queue.doubt_end = 1 << 63
                    return True
        return False

    def _report(self, begin: int) -> None:
        names = [queue.directory for queue in self._doubts]
        more = f" and {len(names) - _NAMES_MAX} more" if len(names) > _NAMES_MAX else ""
        log.warning(
            "a file is missing or truncated in %s%s: its entries are rebuilt from the log from %d on",
            ", ".join(names[:_NAMES_MAX]),
            more,
            begin,
        )


def rewind(checkpoint: Checkpoint, files: FileQueue, position: int) -> None:
    """Move the checkpoint durably back, so that it covers no derived data after a position.

    Raises `OSError`.
    """
    is_first = not files.starts or position <= files.starts[0]
    place = position if position % files.file_size else position + files.framing.lead
    time = 0 if is_first else store_timestamp(files.read(place, STORE_TIME_HEAD_SIZE))
    checkpoint.logics_physical_offset = 0 if is_first else position
    checkpoint.logics_msg_timestamp = time
    checkpoint.save().sync()
