"""The file of a table of many entries, to which each change costs what the change is long.

A change is appended to a journal beside the file before `note` returns, so it outlives the process; a worker
syncs it, together with those that came meanwhile, and then it outlives a power cut. The table itself is
written on the worker too, from a copy: at once where that is quick, as with the few topics of most brokers,
and else so rarely that it takes a twentieth of the time. At the end there is the file alone, as the standard
has it.

    journal        a new one begins; changes go to both from now on
    the table      is written aside and synced
    new journal    is bound to this very content, and synced
    names          file becomes `.bak`, the new one takes its name; the old journal counts no more

So whatever a crash leaves, the file that is read has a journal that continues it. A journal that continues
another content is passed over: somebody else has written the file.
"""

from __future__ import annotations

import errno
import logging
import os
import zlib
from collections.abc import Callable, Iterable

from mqgateway.engine.clock import Clock
from mqgateway.engine.disk import Disk, make_directories
from mqgateway.engine.tables.journal import NO_FILE, Change, Found, Identity, Journal, Numbered, apply
from mqgateway.engine.tables.jsonfile import Table, in_pieces, load_or_set_aside, put_in_place, write_aside
from mqgateway.engine.worker import InlineWorker, Worker

log = logging.getLogger(__name__)

JOURNALS = 3
"""One that the file needs, one for a newer file; after damage two may be needed until it is written."""
REST = 20
"""The table is not written again before so many times as long as it took."""

Take = Callable[[], Iterable[bytes]]
"""Copies the table; what it gives is gone through elsewhere, and makes the file's text of the copy."""

OnDurable = Callable[[OSError | None], None]


class JournaledFile:
    """A table's file with its journals. A failure is logged, and `has_failed` until the table is written.

    `load` first. Without a worker all is done, and durable, when a call returns.
    """

    def __init__(self, disk: Disk, path: str, clock: Clock, worker: Worker | None = None) -> None:
        self._disk = disk
        self._clock = clock
        self._worker = worker or InlineWorker()
        self._journals = [Journal(disk, f"{path}.journal{number}") for number in range(JOURNALS)]
        # Those that the file needs, and those that changes go to: while it is written one more.
        self._needed: list[Journal] = []
        self._used: list[Journal] = []
        self._base = NO_FILE
        self._number = 0
        self._written = 0
        self._is_writing = False
        self._is_syncing = False
        self._is_named = False
        self._ended = self._took = 0.0
        self._waiting: list[tuple[int, OnDurable]] = []
        self._failed = False
        self.path = path
        self.was_lost = False
        """Whether `load` could not give what was written last, but something older or nothing."""

    @property
    def has_failed(self) -> bool:
        """Whether something could not be written: the whole is to be written again."""
        return self._failed or any(journal.is_broken for journal in self._used)

    @property
    def is_behind(self) -> bool:
        """Whether the file lacks changes, which are in a journal only."""
        return self._written < self._number

    # Reading.

    def load(self) -> Table | None:
        """The table with all its changes, which is written if there were any; None when there is nothing.

        Files that hold no table are set aside. Raises `ConfigError` as `load_or_set_aside`.
        """
        table, self.was_lost = load_or_set_aside(self._disk, self.path)
        self._base = NO_FILE if table is None else self._identity()
        found = [(journal, read) for journal in self._journals if (read := journal.read()) is not None]
        self._number = self._written = max((read.last for _, read in found), default=0)
        changes, needed = _continuing(self._base, [read for _, read in found])
        if not changes:
            if not needed and any(read.changes for _, read in found):
                log.warning("%s does not match its journals: they are ignored", self.path)
            return table
        log.info("%d changes from journals were applied to %s", len(changes), self.path)
        table = {} if table is None else table
        for numbered in changes:
            apply(table, numbered.change)
        self._needed = [journal for journal, read in found if any(read is one for one in needed)]
        self._number += 1
        whole = table
        self._write(lambda: in_pieces(whole), InlineWorker())
        return table

    def _identity(self) -> Identity:
        name = self.path if self._disk.exists(self.path) else self.path + ".bak"
        data = self._disk.read_bytes(name)
        return Identity(len(data), zlib.crc32(data))

    # Changes.

    def note(self, change: Change, take: Take) -> None:
        """Note a change that was made; a failure is logged, and the table written when that is possible."""
        try:
            self.append(change)
        except OSError as error:
            log.error("a change of %s could not be written: %s", self.path, error)
            self.save(take)
        else:
            self.proceed(take)

    def append(self, change: Change) -> None:
        """Note a change that is to be made. Raises `OSError`, then nothing was noted; else `proceed`."""
        numbered = Numbered(self._number + 1, change)
        if self._is_stuck:
            raise OSError(errno.EIO, "a change before could not be written", self.path)
        if not self._used:
            self._begin(numbered.number)
        in_force, *others = self._used
        if not in_force.is_broken:
            in_force.append(numbered)
        for journal in others:
            self._append_to(journal, numbered)
        self._number += 1

    def proceed(self, take: Take) -> None:
        """Have what was noted, and is in the table now, synced, and the table written if it is time."""
        self._write_if_due(take)
        self._sync_soon()

    @property
    def _is_stuck(self) -> bool:
        """Whether no journal takes changes until the table is written."""
        return all(journal.is_broken for journal in self._used) and bool(self._used or self._needed)

    def _begin(self, number: int) -> None:
        """Begin a journal for the file as it is. Raises `OSError`."""
        make_directories(self._disk, os.path.dirname(self.path))
        journal = self._unneeded()
        journal.begin(number)
        journal.bind(self._base)
        self._is_named = False
        self._used = self._needed = [journal]

    def _append_to(self, journal: Journal, numbered: Numbered) -> None:
        if not journal.is_broken:
            try:
                journal.append(numbered)
            except OSError as error:
                journal.is_broken = True
                log.error("a change of %s could not be written: %s", self.path, error)

    def _unneeded(self) -> Journal:
        return next(journal for journal in self._journals if journal not in self._needed)

    def when_durable(self, on_durable: OnDurable) -> None:
        """Call back once all changes so far outlive a power cut, or with why they do not."""
        if not self.is_behind:
            on_durable(None)
            return
        self._waiting.append((self._number, on_durable))
        self._sync_soon()

    def _sync_soon(self) -> None:
        """Sync the journals; while the table is written that does it."""
        if self._is_syncing or self._is_writing or not self._used or self._used[0].is_broken:
            return
        number, journals, is_named = self._number, list(self._used), self._is_named
        self._is_syncing = True

        def sync() -> None:
            for journal in journals:
                journal.sync()
            if not is_named:
                self._disk.sync_dir(os.path.dirname(self.path))

        def done(outcome: Exception | None) -> None:
            self._is_syncing = False
            if outcome is not None:
                for journal in journals:
                    journal.is_broken = True
                self._fail(outcome)
                return
            self._is_named |= self._used == journals
            self._tell(number, None)
            if self._number > number:
                self._sync_soon()

        self._worker.run(sync, done)

    def _fail(self, error: Exception) -> None:
        self._failed = True
        log.error("%s could not be written: %s", self.path, error)
        self._tell(self._number, error if isinstance(error, OSError) else OSError(str(error)))

    def _tell(self, number: int, outcome: OSError | None) -> None:
        reached = [one for one in self._waiting if one[0] <= number]
        self._waiting = [one for one in self._waiting if one[0] > number]
        for _, tell in reached:
            tell(outcome)

    # The table as a whole.

    def save(self, take: Take, *, at_once: bool = False) -> None:
        """Write the table, now or soon: more has changed than was noted. `at_once`: without a rest after
        the last time, however long that took.
        """
        self._number += 1
        for journal in self._used:
            journal.is_broken = True
        if at_once and not self._is_writing:
            self._write(take, self._worker)
        else:
            self._write_if_due(take)

    def retry(self, take: Take) -> None:
        """Write the table if it is behind and it is time; for a slow beat."""
        if self.is_behind or self.has_failed:
            self._write_if_due(take)

    def close(self, take: Take) -> None:
        """Write the table here if it is behind, and leave no journal; when the worker works no more."""
        if self.is_behind or self.has_failed:
            self._write(take, InlineWorker())
        if self.is_behind or self.has_failed:
            return
        try:
            for journal in self._journals:
                journal.remove()
        except OSError as error:
            log.warning("a journal could not be removed: %s", error)
        self._used = self._needed = []

    def _write_if_due(self, take: Take) -> None:
        if not self._is_writing and self._clock.monotonic() >= self._ended + REST * self._took:
            self._write(take, self._worker)

    def _write(self, take: Take, worker: Worker) -> None:
        began, number = self._clock.monotonic(), self._number
        old, new = self._used[:1], self._unneeded()
        self._is_writing = True

        def done(outcome: Identity | Exception) -> None:
            self._is_writing = False
            self._ended = self._clock.monotonic()
            self._took = self._ended - began
            if isinstance(outcome, Exception):
                self._used = old
                self._fail(outcome)
                return
            self._used = self._needed = [new]
            self._base, self._written, self._failed, self._is_named = outcome, number, False, True
            self._tell(number, None)
            if self.is_behind:
                self._write_if_due(take)
                self._sync_soon()

        try:
            make_directories(self._disk, os.path.dirname(self.path))
            new.begin(number + 1)
        except OSError as error:
            done(error)
            return
        self._used = [*old, new]
        pieces = take()
        worker.run(lambda: self._put(pieces, old, new), done)

    def _put(self, pieces: Iterable[bytes], old: list[Journal], new: Journal) -> Identity:
        """Write the table and let a new journal continue it. Raises `OSError`."""
        identity = Identity(*write_aside(self._disk, self.path, pieces))
        new.bind(identity)
        for journal in (*old, new):
            if not journal.is_broken:
                journal.sync()
        self._disk.sync_dir(os.path.dirname(self.path))
        put_in_place(self._disk, self.path)
        return identity


def _continuing(base: Identity, found: list[Found]) -> tuple[list[Numbered], list[Found]]:
    """The changes to a file: those of its own journal, and what a later one has behind them, whose file
    cannot be read; and the journals they stand in. Others are of files before, and may be written over.
    """
    # A file may come to have the content that one before it had: then both have a journal, and both are
    # right; the one that goes on longer is of the newer.
    own = max((read for read in found if read.base == base), key=lambda read: read.last, default=None)
    changes, needed = ([], []) if own is None else (list(own.changes), [own])
    for read in sorted(found, key=lambda read: read.first):
        if changes:
            last = changes[-1].number
            later = [numbered for numbered in read.changes if numbered.number > last]
            if later and later[0].number == last + 1:
                changes += later
                needed.append(read)
    return changes, needed
