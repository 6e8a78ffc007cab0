"""File of a large table, to which a change costs only its own size.

A change is appended to a journal beside the file before `note` returns, so it survives the end of the
process. A worker syncs it, together with those that arrive meanwhile; then it survives a power cut. The table
itself is written on the worker too, from a copy: at once if that is quick, as with the few topics of most
brokers, else so rarely that it takes a twentieth of the time. After a clean stop there is the file alone, as
with RocketMQ.

    journal        a new one begins; changes go to both from now on
    the table      is written to a temporary file and synced
    new journal    is bound to this very content, and synced
    names          the file is renamed to `.bak`, the new one to its name; the old journal is stale

So after any crash, the file that is read has a journal that continues it. A journal that continues another
content is ignored: another program has written the file.
"""

from __future__ import annotations

import errno
import logging
import os
import zlib
from collections.abc import Callable, Iterable

from mqgateway.engine.clock import Clock
from mqgateway.engine.disk import Disk, make_directories
from mqgateway.engine.tables.journal import (
    NO_FILE,
    Change,
    FileIdentity,
    Journal,
    JournalContent,
    Numbered,
    apply,
)
from mqgateway.engine.tables.jsonfile import Table, in_chunks, load_or_set_aside, put_in_place, write_aside
from mqgateway.engine.worker import InlineWorker, Worker

log = logging.getLogger(__name__)

JOURNALS = 3
"""One for the file, one for a newer file; after damage two may be needed until it is written."""
REST = 20
"""Minimum pause between writes of the table, as a multiple of the last write's duration."""

Take = Callable[[], Iterable[bytes]]
"""Copies the table; the result is iterated on the worker, and yields the file's text from the copy."""

OnDurable = Callable[[OSError | None], None]


class JournaledFile:
    """A table's file with its journals. A failure is logged; `has_failed` is True until the table is written.

    Call `load` first. Without a worker everything is done, and durable, when a call returns.
    """

    def __init__(self, disk: Disk, path: str, clock: Clock, worker: Worker | None = None) -> None:
        self._disk = disk
        self._clock = clock
        self._worker = worker or InlineWorker()
        self._journals = [Journal(disk, f"{path}.journal{number}") for number in range(JOURNALS)]
        # Journals that the file needs, and journals that changes go to: one more during a write.
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
        """True if `load` could not return the last written state, but an older one or none."""

    @property
    def has_failed(self) -> bool:
        """True if a write failed, so that the whole table must be written."""
        return self._failed or any(journal.is_broken for journal in self._used)

    @property
    def is_behind(self) -> bool:
        """True if the file lacks changes, which are only in a journal."""
        return self._written < self._number

    # Reading.

    def load(self) -> Table | None:
        """Return the table with all its changes, and write it if there were any; None if there is nothing.

        Files without a table are set aside. Raises `ConfigError` as `load_or_set_aside`.
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
        self._write(lambda: in_chunks(whole), InlineWorker())
        return table

    def _identity(self) -> FileIdentity:
        name = self.path if self._disk.exists(self.path) else self.path + ".bak"
        data = self._disk.read_bytes(name)
        return FileIdentity(len(data), zlib.crc32(data))

    # Changes.

    def note(self, change: Change, take: Take) -> None:
        """Record a change that was made; a failure is logged, and the table is written when possible."""
        try:
            self.append(change)
        except OSError as error:
            log.error("a change of %s could not be written: %s", self.path, error)
            self.save(take)
        else:
            self.proceed(take)

    def append(self, change: Change) -> None:
        """Record a change before it is made; then call `proceed`.

        Raises `OSError`; then nothing was recorded.
        """
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
        """Sync recorded changes, which the table has now, and write the table if that is due."""
        self._write_if_due(take)
        self._sync_soon()

    @property
    def _is_stuck(self) -> bool:
        """True if no journal accepts changes until the table is written."""
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
        """Call back once all changes so far survive a power cut, or with the error."""
        if not self.is_behind:
            on_durable(None)
            return
        self._waiting.append((self._number, on_durable))
        self._sync_soon()

    def _sync_soon(self) -> None:
        """Sync the journals, unless a write of the table is in progress, which does that."""
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
            self._report(number, None)
            if self._number > number:
                self._sync_soon()

        self._worker.run(sync, done)

    def _fail(self, error: Exception) -> None:
        self._failed = True
        log.error("%s could not be written: %s", self.path, error)
        self._report(self._number, error if isinstance(error, OSError) else OSError(str(error)))

    def _report(self, number: int, outcome: OSError | None) -> None:
        reached = [one for one in self._waiting if one[0] <= number]
        self._waiting = [one for one in self._waiting if one[0] > number]
        for _, notify in reached:
            notify(outcome)

    # The table as a whole.

    def save(self, take: Take, *, at_once: bool = False) -> None:
        """Write the whole table, now or soon, as unrecorded changes were made.

        With `at_once` the pause after the last write is skipped.
        """
        self._number += 1
        for journal in self._used:
            journal.is_broken = True
        if at_once and not self._is_writing:
            self._write(take, self._worker)
        else:
            self._write_if_due(take)

    def retry(self, take: Take) -> None:
        """Write the table if it lacks changes and a write is due; called periodically."""
        if self.is_behind or self.has_failed:
            self._write_if_due(take)

    def close(self, take: Take) -> None:
        """Write the table synchronously if it lacks changes, and remove the journals; without the worker."""
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

        def done(outcome: FileIdentity | Exception) -> None:
            self._is_writing = False
            self._ended = self._clock.monotonic()
            self._took = self._ended - began
            if isinstance(outcome, Exception):
                self._used = old
                self._fail(outcome)
                return
            self._used = self._needed = [new]
            self._base, self._written, self._failed, self._is_named = outcome, number, False, True
            self._report(number, None)
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
        chunks = take()
        worker.run(lambda: self._put(chunks, old, new), done)

    def _put(self, chunks: Iterable[bytes], old: list[Journal], new: Journal) -> FileIdentity:
        """Write the table and bind a new journal to it. Raises `OSError`."""
        identity = FileIdentity(*write_aside(self._disk, self.path, chunks))
        new.bind(identity)
        for journal in (*old, new):
            if not journal.is_broken:
                journal.sync()
        self._disk.sync_dir(os.path.dirname(self.path))
        put_in_place(self._disk, self.path)
        return identity


def _continuing(
    base: FileIdentity, found: list[JournalContent]
) -> tuple[list[Numbered], list[JournalContent]]:
    """Return the changes to a file, and the journals that contain them.

    They are those of its own journal, and later ones from a journal whose own file cannot be read. Other
    journals belong to earlier files, and may be overwritten.
    """
    # A file may have the same content as an earlier one: then both have a valid journal, and the one with the
    # greater last number is the newer.
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
