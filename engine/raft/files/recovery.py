"""Recovery: the end of a member's log when its files are opened, and an index that fits the data.

The data is read from its third last file on, or from an earlier one if the first entry there is not as the
index says. The log ends before the first bytes that are not an entry, or before an index or a term that does
not continue. Bytes after it are cleared, and the index is rebuilt from its first difference on.

No checksum covers the body, so a power cut can leave an entry whose body never reached the disk: the caller
passes `is_whole` to recognize it. If more than a file would be lost, the log is not opened, because that is
not a torn end. RocketMQ: `DLedgerMmapFileStore.recover`.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from typing import NamedTuple

from mqgateway.engine.errors import CorruptFile
from mqgateway.engine.raft.files.entry import HEAD_SIZE, INDEX_UNIT, INDEX_UNIT_SIZE, Head, examine, unit_of
from mqgateway.engine.store.file_queue import FileQueue
from mqgateway.engine.store.record import Invalid

log = logging.getLogger(__name__)

IsWhole = Callable[[bytes, int], bool]
"""Returns True if a body, at a position of the log, is complete."""

_LAST_FILES = 3
_UNITS_A_WRITE = 8192


class RecoveredLog(NamedTuple):
    """Begin and end of a log; of an empty one `end_index` is `begin_index` - 1 and `end_term` -1."""

    begin_index: int
    begin_position: int
    end_index: int
    end_term: int
    end_position: int


def recover(data: FileQueue, index: FileQueue, is_whole: IsWhole, noted: int = -1) -> RecoveredLog:
    """Find the end, and repair what follows it. The search starts at the entry that was `noted` last, if it
    is where the index says. Raises `OSError`, and `CorruptFile` for files that are missing, have a wrong
    length or lack too much.
    """
    data.load(repair=True)
    _load_index(index)
    if not data.starts:
        index.cut(0)
        return RecoveredLog(0, 0, -1, -1, 0)
    first = _first_of(data, index, data.starts[0])
    if first is None:
        _clear(data, index, data.starts[0], 0)
        return RecoveredLog(0, data.starts[0], -1, -1, data.starts[0])
    if index.starts and index.starts[0] > first.index * INDEX_UNIT_SIZE:
        index.destroy()
    start = _noted_head(data, index, noted) or next(
        (
            head
            for number in data.starts[-_LAST_FILES::-1]
            if (head := head_at(data, number)) is not None and _unit(index, head.index) == unit_of(head)
        ),
        first,
    )
    last, end = _scan(data, index, start.position, is_whole)
    if last is None:
        _clear(data, index, start.position, start.index)
        return RecoveredLog(first.index, first.position, start.index - 1, -1, start.position)
    _clear(data, index, end, last.index + 1)
    return RecoveredLog(first.index, first.position, last.index, last.term, end)


def head_at(data: FileQueue, position: int) -> Head | None:
    """Return the head of the entry at a position, if there is one."""
    found = examine(data.read(position, HEAD_SIZE), 0, position)
    return found if isinstance(found, Head) else None


def _noted_head(data: FileQueue, index: FileQueue, noted: int) -> Head | None:
    """Return the head of the noted entry, if it is where the index says."""
    unit = _unit(index, noted) if noted >= 0 else b""
    if len(unit) < INDEX_UNIT_SIZE:
        return None
    head = head_at(data, INDEX_UNIT.unpack(unit)[1])
    return head if head is not None and unit_of(head) == unit else None


def find_end(data: FileQueue, index: FileQueue, noted: int) -> int:
    """Return the position of the end, without changing files, which another process may have open.

    `noted` is an entry that is known to exist, -1 for none: then the search starts at the newest file whose
    first bytes are an entry.
    """
    begin = next((start for start in reversed(data.starts) if head_at(data, start)), 0)
    known = _noted_head(data, index, noted)
    end = begin = begin if known is None else known.position
    for head in _heads(data, begin, lambda *_: True):
        end = head.position + head.size
    return end


def _load_index(index: FileQueue) -> None:
    """Load the index files; all are deleted if one is missing, because they can be rebuilt."""
    try:
        index.load(repair=True)
    except CorruptFile as error:
        log.warning("%s: the index is rebuilt", error)
        index.destroy()


def _first_of(data: FileQueue, index: FileQueue, start: int) -> Head | None:
    """Return the first entry: at the beginning, or where the index begins, for a log that began elsewhere."""
    head = head_at(data, start)
    if head is not None or data.read(start, HEAD_SIZE) != bytes(HEAD_SIZE):
        return head
    for position in _unit_positions(index):
        return head_at(data, position) if data.start_of(position) == start else None
    return None


def _unit_positions(index: FileQueue) -> Iterator[int]:
    """Yield the positions of the entries in the index, from the first unit on that was ever written."""
    for start in index.starts:
        for at in range(start, start + index.file(start).used(), _UNITS_A_WRITE * INDEX_UNIT_SIZE):
            chunk = index.read(at, _UNITS_A_WRITE * INDEX_UNIT_SIZE)
            for magic, position, *_ in INDEX_UNIT.iter_unpack(chunk):
                if magic:
                    yield position


def _unit(index: FileQueue, number: int) -> bytes:
    return index.read(number * INDEX_UNIT_SIZE, INDEX_UNIT_SIZE)


def _scan(data: FileQueue, index: FileQueue, begin: int, is_whole: IsWhole) -> tuple[Head | None, int]:
    """Read the entries from a position on and repair the index; return the last one, and the log's end."""
    last: Head | None = None
    mending, units = False, bytearray()
    for head in _heads(data, begin, is_whole):
        if not mending and _unit(index, head.index) != unit_of(head):
            mending = True
        if mending:
            units += unit_of(head)
            if len(units) >= _UNITS_A_WRITE * INDEX_UNIT_SIZE:
                _write_units(index, head.index, units)
        last = head
    if last is None:
        return None, begin
    if units:
        _write_units(index, last.index, units)
    return last, last.position + last.size


def _write_units(index: FileQueue, last: int, units: bytearray) -> None:
    """Write units of which the last one is of an entry."""
    begin = (last + 1) * INDEX_UNIT_SIZE - len(units)
    if index.starts and not index.starts[0] <= begin <= index.end:
        index.destroy()
    index.write(begin, units)
    units.clear()


def _heads(data: FileQueue, begin: int, is_whole: IsWhole) -> Iterator[Head]:
    """Yield the consecutive entries from a position on."""
    last: Head | None = None
    for start in data.starts:
        file_end = start + data.file_size
        at = max(begin, start)
        while at < file_end:
            head = examine(data.read(at, HEAD_SIZE), 0, at)
            if head is None:
                break
            why = head.what if isinstance(head, Invalid) else _why_not_next(head, last, file_end)
            if not why and isinstance(head, Head):
                body = data.read(at + HEAD_SIZE, head.body_size)
                why = "" if is_whole(body, at + HEAD_SIZE) else "the body is not whole"
            if why or not isinstance(head, Head):
                log.info("the log of entries ends at %d: %s", at, why)
                return
            yield head
            last = head
            at += head.size


def _why_not_next(head: Head, last: Head | None, file_end: int) -> str:
    if head.position + head.size > file_end:
        return f"an entry of {head.size} bytes does not fit"
    if last is not None and head.index != last.index + 1:
        return f"entry {head.index} follows entry {last.index}"
    if last is not None and head.term < last.term:
        return f"entry {head.index} is of term {head.term}, the one before of {last.term}"
    return ""


def _clear(data: FileQueue, index: FileQueue, end: int, next_index: int) -> None:
    """Clear everything after the end. Raises `CorruptFile` if that is more than a file."""
    if data.starts[-1] - data.start_of(max(end - 1, data.starts[0])) > data.file_size:
        what = f"no entry follows, though files up to {data.end} are there"
        raise CorruptFile(data.path(data.start_of(end)), end % data.file_size, what)
    data.cut(end)
    index.cut(next_index * INDEX_UNIT_SIZE)
