"""The file `checkpoint`: how much of the store is known to be on stable storage.

    physic-msg-timestamp i8 [0]    store time of the last flushed record of the commit log
    logics-msg-timestamp i8 [8]    store time of the last record in the flushed consume queues
    index-msg-timestamp i8 [16]    store time of the last record in a flushed index file
    master-flushed-offset i8 [24]  confirm-physical-offset i8 [32]   (replication)
    logics-physical-offset i8 [40] start of the last record in the flushed consume queues
    zeros up to 4096

It is written after what it speaks of was synced, and lies in one sector, so it is never half written.
Recovery after an unclean stop starts at logics-physical-offset. Standard: `StoreCheckpoint`.
"""

from __future__ import annotations

import struct

from mqgateway.engine.disk import Disk, File

FIELDS = struct.Struct(">qqqqqq")
FILE_SIZE = 4096


class Checkpoint:
    """The fields, and the file they live in. Times in ms since the epoch."""

    def __init__(self, disk: Disk, path: str) -> None:
        self._disk = disk
        self._path = path
        self._file: File | None = None
        self._written = b""
        self.physic_msg_timestamp = 0
        self.logics_msg_timestamp = 0
        self.index_msg_timestamp = 0
        self.master_flushed_offset = 0
        self.confirm_physical_offset = 0
        self.logics_physical_offset = 0

    def load(self) -> None:
        """Read the file, making it if it is not there; a short file reads as zeros."""
        self.read()
        self._file = self._disk.open(self._path, create=True)
        if self._file.size() < FILE_SIZE:
            self._file.truncate(FILE_SIZE)

    def read(self) -> None:
        """Take over what the file says, and leave it as it is; what is not there reads as zeros."""
        data = self._disk.read_bytes(self._path)[: FIELDS.size] if self._disk.exists(self._path) else b""
        (
            self.physic_msg_timestamp,
            self.logics_msg_timestamp,
            self.index_msg_timestamp,
            self.master_flushed_offset,
            self.confirm_physical_offset,
            self.logics_physical_offset,
        ) = FIELDS.unpack(data.ljust(FIELDS.size, b"\0"))

    def save(self) -> File:
        """Write the fields if they changed; the file is returned so that a worker may sync it."""
        assert self._file is not None
        data = FIELDS.pack(
            self.physic_msg_timestamp,
            self.logics_msg_timestamp,
            self.index_msg_timestamp,
            self.master_flushed_offset,
            self.confirm_physical_offset,
            self.logics_physical_offset,
        )
        if data != self._written:
            self._file.write(0, data)
            self._written = data
        return self._file

    def close(self) -> None:
        """Close the file."""
        if self._file is not None:
            self._file.close()
            self._file = None
