"""Retention classes: rounding, topics with times of their own, and topics that are not saved."""

import pytest

from mqgateway.engine.tables.topics import TopicConfig
from mqgateway.engine.tier.retention_classes import UNLIMITED, class_for, class_of, classes_of

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
        ({"kafka.retention.ms": str(80 * DAY), "reserve.time": "1"}, 90),
    ],
)
def test_class_follows_the_topics_time(attributes: dict[str, str], days: int) -> None:
    assert class_of("orders", attributes) == days


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
    assert class_of(topic, attributes) is None


def test_unknown_topics_have_the_default_class() -> None:
    """They may be newer than the table."""
    lookup = classes_of({"orders": TopicConfig("orders", attributes={"reserve.time": "1"})})
    assert (lookup("orders"), lookup("new"), lookup("rmq_sys_x")) == (1, 3, None)
