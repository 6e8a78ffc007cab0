"""The newest offset of each key, in bounded memory.

A table of slots with linear probing: 16 bytes of a hash of the key, and 8 of the offset. Hashes of two keys
are taken to differ. Kafka: `SkimpyOffsetMap`.
"""

from __future__ import annotations

from array import array
from hashlib import blake2b
from typing import Final

HASH_SIZE: Final = 16
SLOT_SIZE: Final = HASH_SIZE + 8
LOAD_MAX: Final = 0.75
"""Part of the slots that are used at most, so that searches stay short."""
NONE: Final = -1


def slots_for(keys: int) -> int:
    """Return how many slots a map of so many keys has."""
    return int(keys / LOAD_MAX) + 2


class OffsetMap:
    """A map of at most `capacity` keys; it takes `SLOT_SIZE` bytes for each slot from the start."""

    def __init__(self, slots: int) -> None:
        self.capacity = int(slots * LOAD_MAX)
        self._slots = slots
        self._hashes = bytearray(slots * HASH_SIZE)
        self._offsets = array("q", [NONE]) * slots
        self._count = 0

    def __len__(self) -> int:
        return self._count

    @property
    def room(self) -> int:
        """The number of further keys that fit."""
        return self.capacity - self._count

    def put(self, key: bytes | memoryview, offset: int) -> None:
        """Set the offset of a key. There must be room for it."""
        digest = blake2b(key, digest_size=HASH_SIZE).digest()
        slot = self._find(digest)
        if self._offsets[slot] == NONE:
            self._hashes[slot * HASH_SIZE : (slot + 1) * HASH_SIZE] = digest
            self._count += 1
        self._offsets[slot] = offset

    def get(self, key: bytes | memoryview) -> int:
        """Return the offset of a key, -1 for an unknown one."""
        return self._offsets[self._find(blake2b(key, digest_size=HASH_SIZE).digest())]

    def _find(self, digest: bytes) -> int:
        """Return the slot that has a hash, or the free one where it belongs."""
        slots, hashes, offsets = self._slots, self._hashes, self._offsets
        slot = int.from_bytes(digest[:8], "big") % slots
        while offsets[slot] != NONE and hashes[slot * HASH_SIZE : (slot + 1) * HASH_SIZE] != digest:
            slot = (slot + 1) % slots
        return slot
