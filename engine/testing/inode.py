"""A file of the simulated disk: its content, and what a power cut may leave of it."""

from __future__ import annotations

import mmap
import random
from collections.abc import Iterator

SECTOR = 512
"""Bytes that a disk writes whole or not at all."""
_VERSIONS_MAX = 8
_ZEROS = bytes(SECTOR)
_PART = 1 << 16
_PART_ZEROS = bytes(_PART)

Bytes = bytearray | mmap.mmap


def _parts(data: Bytes, size: int) -> dict[int, bytes]:
    """Return the parts of the first `size` bytes that are not all zeros, by their number."""
    found = {}
    for number in range(-(-size // _PART)):
        part = bytes(data[number * _PART : min(size, (number + 1) * _PART)])
        if part != _PART_ZEROS[: len(part)]:
            found[number] = part
    return found


def _sparse(data: Bytes, size: int) -> Bytes:
    """Return a copy of that size, in which only what is not zero takes memory: index files of RocketMQ's
    length are 420 MB, and nearly empty.
    """
    if not size:
        return bytearray()
    copy = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    for number, part in _parts(data, min(size, len(data))).items():
        copy[number * _PART : number * _PART + len(part)] = part
    return copy


class Inode:
    """Content of a file, and what it was since the last sync. Sizes and offsets are in bytes.

    `versions` are the earlier contents of sectors, `sizes` the earlier lengths; `doomed` is what a failed
    sync left behind; `window_before` is the windowed part as it was synced, without what is zero, since
    writes through a window are not seen.
    """

    def __init__(self) -> None:
        self.data: Bytes = bytearray()
        self.size = 0
        self.sizes: list[int] = []
        self.versions: dict[int, list[bytes]] = {}
        self.doomed: dict[int, list[bytes]] = {}
        self.windowed = 0
        self.window_before: dict[int, bytes] = {}
        self.modified = 0

    def sector(self, number: int) -> bytes:
        """Return one sector, padded with zeros."""
        part = bytes(self.data[number * SECTOR : (number + 1) * SECTOR])
        return part if len(part) == SECTOR else part + _ZEROS[len(part) :]

    def remember(self, start: int, end: int) -> None:
        """Keep what sectors held, before they change."""
        for number in range(start // SECTOR, -(-end // SECTOR)):
            versions = self.versions.setdefault(number, [])
            if len(versions) == _VERSIONS_MAX:
                del versions[1]
            versions.append(self.sector(number))

    def reach(self, end: int) -> None:
        """Make the content that long at least."""
        if len(self.data) >= end:
            return
        if isinstance(self.data, mmap.mmap):
            self.data.resize(end)
        else:
            self.data.extend(bytes(end - len(self.data)))

    def write(self, offset: int, data: bytes | bytearray | memoryview) -> None:
        """Change a part, which may begin after the end."""
        end = offset + len(data)
        self.remember(offset, end)
        self.reach(end)
        self.data[offset:end] = data
        if end > self.size:
            self.sizes.append(self.size)
            self.size = end

    def resize(self, size: int) -> None:
        """Set the length of the file."""
        if size < len(self.data):
            for begin, end in self._held(size):
                self.remember(begin, end)
                if self.windowed:
                    self.data[begin:end] = bytes(end - begin)
            if not self.windowed:
                self.cut(size)
        self.sizes.append(self.size)
        self.size = size

    def cut(self, size: int) -> None:
        """Release the memory after `size`; no window is open on it."""
        if isinstance(self.data, mmap.mmap):
            self.data = _sparse(self.data, min(size, len(self.data)))
        else:
            del self.data[size:]

    def _held(self, start: int) -> Iterator[tuple[int, int]]:
        """Yield begin and end of the parts from `start` on that are not all zeros."""
        for number in range(start // _PART, -(-len(self.data) // _PART)):
            begin, end = max(start, number * _PART), min(len(self.data), (number + 1) * _PART)
            if bytes(self.data[begin:end]) != _PART_ZEROS[: end - begin]:
                yield begin, end

    def open_window(self, size: int) -> memoryview:
        """Return the first bytes, which are written without a call."""
        # Allocated at once: a buffer with an exported view cannot grow.
        if isinstance(self.data, mmap.mmap):
            self.reach(self.size)
        else:
            self.data = _sparse(self.data, max(self.size, len(self.data)))
        if size > self.windowed:
            self.windowed = size
            self.window_before = _parts(self.data, size)
        return memoryview(self.data)[:size]

    def sync(self) -> None:
        """Make the present content durable."""
        for number in self.versions:
            self.doomed.pop(number, None)
        self.versions.clear()
        self.sizes.clear()
        if self.windowed:
            self.window_before = _parts(self.data, self.windowed)

    def lose_sync(self) -> None:
        """Mark the pages as clean, although they are not on the disk."""
        for number, versions in self.versions.items():
            self.doomed[number] = self.doomed.get(number, []) + versions
        self.versions.clear()

    def after_crash(self, choose: random.Random) -> Inode:
        """Return what a power cut leaves of the file, as `choose` decides."""
        left = Inode()
        left.size = choose.choice([*self.sizes, self.size])
        left.data = (
            _sparse(self.data, len(self.data)) if isinstance(self.data, mmap.mmap) else bytearray(self.data)
        )
        left.modified = self.modified
        keep_all = choose.choice((0.0, 0.1, 0.5, 0.9, 1.0))
        earlier = {number: list(versions) for number, versions in self.doomed.items()}
        for number, versions in self.versions.items():
            earlier.setdefault(number, []).extend(versions)
        if self.windowed:
            self._add_window(earlier)
        for number, versions in earlier.items():
            if choose.random() >= keep_all:
                left.reach((number + 1) * SECTOR)
                left.data[number * SECTOR : (number + 1) * SECTOR] = choose.choice(versions)
        left.cut(left.size)
        return left

    def _add_window(self, earlier: dict[int, list[bytes]]) -> None:
        for begin in range(0, self.windowed, _PART):
            now = bytes(self.data[begin : min(self.windowed, begin + _PART)])
            before = self.window_before.get(begin // _PART, _PART_ZEROS[: len(now)])
            if before == now:
                continue
            for at in range(0, len(now), SECTOR):
                part = before[at : at + SECTOR]
                if part != now[at : at + SECTOR]:
                    behind = bytes(self.data[begin + at + len(part) : begin + at + SECTOR])
                    number = (begin + at) // SECTOR
                    earlier.setdefault(number, []).append((part + behind).ljust(SECTOR, b"\0"))
