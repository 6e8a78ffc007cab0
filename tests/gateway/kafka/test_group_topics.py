"""The broker's topics, as consumer groups need them."""

from mqgateway.engine.tables.topics import TopicConfig
from mqgateway.gateway.kafka.coordinator.topic_catalog import TopicInfo
from mqgateway.gateway.kafka.group_topics import GroupTopics
from tests.support.gateway.kafka.broker import KafkaBroker


def test_topics_have_kafkas_names_and_ids() -> None:
    kafka = KafkaBroker()
    topics = GroupTopics(kafka.topics)
    assert topics.topic("my.topic") == TopicInfo(kafka.topic_id("my.topic"), 4)
    assert topics.topic("none") is None
    assert {"orders", "my.topic"} <= set(topics.names()) and len(topics) >= 2
    assert not [name for name in topics.names() if "%" in name]


def test_version_changes_with_any_topic() -> None:
    kafka = KafkaBroker()
    topics = GroupTopics(kafka.topics)
    version = topics.version
    kafka.broker.tables.topics.put(TopicConfig("new", read_queue_nums=1, write_queue_nums=1))
    assert topics.version != version
