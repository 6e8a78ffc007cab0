"""Tables of other brokers, kept for a few seconds: each letter of a search asks for the list again. Pure."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

FRESH_SECONDS = 5.0


class TableCache:
    """Tables by a key, such as the kind of the table and the address of its broker.

    Failures are kept as long as tables: a broker that does not answer costs one timeout, not one for each
    letter of a search.
    """

    def __init__(self, monotonic: Callable[[], float]) -> None:
        self._monotonic = monotonic
        self._outcomes: dict[tuple[str, str], tuple[float, Any, Exception | None]] = {}

    async def get(
        self,
        key: tuple[str, str],
        read: Callable[[], Awaitable[Any]],
        failures: tuple[type[Exception], ...] = (),
    ) -> Any:
        """Return a table that is at most `FRESH_SECONDS` old.

        Raises what `read` raises, which fetches it. Errors of the types `failures` are kept.
        """
        now = self._monotonic()
        for known, (since, _, _) in list(self._outcomes.items()):
            if now - since >= FRESH_SECONDS:
                del self._outcomes[known]
        if key not in self._outcomes:
            try:
                self._outcomes[key] = now, await read(), None
            except failures as error:
                self._outcomes[key] = self._monotonic(), None, error
        _, table, failure = self._outcomes[key]
        if failure is not None:
            raise failure
        return table
