"""A member, and its position."""

from mqgateway.gateway.kafka.consumer_groups.member import (
    START,
    AssignmentState,
    MemberPosition,
    ModernMember,
)
from mqgateway.gateway.kafka.coordinator.member import RequestSender

MEMBER = ModernMember(
    "a", RequestSender("c", "h"), instance_id="i", rack_id="r", rebalance_timeout=5, topics=("t",), regex="x"
)


def test_renamed_member_says_the_same_and_starts_again() -> None:
    renamed = MEMBER.renamed("bb")
    assert (renamed.id, renamed.metadata, renamed.subscription) == ("bb", MEMBER.metadata, (("t",), "x"))
    assert renamed.position == START
    assert (MEMBER.size, renamed.size) == (5, 6)


def test_position_knows_partitions_and_epochs() -> None:
    a, b, c = ((b"t" * 16, number) for number in range(3))
    position = MemberPosition(4, 3, AssignmentState.UNREVOKED_PARTITIONS, {a: 2}, {b: 3})
    assert [position.assignment_epoch(one) for one in (a, b, c)] == [2, 3, None]
    assert not position.is_at(4)
    assert position._replace(state=AssignmentState.STABLE).is_at(4)
