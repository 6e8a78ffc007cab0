"""Drivers that commit, repeat, die and come back."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from mqgateway.pipeline.errors import SinkError
from mqgateway.pipeline.verdicts import Transaction, Verdict, Verdicts
from tests.fuzz.world import BROKER_PORT
from tests.support.gateway.client.cluster import requests_seen
from tests.support.gateway.client.facing import faced
from tests.support.pipeline.transactions import World, ends

BATCH = Transaction("q", 0)
ROWS = ["0", "1", "2", "3", "4", "5"]


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    with faced(monkeypatch) as cluster:
        cluster.make_topic("T", queues=4)
        yield World(cluster)


def test_a_batch_is_seen_when_it_is_committed(world: World) -> None:
    places = world.sent(ROWS[:3]) + world.sent(ROWS[3:])
    assert world.visible() == []
    with world.driver() as driver:
        driver.commit(BATCH, places)
    assert world.visible() == ROWS and world.open_halves == 0
    assert world.folder.names() == ["q.0.done"]


def test_a_batch_that_is_aborted_is_gone(world: World) -> None:
    places = world.sent(ROWS)
    with world.driver() as driver:
        driver.abort(BATCH, places)
    assert world.visible() == [] and world.open_halves == 0 and world.folder.names() == []


def test_a_batch_without_rows_leaves_no_trace(world: World) -> None:
    with world.driver() as driver:
        driver.commit(BATCH, ())
    assert world.folder.names() == []


def test_a_driver_that_died_before_it_decided(world: World) -> None:
    """Its rows stay half; those of the repetition are the batch."""
    world.sent(ROWS)
    with world.driver() as driver:
        driver.commit(BATCH, world.sent(ROWS))
    assert world.visible() == ROWS and world.open_halves == len(ROWS)


class Died(Exception):
    """The end of a driver."""


class DyingVerdicts(Verdicts):
    """Never comes to write that it is done."""

    def write(self, verdict: Verdict) -> None:
        if verdict.is_done:
            raise Died
        super().write(verdict)


@pytest.mark.parametrize("left_before", [0, 1, len(ROWS)])
def test_driver_that_died_while_it_notified_brokers(world: World, left_before: int) -> None:
    """The next driver resumes with the same messages, sends no end twice, and rolls the repetition back."""
    places = world.sent(ROWS)
    with world.driver() as driver:
        left, notify = [left_before], driver._ending._send_end

        async def mortal(*args: Any) -> None:
            left[0] -= 1
            if left[0] < 0:
                raise Died
            await notify(*args)

        driver._verdicts = DyingVerdicts(world.folder)
        driver._ending._send_end = mortal  # type: ignore[method-assign]
        with pytest.raises(Died):
            driver.commit(BATCH, places)
    assert world.folder.names() == ["q.0.open"] and len(world.visible()) == left_before
    repeated = world.sent(ROWS)
    seen = requests_seen(world.cluster)
    with world.driver() as driver:
        driver.commit(BATCH, repeated)
    assert world.visible() == ROWS and world.open_halves == 0
    assert ends(seen) == len(ROWS) - left_before + len(ROWS)
    assert world.folder.names() == ["q.0.done"]


def test_a_driver_that_died_before_spark_noted_the_batch(world: World) -> None:
    for _ in range(3):
        with world.driver() as driver:
            driver.commit(BATCH, world.sent(ROWS))
        assert world.folder.names() == ["q.0.done"]
        world.folder.write("q.0.open", b"what a crash between two files leaves")
    assert world.visible() == ROWS and world.open_halves == 0


def test_a_commit_that_fails_is_not_rolled_back(world: World) -> None:
    """Spark aborts a batch whose commit failed; what it decided stays."""
    places = world.sent(ROWS)
    with world.driver() as driver:
        world.cluster.cut(BROKER_PORT)
        with pytest.raises(SinkError, match="transaction q/0: the half message"):
            driver.commit(BATCH, places)
        world.cluster.mend(BROKER_PORT)
        driver.abort(BATCH, places)
    assert world.visible() == [] and world.open_halves == len(ROWS)
    with world.driver() as driver:
        driver.commit(BATCH, world.sent(ROWS))
    assert world.visible() == ROWS and world.open_halves == 0


def test_batches_follow_one_another(world: World) -> None:
    for batch, row in enumerate(ROWS):
        with world.driver() as driver:
            driver.commit(Transaction("q", batch), world.sent([row], batch))
    assert world.visible() == ROWS
    assert sorted(world.folder.names()) == ["q.4.done", "q.5.done"]
