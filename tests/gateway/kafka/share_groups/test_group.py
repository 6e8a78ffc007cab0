"""Rules of a share group that need no coordinator."""

from mqgateway.gateway.kafka.coordinator.assigned_group import Kind, RecordKey
from mqgateway.gateway.kafka.coordinator.member import MemberTally, RequestSender
from mqgateway.gateway.kafka.coordinator.topic_catalog import TopicsInMemory
from mqgateway.gateway.kafka.share_groups.group import ShareGroup, ShareGroupState
from mqgateway.gateway.kafka.share_groups.member import ShareMember


def group_of(*names: str) -> ShareGroup:
    """Return a group of members that subscribe to `orders`, which has three partitions."""
    group = ShareGroup("g", MemberTally())
    for name in names:
        group.put(ShareMember(name, RequestSender("c", "/127.0.0.1"), topics=("orders",)))
    group.refresh_topics(TopicsInMemory({"orders": 3}), 10)
    return group


def test_state_follows_from_members() -> None:
    group = group_of()
    assert (group.state, group.is_unused, group.is_vacant) == (ShareGroupState.EMPTY, True, False)
    assert group_of("a").state is ShareGroupState.STABLE
    assert not group.keeps_offsets("orders") and group.retained_since(5) == 5


def test_initialized_partitions_are_assignable() -> None:
    group = group_of("a")
    topic_id = group.topics["orders"].id
    assert list(group.assignable()) == []
    group.initialize(topic_id, "orders", (2, 0))
    assert list(group.assignable()) == [(topic_id, 0), (topic_id, 2)]
    group.forget_topic(topic_id)
    assert list(group.assignable()) == []


def test_target_has_subscribed_topics_only() -> None:
    group = group_of("a")
    topic_id = group.topics["orders"].id
    group.targets["a"] = {(topic_id, 0), (b"x" * 16, 0)}
    assert group.target(group.members["a"]) == {(topic_id, 0)}


def test_move_keeps_the_previous_epoch() -> None:
    group = group_of("a")
    member = group.members["a"]
    group.move(member, 2, frozenset())
    group.move(member, 2, {(b"t" * 16, 1)})
    assert (member.epoch, member.previous_epoch) == (2, 0)
    group.move(member, 4, frozenset())
    assert (member.epoch, member.previous_epoch) == (4, 2)


def test_tombstones_have_the_partitions() -> None:
    group = group_of("a")
    keys = group.tombstones()
    assert RecordKey(Kind.PARTITIONS) in keys and keys[-1] == RecordKey(Kind.GROUP)
