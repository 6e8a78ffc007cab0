"""The files of a log that is made of records of a tier, at the positions that they had.

The tier lacks records of the broker itself, of LMQ queues and of compacted topics, and those that have
expired. A log has no gaps, so fillers take their place: records of a topic of the broker's own that are
rolled back, and so enter no queue and no index, here as at RocketMQ's broker. The body of a filler is zeros,
and takes no space on disk. The rest of a file is a blank, as in any log.

The log ends with a marker, a filler that names its maker. So the logs of the lost broker, and of another one
that is restored from the same tier, differ from it in the first bytes that the tier does not have.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Iterator
from typing import Final

from mqgateway.engine.disk import File
from mqgateway.engine.errors import StoreError
from mqgateway.engine.message import Message, SysFlag, pack_host
from mqgateway.engine.store.file_queue import FileQueue
from mqgateway.engine.store.record import (
    BLANK_SIZE,
    STORE_TIME_HEAD_SIZE,
    blank,
    encode,
    record_size,
    store_timestamp,
    topic_field,
)
from mqgateway.engine.tier.loading import LoadedBlock

FILLER_TOPIC: Final = "rmq_sys_RESTORED"
FILLER_MAX: Final = 1 << 20
"""Bytes of the largest filler; a longer gap has several."""
_HOST: Final = pack_host("0.0.0.0", 0)
_TOPIC_SIZE_MIN: Final = 2
FILLER_MIN: Final = record_size(0, 0, _TOPIC_SIZE_MIN, 0)
"""Bytes of the smallest filler, and of the smallest record."""
_BODY_AT: Final = record_size(0, 0, 0, 0) - 2
_TAIL_MAX: Final = len(FILLER_TOPIC) + 3
"""Bytes of a filler's topic, its length, and the length of its properties."""

LogChunk = tuple[int, bytes | memoryview]
"""Position in the log, and one or several adjoining records there."""


def filler(size: int, position: int, time: int, body: bytes = b"") -> bytes:
    """Return a filler of `size` bytes for a position of the log, with a store time in ms.

    The body is `body` and zeros. The topic is shorter in a filler that has no space for it.
    """
    topic = topic_field(FILLER_TOPIC[: size - FILLER_MIN + 1], False)
    length = size - record_size(0, 0, len(topic[1]), 0)
    message = Message(FILLER_TOPIC, 0, b"", {}, time, _HOST, _HOST)
    flag = SysFlag.TRANSACTION_ROLLBACK
    return encode(message, body.ljust(length, b"\0"), b"", topic, size, flag, 0, 0, position, time)


class RestoredLog:
    """Writes the files of a restored log, in order. `durable` is called with the end of each full file once
    it is on stable storage.

    Times of fillers are those of records beside them; `time` in ms is that of those without.
    """

    def __init__(self, files: FileQueue, durable: Callable[[int], None], time: int) -> None:
        self._files = files
        self._durable = durable
        self._start = -1
        self._file: File | None = None
        self._places = array("Q")
        self._last_time = time

    def resume(self, start: int) -> None:
        """Continue with the file that begins at `start`, after files that are durable; others are removed."""
        files = self._files
        for found, _ in files.look():
            if found >= start:
                files.disk.unlink(files.path(found))
        files.starts = [found for found, _ in files.look()]
        if files.starts:
            self._start = files.starts[-1]

    def add(self, chunks: Iterable[LogChunk]) -> None:
        """Write records, in any order, of the current file or of a later one, in which all of them are.

        Raises `StoreError` for a record across the end of a file, `OSError`.
        """
        size = self._files.file_size
        for position, data in chunks:
            start = self._files.start_of(position)
            if position + len(data) + BLANK_SIZE > start + size and position + len(data) != start + size:
                raise _of_other_length(position, size)
            if self._file is None or start > self._start:
                self._begin(start)
            if start != self._start:
                raise _of_other_length(position, size)
            assert self._file is not None
            self._file.write(position - start, data)
            self._places.append((position - start) << 32 | len(data))

    def end(self, end: int, maker: str, time: int) -> int:
        """Fill the log up to its end, and add the marker with its maker and a time in ms; return the position
        of the marker."""
        files = self._files
        marker = filler(record_size(0, len(maker), len(FILLER_TOPIC) + 1, 0), 0, time, maker.encode())
        last = files.start_of(end)
        if last == end:
            self._begin(end)
            position = end
        else:
            if self._file is None or self._start != last:
                self._begin(last)
            position = self._fill(end - last) + last
        if position + len(marker) + BLANK_SIZE > last + files.file_size:
            self._finish()
            self._begin(last + files.file_size)
            position = last + files.file_size
        assert self._file is not None
        self._file.write(position - self._start, filler(len(marker), position, time, maker.encode()))
        self._file.sync()
        files.disk.sync_dir(files.directory)
        return position

    def _begin(self, start: int) -> None:
        """Begin a file, after those before it are complete."""
        files = self._files
        if self._file is not None:
            self._finish()
        while files.starts and self._start + files.file_size < start:
            self._create(self._start + files.file_size)
            self._finish()
        self._create(start)

    def _create(self, start: int) -> None:
        self._start = start
        self._file = self._files.create(start)
        self._places = array("Q")

    def _finish(self) -> None:
        """Complete the current file: fill its gaps, and end it with a blank."""
        assert self._file is not None
        size = self._files.file_size
        at = self._fill(0)
        if at == 0:
            at = self._write_fillers(0, FILLER_MIN, self._last_time)
        if at < size:
            self._file.write(at, blank(size - at))
        self._file.sync()
        self._files.disk.sync_dir(self._files.directory)
        self._file = None
        self._durable(self._start + size)

    def _fill(self, end: int) -> int:
        """Write fillers between the records of the current file, and up to `end` in it; return where they
        end. Raises `StoreError` if records overlap."""
        at, last = 0, (0, 0)
        for begin, size in _sorted(self._places):
            if begin < at:
                raise StoreError(f"two records of the tier are at {self._start + begin} of the log")
            if begin > at:
                self._write_fillers(at, begin, self._time_of(*last) if at else self._time_of(begin, size))
            at, last = begin + size, (begin, size)
        if at:
            self._last_time = self._time_of(*last)
        return self._write_fillers(at, end, self._last_time) if end > at else at

    def _time_of(self, begin: int, size: int) -> int:
        """Return the store time in ms of the last of some adjoining records."""
        assert self._file is not None
        at = begin
        while (step := int.from_bytes(self._file.read(at, 4), "big")) and at + step < begin + size:
            at += step
        return store_timestamp(self._file.read(at, STORE_TIME_HEAD_SIZE))

    def _write_fillers(self, at: int, end: int, time: int) -> int:
        """Write fillers to [at, end) of the current file; return `end`. Raises `StoreError` if no filler has
        the size."""
        assert self._file is not None
        if end - at < FILLER_MIN:
            raise _of_other_length(self._start + at, self._files.file_size)
        while at < end:
            size = end - at
            if size > FILLER_MAX:
                # The last one must not be less than a record.
                size = min(FILLER_MAX, size - FILLER_MIN)
            record = filler(size, self._start + at, time)
            # Bytes that are not written are zeros, and take no space.
            self._file.write(at, record[:_BODY_AT])
            tail = max(_BODY_AT, size - _TAIL_MAX)
            self._file.write(at + tail, record[tail:])
            at += size
        return end


def _sorted(places: array[int]) -> Iterator[tuple[int, int]]:
    """Yield position in the file and length of what was written, in order."""
    for place in sorted(places):
        yield place >> 32, place & 0xFFFFFFFF


def _of_other_length(position: int, size: int) -> StoreError:
    return StoreError(
        f"the records at {position} of the log do not fit into files of {size} bytes: the lost broker's log "
        "had files of another length. Set mappedFileSizeCommitLog to that length in the file of --config"
    )


def chunks_of(block: LoadedBlock) -> Iterator[LogChunk]:
    """Yield the records of a block; those that adjoin in the log are one chunk."""
    begin = end = at = first = 0
    for number in range(len(block)):
        position, size, _ = block.unit(number)
        if position != end:
            if at > first:
                yield begin, block.records[first:at]
            begin, first = position, at
        end = position + size
        at += size
    yield begin, block.records[first:at]
