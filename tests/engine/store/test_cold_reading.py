"""Cold reads of cooperative tasks: loads, repeated attempts, and the wait for the disk at last."""

from __future__ import annotations

import pytest

from mqgateway.engine.steps import run
from mqgateway.engine.store.cold import ColdRead
from mqgateway.engine.store.cold_reading import ROUNDS, read_in_steps


@pytest.mark.parametrize("cold_attempts", [0, 1, ROUNDS - 1])
def test_attempt_is_repeated_after_each_load(cold_attempts: int) -> None:
    loaded: list[ColdRead] = []

    def attempt(may_wait: bool) -> str:
        assert not may_wait
        if len(loaded) < cold_attempts:
            raise ColdRead(0, [])
        return "found"

    assert run(read_in_steps(attempt, loaded.append)) == "found"
    assert len(loaded) == cold_attempts


def test_last_attempt_waits_for_the_disk() -> None:
    loaded: list[ColdRead] = []

    def attempt(may_wait: bool) -> str:
        if not may_wait:
            raise ColdRead(0, [])
        return "read"

    assert run(read_in_steps(attempt, loaded.append)) == "read"
    assert len(loaded) == ROUNDS
