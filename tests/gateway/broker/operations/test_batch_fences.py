"""Fences of queues whose partitions move, at masters that restart and follow one another."""

from __future__ import annotations

from typing import Any

import pytest

from mqgateway.engine.options import FlushDiskType
from mqgateway.engine.producers.fences import NOT_FENCED
from mqgateway.engine.record_batches.batches import Batch
from mqgateway.gateway.broker.operations import OperationError, Reason, Use
from tests.support.engine.store.kafka_batches import kafka_batch
from tests.support.gateway.broker.producing import later
from tests.support.gateway.kafka.cluster import KafkaCluster


def fence(cluster: KafkaCluster, at: str, topic: str, number: int = 0) -> list[Any]:
    """Fence queue 0 of a topic; return the list that gets its end."""
    operations = cluster.operations(at)
    permit = operations.gate.internal(Use.SEND)
    return later(operations.batches.fence(permit, topic, 0, number))


def append(cluster: KafkaCluster, at: str, topic: str) -> int:
    """Append a batch to queue 0 of a topic; return its offset."""
    operations = cluster.operations(at)
    batch = Batch(memoryview(kafka_batch(b"a")))
    appended = operations.batches.append(operations.gate.internal(Use.SEND), topic, 0, batch, is_all=False)
    return int(appended.base_offset)  # type: ignore[union-attr]


def refusal(cluster: KafkaCluster, at: str, topic: str) -> Reason:
    """Return why a batch is refused."""
    with pytest.raises(OperationError, match="its partition moves to another group") as refused:
        append(cluster, at, topic)
    return refused.value.reason


@pytest.fixture
def cluster() -> KafkaCluster:
    """Return a cluster of two groups."""
    return KafkaCluster(("a", "b"))


def test_fenced_queue_takes_no_batches(cluster: KafkaCluster) -> None:
    topic = cluster.make_spread("a", partitions=1)
    append(cluster, "a", topic)
    ends = fence(cluster, "a", topic)
    assert refusal(cluster, "a", topic) is Reason.NOT_LEADER_FOR_QUEUE
    cluster.wait(1)
    assert ends == [2] and refusal(cluster, "a", topic) is Reason.NOT_LEADER_FOR_QUEUE


def test_fence_is_written_once(cluster: KafkaCluster) -> None:
    topic = cluster.make_spread("a", partitions=1)
    ends = [*fence(cluster, "a", topic), *fence(cluster, "a", topic)]
    cluster.wait(1)
    ends += fence(cluster, "a", topic)
    cluster.wait(1)
    assert cluster.member("a").store.max_offset(topic, 0) == 1


def test_fence_is_kept_by_a_restart_and_by_the_next_master(cluster: KafkaCluster) -> None:
    topic = cluster.make_spread("a", partitions=1)
    append(cluster, "a", topic)
    fence(cluster, "a", topic)
    slave = cluster.start_slave("a")
    cluster.wait(60)
    cluster.kill("a")
    cluster.restart("a")
    assert refusal(cluster, "a", topic) is Reason.NOT_LEADER_FOR_QUEUE
    for name in ("a", slave):
        cluster.stop(name)
    cluster.restart(slave)
    cluster.wait(5)
    assert refusal(cluster, slave, topic) is Reason.NOT_LEADER_FOR_QUEUE


def test_fence_waits_for_the_disk() -> None:
    cluster = KafkaCluster(("a", "b"), flush_disk_type=FlushDiskType.ASYNC_FLUSH)
    topic = cluster.make_spread("a", partitions=1)
    store = cluster.member("a").store
    ends = fence(cluster, "a", topic)
    cluster.wait(1)
    assert ends == [1] and store.flushed_offset == store.max_physical_offset


def test_queue_of_a_topic_that_was_made_again_has_no_fence(cluster: KafkaCluster) -> None:
    topic = cluster.make_spread("a", partitions=1)
    fence(cluster, "a", topic)
    cluster.wait(1)
    operations = cluster.operations("a")
    assert operations.batches.fence_at(topic, 0) == 0
    operations.administration.delete_topic(operations.gate.internal(Use.ADMINISTER), topic)
    cluster.wait(3)
    assert cluster.make_spread("a", partitions=1) == topic
    assert operations.batches.fence_at(topic, 0) == NOT_FENCED
    assert append(cluster, "a", topic) == 0
