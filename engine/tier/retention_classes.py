"""Retention classes: topics whose messages are kept for about the same time share segments.

So a segment can be deleted as a whole, without rewriting it. A topic's class is the least of `CLASSES` that
is not shorter than its retention time. Topics of the broker itself, LMQ queues and compacted topics are not
saved: their messages are not read by age.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Mapping
from typing import Final

from mqgateway.engine.message import KAFKA_COORDINATOR_TOPICS
from mqgateway.engine.names import is_lmq, is_system_topic
from mqgateway.engine.tables.retention import RESERVE_TIME, RETENTION_TIME, policies
from mqgateway.engine.tables.topics import TopicConfig

CLASSES: Final = (1, 3, 7, 30, 90, 365)
"""Days."""
UNLIMITED: Final = 0
DEFAULT_HOURS: Final = 72
"""Retention time of topics without one of their own. RocketMQ: `tieredStoreFileReservedTime`."""
_DAY_MILLIS: Final = 24 * 3_600_000
_HOUR_MILLIS: Final = 3_600_000

ClassOf = Callable[[str], int | None]
"""Returns the class of a topic in days; None for one that is not saved."""


def class_for(millis: int) -> int:
    """Return the class of a retention time; `UNLIMITED` for one that is longer than all."""
    number = bisect_left(CLASSES, millis, key=lambda days: days * _DAY_MILLIS)
    return CLASSES[number] if number < len(CLASSES) else UNLIMITED


def class_of(topic: str, attributes: Mapping[str, str]) -> int | None:
    """Return the class of a topic with these attributes; None if it is not saved.

    `kafka.retention.ms` of -1 is unlimited. `reserve.time` of -1 or 0 is the default, as in RocketMQ.
    """
    if is_system_topic(topic) or is_lmq(topic) or topic in KAFKA_COORDINATOR_TOPICS:
        return None
    if attributes.get("cleanup.policy") == "COMPACTION" or "compact" in policies(attributes):
        return None
    millis, hours = attributes.get(RETENTION_TIME, ""), attributes.get(RESERVE_TIME, "")
    if millis == "-1":
        return UNLIMITED
    if millis.isdecimal():
        return class_for(int(millis))
    return class_for((int(hours) if hours.isdecimal() and int(hours) else DEFAULT_HOURS) * _HOUR_MILLIS)


def classes_of(configs: Mapping[str, TopicConfig]) -> ClassOf:
    """Return the function that looks up the classes of these topics. Others have no attributes: a large table
    is written later than a new topic's first message."""

    def lookup(topic: str) -> int | None:
        config = configs.get(topic)
        return class_of(topic, config.attributes if config is not None else {})

    return lookup
