"""Parts of queues that are read for a copy, and appended to one."""

from __future__ import annotations

from typing import Any

import pytest
from twisted.internet.defer import Deferred

from mqgateway.gateway.broker.cold import ROUNDS
from mqgateway.gateway.broker.operations import NotCopied, OperationError, Reason, Use, copy_problem
from tests.gateway.broker.operations.test_batches import Scene
from tests.support.engine.store.kafka_batches import kafka_batch, read_all, with_place
from tests.support.gateway.broker.cold import ColdStore
from tests.support.gateway.broker.producing import later

AT_ONCE = 1 << 20


def part(scene: Scene, offset: int = 0, max_bytes: int = AT_ONCE, topic: str = "K") -> Deferred[Any]:
    """Read a part of queue 0."""
    return scene.operations.batches.read_part(scene.permit(Use.PULL), topic, 0, offset, max_bytes)


def append(scene: Scene, data: bytes) -> int:
    """Append a part to queue 0 of K; return its end."""
    return scene.operations.batches.append_part(scene.permit(Use.SEND), "K", 0, data)


def refused(scene: Scene, **given: Any) -> str:
    """Return why a part cannot be copied."""
    with pytest.raises(NotCopied) as error:
        part(scene, **given)
    return error.value.message


def test_copy_has_the_bytes_of_its_original() -> None:
    source, target = Scene(), Scene()
    sent = [kafka_batch(b"a", b"b"), kafka_batch(b"c", producer_id=7, producer_epoch=0, base_sequence=0)]
    for data in sent:
        source.append(data)
    [first] = later(part(source, max_bytes=1))
    [second] = later(part(source, 2))
    assert first.data == with_place(sent[0], 0, 0) and first.ends == second.ends == (0, 3, 3)
    assert (append(target, first.data), append(target, second.data)) == (2, 3)
    assert [bytes(one.data) for one in read_all(target.broker.store, "K")] == [first.data, second.data]
    with pytest.raises(OperationError):
        append(target, second.data)


def test_part_at_the_end_has_no_batches() -> None:
    scene = Scene()
    scene.append(kafka_batch(b"a"))
    [found] = later(part(scene, 1))
    assert found.data == b"" and found.ends.high_watermark == 1


def test_part_waits_for_bytes_that_are_not_in_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    scene = Scene()
    scene.append(kafka_batch(b"a"))
    cold = ColdStore(scene.broker.store, monkeypatch, 1)
    found = later(part(scene))
    assert found == [] and cold.bring() == 1 <= ROUNDS
    assert len(found) == 1 and found[0].data == with_place(kafka_batch(b"a"), 0, 0)


def test_copy_that_is_ahead_of_its_original_is_refused() -> None:
    assert "ends at 0, not at 5" in refused(Scene(), offset=5)


def test_topics_that_cannot_be_copied_are_refused() -> None:
    scene = Scene()
    assert "was not made by a Kafka client" in refused(scene, topic="T")
    config = scene.broker.tables.topics.get("K")
    assert config is not None and copy_problem(config) is None
    for policy in ("compact", "compact,delete"):
        config.attributes["kafka.cleanup.policy"] = policy
        assert "is compacted" in refused(scene)


def test_damaged_part_is_refused() -> None:
    scene = Scene()
    data = with_place(kafka_batch(b"abc"), 0, 0)
    for wrong in (data[:-1] + b"x", data[:-1], b"x"):
        with pytest.raises(NotCopied) as error:
            append(scene, wrong)
        assert error.value.reason is Reason.MESSAGE_ILLEGAL
    assert scene.broker.store.max_offset("K", 0) == 0
