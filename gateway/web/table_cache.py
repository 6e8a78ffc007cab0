"""Tables of other brokers, kept for a few seconds: each letter of a search asks for the list again. Pure."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

FRESH_SECONDS = 5.0


class TableCache:
    """Tables by a key, such as the kind of the table and the address of its broker."""

    def __init__(self, monotonic: Callable[[], float]) -> None:
        self._monotonic = monotonic
        self._tables: dict[tuple[str, str], tuple[float, Any]] = {}

    async def get(self, key: tuple[str, str], read: Callable[[], Awaitable[Any]]) -> Any:
        """Return a table that is at most `FRESH_SECONDS` old. Raises what `read` raises, which fetches it."""
        now = self._monotonic()
        for known, (since, _) in list(self._tables.items()):
            if now - since >= FRESH_SECONDS:
                del self._tables[known]
        if key not in self._tables:
            table = await read()
            self._tables[key] = now, table
            return table
        return self._tables[key][1]
