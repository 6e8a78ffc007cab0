"""Copy of a store's timers for one whose records have other positions.

A unit of the timer log refers to a record by its position. The record's queue offset is kept, so the new
consume queue has its new position. Wheel and checkpoint refer to the timer log's positions, which are kept.
mqgateway's part of the checkpoint refers to the commit log, and is dropped: then as much is scanned as after
RocketMQ's broker.
"""

from __future__ import annotations

from mqgateway.engine.store.consume_queue import UNIT, UNIT_SIZE
from mqgateway.engine.store.file_queue import FileQueue
from mqgateway.engine.store.record import decode, examine
from mqgateway.engine.timers.checkpoint import FILE_SIZE, STANDARD
from mqgateway.engine.timers.timer_log import MAGIC_BLANK
from mqgateway.engine.timers.timer_log import UNIT as TIMER_UNIT
from mqgateway.engine.timers.timer_log import UNIT_SIZE as TIMER_UNIT_SIZE
from mqgateway.engine.upkeep.copies import copy_file
from mqgateway.engine.upkeep.findings import Findings, StorePart
from mqgateway.engine.upkeep.layout import Layout, find_files, read
from mqgateway.engine.upkeep.ledger import LedgerFiles

_CHECKPOINT = "config/timercheck"
_LOG, _WHEEL = "timerlog", "timerwheel"


class TimerMove:
    """Copies a store's timers to another one, which has its consume queues; `count` units were moved.

    Records before `kept` have kept their positions.
    """

    def __init__(self, source: Layout, files: LedgerFiles, made: Layout, kept: int) -> None:
        self._source, self._files, self._made, self._kept = source, files, made, kept
        self._disk = source.disk
        self._queues: dict[tuple[str, int], FileQueue] = {}
        self.count = 0

    def run(self) -> None:
        """Write the timers. Raises `OSError`."""
        disk, source, made = self._disk, self._source.root, self._made.root
        if not disk.exists(f"{source}/{_CHECKPOINT}"):
            return
        if disk.exists(f"{source}/{_WHEEL}"):
            copy_file(disk, f"{source}/{_WHEEL}", f"{made}/{_WHEEL}")
        disk.makedirs(f"{made}/{_LOG}")
        for name in disk.listdir(f"{source}/{_LOG}"):
            copy_file(disk, f"{source}/{_LOG}/{name}", f"{made}/{_LOG}/{name}", self._translate)
        disk.sync_dir(f"{made}/{_LOG}")
        head = disk.read_bytes(f"{source}/{_CHECKPOINT}")[: STANDARD.size]
        disk.makedirs(f"{made}/config")
        file = disk.open(f"{made}/{_CHECKPOINT}", create=True)
        file.write(0, head.ljust(FILE_SIZE, b"\0"))
        file.sync()
        disk.sync_dir(f"{made}/config")

    def _translate(self, data: bytearray) -> None:
        """Update the record positions in the units of a chunk."""
        for at in range(0, len(data) - TIMER_UNIT_SIZE + 1, TIMER_UNIT_SIZE):
            size, previous, magic, written, delay, offset, length, *rest = TIMER_UNIT.unpack_from(data, at)
            if size != TIMER_UNIT_SIZE or magic & 0xFFFFFFFF == MAGIC_BLANK:
                continue
            place = self._place_of(offset, length)
            if place != offset:
                TIMER_UNIT.pack_into(data, at, size, previous, magic, written, delay, place, length, *rest)
                self.count += 1

    def _place_of(self, offset: int, size: int) -> int:
        """Return the new position of a record; its old one if it no longer exists."""
        files = self._files
        if not files.starts or not max(files.starts[0], self._kept) <= offset < files.end:
            return offset
        record = files.read(offset, size)
        if not isinstance(examine(record, 0, offset, False), int):
            return offset
        message = decode(record)
        key = message.topic, message.queue_id
        queue = self._queues.get(key) or self._queues.setdefault(key, self._queue(*key))
        unit = read(queue, message.queue_offset * UNIT_SIZE, UNIT_SIZE)
        return int(UNIT.unpack(unit)[0]) if len(unit) == UNIT_SIZE else offset

    def _queue(self, topic: str, queue_id: int) -> FileQueue:
        folder = f"{self._made.queues}/{topic}/{queue_id}"
        return find_files(self._made.pool, folder, StorePart.QUEUE, Findings(), "")
