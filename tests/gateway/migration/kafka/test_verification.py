"""Comparison of the two clusters."""

from __future__ import annotations

import pytest

from mqgateway.engine.record_batches.records import Record
from mqgateway.gateway.migration.kafka.cluster import Partition
from mqgateway.gateway.migration.kafka.verification import Comparison, Digest, compare
from tests.gateway.migration.kafka.test_copying import delete_before
from tests.support.gateway.kafka.requests import end_transaction, in_transaction
from tests.support.gateway.migration.kafka_clusters import Clusters, kafka_clusters

A = Partition("a", 0)


def compared(two: Clusters) -> Comparison:
    """Return the comparison of topic `a`."""
    return compare(two.source.cluster, two.target.cluster, A, two.progress.partitions[A], {})


def test_copy_with_aborted_records_is_equal() -> None:
    with kafka_clusters() as two:
        two.source.create("a")
        in_transaction(two.source.scene, two.source.client, 1000, b"x")
        end_transaction(two.source.scene, 1000, is_commit=False)
        two.source.produce("a", b"1", b"2")
        two.source.produce("a", b"3")
        two.migrate()
        found = compared(two)
        assert (found.source_records, found.target_records, found.problem) == (3, 3, "")
        delete_before(two.source, 4)
        assert (compared(two).source_records, compared(two).problem) == (1, "")
        delete_before(two.target, 2)
        assert compared(two).problem == ""


def test_differences_are_found() -> None:
    with kafka_clusters() as two:
        for side, value in ((two.source, b"1"), (two.target, b"2")):
            side.create("a")
            side.produce("a", value)
        two.progress.begin(A, 0, 0)
        one = two.progress.partitions[A]
        one.position = 1
        assert compared(two).problem == "the numbers of records differ"
        one.offsets.add(0, 1)
        assert compared(two).problem == "the records differ"


@pytest.mark.parametrize("has_time", [True, False])
def test_digest_covers_all_of_a_record(has_time: bool) -> None:
    def digest(timestamp: int, *records: Record) -> str:
        made = Digest(is_compacted=False, has_time=has_time)
        for record in records:
            made.add(timestamp, record)
        return made.hexadecimal()

    record = Record(b"k", b"v", [("h", b"1")], 5, 9)
    assert digest(1, record) == digest(1, Record(b"k", b"v", [("h", b"1")]))
    assert (digest(1, record) == digest(2, record)) is not has_time
    for other in (Record(None, b"v", [("h", b"1")]), Record(b"k", None, [("h", b"1")]), Record(b"k", b"v")):
        assert digest(1, record) != digest(1, other)


def test_compacted_topic_is_compared_by_the_last_record_of_each_key() -> None:
    def digest(*records: Record) -> tuple[str, int]:
        made = Digest(is_compacted=True, has_time=True)
        for record in records:
            made.add(1, record)
        return made.hexadecimal(), made.count

    last = [Record(b"a", b"2"), Record(b"b", b"3")]
    assert digest(Record(b"a", b"1"), *last, Record(b"c", b"1"), Record(b"c", None)) == digest(*last)
    assert digest(*last)[1] == 2
