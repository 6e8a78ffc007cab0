"""Markers that are written until every partition has one."""

from __future__ import annotations

import pytest
from twisted.internet.defer import Deferred, fail, succeed

from mqgateway.engine.steps import Steps, run
from mqgateway.gateway.kafka.transactions.completion import AT_ONCE, TxnCompletion
from mqgateway.gateway.kafka.transactions.status import TopicPartition, TxnState, TxnStatus
from mqgateway.gateway.kafka.transactions.table import TxnEntry
from tests.support.gateway.kafka.groups import end_with
from tests.support.gateway.kafka.txn_coordinator import MarkersInMemory, places


class Scene:
    """A completion with markers in memory; `held` has tasks that were not run yet."""

    def __init__(self) -> None:
        self.markers = MarkersInMemory()
        self.finished: list[str] = []
        self.refuses_end = False
        self.tasks = 0
        self.completion = TxnCompletion(self.markers, self._run_steps, self._finish)

    def _run_steps(self, steps: Steps[Deferred[None] | None]) -> Deferred[None]:
        self.tasks += 1
        done: Deferred[None] = Deferred()
        end_with(run(steps), done)
        return done

    def _finish(self, entry: TxnEntry) -> Deferred[None]:
        if self.refuses_end:
            return fail(RuntimeError("the log is full"))
        self.finished.append(entry.id)
        return succeed(None)

    def start(self, *partitions: TopicPartition) -> TxnEntry:
        """Start with a transaction of these partitions."""
        status = TxnStatus(7, 3, 1000, TxnState.PREPARE_COMMIT, 5, partitions=frozenset(partitions))
        entry = TxnEntry("t", status)
        self.completion.start(entry)
        return entry


@pytest.mark.parametrize("count", [0, 1, AT_ONCE, AT_ONCE + 1, 100])
def test_every_partition_gets_the_marker_and_the_transaction_ends(count: int) -> None:
    scene = Scene()
    wanted = places("a", range(count))
    scene.start(*wanted)
    assert scene.finished == ["t"] and len(scene.completion) == 0
    assert {place for place, *_ in scene.markers.written} == set(wanted)
    assert all((producer, commit) == ((7, 3), True) for _, producer, commit in scene.markers.written)
    assert scene.tasks == (count > AT_ONCE)


def test_only_what_failed_is_tried_again_and_reported_once(caplog: pytest.LogCaptureFixture) -> None:
    scene = Scene()
    good, broken = places("a", range(2))
    scene.markers.broken = {broken}
    scene.start(good, broken)
    for _ in range(3):
        scene.completion.retry()
    assert not scene.finished and scene.markers.of(good) == [((7, 3), True)]
    scene.markers.broken = set()
    scene.completion.retry()
    assert scene.finished == ["t"] and scene.markers.of(good) == scene.markers.of(broken)
    assert caplog.text.count("1 partitions lack their marker") == 1


def test_end_that_is_not_recorded_is_tried_again_without_markers() -> None:
    scene = Scene()
    scene.refuses_end = True
    [place] = places("a", [0])
    scene.start(place)
    scene.refuses_end = False
    scene.completion.retry()
    assert scene.finished == ["t"] and len(scene.markers.written) == 1


def test_transaction_that_was_forgotten_meanwhile_is_not_ended() -> None:
    scene = Scene()
    scene.markers.held = []
    scene.start(*places("a", [0]))
    scene.completion.retry()
    assert len(scene.markers.written) == 1
    scene.completion.clear()
    scene.markers.held[0].callback(None)
    assert not scene.finished
