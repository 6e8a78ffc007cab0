"""Limits of offsets in queues of this broker, and of partitions that other groups have."""

from __future__ import annotations

from dataclasses import replace

from mqgateway.engine.tables.attributes import KAFKA_PARTITIONS
from mqgateway.engine.tables.partition_layout import ELSEWHERE, parse_layout
from mqgateway.gateway.broker.operations import Use
from mqgateway.gateway.broker.replication.offset_limit import OFFSET_MAX, offset_limit
from tests.support.gateway.kafka.cluster import KafkaCluster


def test_offsets_of_other_groups_partitions_have_no_limit() -> None:
    cluster = KafkaCluster()
    foreign, spread = cluster.make_topic("b"), cluster.make_spread("a")
    cluster.member("a").send(2, spread)
    broker = cluster.member("a").service.broker
    places = [(spread, 0), (spread, 1), (spread, ELSEWHERE + 1), (foreign, 0)]
    assert [offset_limit(broker, *place) for place in places] == [2, 0, OFFSET_MAX, OFFSET_MAX]


def test_truncation_of_the_log_leaves_offsets_of_other_groups_partitions() -> None:
    cluster = KafkaCluster()
    foreign, spread = cluster.make_topic("b"), cluster.make_spread("a")
    broker = cluster.member("a").service.broker
    places = [(spread, 0), (spread, ELSEWHERE + 1), (foreign, 0)]
    for place in places:
        broker.tables.offsets.commit("g", *place, 7)
    assert broker.controlled is None
    broker.tables.offsets.forget_end(lambda topic, queue_id: offset_limit(broker, topic, queue_id))
    assert [broker.tables.offsets.query("g", *place) for place in places] == [0, 7, 7]


def test_offsets_of_a_partition_that_left_have_no_limit() -> None:
    cluster = KafkaCluster()
    topic = cluster.make_spread("a")
    operations = cluster.operations("a")
    config = operations.topics.known(topic)
    layout = parse_layout(config.attributes[KAFKA_PARTITIONS])
    assert layout is not None
    text = layout.begun(0, "b").completed(0, 16).text
    change = replace(config, attributes={f"+{KAFKA_PARTITIONS}": text})
    operations.administration.put_topic(operations.gate.internal(Use.ADMINISTER), change)
    broker = cluster.member("a").service.broker
    assert [offset_limit(broker, topic, queue_id) for queue_id in (0, 1)] == [OFFSET_MAX, 0]
