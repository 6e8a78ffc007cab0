"""The bytes between a master and a slave.

    slave -> master   report    max-offset i8
    master -> slave   transfer  start-offset i8, size i4, size bytes of the commit log

A report has the end of the slave's log; of several received together the last counts. A transfer without
bytes is a heartbeat. A transfer may begin and end inside a record, but never crosses a border of the log's
files. RocketMQ: `DefaultHAClient.REPORT_HEADER_SIZE`, `DefaultHAConnection.TRANSFER_HEADER_SIZE`.
"""

from __future__ import annotations

import struct
from typing import NamedTuple

REPORT = struct.Struct(">q")
REPORT_SIZE = REPORT.size
assert REPORT_SIZE == 8

TRANSFER = struct.Struct(">qi")
TRANSFER_HEADER_SIZE = TRANSFER.size
assert TRANSFER_HEADER_SIZE == 12


class StreamBroken(Exception):
    """The connection must be closed; the text gives the reason."""


class Transfer(NamedTuple):
    """Bytes of the master's log, and their offset in it."""

    offset: int
    body: bytes


def encode_report(offset: int) -> bytes:
    """Encode a slave's report that its log ends at `offset`."""
    return REPORT.pack(offset)


def encode_header(offset: int, size: int) -> bytes:
    """Encode the header of `size` bytes of the log at `offset`."""
    return TRANSFER.pack(offset, size)


class ReportCutter:
    """Parser of a slave's reports."""

    def __init__(self) -> None:
        self._rest = b""

    def feed(self, data: bytes) -> int | None:
        """Return the newest complete report, if one became complete."""
        data = self._rest + data
        whole = len(data) - len(data) % REPORT_SIZE
        self._rest = data[whole:]
        if not whole:
            return None
        offset: int = REPORT.unpack_from(data, whole - REPORT_SIZE)[0]
        return offset


class TransferCutter:
    """Parser of a master's transfers; none may have more than `limit` bytes."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._buffer = bytearray()

    @property
    def buffered(self) -> int:
        """Bytes of an incomplete transfer."""
        return len(self._buffer)

    def feed(self, data: bytes) -> list[Transfer]:
        """Return the complete transfers. Raises `StreamBroken` for an invalid size."""
        buffer = self._buffer
        buffer += data
        found = []
        at = 0
        while len(buffer) - at >= TRANSFER_HEADER_SIZE:
            offset, size = TRANSFER.unpack_from(buffer, at)
            if not 0 <= size <= self._limit:
                raise StreamBroken(f"the master announces {size} bytes at {offset}; {self._limit} may come")
            begin = at + TRANSFER_HEADER_SIZE
            if len(buffer) - begin < size:
                break
            at = begin + size
            found.append(Transfer(offset, bytes(memoryview(buffer)[begin:at])))
        del buffer[:at]
        return found
