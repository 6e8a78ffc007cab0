"""Topics with partitions that moved, which RocketMQ's clients cannot use."""

from __future__ import annotations

import pytest

from mqgateway.engine.tables.attributes import KAFKA_PARTITIONS
from mqgateway.engine.tables.topics import TopicConfig
from mqgateway.gateway.broker.errors import OperationError, Reason
from mqgateway.gateway.broker.moved_partitions import check_not_moved


@pytest.mark.parametrize("text", ["2*a/b;0>b", "2*a/b;0>b;0=16", "2*a/b;0>b;0!;1>a"])
def test_topic_with_a_move_is_refused(text: str) -> None:
    with pytest.raises(OperationError, match=r"topic\[T\] has partitions that move") as refused:
        check_not_moved(TopicConfig("T", attributes={KAFKA_PARTITIONS: text}))
    assert refused.value.reason is Reason.NO_PERMISSION


@pytest.mark.parametrize("attributes", [{}, {KAFKA_PARTITIONS: "2*a/b"}, {KAFKA_PARTITIONS: "2*a/b;0>b;0!"}])
def test_other_topics_are_accepted(attributes: dict[str, str]) -> None:
    check_not_moved(TopicConfig("T", attributes=attributes))
