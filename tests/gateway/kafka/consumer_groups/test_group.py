"""Rules of a group that need no coordinator."""

import pytest

from mqgateway.gateway.kafka.codec.error_codes import ErrorCode as E
from mqgateway.gateway.kafka.consumer_groups.group import (
    ModernGroup,
    ModernGroupState,
    ResolvedRegex,
)
from mqgateway.gateway.kafka.consumer_groups.member import (
    START,
    AssignmentState,
    MemberPosition,
    ModernMember,
)
from mqgateway.gateway.kafka.coordinator.assigned_group import Kind, RecordKey, SubscriptionTooLarge
from mqgateway.gateway.kafka.coordinator.member import MemberTally, RequestSender
from mqgateway.gateway.kafka.coordinator.topic_catalog import TopicPartition, TopicsInMemory

CLIENT = RequestSender("c", "/127.0.0.1")
A: TopicPartition = (b"t" * 16, 0)
B: TopicPartition = (b"t" * 16, 1)


def group_of(*members: ModernMember) -> ModernGroup:
    """Return a group of members."""
    group = ModernGroup("g", MemberTally())
    for member in members:
        group.put(member)
    return group


def member(name: str, *topics: str, regex: str = "", assignor: str | None = None) -> ModernMember:
    """Return a member that subscribes to topics."""
    return ModernMember(name, CLIENT, topics=topics, regex=regex, assignor=assignor)


def at(epoch: int, *partitions: TopicPartition) -> MemberPosition:
    """Return the position of a member that has arrived."""
    return START._replace(epoch=epoch, assigned=dict.fromkeys(partitions, epoch))


def test_state_follows_from_epochs_and_members() -> None:
    group = group_of()
    assert (group.state, group.is_empty, group.is_vacant) == (ModernGroupState.EMPTY, True, True)
    group.put(member("a"))
    group.bump()
    assert group.state is ModernGroupState.ASSIGNING
    group.set_targets(group.epoch, {"a": {A}, "gone": {B}}, 5)
    assert group.state is ModernGroupState.RECONCILING
    assert group.target("gone").partitions == frozenset()
    group.move(group.members["a"], at(2, A))
    assert (group.state, group.owner(A), group.owner(B)) == (ModernGroupState.STABLE, "a", None)


def test_assignor_of_most_members_is_chosen() -> None:
    assert group_of(member("a")).assignor == "uniform"
    members = [member("a", assignor="uniform"), *(member(name, assignor="range") for name in "bc")]
    assert group_of(*members).assignor == "range"


def test_tally_counts_members_and_what_they_say() -> None:
    tally = MemberTally()
    group = ModernGroup("g", tally)
    group.put(member("a", "orders", regex="x"))
    group.put(member("a", "or"))
    assert (tally.members, tally.bytes) == (1, 3)
    group.clear()
    assert (tally.members, tally.bytes) == (0, 0)


def test_subscriptions_are_names_and_matches() -> None:
    group = group_of(member("a", "orders"), member("b", regex="m.*"))
    group.regexes["m.*"] = ResolvedRegex(frozenset({"more"}), b"1", 0)
    assert group.subscribes_to("orders") and group.subscribes_to("more") and not group.subscribes_to("x")
    assert group.keeps_offsets("more") and group.retained_since(7) == 7
    assert set(group.subscribed_names(group.members["b"])) == {"more"}
    catalog = TopicsInMemory({"orders": 1, "more": 2})
    assert group.refresh_topics(catalog, 10)
    assert not group.refresh_topics(catalog, 10)
    assert {name: topic.partitions for name, topic in group.topics.items()} == catalog.topics
    with pytest.raises(SubscriptionTooLarge):
        group.refresh_topics(catalog, 2)
    group.remove("b")
    assert group.regexes == {} and not group.subscribes_to("more")


def test_commits_need_the_epoch_or_partitions_since_then() -> None:
    group = group_of(member("a"))
    position = MemberPosition(5, 4, AssignmentState.UNREVOKED_PARTITIONS, {A: 3}, {B: 5})
    group.move(group.members["a"], position)
    assert group.commit_error("b", 5, [A]) == E.UNKNOWN_MEMBER_ID
    assert group.commit_error("a", 5, [A, B]) == E.NONE
    assert group.commit_error("a", 6, [A]) == E.STALE_MEMBER_EPOCH
    assert group.commit_error("a", 3, [A]) == E.NONE
    assert group.commit_error("a", 2, [A]) == E.STALE_MEMBER_EPOCH
    assert group.commit_error("a", 4, [B]) == E.STALE_MEMBER_EPOCH
    assert group.commit_error("a", 4, [(b"u" * 16, 0)]) == E.STALE_MEMBER_EPOCH
    assert group.fetch_error("b", 5) == E.UNKNOWN_MEMBER_ID
    assert group.fetch_error("a", 5) == E.NONE
    assert group.fetch_error("a", 4) == E.STALE_MEMBER_EPOCH


def test_returning_static_member_owns_partitions_it_need_not_give_up() -> None:
    old = ModernMember("a", CLIENT, instance_id="i")
    group = group_of(old)
    group.move(old, MemberPosition(-2, 3, AssignmentState.UNREVOKED_PARTITIONS, {A: 2}, {B: 2}))
    group.targets["a"] = {A}
    group.replace(old, old.renamed("b"))
    assert group.static == {"i": "b"} and list(group.members) == ["b"]
    assert (group.owner(A), group.owner(B), group.targets) == ("b", None, {"b": {A}})
    assert group.members["b"].position == MemberPosition(0, 0, AssignmentState.STABLE, {A: 2}, {})


def test_partition_that_the_log_gives_to_two_belongs_to_the_last() -> None:
    group = group_of(member("a"), member("b"))
    group.members["a"].position = at(2, A, B)
    group.members["b"].position = at(3, B)
    group.settle()
    assert (group.owner(A), group.owner(B)) == ("a", "b")
    assert group.members["a"].position.assigned == {A: 2}
    assert group.unwritten == {}


def test_tombstones_cover_all_records_once() -> None:
    group = group_of(member("a"))
    group.mark(RecordKey(Kind.MEMBER, "a"), RecordKey(Kind.MEMBER, "gone"))
    group.regexes["x"] = ResolvedRegex(frozenset(), b"", 0)
    keys = group.tombstones()
    assert len(keys) == len(set(keys)) == 7
    assert keys[-1] == RecordKey(Kind.GROUP) and group.unwritten == {}
