"""Limits to what a topic keeps."""

from __future__ import annotations

import pytest

from mqgateway.engine.tables.retention import RetentionLimits, deletes_by_age, limits_of
from mqgateway.engine.tables.topics import TopicConfig

HOUR = 3_600_000


@pytest.mark.parametrize(
    ("attributes", "limits"),
    [
        ({}, None),
        ({"message.type": "NORMAL"}, None),
        ({"kafka.retention.ms": "5"}, RetentionLimits(5, None)),
        ({"kafka.retention.ms": "0"}, RetentionLimits(0, None)),
        ({"kafka.retention.ms": "-1"}, None),
        ({"kafka.retention.bytes": "7"}, RetentionLimits(None, 7)),
        ({"kafka.retention.bytes": "-1", "kafka.retention.ms": "5"}, RetentionLimits(5, None)),
        ({"reserve.time": "2"}, RetentionLimits(2 * HOUR, None)),
        ({"reserve.time": "0"}, None),
        (
            {"reserve.time": "2", "kafka.retention.ms": "5", "kafka.retention.bytes": "7"},
            RetentionLimits(5, 7),
        ),
        ({"reserve.time": "1", "kafka.retention.ms": str(2 * HOUR)}, RetentionLimits(HOUR, None)),
        ({"kafka.retention.ms": "5", "kafka.cleanup.policy": "compact"}, None),
        ({"kafka.retention.ms": "5", "cleanup.policy": "COMPACTION"}, None),
        ({"kafka.retention.ms": "5", "kafka.cleanup.policy": "compact, delete"}, RetentionLimits(5, None)),
        ({"kafka.cleanup.policy": "compact,delete"}, RetentionLimits(604_800_000, None)),
        ({"kafka.retention.ms": "-1", "kafka.cleanup.policy": "compact,delete"}, None),
        (
            {"reserve.time": "1", "kafka.retention.bytes": "7", "kafka.cleanup.policy": "compact,delete"},
            RetentionLimits(HOUR, 7),
        ),
    ],
)
def test_limits_are_those_that_a_topic_has_itself(
    attributes: dict[str, str], limits: RetentionLimits | None
) -> None:
    assert limits_of(TopicConfig("orders", attributes=attributes)) == limits


def test_topic_is_deleted_from_by_age_unless_it_is_only_compacted() -> None:
    assert deletes_by_age(TopicConfig("orders"))
    assert not deletes_by_age(TopicConfig("orders", attributes={"kafka.cleanup.policy": "compact"}))
