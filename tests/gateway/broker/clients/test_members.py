"""Members of groups, and what they subscribe to."""

from mqgateway.gateway.broker.clients.members import ConsumerGroup, GroupClient, Subscribed
from mqgateway.gateway.codec.codes import CURRENT_VERSION
from tests.support.gateway.broker.helpers import FakePeer


def member(name: str) -> GroupClient:
    return GroupClient(FakePeer(), name, "JAVA", CURRENT_VERSION)


def subscribed(*topics: str) -> Subscribed:
    return frozenset((topic, "TAG", "*") for topic in topics)


def test_member_is_shown_with_its_address() -> None:
    peer = FakePeer()
    assert str(GroupClient(peer, "c1", "JAVA", CURRENT_VERSION)) == f"client c1 at {peer.address}"


def test_group_is_inconsistent_while_members_subscribe_differently() -> None:
    group, one, two = ConsumerGroup("G"), member("c1"), member("c2")
    group.note_subscription(one, subscribed("t"))
    group.note_subscription(two, subscribed("t"))
    assert not group.is_inconsistent
    group.note_subscription(two, subscribed("t", "u"))
    assert group.is_inconsistent
    group.note_subscription(one, subscribed("t", "u"))
    assert not group.is_inconsistent


def test_member_that_left_disagrees_with_no_member() -> None:
    group, one, two = ConsumerGroup("G"), member("c1"), member("c2")
    group.note_subscription(one, subscribed("t"))
    group.note_subscription(two, subscribed("u"))
    group.note_subscription(two, None)
    assert not group.is_inconsistent
