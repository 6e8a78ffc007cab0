"""The commit log as bytes, as a master sends it to its slaves and a slave appends it.

A slave appends the bytes of its master, wherever they begin and end. The beginning of an incomplete record is
in the log's file, and waits in memory for its rest. A complete one is checked as in recovery, and dispatched:
queues, index and waiting readers follow as with a put. Bytes that are not a record, or the end of a file at
another position than in this log, are not written: their sender has another log. An empty log begins with the
first file that is sent; its queues then begin with the first message that arrives. RocketMQ:
`CommitLog.appendData`, `DefaultMessageStore.appendToCommitLog`.
"""

from __future__ import annotations

import logging
from typing import NamedTuple

from mqgateway.engine.errors import MessageIllegal, StoreError
from mqgateway.engine.message import (
    PROPERTY_INNER_MULTI_DISPATCH,
    PROPERTY_KAFKA,
    SCHEDULE_TOPIC,
    SysFlag,
    parse_properties,
)
from mqgateway.engine.options import StoreOptions
from mqgateway.engine.producers.batch import of_record
from mqgateway.engine.store.batch_consume_queue import BatchConsumeQueue
from mqgateway.engine.store.consume_queue import UNIT_SIZE, AnyQueue, ConsumeQueue, ConsumeQueues
from mqgateway.engine.store.dispatch import Dispatch
from mqgateway.engine.store.dispatch_request import (
    Batch,
    DispatchRequest,
    QueuedRun,
    enters_queue,
    inner_batch,
    request_of,
)
from mqgateway.engine.store.group_commit import GroupCommit
from mqgateway.engine.store.key_hashes import KeyHashes
from mqgateway.engine.store.lmq import LMQ_QUEUE_ID, has_lmq, lmq_offsets
from mqgateway.engine.store.log import Log
from mqgateway.engine.store.record import (
    BLANK_MAGIC,
    BLANK_SIZE,
    HEAD_SIZE,
    START,
    Invalid,
    Parts,
    decode,
    examine,
    sound_parts,
)
from mqgateway.engine.store.runs import SPECIAL, QueueUnits, Run, run_of, says_more
from mqgateway.engine.store.scan import Scan

log = logging.getLogger(__name__)

_KAFKA = PROPERTY_KAFKA.encode()
TOPICS_MAX = 10_000
"""Maximum of topics whose names are cached as text."""
ALONE = 16
"""Records processed one by one after one that begins no run, as more of its kind mostly follow."""


class ForeignBytes(StoreError):
    """The bytes do not continue this log; the text gives the reason."""


class LastRecord(NamedTuple):
    """The newest complete record: its start offset, and its bytes."""

    start: int
    record: bytes


class RawLog:
    """Reads and appends bytes; bodies are checked against their checksum if `checkCRCOnRecover` is set."""

    def __init__(
        self,
        options: StoreOptions,
        commit_log: Log,
        queues: ConsumeQueues,
        dispatch: Dispatch,
        commit: GroupCommit,
    ) -> None:
        self._log = commit_log
        self._queues = queues
        self._dispatch = dispatch
        self._commit = commit
        self._light = has_lmq(options)
        self._takes_runs = not self._light and not dispatch.reads_properties
        self._check_crc = options.check_crc_on_recover
        self._topics: dict[bytes, str] = {}
        self._hashes = KeyHashes()
        self._rest = b""
        self._last = -1
        self._homeless = 0
        self.file_size = commit_log.file_size

    @property
    def position(self) -> int:
        """The end of the log, perhaps inside a record."""
        return self._log.end_offset

    @property
    def min_offset(self) -> int:
        """The first offset of the log."""
        return self._log.min_offset

    def read(self, offset: int, size: int) -> bytes:
        """Return bytes of one file, which must exist.

        Raises `ColdRead` for bytes that are not in memory, and `OSError`.
        """
        data = self._log.read(offset, size, may_wait=False)
        if data is None:
            raise OSError(f"{size} bytes at {offset} are not in the log")
        return data

    def last_record(self) -> LastRecord | None:
        """Return the newest complete record; None for a log without any.

        The search begins at the last one appended here or dispatched, as a log written locally has more
        since.
        """
        files = self._log.files
        if files.starts:
            begin = max(self._last, self._dispatch.last_start, self._log.min_offset)
            scan = Scan(files, begin, check_crc=False)
            for _, _, position, _ in scan.records():
                self._last = position
        if self._last < 0:
            return None
        size = int.from_bytes(files.read(self._last, 4), "big")
        return LastRecord(self._last, files.read(self._last, size))

    def drop_partial(self) -> None:
        """Truncate the log after its last complete record, as a start would. Raises `OSError`.

        The rest of a partial record is requested again, perhaps from another master.
        """
        if self._rest:
            end = self._log.end_offset - len(self._rest)
            self._log.cut(end)
            self._rest = b""
            self._commit.rewind(end)

    def forget_end(self) -> None:
        """Drop cached state about the last records, as the log was truncated at the end of a record."""
        self._rest = b""
        self._last = -1

    def take(self, offset: int) -> None:
        """Queue the log's last record, at `offset`, for dispatch once it is confirmed.

        A group wrote it. Bytes that are not a record enter no queue.
        """
        head = self._log.read(offset, START.size)
        record = None if head is None else self._log.read(offset, START.unpack(head)[0])
        if record is None or isinstance(examine(record, 0, offset, self._check_crc), Invalid):
            log.error("the log has no valid record at offset %d; it is not dispatched to a queue", offset)
            return
        message = decode(record)
        self._take(request_of(message, None), message.queue_id)

    def rewind(self, end: int) -> None:
        """Adjust to a log truncated at `end` by its group; the rest was not confirmed.

        Its queue offsets are assigned again.
        """
        waiting = self._dispatch.waiting
        while waiting and waiting[-1].physical_offset + waiting[-1].size > end:
            waiting.pop()
        for queue in self._queues:
            queue.next_offset = queue.max_offset
        for request in waiting:
            self._expect(request)
        self._dispatch.expect_again()
        self._commit.rewind(end)
        self.forget_end()

    def _expect(self, request: DispatchRequest) -> None:
        """Count the messages that wait for their queues as in them."""
        queue, properties = request.queue, request.properties
        if queue is None:
            return
        base, count = request.queue_offset, 1
        if not isinstance(properties, dict):  # one of a client's batch, whose properties were not parsed
            queue.next_offset = base + 1
            return
        if isinstance(queue, BatchConsumeQueue):
            base, count = inner_batch(properties) or (base, 1)
        queue.next_offset = base + count
        if self._light and PROPERTY_INNER_MULTI_DISPATCH in properties:
            for name, offset in lmq_offsets(request.topic, properties):
                light = self._queue(name, LMQ_QUEUE_ID)
                if light is not None:
                    light.next_offset = offset + 1

    def append(self, offset: int, data: bytes) -> None:
        """Append bytes at `offset` of the master's log; the store's `dispatch` makes them readable.

        Raises `ForeignBytes` and `OSError`; then nothing was appended.
        """
        commit_log = self._log
        position = commit_log.end_offset
        if not position and offset:
            if offset % self.file_size:
                raise ForeignBytes(f"an empty log cannot begin at {offset}, where none of its files begins")
        elif offset != position:
            raise ForeignBytes(f"bytes at {offset} do not continue a log that ends at {position}")
        if offset % self.file_size + len(data) > self.file_size:
            raise ForeignBytes(
                f"{len(data)} bytes at {offset} go beyond the end of a file: the master's files have another "
                "length (mappedFileSizeCommitLog)"
            )
        everything = self._rest + data
        begin = offset - len(self._rest)
        found, used = self._whole(everything, begin)
        if offset and not position:
            while commit_log.files.starts:
                commit_log.files.remove_last()
            commit_log.cut(offset)
        commit_log.write_raw(data)
        self._rest = everything[used:]
        for place, found_there in found:
            if isinstance(found_there, DispatchRequest):
                self._take(found_there, place)
            else:
                self._take_run(place, found_there)

    def _whole(self, data: bytes, begin: int) -> tuple[list[tuple[int, DispatchRequest | Run]], int]:
        """Return the complete records in `data`, which starts with one at `begin`, and the bytes used.

        Runs come with their positions, others with their queue ids.
        """
        found: list[tuple[int, DispatchRequest | Run]] = []
        at, total = 0, len(data)
        alone = 0
        while total - at >= BLANK_SIZE:
            position = begin + at
            room = self.file_size - position % self.file_size
            if alone:
                alone -= 1
            elif self._takes_runs:
                run = run_of(data, at, at + room - BLANK_SIZE, position, self._check_crc, self._hashes)
                if run is not None:
                    found.append((position, run))
                    at += run[0]
                    continue
                alone = ALONE
            size, magic = START.unpack_from(data, at)
            if magic == BLANK_MAGIC:
                if size != room:
                    raise ForeignBytes(
                        f"the file ends at {position + size}, ours at {position + room}: the master's "
                        "files have another length (mappedFileSizeCommitLog)"
                    )
                if total - at < size:
                    break
                at += size
                continue
            if not HEAD_SIZE < size <= room - BLANK_SIZE:
                raise ForeignBytes(f"the data at {position} is not a record: its size is {size}")
            if total - at < size:
                break
            parts = sound_parts(data, at, position, self._check_crc)
            if parts is not None:
                found.append((parts[1], self._request(parts, data, at, position)))
            else:
                valid = examine(data, at, position, self._check_crc)
                if isinstance(valid, Invalid):
                    raise ForeignBytes(f"the data at {position} is not a record: {valid.what}")
                message = decode(data, at)
                found.append((message.queue_id, request_of(message, None)))
            at += size
        return found, at

    def _request(self, parts: Parts, data: bytes, at: int, position: int) -> DispatchRequest:
        """Return the dispatch request of a record.

        Properties that have only a unique key for it are not parsed.
        """
        field, _, queue_offset, sys_flag, stored, size, text = parts
        if sys_flag & SysFlag.INNER_BATCH and _KAFKA in text:
            return request_of(decode(data, at), None)
        topic = self._topic(field)
        properties: dict[str, str] | Batch = [(size, text)]
        is_special = self._light or sys_flag & SPECIAL or topic == SCHEDULE_TOPIC
        if is_special or says_more(text):
            properties = parse_properties(text.decode("utf-8", "replace"))
        producer = of_record(0, properties, b"", queue_offset) if isinstance(properties, dict) else None
        return DispatchRequest(
            topic, None, properties, sys_flag, queue_offset, position, size, stored, producer
        )

    def _topic(self, field: bytes) -> str:
        topic = self._topics.get(field)
        if topic is None:
            if len(self._topics) >= TOPICS_MAX:
                self._topics.clear()
            topic = self._topics[field] = field.decode("utf-8", "replace")
        return topic

    def _take_run(self, position: int, run: Run) -> None:
        """Queue the messages of a run for dispatch, and prepare their queues."""
        size, last, stored, found, pending = run
        queues: list[tuple[ConsumeQueue, QueueUnits]] = []
        for units in found:
            queue = self._queue(self._topic(units[0]), units[1])
            if not isinstance(queue, ConsumeQueue):  # of batches, or of a topic that can have none
                for _, place, _ in pending:
                    self.take(place)
                return
            queues.append((queue, units))
        for queue, (_, _, offset, place, _, _, units_there) in queues:
            self._make_ready(queue, offset, len(units_there) // UNIT_SIZE, place)
        waiting = DispatchRequest("", None, QueuedRun(queues, pending, last), 0, 0, position, size, stored)
        self._dispatch.add(waiting)
        self._log.last_timestamp = stored
        self._last = last

    def _take(self, request: DispatchRequest, queue_id: int) -> None:
        """Queue a message for dispatch, and prepare its queue."""
        flags = request.sys_flag
        has_batch = bool(flags & SysFlag.INNER_BATCH)
        queue = self._queue(request.topic, queue_id, has_batch) if enters_queue(flags) else None
        request.queue = queue
        if queue is not None:
            self._expects(request, queue)
        self._dispatch.add(request)
        self._log.last_timestamp = request.store_timestamp
        self._last = request.physical_offset

    def _expects(self, request: DispatchRequest, queue: AnyQueue) -> None:
        properties, place = request.properties, request.physical_offset
        if not isinstance(properties, dict):
            self._make_ready(queue, request.queue_offset, 1, place)
            return
        base, count = request.queue_offset, 1
        if isinstance(queue, BatchConsumeQueue):
            base, count = inner_batch(properties) or (base, 1)
        self._make_ready(queue, base, count, place)
        if self._light and PROPERTY_INNER_MULTI_DISPATCH in properties:
            for name, offset in lmq_offsets(request.topic, properties):
                light = self._queue(name, LMQ_QUEUE_ID)
                if light is not None:
                    self._make_ready(light, offset, 1, place)

    def _queue(self, topic: str, queue_id: int, has_batch: bool = False) -> AnyQueue | None:
        try:
            return self._queues.open(topic, queue_id, has_batch)
        except MessageIllegal as error:
            if not self._homeless:
                log.error(
                    "messages cannot be dispatched to their queues, the first of %s queue %d: %s",
                    topic,
                    queue_id,
                    error,
                )
            self._homeless += 1
            return None

    def _make_ready(self, queue: AnyQueue, offset: int, count: int, physical_offset: int) -> None:
        """Prepare a queue for a message. Conflicting or later units give way: the topic was created again."""
        if queue.next_offset != offset:
            # Pending units must be in the queue before it is truncated.
            self._dispatch.apply(physical_offset, None)
            queue.give_way(offset, physical_offset)
        queue.next_offset = offset + count
