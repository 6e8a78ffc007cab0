"""Records of a partition with the states of their transactions."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from mqgateway.gateway.cli.kafka_records import ABORTED, COMMITTED, OPEN, records
from mqgateway.gateway.client.errors import NoBroker
from mqgateway.gateway.migration.kafka.cluster import Partition
from mqgateway.gateway.migration.kafka.connection import KafkaError
from tests.support.gateway.kafka.client import kafka_scene
from tests.support.gateway.kafka.transactions import TxnProducer
from tests.support.gateway.migration.kafka_clusters import Side

A = Partition("a", 0)


@pytest.fixture
def side() -> Iterator[Side]:
    """A cluster with the topic `a`."""
    with kafka_scene() as scene:
        made = Side(scene)
        made.create("a")
        yield made


def test_records_have_producer_and_state_of_their_transaction(side: Side) -> None:
    side.produce("a", b"plain")
    producer = TxnProducer(side.scene).begun()
    for value, is_commit in ((b"kept", True), (b"dropped", False)):
        producer.send("a", value)
        assert producer.end(is_commit) == 0
        side.scene.settle(1)
    producer.send("a", b"open")
    side.produce("a", b"behind")
    found = list(records(side.cluster, A, 0, 100))
    assert [(one.value, one.transaction) for one in found if not one.marker] == [
        (b"plain", ""),
        (b"kept", COMMITTED),
        (b"dropped", ABORTED),
        (b"open", OPEN),
        (b"behind", ""),
    ]
    assert [(one.offset, one.marker) for one in found if one.marker] == [(2, COMMITTED), (4, ABORTED)]
    assert [one.offset for one in found] == list(range(7))
    kept, plain = found[1], found[0]
    assert kept.producer_id >= 0 and kept.sequence == 0
    assert (plain.producer_id, plain.sequence) == (-1, -1)


def test_reading_begins_within_a_batch_and_ends_at_the_limit(side: Side) -> None:
    side.produce("a", b"0", b"1", b"2", b"3")
    side.produce("a", b"4")
    assert [one.value for one in records(side.cluster, A, 1, 2)] == [b"1", b"2"]
    assert [one.value for one in records(side.cluster, A, 3, 9)] == [b"3", b"4"]
    assert list(records(side.cluster, A, 5, 9)) == []


def test_offset_out_of_range_and_unknown_partition_are_errors(side: Side) -> None:
    with pytest.raises(KafkaError, match="OFFSET_OUT_OF_RANGE"):
        list(records(side.cluster, A, 7, 1))
    with pytest.raises(NoBroker, match="a-3 does not exist"):
        list(records(side.cluster, Partition("a", 3), 0, 1))
