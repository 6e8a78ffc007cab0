"""Sizes of queues of both kinds; `gateway/kafka/api/test_log_dirs` has them as clients see them."""

from __future__ import annotations

from mqgateway.gateway.broker.operations import Use
from mqgateway.gateway.client.message import Message
from tests.support.gateway.broker.operating import OperatedBroker
from tests.support.gateway.kafka.client import kafka_scene


def test_sizes_are_those_of_the_records() -> None:
    with kafka_scene() as scene:
        scene.server.create_topic("a", queues=1)
        producer = scene.hands.producer()
        for _ in range(3):
            scene.hands.send(producer, Message("a", bytes(1000)))
        storage = scene.operations.storage
        permit = scene.operations.gate.internal(Use.QUERY)
        sizes = scene.hands.loop.call(storage.sizes, permit, [("a", 0), ("a", 1), ("none", 0)])
        assert 3000 < sizes[0] < 4000 and sizes[1:] == [0, 0]
        total, free = storage.usage()
        assert total >= free > 0 and storage.folder


def test_log_is_described_with_its_files() -> None:
    operated = OperatedBroker(store_options={"mapped_file_size_commit_log": 4096})
    storage = operated.operations.storage
    for _ in range(9):
        operated.send(b"x" * 500)
    state = storage.state()
    assert state.segment_count == 3 and state.segment_size == 4096
    assert state.folders == ("/store/commitlog", "/store/consumequeue")
    assert (state.refusal, storage.sickness, state.damaged) == ("", "", {})
    assert state.positions.end == operated.operations.administration.figures().log_end
    assert storage.segments() == [0, 4096, 8192]
    first, last = storage.segment(0), storage.segment(8192)
    assert (first.start, first.used, first.is_last, first.is_dispatched) == (0, 4096, False, True)
    assert last.is_last and last.used == state.positions.end - 8192 and not last.is_flushed
    assert storage.capacity() == operated.broker.environment.disk.capacity("/store")


def test_fault_of_the_disk_is_reported() -> None:
    operated = OperatedBroker()
    operated.broker.store.disk_settled("no space left")
    storage = operated.operations.storage
    assert "no space left" in storage.sickness and storage.state().refusal == storage.sickness
