"""Rows: what the index of a range has of consecutive records, most of which are plain.

A plain record is certainly valid: version 1, IPv4 hosts, topic and properties of ASCII characters, and no
batch. For any other one the walk over the log decides (`upkeep.walk`).
"""

from __future__ import annotations

from typing import Final

from mqgateway.engine.extension import native
from mqgateway.engine.message import PROPERTY_INNER_BASE, SysFlag, tags_code
from mqgateway.engine.store.key_hashes import KeyHashes
from mqgateway.engine.store.record import sound_parts
from mqgateway.engine.upkeep.walk import hashes_of, keys_of

HASHES_MAX: Final = 64
"""Maximum of key hashes of a plain record."""
_CODES_MAX: Final = 10_000
_INNER: Final = PROPERTY_INNER_BASE.encode()

Row = tuple[bytes, int, int, int, int, int, int, tuple[int, ...]]
"""A record: topic, queue id, queue offset, sys flag, store time in ms, size in bytes, tags code, and the
hashes of its keys in the order of `hashes_of`."""


class RowReader:
    """Reads rows, and remembers codes and hashes of tags."""

    def __init__(self) -> None:
        self.hashes = KeyHashes()
        self._codes: dict[bytes | None, int] = {None: 0}

    def rows(self, data: bytes, at: int, end: int, position: int, most: int) -> tuple[list[Row], int]:
        """Return the rows of at most `most` plain records from `at` on, which is at `position` of the log,
        and where they end, at `end` or before. Bodies are compared with their checksums."""
        if native is not None:
            return native.record_rows(data, at, end, position, most)
        found: list[Row] = []
        begin, code, hashes = position - at, self.code, self.hashes
        while len(found) < most and at < end:
            parts = sound_parts(data, at, begin + at, True)
            if parts is None:
                break
            topic, queue_id, offset, sys_flag, time, size, text = parts
            if at + size > end or sys_flag & SysFlag.INNER_BATCH or _INNER in text:
                break
            if not (topic.isascii() and text.isascii()):
                break
            keys = keys_of(text)
            hashed = tuple(hashes_of(hashes, topic.decode(), keys))
            if len(hashed) > HASHES_MAX:
                break
            found.append((topic, queue_id, offset, sys_flag, time, size, code(keys[0]), hashed))
            at += size
        return found, at

    def code(self, tags: bytes | None) -> int:
        """Return the tags code of a record with these tags."""
        code = self._codes.get(tags)
        if code is None:
            if len(self._codes) >= _CODES_MAX:
                self._codes = {None: 0}
            code = self._codes[tags] = tags_code((tags or b"").decode("utf-8", "replace"))
        return code
