"""The topics of the broker, as groups need them, and some in memory."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple, Protocol

TopicPartition = tuple[bytes, int]
"""Id of a topic, which has 16 bytes, and number of a partition."""


class TopicInfo(NamedTuple):
    """A topic: its id and the number of its partitions."""

    id: bytes
    partitions: int


class TopicCatalog(Protocol):
    """All topics by Kafka's names."""

    @property
    def version(self) -> bytes:
        """A value that changes with any topic."""
        ...

    def topic(self, name: str) -> TopicInfo | None:
        """Return a topic, None for an unknown one."""
        ...

    def __len__(self) -> int:
        """Return about how many topics there are."""
        ...

    def names(self) -> Iterator[str]:
        """Yield the names of all topics; topics may change meanwhile."""
        ...


class TopicsInMemory:
    """Topics in memory, by name."""

    def __init__(self, topics: dict[str, int]) -> None:
        self.topics = topics

    @property
    def version(self) -> bytes:
        """See `TopicCatalog`."""
        return repr(sorted(self.topics.items())).encode()

    def topic(self, name: str) -> TopicInfo | None:
        """See `TopicCatalog`."""
        partitions = self.topics.get(name)
        return None if partitions is None else TopicInfo(name.encode().ljust(16, b"\0")[:16], partitions)

    def __len__(self) -> int:
        return len(self.topics)

    def names(self) -> Iterator[str]:
        """See `TopicCatalog`."""
        return iter(list(self.topics))
