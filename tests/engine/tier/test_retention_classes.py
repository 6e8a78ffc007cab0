"""Retention classes: rounding, topics with times of their own, and topics that are not saved."""

import pytest

from mqgateway.engine.tables.retention import RetentionLimits
from mqgateway.engine.tables.topics import TopicConfig
from mqgateway.engine.tier.retention_classes import (
    UNLIMITED,
    TopicLimits,
    class_for,
    class_of,
    classes_of,
    kept_limits,
)

DAY = 24 * 3_600_000


@pytest.mark.parametrize(
    ("millis", "days"),
    [
        (0, 1),
        (DAY, 1),
        (DAY + 1, 3),
        (7 * DAY, 7),
        (8 * DAY, 30),
        (365 * DAY, 365),
        (365 * DAY + 1, UNLIMITED),
    ],
)
def test_class_is_the_least_that_is_not_shorter(millis: int, days: int) -> None:
    assert class_for(millis) == days


@pytest.mark.parametrize(
    ("attributes", "days"),
    [
        ({}, 3),
        ({"reserve.time": "24"}, 1),
        ({"reserve.time": "-1"}, 3),
        ({"reserve.time": "0"}, 3),
        ({"reserve.time": "x"}, 3),
        ({"reserve.time": str((1 << 63) - 1)}, UNLIMITED),
        ({"kafka.retention.ms": str(20 * DAY)}, 30),
        ({"kafka.retention.ms": "-1"}, UNLIMITED),
        ({"kafka.retention.ms": str(80 * DAY), "reserve.time": "1"}, 1),
        ({"kafka.retention.ms": "-1", "reserve.time": "200"}, 30),
    ],
)
def test_class_follows_the_topics_time(attributes: dict[str, str], days: int) -> None:
    assert class_of(TopicConfig("orders", attributes=attributes), 3 * DAY) == days


@pytest.mark.parametrize(
    ("topic", "attributes"),
    [
        ("SCHEDULE_TOPIC_XXXX", {}),
        ("rmq_sys_wheel_timer", {}),
        ("%LMQ%a", {}),
        ("__consumer_offsets", {}),
        ("orders", {"cleanup.policy": "COMPACTION"}),
        ("orders", {"kafka.cleanup.policy": "compact,delete"}),
    ],
)
def test_topics_that_are_not_read_by_age_have_no_class(topic: str, attributes: dict[str, str]) -> None:
    assert class_of(TopicConfig(topic, attributes=attributes), 3 * DAY) is None


def test_unknown_topics_have_the_default_class() -> None:
    """They may be newer than the table."""
    lookup = classes_of({"orders": TopicConfig("orders", attributes={"reserve.time": "1"})}, 3 * DAY)
    assert (lookup("orders"), lookup("new"), lookup("rmq_sys_x")) == (1, 3, None)


@pytest.mark.parametrize(
    ("attributes", "limits"),
    [
        ({}, (5, None)),
        ({"reserve.time": "2"}, (7_200_000, None)),
        ({"kafka.retention.ms": "9"}, (9, None)),
        ({"kafka.retention.ms": "-1"}, (None, None)),
        ({"kafka.retention.bytes": "100"}, (5, 100)),
        ({"kafka.retention.bytes": "100", "kafka.retention.ms": "-1"}, (None, 100)),
    ],
)
def test_limits_are_the_topics_own_or_the_default_time(
    attributes: dict[str, str], limits: tuple[int | None, int | None]
) -> None:
    assert kept_limits(TopicConfig("orders", attributes=attributes), 5) == limits


@pytest.mark.parametrize("are_known", [True, False])
def test_topic_without_settings_and_queues_is_deleted_if_settings_are_known(are_known: bool) -> None:
    own, default = RetentionLimits(1, 2), RetentionLimits(3, None)
    limits = TopicLimits({"a": own}, default, {"new"}, are_known)
    assert (limits.of("a"), limits.of("new")) == (own, default)
    assert limits.of("gone") == (None if are_known else default)
