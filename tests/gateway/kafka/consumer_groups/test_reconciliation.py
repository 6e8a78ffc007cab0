"""The way of a member to its target."""

from mqgateway.gateway.kafka.consumer_groups.member import START, AssignmentState, MemberPosition
from mqgateway.gateway.kafka.consumer_groups.reconciliation import MemberTarget, reconciled

A, B, C = ((b"t" * 16, number) for number in range(3))
STABLE, UNREVOKED, UNRELEASED = AssignmentState


def free(partition: object) -> bool:
    return True


def test_new_member_gets_free_partitions_at_once() -> None:
    position = reconciled(START, MemberTarget(2, {A, B}), free, set())
    assert position == MemberPosition(2, 0, STABLE, {A: 2, B: 2}, {})
    assert reconciled(position, MemberTarget(2, {A, B}), free, None) is position


def test_partitions_of_others_are_waited_for() -> None:
    position = reconciled(START, MemberTarget(2, {A, B}), lambda one: one != B, set())
    assert position == MemberPosition(2, 0, UNRELEASED, {A: 2}, {})
    assert reconciled(position, MemberTarget(2, {A, B}), lambda one: one != B, None) == position
    assert reconciled(position, MemberTarget(2, {A, B}), free, None) == MemberPosition(
        2, 0, STABLE, {A: 2, B: 2}, {}
    )


def test_member_gives_up_partitions_before_it_gets_the_next_epoch() -> None:
    first = MemberPosition(2, 0, STABLE, {A: 2, B: 2}, {})
    target = MemberTarget(3, {B, C})
    waiting = reconciled(first, target, free, {A, B})
    assert waiting == MemberPosition(2, 0, UNREVOKED, {B: 2}, {A: 2})
    assert reconciled(waiting, target, free, None) is waiting
    assert reconciled(waiting, target, free, {A, B}) is waiting
    assert reconciled(waiting, target, free, {B}) == MemberPosition(3, 2, STABLE, {B: 2, C: 3}, {})


def test_member_that_does_not_say_what_it_owns_is_asked_to_give_up() -> None:
    first = MemberPosition(2, 0, STABLE, {A: 2}, {})
    assert reconciled(first, MemberTarget(3, set()), free, None).state is UNREVOKED


def test_member_that_owns_nothing_gives_up_nothing() -> None:
    first = MemberPosition(2, 0, STABLE, {A: 2}, {})
    assert reconciled(first, MemberTarget(3, {B}), free, set()) == MemberPosition(3, 2, STABLE, {B: 3}, {})


def test_target_that_changes_while_partitions_are_given_up_is_followed_then() -> None:
    waiting = MemberPosition(2, 0, UNREVOKED, {B: 2}, {A: 2})
    again = reconciled(waiting, MemberTarget(4, {A}), free, {B})
    assert again == MemberPosition(2, 0, UNREVOKED, {}, {B: 2})
    assert reconciled(again, MemberTarget(4, {A}), free, set()) == MemberPosition(4, 2, STABLE, {A: 4}, {})


def test_previous_epoch_stays_while_partitions_are_waited_for() -> None:
    position = MemberPosition(3, 2, UNRELEASED, {}, {})
    assert reconciled(position, MemberTarget(3, {A}), free, None).previous_epoch == 2
