"""Groups of consumers with the classic protocol, with every client."""

from __future__ import annotations

import pytest

from compat_tests.kafka.support.clients import (
    Member,
    Programs,
    wait_for_assignment,
    wait_for_values,
)
from compat_tests.kafka.support.groups import PARTITIONS, Group, process_of_its_own, spread
from compat_tests.support.processes import wait_until

pytest_plugins = ("compat_tests.kafka.support.group_fixtures",)


def test_new_group_reads_from_the_beginning(group: Group) -> None:
    sent = spread(group.client, group.topic, 0)
    member = group.join()
    wait_for_values([member], sent)
    assert member.assignment == list(range(PARTITIONS))


def test_new_group_can_start_at_the_end(group: Group) -> None:
    spread(group.client, group.topic, 0)
    member = group.join(start="latest")
    wait_for_assignment([member], PARTITIONS)
    wait_for_position(member, group)


def wait_for_position(member: Member, group: Group) -> None:
    """Send until the member, which has assigned its partitions but may not know their ends yet, receives."""
    for number in range(100, 200):
        group.client.produce(group.topic, [{"value": f"late-{number}", "partition": 0}])
        if member.values:
            break
    wait_until(lambda: member.values, 20, "a late record came")
    assert all(str(value).startswith("late-") for value in member.values)


def test_group_continues_after_its_committed_offsets(group: Group) -> None:
    first = spread(group.client, group.topic, 0)
    with group.join() as member:
        wait_for_values([member], first)
        member.commit()
    second = spread(group.client, group.topic, 30)
    wait_for_values([group.join()], second)


def test_uncommitted_records_are_delivered_again(group: Group) -> None:
    sent = spread(group.client, group.topic, 0)
    with group.join() as member:
        wait_for_values([member], sent)
    wait_for_values([group.join()], sent)


def test_two_groups_read_everything_each(group: Group) -> None:
    sent = spread(group.client, group.topic, 0)
    members = [group.join(), group.join(group=f"{group.topic}-b")]
    for member in members:
        wait_for_values([member], sent)


@pytest.mark.parametrize("assignor", ["range", "roundrobin"])
def test_members_that_come_and_go_share_the_partitions(group: Group, assignor: str) -> None:
    one = group.join(assignor=assignor)
    wait_for_assignment([one], PARTITIONS)
    two = group.join(assignor=assignor)
    wait_for_assignment([one, two], PARTITIONS)
    three = group.join(assignor=assignor)
    wait_for_assignment([one, two, three], PARTITIONS)
    wait_for_values([one, two, three], spread(group.client, group.topic, 0))
    for member in (one, two, three):
        member.commit()
    one.close()
    wait_for_assignment([two, three], PARTITIONS)
    two.close()
    wait_for_assignment([three], PARTITIONS)
    second = spread(group.client, group.topic, 30)
    wait_until(lambda: set(second) <= set(three.values), 30, "the last member reads everything")
    assert three.values.count("value-59") == 1


def test_partitions_of_a_killed_member_are_taken_over(group: Group, programs: Programs) -> None:
    check_that_partitions_of_a_killed_member_are_taken_over(group, programs)


@pytest.mark.long
@pytest.mark.needs("cooperative")
def test_partitions_of_a_killed_cooperative_member_are_taken_over(group: Group, programs: Programs) -> None:
    check_that_partitions_of_a_killed_member_are_taken_over(group, programs, assignor="cooperative")


@pytest.mark.long
@pytest.mark.needs("static")
def test_partitions_of_a_killed_static_member_are_taken_over(group: Group, programs: Programs) -> None:
    check_that_partitions_of_a_killed_member_are_taken_over(group, programs, instance="b")


def check_that_partitions_of_a_killed_member_are_taken_over(
    group: Group, programs: Programs, **options: str
) -> None:
    """Kill one of two members; the other one has an instance name of its own if the killed one has one."""
    stays = group.join(None, **{name: "a" if name == "instance" else one for name, one in options.items()})
    wait_for_assignment([stays], PARTITIONS)
    with process_of_its_own(group.client, programs) as client:
        dies = group.join(client, **options)
        wait_for_assignment([stays, dies], PARTITIONS)
    wait_for_assignment([stays], PARTITIONS)
    wait_for_values([stays], spread(group.client, group.topic, 0))


@pytest.mark.long
@pytest.mark.needs("static")
def test_killed_static_member_returns_to_its_partitions_without_a_rebalance(
    group: Group, programs: Programs
) -> None:
    stays = group.join(instance="a")
    with process_of_its_own(group.client, programs) as client:
        dies = group.join(client, instance="b")
        wait_for_assignment([stays, dies], PARTITIONS)
        before, kept = stays.poll().revoked, dies.assignment
    again = group.join(instance="b")
    wait_until(lambda: again.assignment == kept, 20, "the static member has its partitions again")
    wait_for_values([stays, again], spread(group.client, group.topic, 0))
    assert stays.poll().revoked == before


@pytest.mark.long
def test_group_that_grows_and_shrinks_under_load_loses_no_record(group: Group) -> None:
    sent: list[str] = []
    members: list[Member] = []
    for number in range(4):
        members.append(group.join())
        sent += spread(group.client, group.topic, 100 * number)
        wait_for_assignment(members, PARTITIONS)
        sent += spread(group.client, group.topic, 100 * number + 30)
    for number in range(4, 7):
        members[number - 4].close()
        sent += spread(group.client, group.topic, 100 * number)
        wait_for_assignment(members[number - 3 :], PARTITIONS)
    wait_for_values(members, sent, exactly=False)


@pytest.mark.needs("static")
def test_static_member_returns_without_a_rebalance(group: Group) -> None:
    stays, restarts = group.join(instance="a"), group.join(instance="b")
    wait_for_assignment([stays, restarts], PARTITIONS)
    before, kept = stays.poll().revoked, restarts.assignment
    restarts.close()
    again = group.join(instance="b")
    wait_until(lambda: again.assignment == kept, 20, "the static member has its partitions again")
    assert len(stays.assignment) + len(kept) == PARTITIONS
    assert stays.poll().revoked == before
    wait_for_values([stays, again], spread(group.client, group.topic, 0))


@pytest.mark.needs("cooperative")
def test_cooperative_members_keep_most_partitions(group: Group) -> None:
    one, two = group.join(assignor="cooperative"), group.join(assignor="cooperative")
    wait_for_assignment([one, two], PARTITIONS)
    before = one.poll().revoked + two.poll().revoked
    three = group.join(assignor="cooperative")
    wait_for_assignment([one, two, three], PARTITIONS)
    assert one.poll().revoked + two.poll().revoked - before == PARTITIONS // 3
    wait_for_values([one, two, three], spread(group.client, group.topic, 0))
