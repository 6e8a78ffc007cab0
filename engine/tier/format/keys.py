"""Hashes of the keys of a range, by which records with a key are found.

An entry is the hash of a key of a record, as in index files (`KeyHashes`), and the offset of the record minus
the begin of the range. Entries ascend, in pages of `KEY_PAGE_ENTRIES`. The hash of another key may be the
same, so readers compare the record itself.
"""

from __future__ import annotations

import struct
import sys
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from typing import Final

from mqgateway.engine.errors import CorruptFile
from mqgateway.engine.record_batches.crc32c import crc32c

KEY: Final = struct.Struct(">II")
"""Entry of a key: its hash, and the offset of the record minus the range's begin."""
KEY_PAGE_ENTRIES: Final = 4096
_PAGE_SIZE: Final = KEY_PAGE_ENTRIES * KEY.size
_GROUPS: Final = 256
_GROUP_SHIFT: Final = 23
_DISTANCE: Final = (1 << 32) - 1


class KeyEntries:
    """Entries of a range that is being collected, in any order. They are sorted group by group, which takes
    little memory."""

    def __init__(self) -> None:
        self._groups = [array("Q") for _ in range(_GROUPS)]

    def add(self, hashes: Iterable[int], distance: int) -> None:
        """Add the keys of the record at a distance from the range's begin. Hashes are below 2**31; one that
        the record has twice is one entry."""
        groups = self._groups
        for key_hash in set(hashes):
            groups[key_hash >> _GROUP_SHIFT].append(key_hash << 32 | distance)

    def encode(self) -> bytes:
        """Return the part of the index with all entries."""
        parts = list[bytes]()
        for group in self._groups:
            entries = array("Q", sorted(group))
            if sys.byteorder == "little":
                entries.byteswap()
            parts.append(entries.tobytes())
        return b"".join(parts)


class KeyPages:
    """First hash and CRC-32C of each page of keys, 8 bytes of memory a page."""

    __slots__ = ("_crcs", "_firsts")

    def __init__(self, pages: Iterable[tuple[int, int]] = ()) -> None:
        self._firsts, self._crcs = array("I"), array("I")
        for first, crc in pages:
            self._firsts.append(first)
            self._crcs.append(crc)

    def pages_with(self, key_hash: int) -> range:
        """Return the numbers of the pages that may have a hash."""
        # Entries of one hash may begin at the end of a page, and fill others.
        return range(max(bisect_left(self._firsts, key_hash) - 1, 0), bisect_right(self._firsts, key_hash))

    def distances(self, page: int, data: bytes, key_hash: int, name: str) -> list[int]:
        """Return the distances of the records with a hash, ascending, given the bytes of a page. Raises
        `CorruptFile` with the object's name."""
        if crc32c(data) != self._crcs[page]:
            raise CorruptFile(name, -1, f"page {page} of the keys does not match its CRC-32C")
        entries = array("Q", data)
        if sys.byteorder == "little":
            entries.byteswap()
        begin, end = bisect_left(entries, key_hash << 32), bisect_left(entries, (key_hash + 1) << 32)
        return [entry & _DISTANCE for entry in entries[begin:end]]


def key_pages_of(keys: bytes) -> tuple[tuple[int, int], ...]:
    """Return first hash and CRC-32C of each page of keys."""
    return tuple(
        (KEY.unpack_from(keys, at)[0], crc32c(keys[at : at + _PAGE_SIZE]))
        for at in range(0, len(keys), _PAGE_SIZE)
    )


def number_of_pages(size: int) -> int:
    """Return the number of pages of keys of `size` bytes; -1 if no keys have that size."""
    entries, rest = divmod(size, KEY.size)
    return -1 if rest else -(-entries // KEY_PAGE_ENTRIES)


def place_of_key_page(size: int, page: int) -> tuple[int, int]:
    """Return position and length in bytes of a page, within keys of `size` bytes."""
    at = page * _PAGE_SIZE
    return at, min(_PAGE_SIZE, size - at)
