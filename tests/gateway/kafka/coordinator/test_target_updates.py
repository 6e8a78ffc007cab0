"""When targets are computed."""

from mqgateway.gateway.kafka.consumer_groups.group import ModernGroupState as State
from mqgateway.gateway.kafka.coordinator.topic_catalog import TopicsInMemory
from tests.support.gateway.kafka.groups import Groups


def test_changes_during_a_computation_are_followed_by_another_one() -> None:
    groups = Groups(catalog=TopicsInMemory({"orders": 1000}))
    groups.held = []
    assert groups.consumer_heartbeat("a").member_epoch == 1
    group = groups.consumers()
    assert group.is_assigning
    next(groups.held[0][0])
    groups.consumer_heartbeat("b")
    assert len(groups.held) == 1
    groups.run_held()
    assert (group.epoch, group.assignment_epoch, group.state) == (3, 2, State.ASSIGNING)
    groups.pass_time(1100)
    groups.run_held()
    assert (group.assignment_epoch, group.state) == (3, State.RECONCILING)
    assert [len(group.target(name).partitions) for name in "ab"] == [500, 500]


def test_group_that_became_empty_is_left_alone() -> None:
    groups = Groups()
    groups.consumer_heartbeat("a")
    groups.consumer_heartbeat("b")
    groups.consumer_heartbeat("a", -1)
    groups.consumer_heartbeat("b", -1)
    groups.pass_time(1100)
    assert groups.consumers().state is State.EMPTY
