"""A view that keeps its state in memory, and a snapshot of it in a file of its own.

    <folder>/snapshot        the newest snapshot; <folder>/snapshot.bak the one before it
    snapshot = magic i4, checksum u4 (CRC-32 of what follows), position i8, state

The snapshot has all records up to the one at `position`. A round towards a checkpoint writes it on the
worker, beside the old one; it takes the old one's place once the log is durable up to where it goes. So a
snapshot never has a record that a power cut could take. A start reads the log again from the position.

The folder is made, and its name is durable, before a checkpoint covers the first record that the view keeps.
Without the folder no such record was ever covered. With the folder and without a snapshot that can be read,
the state is rebuilt from the log.
"""

from __future__ import annotations

import logging
import struct
import zlib
from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

from mqgateway.engine.disk import Disk, make_directories
from mqgateway.engine.message import StoredMessage
from mqgateway.engine.steps import Steps
from mqgateway.engine.store.dispatch_request import DispatchRequest, last_of
from mqgateway.engine.store.log import Log
from mqgateway.engine.store.record import decode
from mqgateway.engine.store.results import Arrival
from mqgateway.engine.store.scan import Scan, valid_at
from mqgateway.engine.store.views.view import NOTHING, StoreStart, UnsyncedFiles, View, ViewCoverage

log = logging.getLogger(__name__)

_HEAD: Final = struct.Struct(">iI")
_POSITION: Final = struct.Struct(">q")
MAGIC: Final = 0x4D515631


class _Snapshot(NamedTuple):
    position: int
    state: bytes


class _SnapshotUnsynced(UnsyncedFiles):
    """A snapshot that is written and synced on the worker and then takes the old one's place."""

    def __init__(self, disk: Disk, path: str, position: int, encode: Callable[[], bytes]) -> None:
        super().__init__()
        self._disk = disk
        self._path = path
        self._position = position
        self._encode = encode
        self._written: str | None = None
        self.open_directories = [path.rpartition("/")[0], path.rpartition("/")[0].rpartition("/")[0]]

    def sync(self) -> None:
        """Write and sync the file beside the old one."""
        if self._written is None:
            self._write(f"{self._path}.tmp")

    def _write(self, path: str) -> None:
        rest = _POSITION.pack(self._position) + self._encode()
        file = self._disk.open(path, create=True)
        try:
            file.truncate(0)
            file.write(0, _HEAD.pack(MAGIC, zlib.crc32(rest)) + rest)
            file.sync()
        finally:
            file.close()
        self._written = path

    def confirm(self) -> None:
        """Let the new file take the old one's place.

        A stop confirms before it syncs, perhaps while the worker writes: it writes a file of its own then.
        """
        if self._written is None:
            self._write(f"{self._path}.stop")
        written, self._written = self._written, ""
        if written and self._disk.exists(written):
            if self._disk.exists(self._path):
                self._disk.rename(self._path, f"{self._path}.bak")
            self._disk.rename(written, self._path)


class SnapshotView(View):
    """A view with snapshots in `folder`. What it keeps is `_encoder`'s, `_restore`'s and `_clear`'s, and
    `_take` and `_repeat` say which records it is made of."""

    def __init__(self, disk: Disk, folder: str) -> None:
        self._disk = disk
        self._folder = folder
        self._path = f"{folder}/snapshot"
        self._log: Log | None = None
        self._check_crc = False
        self._has_folder = False
        self._last_kept = NOTHING
        self.ignores_plain = True

    # The state.

    @property
    def _is_empty(self) -> bool:
        """True if there is nothing that a snapshot would have."""
        raise NotImplementedError

    def _encoder(self) -> Callable[[], bytes]:
        """Return a function that encodes the state of now; it may run on the worker."""
        raise NotImplementedError

    def _restore(self, state: bytes) -> None:
        """Take over an encoded state. Raises `ValueError` and `struct.error` for one that is none."""
        raise NotImplementedError

    def _clear(self) -> None:
        """Forget the state, and what is expected."""
        raise NotImplementedError

    def _take(self, request: DispatchRequest) -> bool:
        """Take a message; return True if the state has it."""
        raise NotImplementedError

    def _repeat(self, message: StoredMessage) -> bool:
        """Take a record; return True if the state has it."""
        raise NotImplementedError

    def _rebuild_from(self, log: Log) -> int:
        """Return where the log must be read from to rebuild the state."""
        return log.files.starts[0] if log.files.starts else 0

    # Following the log.

    def append(self, run: Sequence[DispatchRequest], arrivals: list[Arrival] | None) -> None:
        """See `View`."""
        for request in run:
            if self._take(request):
                self._last_kept = last_of(request)

    def repeat(self, message: StoredMessage) -> bool:
        """See `View`. Records that the snapshot has are not taken again."""
        if message.physical_offset > self.last:
            if self._repeat(message):
                self._last_kept = message.physical_offset
            self.last = message.physical_offset
        return True

    # Starting.

    def load(self, start: StoreStart) -> Steps[ViewCoverage | None]:
        """Restore the newest snapshot whose last record the log still has."""
        self._log, self._check_crc = start.log, start.check_crc
        self._has_folder = self._disk.is_dir(self._folder)
        self.begin_again()
        yield from ()
        if not self._has_folder:
            return None
        begin = self._restore_newest(start.log.files.end)
        return ViewCoverage(begin, self.last)

    def _restore_newest(self, end: int) -> int:
        """Restore the newest snapshot of records before `end`, or nothing; return where to continue."""
        log_ = self._log
        assert log_ is not None
        self.begin_again()
        for path in (self._path, f"{self._path}.bak"):
            snapshot = self._read(path)
            if snapshot is None or not 0 <= snapshot.position < end:
                continue
            if not valid_at(log_.files, snapshot.position, self._check_crc):
                continue
            try:
                self._restore(snapshot.state)
            except (ValueError, struct.error) as error:
                log.warning("%s cannot be read: %s", path, error)
                self._clear()
                continue
            self.last = self._last_kept = snapshot.position
            return snapshot.position
        return self._rebuild_from(log_)

    def _read(self, path: str) -> _Snapshot | None:
        """Read a file; None if it is not there, or damaged."""
        if not self._disk.exists(path):
            return None
        try:
            data = self._disk.read_bytes(path)
        except OSError as error:
            log.warning("%s cannot be read: %s", path, error)
            return None
        if len(data) < _HEAD.size + _POSITION.size:
            return None
        magic, checksum = _HEAD.unpack_from(data)
        if magic != MAGIC or zlib.crc32(data[_HEAD.size :]) != checksum:
            log.warning("%s is damaged", path)
            return None
        return _Snapshot(_POSITION.unpack_from(data, _HEAD.size)[0], data[_HEAD.size + _POSITION.size :])

    def begin_again(self) -> None:
        """See `View`."""
        self._clear()
        self.last = self._last_kept = NOTHING

    def end_at(self, end: int) -> None:
        """See `View`. A snapshot that has more than the log is rebuilt."""
        if self.last >= end:
            self._rebuild(end)
            self._replace()

    # Being open.

    def truncate(self, offset: int) -> int:
        """See `View`. The snapshots that have more are replaced, so that no later start reads them."""
        self.expect_nothing()
        if self.last >= offset:
            if self._last_kept >= offset:
                self._rebuild(offset)
            else:
                self.last = self._last_kept
            self._replace()
        return NOTHING

    def _rebuild(self, end: int) -> None:
        """Make the state of the records before `end`, of a snapshot and the log."""
        log_ = self._log
        assert log_ is not None
        begin = self._restore_newest(end)
        if log_.files.starts and begin < end:
            for data, at, position, _size in Scan(log_.files, begin, False).records():
                if position >= end:
                    break
                self.repeat(decode(data, at))

    def _replace(self) -> None:
        """Replace all snapshots by one of now, here and now."""
        if not self._has_folder:
            return
        fresh = self._snapshot()
        fresh.confirm()
        if self._disk.exists(f"{self._path}.bak"):
            self._disk.unlink(f"{self._path}.bak")
        self._disk.sync_dir(self._folder)

    # Flushing.

    def write(self, now: int, time_is_up: Callable[[], bool] | None) -> bool:
        """Make the folder once there is something to keep."""
        if not self._has_folder and not self._is_empty:
            make_directories(self._disk, self._folder)
            self._has_folder = True
        return False

    def take_unsynced(self) -> UnsyncedFiles:
        """See `View`."""
        return self._snapshot() if self._has_folder else UnsyncedFiles()

    def _snapshot(self) -> _SnapshotUnsynced:
        return _SnapshotUnsynced(self._disk, self._path, self.last, self._encoder())
