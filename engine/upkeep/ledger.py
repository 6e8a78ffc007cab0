"""The files of a DLedger member's log, as read by `upkeep`.

Older files of an ordinary commit log may precede it, if a group was made from a broker. Together they are one
log with continuous offsets. RocketMQ: `DLedgerCommitLog`, `dividedCommitlogOffset`.
"""

from __future__ import annotations

from mqgateway.engine.disk import File
from mqgateway.engine.store.file_queue import FileQueue, file_name
from mqgateway.engine.upkeep.findings import Findings, StorePart
from mqgateway.engine.upkeep.layout import LEDGER_DATA, LEDGER_INDEX, RESTORE, Layout, find_files


class LedgerFiles(FileQueue):
    """The data files of a member after those of an older commit log; `divided` is the start of the former."""

    __slots__ = ("_files", "divided", "older")

    def __init__(self, data: FileQueue, older: FileQueue) -> None:
        super().__init__(data.pool, data.directory, data.file_size)
        self._files = data, older
        self.older = older.directory
        self.divided = data.starts[0] if data.starts else older.end
        self.starts = [start for start in older.starts if start < self.divided] + data.starts

    def since(self, start: int) -> LedgerFiles:
        """Return the files from one on."""
        part = LedgerFiles(*self._files)
        part.starts = [each for each in self.starts if each >= start]
        return part

    def _directory(self, start: int) -> str:
        return self.older if start < self.divided else self.directory

    def path(self, start: int) -> str:
        return f"{self._directory(start)}/{file_name(start)}"

    def file(self, start: int) -> File:
        return self.pool.get(self._directory(start), start)


def find_log(layout: Layout, findings: Findings, advice: str = RESTORE) -> FileQueue:
    """Return the readable files of a store's log; see `find_files`."""
    pool = layout.log_pool
    older = find_files(pool, layout.commit_log, StorePart.LOG, findings, advice)
    if not layout.ledger:
        return older
    data = find_files(pool, f"{layout.ledger}/{LEDGER_DATA}", StorePart.LEDGER, findings, advice)
    if older.starts and data.starts and (older.file_size != data.file_size or older.end != data.starts[0]):
        what = (
            f"has files of {data.file_size} bytes from {data.starts[0]} on, the commit log files of "
            f"{older.file_size} up to {older.end}: nothing joins them"
        )
        findings.error(StorePart.LEDGER, data.directory, -1, what, advice)
        older.starts.clear()
    return LedgerFiles(data, older)


def find_index(layout: Layout, findings: Findings) -> FileQueue:
    """Return the files of a member's index."""
    advice = "a member of the group rebuilds it from the data when it starts"
    return find_files(layout.pool, f"{layout.ledger}/{LEDGER_INDEX}", StorePart.LEDGER, findings, advice)
