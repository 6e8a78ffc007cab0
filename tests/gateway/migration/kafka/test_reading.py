"""Records and offsets of a cluster."""

from __future__ import annotations

from mqgateway.gateway.migration.kafka.cluster import Partition, by_topic
from mqgateway.gateway.migration.kafka.reading import EARLIEST, LATEST, fetched, offsets
from tests.support.gateway.migration.kafka_clusters import kafka_clusters


def test_records_and_offsets_are_read() -> None:
    with kafka_clusters() as two:
        two.source.create("a", 2)
        two.source.produce("a", b"1", b"2")
        one, other = Partition("a", 0), Partition("a", 1)
        assert offsets(two.source.cluster, [one, other], LATEST) == {one: 2, other: 0}
        assert offsets(two.source.cluster, [one], EARLIEST) == {one: 0}
        found = dict(fetched(two.source.cluster, {one: 0, other: 0}, 0))
        assert found[one].last_stable_offset == 2 and found[one].records and not found[other].records
        assert by_topic({one: "x", other: "y"}) == {"a": [(0, "x"), (1, "y")]}
