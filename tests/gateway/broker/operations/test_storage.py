"""Sizes of queues of both kinds; `gateway/kafka/api/test_log_dirs` has them as clients see them."""

from __future__ import annotations

import pytest
from twisted.internet.defer import Deferred

from mqgateway.engine.steps import Steps
from mqgateway.engine.store.cold import ColdRead
from mqgateway.engine.store.cold_reading import ColdReading
from mqgateway.gateway.broker.broker import Broker
from mqgateway.gateway.broker.cold import ROUNDS
from mqgateway.gateway.broker.operations import Use, storage
from mqgateway.gateway.client.message import Message
from tests.support.gateway.broker.operating import OperatedBroker
from tests.support.gateway.broker.producing import later
from tests.support.gateway.kafka.client import kafka_scene


def test_sizes_are_those_of_the_records() -> None:
    with kafka_scene() as scene:
        scene.server.create_topic("a", queues=1)
        producer = scene.hands.producer()
        for _ in range(3):
            scene.hands.send(producer, Message("a", bytes(1000)))
        sizing = scene.operations.storage
        permit = scene.operations.gate.internal(Use.QUERY)
        sizes = scene.hands.loop.call(sizing.sizes, permit, [("a", 0), ("a", 1), ("none", 0)])
        assert 3000 < sizes[0] < 4000 and sizes[1:] == [0, 0]
        total, free = sizing.usage()
        assert total >= free > 0 and sizing.folder


@pytest.mark.parametrize("loads", [1, ROUNDS])
def test_sizes_wait_for_units_that_a_worker_loads(monkeypatch: pytest.MonkeyPatch, loads: int) -> None:
    """Counting continues where it was, and waits for the disk after too many loads."""
    operated = OperatedBroker()
    attempts: list[bool] = []
    loading: list[Deferred[None]] = []

    def size(_topic: str, queue_id: int, reading: ColdReading) -> Steps[int]:
        def attempt(may_wait: bool) -> int:
            attempts.append(may_wait)
            if queue_id == 1 and not may_wait and len(loading) < loads:
                raise ColdRead(0, [])
            return queue_id

        return (yield from reading(attempt))

    def brought(_broker: Broker, _cold: ColdRead) -> Deferred[None]:
        loading.append(Deferred())
        return loading[-1]

    monkeypatch.setattr(operated.broker.store.sizes, "size", size)
    monkeypatch.setattr(storage, "brought", brought)
    queues = [("T", 0), ("T", 1), ("T", 2)]
    arrived = later(operated.operations.storage.sizes(operated.permit(Use.QUERY), queues))
    for number in range(loads):
        assert (arrived, len(loading)) == ([], number + 1)
        loading[-1].callback(None)
    assert arrived == [[0, 1, 2]]
    assert attempts == [False] * (loads + 1) + [loads == ROUNDS, False]


def test_log_is_described_with_its_files() -> None:
    operated = OperatedBroker(store_options={"mapped_file_size_commit_log": 4096})
    stored = operated.operations.storage
    for _ in range(9):
        operated.send(b"x" * 500)
    state = stored.state()
    assert state.segment_count == 3 and state.segment_size == 4096
    assert state.folders == ("/store/commitlog", "/store/consumequeue")
    assert (state.refusal, stored.sickness, state.damaged) == ("", "", {})
    assert state.positions.end == operated.operations.administration.figures().log_end
    assert stored.segments() == [0, 4096, 8192]
    first, last = stored.segment(0), stored.segment(8192)
    assert (first.start, first.used, first.is_last, first.is_dispatched) == (0, 4096, False, True)
    assert last.is_last and last.used == state.positions.end - 8192 and not last.is_flushed


def test_fault_of_the_disk_is_reported() -> None:
    operated = OperatedBroker()
    operated.broker.store.disk_settled("no space left")
    stored = operated.operations.storage
    assert "no space left" in stored.sickness and stored.state().refusal == stored.sickness
