"""Consume queue ext: tags hash and filter bits of messages, for queues whose units point there.

    unit = size i2, tags-code i8, store-time i8 (ms), bitmap-size i2, bitmap         (size = 20 + bitmap)
    end  = -1 i2: nothing more in this file; the next unit opens the next one

A consume queue unit points at one when its tags code is at most `ADDRESS_MAX`; the address less the least
i8 is the unit's offset. Standard: `ConsumeQueueExt`.
"""

from __future__ import annotations

import struct

from mqgateway.engine.store.file_queue import FileQueue
from mqgateway.engine.upkeep.findings import Findings, StorePart
from mqgateway.engine.upkeep.layout import place, read

HEAD = struct.Struct(">hqqh")
HEAD_SIZE = HEAD.size
END_MARK = -1
ADDRESS_MAX = -(1 << 31) - 1
_LEAST = -(1 << 63)
_CHUNK_SIZE = 1 << 18
_ADVICE = (
    "delete the folder of this queue below consumequeue_ext while no broker runs, then "
    "mqgateway store rebuild: it writes units that hold the tags hash themselves"
)


class ExtCheck:
    """The units of one queue's ext files. `count` is how many are whole."""

    def __init__(self, files: FileQueue, findings: Findings) -> None:
        self.files = files
        self._findings = findings
        self.count = 0

    def fields(self, address: int) -> tuple[int, int] | None:
        """Tags code and store time in ms of the unit at an address; None when there is none."""
        offset = address - _LEAST
        data = read(self.files, offset, HEAD_SIZE)
        if len(data) < HEAD_SIZE:
            return None
        size, code, time, bits = HEAD.unpack(data)
        return (code, time) if size == HEAD_SIZE + bits and bits >= 0 else None

    def check(self) -> None:
        """Walk all files from unit to unit."""
        for start in self.files.starts:
            self._check_file(start, start + self.files.file_size)

    def _check_file(self, at: int, end: int) -> None:
        while at + 2 <= end:
            data = self.files.read(at, min(_CHUNK_SIZE, end - at))
            n = 0
            while n + 2 <= len(data):
                size = int.from_bytes(data[n : n + 2], "big", signed=True)
                if size in (0, END_MARK):
                    return
                if n + size > len(data) and n:
                    break
                bits = HEAD.unpack_from(data, n)[3] if n + HEAD_SIZE <= len(data) else -1
                if bits < 0 or size != HEAD_SIZE + bits or n + size > len(data):
                    what = f"the unit's size is {size}, its bitmap's {bits}"
                    self._findings.error(StorePart.EXT, *place(self.files, at + n), what, _ADVICE)
                    return
                n += size
                self.count += 1
            if not n:
                return
            at += n
