"""Scan of a DLedger member's log, past damage: `walk` over entries with a record in each.

Truncation of such a log leaves the bytes after its end unchanged, so old entries may follow, complete ones
too. So an invalid entry is damage only if later entries are known: by the member's checkpoint, or a consume
queue. Indexes are consecutive and terms never decrease; an entry that violates this is the end of the log, as
in RocketMQ's recovery.
"""

from __future__ import annotations

from collections.abc import Callable

from mqgateway.engine.raft.files.entry import BLANK_MAGIC, HEAD_SIZE, Head, examine_whole
from mqgateway.engine.raft.files.entry import examine as examine_entry
from mqgateway.engine.raft.files.properties import MemberProperties
from mqgateway.engine.store.file_queue import FileQueue
from mqgateway.engine.store.record import BLANK_SIZE, Invalid, examine
from mqgateway.engine.upkeep.findings import Findings
from mqgateway.engine.upkeep.ledger import LedgerFiles
from mqgateway.engine.upkeep.walk import MAGIC_START, LogWalk, places_of

_BLANK_WORD = BLANK_MAGIC.to_bytes(4, "big", signed=True)


class LedgerWalk(LogWalk):
    """One pass over old commit log files, if there are any, and the entries that follow; see `LogWalk`.

    Yielded positions are those of the records. `last` is the last entry, and `on_entry` is called with each.
    """

    def __init__(
        self,
        files: LedgerFiles,
        findings: Findings,
        noted: MemberProperties,
        is_past_end: Callable[[int], bool],
        progress: Callable[[int, int], None] | None = None,
        on_entry: Callable[[Head], None] | None = None,
    ) -> None:
        super().__init__(files, findings, self._has_ended, progress)
        self.last: Head | None = None
        self._divided = files.divided
        self._is_past_queues = is_past_end
        self._noted = noted
        self._on_entry = on_entry

    def _has_ended(self, position: int) -> bool:
        if position < self._divided:
            return self._is_past_queues(position)
        known = -1 if self.last is None else self.last.index
        return known >= self._noted.known and self._is_past_queues(position)

    def _lead(self, position: int) -> int:
        return HEAD_SIZE if position >= self._divided else 0

    def _examine(self, view: memoryview, at: int, position: int) -> int | Invalid:
        if position < self._divided:
            return examine(view, at, position, True)
        head = examine_whole(view, at, position, True)
        if not isinstance(head, Head):
            return 0 if head is None else head
        last = self.last
        if last is not None and not self.is_damaged(last.position + last.size):
            if head.index != last.index + 1:
                return Invalid(f"entry {head.index} follows entry {last.index}")
            if head.term < last.term:
                return Invalid(f"entry {head.index} is of term {head.term}, the one before of {last.term}")
        self.last = head
        if self._on_entry is not None:
            self._on_entry(head)
        return head.size

    def _blank_size(self, data: bytes, at: int, position: int) -> int:
        if position < self._divided:
            return super()._blank_size(data, at, position)
        return int.from_bytes(data[at + 4 : at + 8], "big")

    def _size_in(self, data: bytes, position: int) -> int:
        if position < self._divided:
            return super()._size_in(data, position)
        return int.from_bytes(data[4:8], "big")

    def _starts(self, data: bytes, position: int) -> list[int]:
        if position < self._divided:
            return super()._starts(data, position)
        entries = (at - 4 - HEAD_SIZE for at in places_of(data, MAGIC_START))
        return sorted((*entries, *places_of(data, _BLANK_WORD)))

    def _is_record(self, position: int, file_end: int) -> bool:
        if position < self._divided:
            return super()._is_record(position, file_end)
        start = self._files.read(position, HEAD_SIZE)
        head = examine_entry(start, 0, position)
        if head is None:
            return self._blank_size(start, 0, position) == file_end - position
        if isinstance(head, Invalid) or not BLANK_SIZE < head.size <= file_end - position:
            return False
        data = memoryview(self._files.read(position, head.size))
        return isinstance(examine_whole(data, 0, position, True), Head)


def walk_of(
    files: FileQueue,
    findings: Findings,
    noted: MemberProperties | None,
    is_past_end: Callable[[int], bool],
    progress: Callable[[int, int], None] | None = None,
    on_entry: Callable[[Head], None] | None = None,
) -> LogWalk:
    """Return the pass over a log of either kind; `noted` is the state in the files of a member."""
    if isinstance(files, LedgerFiles):
        return LedgerWalk(files, findings, noted or MemberProperties(), is_past_end, progress, on_entry)
    return LogWalk(files, findings, is_past_end, progress)
