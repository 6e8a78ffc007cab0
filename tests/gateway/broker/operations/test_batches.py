"""Record batches through operations: appended, read at once, waited for, and refused."""

from __future__ import annotations

import mmap
from pathlib import Path
from typing import Any

import pytest
from twisted.internet.defer import Deferred

from mqgateway.engine.ha.role import RoleKind
from mqgateway.engine.real_disk import RealDisk
from mqgateway.engine.record_batches.batches import Batch
from mqgateway.gateway.broker.cold import ROUNDS
from mqgateway.gateway.broker.operations import (
    Appended,
    BatchTooLarge,
    OperationError,
    ReadBatches,
    ReadPosition,
    Reason,
    Use,
)
from mqgateway.gateway.broker.operations.batches import READ_AT_ONCE
from tests.support.engine.store.kafka_batches import kafka_batch, with_place
from tests.support.gateway.broker.cold import ColdStore
from tests.support.gateway.broker.operating import OperatedBroker
from tests.support.gateway.broker.producing import later, outcome_of

KAFKA = {"queue.type": "BatchCQ", "message.format": "kafka"}


class Scene(OperatedBroker):
    """A broker with topic T of RocketMQ and topic K of Kafka."""

    def __init__(self, **given: Any) -> None:
        super().__init__(**given)
        self.memory.add_topic("K", queues=1)
        config = self.broker.tables.topics.get("K")
        assert config is not None
        config.attributes.update(KAFKA)

    def append(self, data: bytes, topic: str = "K", *, is_all: bool = False) -> Appended:
        batches = self.operations.batches
        batch = Batch(memoryview(data))
        return outcome_of(batches.append(self.permit(Use.SEND), topic, 0, batch, is_all=is_all))

    def fetch(
        self, offset: int, topic: str = "K", wait: int = 0, min_bytes: int = 1
    ) -> list[ReadBatches] | Deferred[list[ReadBatches]]:
        positions = [ReadPosition(topic, 0, offset, 1 << 20)]
        return self.operations.batches.fetch(self.permit(Use.PULL), positions, min_bytes, 1 << 20, wait)


def test_appended_batch_is_read_whole_with_its_offset() -> None:
    scene = Scene()
    data = kafka_batch(b"a", b"b")
    assert scene.append(data) == Appended(0, -1, 0)
    assert scene.append(data, is_all=True).base_offset == 2
    (found,) = outcome_of(scene.fetch(3))
    assert [bytes(span) for span in found.spans] == [with_place(data, 2, 0)]
    assert found.ends == (0, 4, 4)


def test_batch_for_a_topic_of_rocketmq_becomes_messages() -> None:
    scene = Scene()
    scene.append(kafka_batch(b"a", b"b"), "T")
    assert scene.bodies("T") == [b"a", b"b"]
    (found,) = outcome_of(scene.fetch(0, "T"))
    assert bytes(found.spans[0]) == with_place(kafka_batch(b"a", b"b"), 0, 0)


def test_fetch_at_the_end_waits_for_enough_bytes() -> None:
    """Bytes of records are counted, heads included, so that two batches of 75 bytes are enough for 225."""
    scene = Scene()
    data = kafka_batch(b"a")
    arrived = later(scene.fetch(0, wait=5000, min_bytes=len(data) * 3))
    scene.append(data)
    assert arrived == []
    scene.append(data)
    assert len(arrived[0][0].spans) == 2


@pytest.mark.parametrize("offset", [-1, 5])
def test_offset_out_of_range_is_answered_at_once(offset: int) -> None:
    (found,) = outcome_of(Scene().fetch(offset, wait=5000))
    assert found.is_out_of_range and not found.spans


@pytest.mark.parametrize("offset", [-1, 5])
def test_offset_that_only_the_master_may_have_is_refused(offset: int) -> None:
    """A broker that has just started under a controller has less than its clients have read."""
    scene = Scene()
    scene.broker.role.become(RoleKind.FENCED)
    (found,) = outcome_of(scene.fetch(offset))
    assert not found.is_out_of_range
    assert found.error is not None and found.error.reason is Reason.NOT_LEADER_FOR_QUEUE


@pytest.mark.parametrize("count", [1, READ_AT_ONCE + 1])
def test_fetch_waits_for_bytes_that_are_not_in_memory(monkeypatch: pytest.MonkeyPatch, count: int) -> None:
    """Once something was read, the rest is left to the next request."""
    scene = Scene()
    scene.append(kafka_batch(b"a"))
    cold = ColdStore(scene.broker.store, monkeypatch, ROUNDS + 1)
    positions = [ReadPosition("K", 0, 2, 1 << 20)] + [ReadPosition("K", 0, 0, 1 << 20)] * count
    arrived = later(scene.operations.batches.fetch(scene.permit(Use.PULL), positions, 1, 1 << 20, 0))
    assert arrived == [] and cold.bring() == ROUNDS
    assert cold.waits
    cold.times = 1
    again = later(scene.operations.batches.fetch(scene.permit(Use.PULL), positions, 1, 1 << 20, 0))
    assert cold.bring() == 1
    for [found] in (arrived, again):
        assert found[0].is_out_of_range
        assert [len(one.spans) for one in found[1:]] == [1] * count


@pytest.mark.parametrize(("count", "may_borrow"), [(1, True), (1, False), (READ_AT_ONCE + 1, True)])
def test_spans_are_borrowed_only_of_reads_that_are_made_at_once(
    tmp_path: Path, count: int, may_borrow: bool
) -> None:
    scene = Scene(disk=RealDisk(), store_options={"store_path_root_dir": str(tmp_path)})
    data = kafka_batch(bytes(5000))
    scene.append(data)
    batches, positions = scene.operations.batches, [ReadPosition("K", 0, 0, 1 << 20)] * count
    outcome = batches.fetch(scene.permit(Use.PULL), positions, 1, 1 << 20, 0, may_borrow=may_borrow)
    [span] = (later(outcome)[0] if isinstance(outcome, Deferred) else outcome)[0].spans
    assert (type(span) is memoryview and isinstance(span.obj, mmap.mmap)) == (may_borrow and count == 1)
    assert span == with_place(data, 0, 0)


def test_unknown_topic_is_an_error_of_its_position() -> None:
    (found,) = outcome_of(Scene().fetch(0, "Gone", wait=5000))
    assert found.error is not None and found.error.reason is Reason.TOPIC_NOT_EXIST


def test_batch_that_is_too_large_is_refused() -> None:
    scene = Scene()
    with pytest.raises(BatchTooLarge, match="maxMessageSize"):
        scene.append(kafka_batch(bytes(5 << 20)))
    with pytest.raises(OperationError):
        scene.append(kafka_batch(b"a"), "Gone")
