"""A compacted topic, written and read back by Kafka's clients."""

from __future__ import annotations

import time

from compat_tests.kafka.support.clients import KafkaClient
from compat_tests.kafka.support.wire import create_topic, stored_batches
from compat_tests.support.processes import wait_until

SECONDS = 90
"""Longer than a server takes to look for topics to compact."""
SEGMENT_SECONDS = 0.05
"""Time after which records begin a segment of their own."""


def test_compacted_topic_has_the_newest_value_of_each_key(client: KafkaClient, name: str) -> None:
    create_topic(
        client.address, name, cleanup_policy="compact", segment_ms="1", min_cleanable_dirty_ratio="0"
    )
    for turn in range(4):
        client.produce(name, [{"key": f"k{number}", "value": f"{turn}-{number}"} for number in range(3)])
        time.sleep(SEGMENT_SECONDS)
    client.produce(name, [{"key": "k0", "value": None}, {"key": "last", "value": "x"}])

    def count() -> int:
        return sum(batch.count for batch in stored_batches(client.address, name))

    wait_until(lambda: count() == 5, SECONDS, "the topic is compacted")
    received = sorted(client.consume(name, 5))
    assert [(record.offset, record.key, record.value) for record in received] == [
        (9, "k0", "3-0"),
        (10, "k1", "3-1"),
        (11, "k2", "3-2"),
        (12, "k0", None),
        (13, "last", "x"),
    ]
    client.produce(name, [{"key": "k1", "value": "4-1"}])
    assert [(record.offset, record.value) for record in sorted(client.consume(name, 6))][-1] == (14, "4-1")
