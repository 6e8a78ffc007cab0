"""Times that topics are kept, and retention classes: topics of about the same time share segments.

So a segment can be deleted as a whole, without rewriting it. A topic's class is the least of `CLASSES` that
is not shorter than its retention time. Topics of the broker itself, LMQ queues and compacted topics are not
saved: their messages are not read by age.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Container, Mapping
from dataclasses import dataclass
from typing import Final

from mqgateway.engine.message import KAFKA_COORDINATOR_TOPICS
from mqgateway.engine.names import is_lmq, is_system_topic
from mqgateway.engine.tables.retention import RETENTION_TIME, RetentionLimits, limits_of, policies
from mqgateway.engine.tables.topics import TopicConfig

CLASSES: Final = (1, 3, 7, 30, 90, 365)
"""Days."""
UNLIMITED: Final = 0
_DAY_MILLIS: Final = 24 * 3_600_000

ClassOf = Callable[[str], int | None]
"""Returns the class of a topic in days; None for one that is not saved."""
LimitsOf = Callable[[str], RetentionLimits | None]
"""Returns the limits of a topic; None for one that was deleted."""


@dataclass(frozen=True)
class TopicLimits:
    """Limits of the topics of a broker by name, and the topics that have queues but no settings yet. Topics
    that are neither were deleted, unless `are_known` is False: the table of topics could not be read.
    """

    limits: Mapping[str, RetentionLimits]
    default: RetentionLimits
    with_queues: Container[str] = frozenset()
    are_known: bool = True

    def of(self, topic: str) -> RetentionLimits | None:
        """Return the limits of a topic; None for one that was deleted."""
        found = self.limits.get(topic)
        if found is not None:
            return found
        return self.default if topic in self.with_queues or not self.are_known else None


def class_for(millis: int) -> int:
    """Return the class of a retention time; `UNLIMITED` for one that is longer than all."""
    number = bisect_left(CLASSES, millis, key=lambda days: days * _DAY_MILLIS)
    return CLASSES[number] if number < len(CLASSES) else UNLIMITED


def kept_limits(config: TopicConfig, default_millis: int) -> RetentionLimits:
    """Return what a tier keeps of a topic: its own limits, or the default time.

    `kafka.retention.ms` of -1 is unlimited. `reserve.time` of -1 or 0 is the default, as in RocketMQ.
    """
    millis, size = limits_of(config) or (None, None)
    if millis is None and config.attributes.get(RETENTION_TIME) != "-1":
        millis = default_millis
    return RetentionLimits(millis, size)


def class_of(config: TopicConfig, default_millis: int) -> int | None:
    """Return the class of a topic; None if it is not saved."""
    topic, attributes = config.topic_name, config.attributes
    if is_system_topic(topic) or is_lmq(topic) or topic in KAFKA_COORDINATOR_TOPICS:
        return None
    if attributes.get("cleanup.policy") == "COMPACTION" or "compact" in policies(attributes):
        return None
    millis, _ = kept_limits(config, default_millis)
    return UNLIMITED if millis is None else class_for(millis)


def classes_of(configs: Mapping[str, TopicConfig], default_millis: int) -> ClassOf:
    """Return the function that looks up the classes of these topics. Others have no attributes: a large table
    is written later than a new topic's first message."""

    def lookup(topic: str) -> int | None:
        return class_of(configs.get(topic) or TopicConfig(topic), default_millis)

    return lookup
