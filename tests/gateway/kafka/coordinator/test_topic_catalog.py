"""Topics in memory."""

from mqgateway.gateway.kafka.coordinator.topic_catalog import TopicInfo, TopicsInMemory


def test_topics_in_memory_change_their_version() -> None:
    catalog = TopicsInMemory({"a": 1})
    version = catalog.version
    catalog.topics["b"] = 2
    assert catalog.version != version
    assert (len(catalog), list(catalog.names()), catalog.topic("c")) == (2, ["a", "b"], None)
    assert catalog.topic("b") == TopicInfo(b"b".ljust(16, b"\0"), 2)
