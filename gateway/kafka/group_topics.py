"""The topics of the cluster, as consumer groups need them."""

from __future__ import annotations

from collections.abc import Iterator

from mqgateway.gateway.kafka.coordinator.topic_catalog import TopicInfo
from mqgateway.gateway.kafka.topics import Topics


class GroupTopics:
    """See `coordinator.topic_catalog.TopicCatalog`."""

    def __init__(self, topics: Topics) -> None:
        self._topics = topics

    @property
    def version(self) -> bytes:
        """See `TopicCatalog`."""
        return self._topics.version

    def topic(self, name: str) -> TopicInfo | None:
        """See `TopicCatalog`."""
        topic = self._topics.find(name)
        return None if topic is None else TopicInfo(topic.id, topic.partitions)

    def __len__(self) -> int:
        return len(self._topics)

    def names(self) -> Iterator[str]:
        """See `TopicCatalog`."""
        return (topic.name for topic in self._topics)
