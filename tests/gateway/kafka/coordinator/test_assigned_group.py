"""Groups whose partitions the broker assigns, of any type."""

import pytest

from mqgateway.gateway.kafka.consumer_groups.member import ModernMember
from mqgateway.gateway.kafka.coordinator.assigned_group import (
    AssignedGroup,
    Kind,
    RecordKey,
    SubscriptionTooLarge,
)
from mqgateway.gateway.kafka.coordinator.member import MemberTally, RequestSender
from mqgateway.gateway.kafka.coordinator.topic_catalog import TopicsInMemory


def group_of(*names: str, tally: MemberTally | None = None) -> AssignedGroup[ModernMember]:
    """Return a group of members that subscribe to `orders`."""
    group: AssignedGroup[ModernMember] = AssignedGroup("g", tally or MemberTally())
    for name in names:
        group.put(ModernMember(name, RequestSender("c", "/127.0.0.1"), topics=("orders",)))
    return group


def test_tally_counts_members_and_what_they_say() -> None:
    tally = MemberTally()
    group = group_of("a", "b", tally=tally)
    assert (tally.members, tally.bytes, group.subscribes_to("orders")) == (2, 14, True)
    group.clear()
    assert (tally.members, tally.bytes, group.subscribes_to("orders")) == (0, 0, False)


def test_topics_are_looked_up_within_the_limit() -> None:
    group = group_of("a")
    catalog = TopicsInMemory({"orders": 2})
    assert group.refresh_topics(catalog, 2) and not group.refresh_topics(catalog, 2)
    catalog.topics["orders"] = 3
    with pytest.raises(SubscriptionTooLarge):
        group.refresh_topics(catalog, 2)
    assert group.topics["orders"].partitions == 2


def test_targets_of_members_that_left_are_not_kept() -> None:
    group = group_of("a")
    group.bump()
    group.set_targets(2, {"a": {(b"t" * 16, 0)}, "gone": set()}, 7)
    assert list(group.targets) == ["a"] and group.assigned_time == 7
    assert list(group.unwritten) == [
        RecordKey(Kind.GROUP),
        RecordKey(Kind.TARGET, "a"),
        RecordKey(Kind.TARGET_EPOCH),
    ]
    group.remove("a")
    assert group.targets == {} and RecordKey(Kind.MEMBER, "a") in group.unwritten
    keys = group.tombstones()
    assert len(keys) == 5 and group.unwritten == {}
