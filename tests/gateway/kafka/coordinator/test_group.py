"""Rules of a group that need no coordinator."""

import pytest

from mqgateway.gateway.kafka.coordinator.group import INT_MAX, Group, GroupState
from mqgateway.gateway.kafka.coordinator.member import Member, MemberTally, Protocols, RequestSender
from tests.support.gateway.kafka.groups import subscription


def group_of(*members: Protocols, kind: str = "consumer") -> Group:
    """Return a group of members with these protocols."""
    group = Group("g", 0, MemberTally())
    for number, protocols in enumerate(members):
        client = RequestSender("c", "/h")
        group.add(Member(f"m{number}", None, client, kind, protocols, rebalance_timeout=1, session_timeout=1))
    return group


def test_protocol_that_a_member_names_twice_counts_once() -> None:
    group = group_of((("a", b""), ("a", b""), ("b", b"")), (("b", b""),))
    assert group.choose_protocol() == "b"


def test_first_of_equally_liked_protocols_is_chosen() -> None:
    assert group_of((("a", b""), ("b", b"")), (("b", b""), ("a", b""))).choose_protocol() == "a"


def test_leader_that_leaves_is_followed_by_another_member() -> None:
    group = group_of((("a", b""),), (("a", b""),))
    group.remove("m0")
    assert group.leader == "m1"
    group.remove("m1")
    assert group.leader is None


def test_member_that_is_removed_while_its_join_waits_is_not_counted() -> None:
    group = group_of((("a", b""),))
    member = group.members["m0"]
    group.update(member, member.protocols, 1, 1, lambda _: None)
    assert group.have_all_joined()
    group.remove("m0")
    assert group.joining == 0


def test_generation_after_the_last_number_is_the_first() -> None:
    group = group_of((("a", b""),))
    group.state, group.generation = GroupState.PREPARING, INT_MAX
    group.begin_generation(0)
    assert group.generation == 0


@pytest.mark.parametrize("state", [GroupState.COMPLETING, GroupState.STABLE])
def test_states_follow_one_another(state: GroupState) -> None:
    with pytest.raises(AssertionError):
        Group("g", 0, MemberTally()).move(state, 0)


def test_subscriptions_that_can_be_read_decide_which_topics_are_subscribed() -> None:
    group = group_of((("a", subscription("orders")),), (("a", b"\0\3" + subscription("items")[2:]),))
    group.protocol = "a"
    group.topics = group.subscribed_topics()
    assert [group.subscribes_to(topic) for topic in ("orders", "items", "other")] == [True, True, False]


@pytest.mark.parametrize("metadata", [b"", b"\0", b"\xff\xff\0\0", b"\0\0\xff\xff\xff\xff"])
def test_group_whose_subscriptions_cannot_be_read_may_subscribe_to_any_topic(metadata: bytes) -> None:
    group = group_of((("a", metadata),))
    group.protocol = "a"
    assert group.subscribed_topics() is None
    assert group.subscribes_to("orders")


def test_group_of_another_type_subscribes_to_no_topic() -> None:
    group = group_of((("a", subscription("orders")),), kind="connect")
    group.protocol = "a"
    assert group.subscribed_topics() is None
    assert not group.subscribes_to("orders")
