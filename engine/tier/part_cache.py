"""Parts of a tier in memory, within a limit of bytes: those that were used last stay."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable
from typing import Protocol


class Weighted(Protocol):
    """Something that takes memory."""

    @property
    def weight(self) -> int:
        """Bytes of memory that it takes."""


class PartCache:
    """A cache of `most` bytes. One part stays, whatever its size."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._parts: OrderedDict[Hashable, Weighted] = OrderedDict()
        self.weight = 0

    def get(self, key: Hashable) -> Weighted | None:
        """Return a part, or None if it is not in memory."""
        found = self._parts.get(key)
        if found is not None:
            self._parts.move_to_end(key)
        return found

    def __contains__(self, key: Hashable) -> bool:
        return key in self._parts

    def put(self, key: Hashable, part: Weighted) -> None:
        """Keep a part, and drop those that were used longest ago beyond the limit."""
        known = self._parts.pop(key, None)
        self.weight += part.weight - (0 if known is None else known.weight)
        self._parts[key] = part
        while self.weight > self._most and len(self._parts) > 1:
            _, dropped = self._parts.popitem(last=False)
            self.weight -= dropped.weight

    def clear(self) -> None:
        """Drop all parts."""
        self._parts.clear()
        self.weight = 0
