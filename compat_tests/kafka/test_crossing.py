"""Clients of RocketMQ and Kafka on one topic: the core. This server only, as Apache has none of this kind."""

from __future__ import annotations

import pytest

from compat_tests.kafka.support.clients import wait_for_values
from compat_tests.kafka.support.crossing import (
    MAKERS,
    PARTITIONS,
    Crossing,
    check_received,
    check_records,
    fill,
)
from compat_tests.kafka.support.wire import end_offset
from compat_tests.support.driver import message

pytest_plugins = ("compat_tests.kafka.support.crossing_fixtures",)

STARTS = dict.fromkeys(range(PARTITIONS), 0)


@pytest.mark.parametrize("maker", MAKERS)
def test_push_consumer_reads_records_of_kafka(both: Crossing, maker: str) -> None:
    """Keys, headers, tags and null values, of batches that are compressed and not; at the same offsets."""
    peer = both.rocketmq
    filled = fill(both.kafka(), both.topic("records", maker))
    with peer.push(peer.name("record_readers"), {filled.topic: "*"}) as consumer:
        check_received(filled, consumer.collect(filled.count()))
    with peer.push(peer.name("tag_readers"), {filled.topic: "A"}) as consumer:
        check_received(filled, consumer.collect(filled.count("A")), "A")
    check_records(filled, both.kafka().consume(filled.topic, filled.count(), STARTS))


@pytest.mark.parametrize("maker", MAKERS)
def test_kafka_consumer_reads_messages_of_rocketmq(both: Crossing, maker: str) -> None:
    """Single messages, batches and ordered ones, between records of Kafka; at the same offsets."""
    peer, topic = both.rocketmq, both.topic("messages", maker)
    fields = {"tags": "T", "keys": "k1", "properties": {"colour": "blau", "größe": "µ"}}
    with peer.producer(compressOver=100) as producer:
        sent = producer.send([message(topic, f"single {number}", **fields) for number in range(4)])
        both.kafka().produce(topic, [{"value": f"record {number}", "partition": 1} for number in range(3)])
        sent += producer.send([message(topic, f"long {number} " + 300 * "x") for number in range(4)])
        [batch] = producer.send([message(topic, f"batch {number}", **fields) for number in range(3)], "batch")
        for key in "ab":
            sent += producer.send(
                [message(topic, f"{key} {number}", keys=key) for number in range(3)], "selector"
            )
    records = both.kafka().consume(topic, 20, STARTS)
    found = {(one.partition, one.offset): one for one in records}
    assert len(found) == 20
    assert {tuple(place) for place in found} >= {(one.queue.queue_id, one.queue_offset) for one in sent}
    for number in range(3):
        one = found[batch.queue.queue_id, batch.queue_offset + number]
        assert one.value == f"batch {number}"
    for one in records:
        if str(one.value).startswith(("single", "batch")):
            assert one.key == "k1"
            assert sorted(one.headers) == [("TAGS", "T"), ("colour", "blau"), ("größe", "µ")]
    assert [one.value for one in sorted(records) if one.key == "a"] == ["a 0", "a 1", "a 2"]
    ends = [end_offset(both.server.kafka_address, topic, partition) for partition in range(PARTITIONS)]
    assert sum(ends) == 20
    with peer.pull(peer.name("end_readers")) as consumer:
        assert [consumer.max_offset(queue) for queue in consumer.queues(topic)] == ends


def test_group_moves_from_rocketmq_to_kafka_and_back(both: Crossing) -> None:
    """Members that stop cleanly leave their offsets to the other kind: nothing is repeated or left out."""
    peer, kafka = both.rocketmq, both.kafka()
    topic, group = both.topic("moved", "kafka"), peer.name("movers")

    def sent(first: int) -> list[str]:
        values = [str(number) for number in range(first, first + 40)]
        records = [{"value": value, "partition": int(value) % PARTITIONS} for value in values[:20]]
        kafka.produce(topic, records)
        with peer.producer() as producer:
            producer.send([message(topic, value) for value in values[20:]])
        return values

    for first in (0, 80):
        values = sent(first)
        with peer.push(group, {topic: "*"}) as consumer:
            assert sorted(one.body for one in consumer.collect(40)) == sorted(values)
        values = sent(first + 40)
        with kafka.join(group, topic) as member:
            wait_for_values([member], values)
            member.commit()
