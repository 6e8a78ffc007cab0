"""Settings of a topic that say which of its records are compacted, and when.

They are Kafka's, kept as attributes of the topic with the prefix `kafka.`; one that a topic lacks has Kafka's
default. Kafka: `TopicConfig`, `LogConfig`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from mqgateway.engine.tables.kafka_configs import kafka_config
from mqgateway.engine.tables.retention import policies


class CompactionLimits(NamedTuple):
    """Times in ms, the size of a segment in bytes, and the least part of a queue that is worth a compaction.

    `min_lag` is how long a record stays as it is, `max_lag` after what time it is compacted whatever its
    part. `delete_retention` is how long tombstones and markers stay. A segment ends at `segment_bytes`, or
    `segment_millis` after its first record.
    """

    min_lag: int
    max_lag: int
    dirty_ratio: float
    delete_retention: int
    segment_bytes: int
    segment_millis: int


def is_compacted(attributes: Mapping[str, str]) -> bool:
    """Return True if a topic that Kafka made keeps the newest record of each key."""
    return "compact" in policies(attributes)


def compaction_limits(attributes: Mapping[str, str]) -> CompactionLimits:
    """Return the settings of a topic with these attributes.

    Its segments do not last longer than `max_lag`, as Kafka's do not.
    """

    def number(name: str) -> int:
        return int(kafka_config(attributes, name))

    max_lag = number("max.compaction.lag.ms")
    return CompactionLimits(
        number("min.compaction.lag.ms"),
        max_lag,
        float(kafka_config(attributes, "min.cleanable.dirty.ratio")),
        number("delete.retention.ms"),
        number("segment.bytes"),
        min(number("segment.ms"), max_lag),
    )
