"""Hashes of keys, as the index file keeps them. Standard: `IndexFile.indexKeyHashMethod`."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence
from itertools import repeat
from operator import mul
from typing import Final

from mqgateway.engine.extension import native
from mqgateway.engine.message import hash_behind, java_hash
from mqgateway.engine.unique_keys import UNIQUE_KEY_LENGTHS

_CODES_MAX: Final = 4096
UNIQUE_KEY_REST: Final = 12
"""Characters at the end of a unique key in which those of one producer differ; see `UniqueKeys`."""
_REST_POWER: Final = 31**UNIQUE_KEY_REST
_REST_WEIGHTS: Final = [31**place for place in range(UNIQUE_KEY_REST - 1, -1, -1)]
_STEM_REST: Final = 4
"""Characters in which those mostly differ that were made one after another."""
_STEM_POWER: Final = 31**_STEM_REST


def _positive(value: int) -> int:
    """Java's `Math.abs` of a hash, and 0 for the one number that has no positive counterpart."""
    return value if value < 0x80000000 else 0x100000000 - value & 0x7FFFFFFF


class KeyHashes:
    """Hashes of `topic#key` as the index uses them: never negative.

    The part for the topic, also with the head of a unique key that all messages of one producer share, and
    whole hashes of tags are remembered; each table is emptied when it is full.
    """

    def __init__(self) -> None:
        self._topics: dict[str, int] = {}
        self._heads: dict[tuple[str, bytes], int] = {}
        self._tags: dict[tuple[str, str], int] = {}

    def of_key(self, topic: str, key: str) -> int:
        """Hash of `topic#key`. Standard: `IndexFile.indexKeyHashMethod`."""
        if native is not None:
            hashed = native.key_hash(self._of_topic(topic), key)
            if hashed >= 0:
                return hashed
        if key.isascii():
            return self.of_bytes(topic, key.encode())
        return _positive(java_hash(f"{topic}#{key}") & 0xFFFFFFFF)

    def of_bytes(self, topic: str, key: bytes) -> int:
        """Hash `topic#key` for a key of ASCII characters."""
        if native is not None:
            return native.key_hashes(self._of_topic(topic), (key,))[0]
        if len(key) not in UNIQUE_KEY_LENGTHS:
            return _positive(hash_behind(self._of_topic(topic), key))
        head, rest = self._of_head(topic, key[:-UNIQUE_KEY_REST]), key[-UNIQUE_KEY_REST:]
        return _positive((head * _REST_POWER + sum(map(mul, rest, _REST_WEIGHTS))) & 0xFFFFFFFF)

    def of_unique_keys(self, topic: str, keys: Sequence[bytes]) -> list[int]:
        """As `of_bytes` for each of keys of one of `UNIQUE_KEY_LENGTHS`, all of the same."""
        if native is not None:
            return native.key_hashes(self._of_topic(topic), keys)
        row = f"{len(keys[0]) - _STEM_REST}s{_STEM_REST}B"
        stems, *units = zip(*struct.iter_unpack(row, b"".join(keys)), strict=True)
        if stems.count(stems[0]) == len(stems):
            values: Iterable[int] = repeat(self._of_stem(topic, stems[0]))
        else:
            values = [self._of_stem(topic, stem) for stem in stems]
        return [
            hashed
            if (hashed := (value + 29791 * one + 961 * two + 31 * three + four) & 0xFFFFFFFF) < 0x80000000
            else 0x100000000 - hashed & 0x7FFFFFFF  # as `_positive`
            for value, one, two, three, four in zip(values, *units, strict=False)
        ]

    def _of_stem(self, topic: str, stem: bytes) -> int:
        """Return what the part of a unique key before its last characters adds to the hash."""
        head = self._of_head(topic, stem[: _STEM_REST - UNIQUE_KEY_REST])
        return hash_behind(head, stem[_STEM_REST - UNIQUE_KEY_REST :]) * _STEM_POWER

    def _of_head(self, topic: str, head: bytes) -> int:
        value = self._heads.get((topic, head))
        if value is None:
            if len(self._heads) >= _CODES_MAX:
                self._heads.clear()
            value = self._heads[topic, head] = hash_behind(self._of_topic(topic), head)
        return value

    def _of_topic(self, topic: str) -> int:
        value = self._topics.get(topic)
        if value is None:
            if len(self._topics) >= _CODES_MAX:
                self._topics.clear()
            value = self._topics[topic] = java_hash(topic + "#") & 0xFFFFFFFF
        return value

    def of_tags(self, topic: str, tags: str) -> int:
        """Hash of `topic#T#tags`."""
        value = self._tags.get((topic, tags))
        if value is None:
            if len(self._tags) >= _CODES_MAX:
                self._tags.clear()
            value = self._tags[topic, tags] = self.of_key(topic, "T#" + tags)
        return value
