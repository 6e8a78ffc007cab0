"""Limits to what a topic keeps, by its attributes, besides the retention of the log's files.

    reserve.time            RocketMQ's: hours; Apache's broker uses it for tiered storage only
    kafka.retention.ms      Kafka's, of a topic that has the setting itself: time in ms
    kafka.retention.bytes   the same: bytes of the records of each queue

-1 is no limit. If a topic has both times, the shorter one counts. A topic whose policy is to compact only has
no limits. One whose policy is to compact and delete has Kafka's default time if it has none of its own, as
what was compacted does not go with the log's files.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

from mqgateway.engine.tables.kafka_configs import PREFIX, kafka_config
from mqgateway.engine.tables.topics import TopicConfig

RESERVE_TIME: Final = "reserve.time"
RETENTION_TIME: Final = f"{PREFIX}retention.ms"
RETENTION_BYTES: Final = f"{PREFIX}retention.bytes"
_NAMES: Final = frozenset((RESERVE_TIME, RETENTION_TIME, RETENTION_BYTES))
_HOUR_MILLIS: Final = 3_600_000


class RetentionLimits(NamedTuple):
    """Time in ms and bytes of each queue that are kept; None for no limit."""

    millis: int | None
    size: int | None


def limits_of(config: TopicConfig) -> RetentionLimits | None:
    """Return the limits of a topic, None if it has none."""
    attributes = config.attributes
    if not attributes or not deletes_by_age(config):
        return None
    hours, millis = _number(attributes, RESERVE_TIME), _number(attributes, RETENTION_TIME)
    if RETENTION_TIME not in attributes and "compact" in policies(attributes):
        millis = int(kafka_config(attributes, "retention.ms"))
    elif _NAMES.isdisjoint(attributes):
        return None
    times = [time for time in (millis, None if not hours else hours * _HOUR_MILLIS) if time is not None]
    limits = RetentionLimits(min(times, default=None), _number(attributes, RETENTION_BYTES))
    return None if limits == (None, None) else limits


def deletes_by_age(config: TopicConfig) -> bool:
    """Return True unless the messages of a topic are kept by their keys only."""
    attributes = config.attributes
    if attributes.get("cleanup.policy") == "COMPACTION":
        return False
    return "delete" in policies(attributes)


def policies(attributes: Mapping[str, str]) -> list[str]:
    """Return the words of Kafka's `cleanup.policy` of a topic with these attributes."""
    return [word.strip() for word in kafka_config(attributes, "cleanup.policy").split(",")]


def _number(attributes: Mapping[str, str], name: str) -> int | None:
    """Return a limit; None for one that is negative or no number."""
    text = attributes.get(name, "")
    return int(text) if text.isdecimal() else None
