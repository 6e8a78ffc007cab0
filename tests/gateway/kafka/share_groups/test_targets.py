"""Targets of share groups."""

from mqgateway.engine.steps import run
from mqgateway.gateway.kafka.share_groups.targets import computed_share_targets
from tests.gateway.kafka.share_groups.test_group import group_of


def test_initialized_partitions_are_shared() -> None:
    group = group_of("a", "b")
    topic_id = group.topics["orders"].id
    group.initialize(topic_id, "orders", (0, 1))
    targets = run(computed_share_targets(group))
    assert targets == {"a": {(topic_id, 0)}, "b": {(topic_id, 1)}}
