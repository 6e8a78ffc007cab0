"""Passes over partitions that meet deletions and records of others."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from mqgateway.gateway.kafka.codec.messages.delete_records_request import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsTopic,
)
from mqgateway.gateway.kafka.codec.messages.delete_topics_request import DeleteTopicsRequest
from mqgateway.gateway.kafka.codec.messages.produce_request import ProduceRequest
from mqgateway.gateway.kafka.codec.schema import Message
from mqgateway.gateway.migration.kafka import copying
from mqgateway.gateway.migration.kafka.cluster import Partition
from mqgateway.gateway.migration.kafka.connection import KafkaError
from mqgateway.gateway.migration.kafka.copying import Copier
from mqgateway.gateway.migration.plan import MigrationError
from tests.support.gateway.migration.kafka_clusters import Clusters, Side, kafka_clusters

A = Partition("a", 0)


def delete_before(side: Side, offset: int) -> None:
    """Delete the records of topic `a` before an offset."""
    topic = DeleteRecordsTopic("a", [DeleteRecordsPartition(0, offset)])
    [answer] = side.client.ask(DeleteRecordsRequest([topic], 1000)).topics
    assert answer.partitions[0].error_code == 0


def copier(two: Clusters) -> Copier:
    """Return a copier of topic `a`, which has begun."""
    made = Copier(two.source.cluster, two.target.cluster, [A], two.progress)
    made.begin()
    return made


def test_source_that_begins_later_is_translated() -> None:
    with kafka_clusters() as two:
        for side in (two.source, two.target):
            side.create("a")
        two.source.produce("a", b"1")
        two.source.produce("a", b"2", b"3")
        delete_before(two.source, 1)
        one = copier(two)
        assert one.lag == -1 and one.copy() == 2 and one.lag == 0 and not one.open_transactions()
        assert two.target.values("a") == [b"2", b"3"]
        assert two.progress.partitions[A].offsets.spans == [[1, 0, 2]]


def test_records_deleted_before_their_copy_are_counted() -> None:
    with kafka_clusters() as two:
        for side in (two.source, two.target):
            side.create("a")
        two.source.produce("a", b"1")
        one = copier(two)
        assert one.copy() == 1
        two.source.produce("a", b"2")
        two.source.produce("a", b"3")
        delete_before(two.source, 2)
        assert (one.copy(), one.copy()) == (0, 1)
        assert one.figures[A].deleted == 1 and two.target.values("a") == [b"1", b"3"]
        assert two.progress.partitions[A].offsets.spans == [[0, 0, 1], [2, 1, 1]]


def test_many_small_batches_keep_their_order() -> None:
    with kafka_clusters() as two:
        for side in (two.source, two.target):
            side.create("a")
        for number in range(13):
            two.source.produce("a", b"%d" % number)
        assert copier(two).copy() == 13
        assert two.target.values("a") == [b"%d" % number for number in range(13)]


def test_records_of_others_end_the_copy() -> None:
    with kafka_clusters() as two:
        for side in (two.source, two.target):
            side.create("a")
        two.source.produce("a", b"1")
        one = copier(two)
        two.target.produce("a", b"other")
        with pytest.raises(MigrationError, match="a-0 of the target has records of others"):
            one.copy()


def test_target_that_lost_records_ends_the_copy() -> None:
    with kafka_clusters() as two:
        for side in (two.source, two.target):
            side.create("a")
        two.progress.begin(A, 0, 0)
        two.progress.partitions[A].offsets.add(0, 5)
        with pytest.raises(MigrationError, match="ends at 0, but was copied up to 5"):
            copier(two)


def test_partition_is_passed_over_within_a_batch() -> None:
    with kafka_clusters() as two:
        for side in (two.source, two.target):
            side.create("a")
        two.source.produce("a", b"1", b"2", b"3")
        two.progress.begin(A, 0, 0)
        two.target.produce("a", b"1", b"2")
        assert copier(two).copy() == 1
        assert two.target.values("a") == [b"1", b"2", b"3"]
        assert two.progress.partitions[A].offsets.spans == [[0, 0, 3]]


def test_other_records_at_the_end_of_the_target_are_not_taken_for_copies() -> None:
    with kafka_clusters() as two:
        for side in (two.source, two.target):
            side.create("a")
        two.source.produce("a", b"1", b"2", b"3")
        two.progress.begin(A, 0, 0)
        two.target.produce("a", b"1", b"2")
        delete_before(two.source, 1)
        one = copier(two)
        assert one.copy() == 0
        for _ in range(2):
            with pytest.raises(MigrationError, match="a-0 of the target ends with other records than"):
                one.copy()
            two.progress = two.progress.decode(two.progress.encode(), "")
            one = copier(two)


def test_partition_without_a_leader_is_waited_for() -> None:
    with kafka_clusters() as two:
        for side in (two.source, two.target):
            side.create("a")
            side.create("b")
        two.source.produce("a", b"1")
        partitions = [A, Partition("b", 0)]
        one = Copier(two.source.cluster, two.target.cluster, partitions, two.progress)
        one.begin()
        assert two.source.client.ask(DeleteTopicsRequest(topic_names=["b"]), 5).responses[0].error_code == 0
        two.source.cluster.forget_leaders()
        with pytest.raises(KafkaError, match="b-0 of the source: LEADER_NOT_AVAILABLE"):
            one.copy()
        assert two.target.values("a") == [b"1"]


def test_large_batches_are_sent_in_several_requests(monkeypatch: pytest.MonkeyPatch) -> None:
    with kafka_clusters() as two:
        for side in (two.source, two.target):
            side.create("a", 3)
        for partition in range(3):
            two.source.produce("a", b"x" * 100, partition=partition)
            two.source.produce("a", b"y" * 100, partition=partition)
        partitions = [Partition("a", number) for number in range(3)]
        one = Copier(two.source.cluster, two.target.cluster, partitions, two.progress)
        one.begin()
        sent: list[int] = []
        together = two.target.cluster.ask_together

        def counted(address: str, requests: Sequence[Message]) -> list[Any]:
            sent.append(sum(isinstance(request, ProduceRequest) for request in requests))
            return together(address, requests)

        monkeypatch.setattr(two.target.cluster, "ask_together", counted)
        monkeypatch.setattr(copying, "REQUEST_BYTES", 400)
        assert one.copy() == 6
        assert sent == [4]  # two partitions in a request, then one
        for partition in range(3):
            assert two.target.values("a", partition) == [b"x" * 100, b"y" * 100]
