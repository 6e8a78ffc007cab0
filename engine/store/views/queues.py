"""The view of consume queues: of both kinds, LMQ queues among them.

A message's unit has its position, its size and a code, from which readers choose. LMQ queues are queues of
the same table that a message enters besides its own. All share one pool of files, one way to flush and one
way to recover, so they are one view. RocketMQ: `CommitLogDispatcherBuildConsumeQueue`, `LmqDispatch`,
`ConsumeQueueStore`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from mqgateway.engine.message import (
    PROPERTY_INNER_MULTI_DISPATCH,
    PROPERTY_TAGS,
    SCHEDULE_TOPIC,
    StoredMessage,
    SysFlag,
    tags_code,
)
from mqgateway.engine.steps import Steps
from mqgateway.engine.store.consume_queue import (
    TAIL_LIMIT,
    UNIT_SIZE,
    AnyQueue,
    ConsumeQueue,
    ConsumeQueues,
    units_of,
)
from mqgateway.engine.store.dispatch_request import (
    DispatchRequest,
    KeyedBatch,
    QueuedRun,
    delivery_time,
    enters_queue,
    inner_batch,
    request_of,
)
from mqgateway.engine.store.lmq import LMQ_QUEUE_ID, lmq_offsets
from mqgateway.engine.store.log import Log
from mqgateway.engine.store.log_files import newest_place
from mqgateway.engine.store.lost_units import LostUnits
from mqgateway.engine.store.queue_table import QueueTable
from mqgateway.engine.store.results import Arrival
from mqgateway.engine.store.views.new_files import NewFiles
from mqgateway.engine.store.views.queue_start import QueueStart
from mqgateway.engine.store.views.view import NOTHING, StoreStart, UnsyncedFiles, View, ViewCoverage

_CODES_MAX: Final = 10_000


class QueuesView(View):
    """Fills the queues. `delays` are the delay levels in ms; `has_lmq` says that messages enter LMQ queues.

    `table` keeps where the queues end over a clean stop with at least `table_from` queues. `new_files`, if
    given, makes the first files of many new queues.
    """

    def __init__(
        self,
        queues: ConsumeQueues,
        delays: list[int],
        has_lmq: bool,
        table: QueueTable | None = None,
        table_from: int = 0,
        new_files: NewFiles | None = None,
    ) -> None:
        self._queues = queues
        self._delays = delays
        self._has_lmq = has_lmq
        self._table = table
        self._table_from = table_from
        self._new_files = new_files
        self._start: QueueStart | None = None
        self._codes: dict[str, int] = {}
        self._long: set[AnyQueue] = set()
        self._due = 0

    # Following the log.

    def append(self, run: Sequence[DispatchRequest], arrivals: list[Arrival] | None) -> None:
        """See `View`."""
        for request in run:
            properties = request.properties
            if isinstance(properties, dict):
                queue = request.queue
                if queue is not None:
                    self._append(request, queue, properties, arrivals)
            elif isinstance(properties, KeyedBatch):
                self._append_keyed(request, properties, arrivals)
            else:
                assert isinstance(properties, QueuedRun)
                self._append_run(properties, arrivals)

    def _append(
        self,
        request: DispatchRequest,
        queue: AnyQueue,
        properties: dict[str, str],
        arrivals: list[Arrival] | None,
    ) -> None:
        topic, stored, position = request.topic, request.store_timestamp, request.physical_offset
        code = self._tags_code(properties)
        if topic == SCHEDULE_TOPIC:
            code = delivery_time(properties, stored, self._delays) or code
        queue_offset = request.queue_offset
        next_offset = queue_offset + 1
        if isinstance(queue, ConsumeQueue):
            queue.append(queue_offset, position, request.size, code)
        else:
            base, count = inner_batch(properties) or (queue_offset, 1)
            queue.append(base, position, request.size, code, stored, count)
            next_offset = base + count
        self._entered(queue)
        if arrivals is not None:
            arrivals.append(Arrival(topic, queue.queue_id, next_offset, code, stored, properties))
        if self._has_lmq and PROPERTY_INNER_MULTI_DISPATCH in properties:
            self._append_to_lmqs(request, properties, code, arrivals)

    def _append_to_lmqs(
        self,
        request: DispatchRequest,
        properties: dict[str, str],
        code: int,
        arrivals: list[Arrival] | None,
    ) -> None:
        """Append a message to the LMQ queues that it names and that exist."""
        for name, offset in lmq_offsets(request.topic, properties):
            queue = self._queues.get(name, LMQ_QUEUE_ID)
            if not isinstance(queue, ConsumeQueue):
                continue
            queue.append(offset, request.physical_offset, request.size, code)
            self._entered(queue)
            if arrivals is not None:
                stored = request.store_timestamp
                arrivals.append(Arrival(name, LMQ_QUEUE_ID, offset + 1, code, stored, properties))

    def _append_keyed(
        self, request: DispatchRequest, batch: KeyedBatch, arrivals: list[Arrival] | None
    ) -> None:
        """Append consecutive messages of one queue without tags; waiting readers get one arrival for all."""
        queue = request.queue
        if not isinstance(queue, ConsumeQueue):
            return
        queue.extend(request.queue_offset, units_of(request.physical_offset, batch.sizes))
        self._entered(queue)
        if arrivals is not None:
            next_offset = request.queue_offset + len(batch.sizes)
            stored = request.store_timestamp
            arrivals.append(Arrival(request.topic, queue.queue_id, next_offset, 0, stored, None))

    def _append_run(self, run: QueuedRun, arrivals: list[Arrival] | None) -> None:
        """Append the messages of a run, queue by queue."""
        for queue, (_, _, offset, _, _, stored, units) in run.queues:
            queue.extend(offset, units)
            self._entered(queue)
            if arrivals is not None:
                next_offset = offset + len(units) // UNIT_SIZE
                arrivals.append(Arrival(queue.topic, queue.queue_id, next_offset, 0, stored, None))

    def _tags_code(self, properties: dict[str, str]) -> int:
        tags = properties.get(PROPERTY_TAGS)
        if not tags:
            return 0
        code = self._codes.get(tags)
        if code is None:
            if len(self._codes) >= _CODES_MAX:
                self._codes.clear()
            code = self._codes[tags] = tags_code(tags)
        return code

    def _entered(self, queue: AnyQueue) -> None:
        """Note that a queue has new units."""
        if not queue.dirty:
            self._queues.mark(queue)
        if len(queue.tail) >= TAIL_LIMIT:
            self._long.add(queue)
            self.is_full = True

    def settle(self, now: int) -> None:
        """Write out long tails. Raises `OSError`; what was not written stays in memory."""
        while self._long:
            self._queues.write_out(self._long.pop())
        self.is_full = False

    def delete_topic(self, topic: str) -> bool:
        """See `View`."""
        self._long = {queue for queue in self._long if queue.topic != topic}
        return self._queues.delete(topic)

    # Starting.

    def prepare(self) -> None:
        """See `View`."""
        if self._table is not None:
            self._table.take()

    def newest_on_disk(self) -> int:
        """See `View`."""
        return newest_place(self._queues)

    def load(self, start: StoreStart) -> Steps[ViewCoverage | None]:
        """Load the queues, or restore them from the table of a clean stop."""
        self._start = QueueStart(self._queues, start, self._table)
        return (yield from self._start.load())

    def mend(self, start: StoreStart, until: int) -> Steps[None]:
        """Restore units whose files were lost."""
        yield from LostUnits(start, self._queues, self).look(until)

    def repeat(self, message: StoredMessage) -> bool:
        """See `View`."""
        queue, follows = None, True
        if enters_queue(message.sys_flag):
            has_batch = bool(message.sys_flag & SysFlag.INNER_BATCH)
            queue = self._queues.open(message.topic, message.queue_id, has_batch)
            if isinstance(queue, ConsumeQueue):
                is_known = queue.max_offset > 0 or queue.was_cut
                follows = message.queue_offset <= queue.max_offset or not is_known
            queue.give_way(message.queue_offset, message.physical_offset)
            if self._has_lmq and PROPERTY_INNER_MULTI_DISPATCH in message.properties:
                follows &= self._give_way_in_lmqs(message)
            self._append(request_of(message, queue), queue, message.properties, None)
        return follows

    def _give_way_in_lmqs(self, message: StoredMessage) -> bool:
        """Make the LMQ queues of a record ready for it; return False if one lacks units before it."""
        follows = True
        for name, offset in lmq_offsets(message.topic, message.properties):
            queue = self._queues.open(name, LMQ_QUEUE_ID)
            is_known = queue.max_offset > 0 or queue.was_cut
            follows &= offset <= queue.max_offset or not is_known
            queue.give_way(offset, message.physical_offset)
        return follows

    @property
    def is_whole(self) -> bool:
        """True unless units that seemed good were behind one that did not."""
        return not any(queue.is_holed for queue in self._queues)

    def end_at(self, end: int) -> None:
        """See `View`."""
        assert self._start is not None
        self._start.end_at(end)
        self._start = None

    # Being open.

    def tick(self, is_failing: bool) -> None:
        """Have first files made if many queues lack one."""
        if self._new_files is not None and not is_failing:
            self._new_files.tick()

    @property
    def is_idle(self) -> bool:
        """True unless first files are being made."""
        return self._new_files is None or not self._new_files.is_making

    def truncate(self, offset: int) -> int:
        """Forget units of records at or after `offset`."""
        newest = NOTHING
        for queue in self._queues:
            before = queue.end
            queue.cut_places_from(offset)
            if queue.was_cut and queue.end < before:
                self._queues.written.update((queue.directory, start) for start in queue.touched(queue.end))
                queue.was_cut = False
            queue.next_offset = queue.max_offset
            queue.opened_at = min(queue.opened_at, queue.next_offset)
            place = queue.place(queue.end - 1) if queue.end > queue.first else None
            if place is not None and place[0] > newest:
                newest = place[0]
        return newest

    def delete_before(self, oldest: int) -> Steps[None]:
        """Delete files of units whose records have left the log, topic by topic."""
        for topic in list(self._queues.table):
            for queue in self._queues.table.get(topic, {}).values():
                queue.drop_before(oldest)
            yield

    # Flushing.

    def mark_due(self) -> None:
        """See `View`."""
        self._due = len(self._queues.dirty)

    def write(self, now: int, time_is_up: Callable[[], bool] | None) -> bool:
        """Write tails to their files, those first that have waited longest."""
        if time_is_up is None:
            self._queues.write_all_out()
            self._due = 0
        else:
            self._due = self._queues.write_oldest_out(self._due, time_is_up)
        return self._due > 0

    def first_unwritten(self) -> int | None:
        """See `View`."""
        return self._queues.first_waiting()

    def take_unsynced(self) -> UnsyncedFiles:
        """See `View`."""
        unsynced = UnsyncedFiles()
        unsynced.files, self._queues.written = self._queues.written, set()
        unsynced.directories.update(self._queues.pool.unsynced)
        self._queues.pool.unsynced.clear()
        return unsynced

    # Stopping.

    def stop(self) -> None:
        """See `View`."""
        self._queues.making.clear()
        if self._new_files is not None:
            self._new_files.is_running = False

    def stopped(self, log: Log, newest: int) -> None:
        """Keep where the queues end for the next start."""
        if self._table is not None and self._queues.count >= self._table_from:
            self._table.save(log, self._queues, newest)

    def close(self) -> None:
        """Close the files."""
        self._queues.pool.clear()

    def state(self, oldest: int) -> object:
        """Return the units of each queue, by topic and queue id, whose records are at `oldest` or later."""
        found: dict[tuple[str, int], list[tuple[int, bytes]]] = {}
        for queue in self._queues:
            first = queue.first_in_log(oldest, 0)
            units = [
                (queue.offset_of(number), bytes(queue.read(number, 1))) for number in range(first, queue.end)
            ]
            if units:
                found[queue.topic, queue.queue_id] = units
        return found
