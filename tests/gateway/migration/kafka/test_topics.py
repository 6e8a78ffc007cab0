"""Topics of a cluster with their settings."""

from __future__ import annotations

from mqgateway.gateway.migration.kafka.topics import (
    KafkaTopic,
    add_partitions,
    create_topic,
    early,
    late,
    read_topics,
    set_configs,
)
from tests.support.gateway.migration.kafka_clusters import kafka_clusters


def test_topics_are_made_and_read() -> None:
    with kafka_clusters() as two:
        cluster = two.source.cluster
        configs = {"retention.ms": "5", "message.timestamp.type": "LogAppendTime"}
        topic = KafkaTopic("a.b", 2, configs)
        assert early(configs) == {"retention.ms": "5"}
        assert create_topic(cluster, topic, is_trial=True) == "" and read_topics(cluster) == {}
        assert create_topic(cluster, topic) == ""
        assert create_topic(cluster, topic) == "Topic 'a.b' already exists."
        assert set_configs(cluster, "a.b", late(configs)) == ""
        assert "retention.ms" in set_configs(cluster, "a.b", {"retention.ms": "x"})
        assert read_topics(cluster) == {"a.b": topic}
        assert add_partitions(cluster, "a.b", 3) == "" != add_partitions(cluster, "a.b", 1)
        assert read_topics(cluster)["a.b"].partitions == 3
