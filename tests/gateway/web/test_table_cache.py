"""Tables that are fetched once within a few seconds."""

from __future__ import annotations

import pytest
from twisted.internet.defer import Deferred
from twisted.python.failure import Failure

from mqgateway.gateway.web.table_cache import FRESH_SECONDS, TableCache


class World:
    """A cache, whose clock is set by hand, and the number of fetches."""

    def __init__(self) -> None:
        self.now = 100.0
        self.fetches = 0
        self.cache = TableCache(lambda: self.now)
        self.error: Exception | None = None

    def get(self, key: tuple[str, str] = ("topics", "h:1"), *kept: type[Exception]) -> object:
        """Return a table, or its failure. Failures of the types `kept` are kept."""

        async def read() -> int:
            self.fetches += 1
            if self.error is not None:
                raise self.error
            return self.fetches

        found: list[object] = []
        Deferred.fromCoroutine(self.cache.get(key, read, kept)).addBoth(found.append)
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


def test_broker_that_does_not_answer_is_asked_once_within_a_few_seconds() -> None:
    world = World()
    world.error = ValueError("no answer")
    key = ("topics", "h:1")
    for _ in range(2):
        failure = world.get(key, ValueError)
        assert isinstance(failure, Failure) and failure.value is world.error
    assert world.fetches == 1
    world.error = None
    world.now += FRESH_SECONDS
    assert world.get(key, ValueError) == 2


def test_other_failure_is_not_kept() -> None:
    world = World()
    world.error = ValueError("no answer")
    world.get()
    world.error = None
    assert world.get() == 2
