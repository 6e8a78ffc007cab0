"""Tables that are fetched once within a few seconds."""

from __future__ import annotations

import pytest
from twisted.internet.defer import Deferred

from mqgateway.gateway.web.table_cache import FRESH_SECONDS, TableCache


class World:
    """A cache, whose clock is set by hand, and the number of fetches."""

    def __init__(self) -> None:
        self.now = 100.0
        self.fetches = 0
        self.cache = TableCache(lambda: self.now)
        self.error: Exception | None = None

    def get(self, key: tuple[str, str] = ("topics", "h:1")) -> object:
        """Return a table, or raise its error."""

        async def read() -> int:
            self.fetches += 1
            if self.error is not None:
                raise self.error
            return self.fetches

        found: list[object] = []
        Deferred.fromCoroutine(self.cache.get(key, read)).addBoth(found.append)
        [table] = found
        return table


def test_table_is_fetched_again_when_it_is_stale() -> None:
    world = World()
    assert (world.get(), world.get()) == (1, 1)
    world.now += FRESH_SECONDS - 0.1
    assert world.get() == 1
    world.now += 0.1
    assert world.get() == 2


@pytest.mark.parametrize("key", [("groups", "h:1"), ("topics", "h:2")])
def test_tables_of_other_keys_are_fetched_themselves(key: tuple[str, str]) -> None:
    world = World()
    assert (world.get(), world.get(key)) == (1, 2)


def test_failure_is_not_kept() -> None:
    world = World()
    world.error = ValueError("no answer")
    world.get()
    world.error = None
    assert world.get() == 2
