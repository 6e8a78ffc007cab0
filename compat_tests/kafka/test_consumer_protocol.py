"""Groups of consumers with the consumer protocol (KIP-848), whose partitions the broker assigns."""

from __future__ import annotations

import pytest

from compat_tests.kafka.support.clients import Member, Programs, wait_for_assignment, wait_for_values
from compat_tests.kafka.support.groups import PARTITIONS, Group, process_of_its_own, spread
from compat_tests.support.processes import wait_until

pytest_plugins = ("compat_tests.kafka.support.group_fixtures",)
pytestmark = pytest.mark.needs("consumer_protocol")

SESSION_SECONDS = 45.0


def join(group: Group, assignor: str = "uniform", instance: str | None = None) -> Member:
    """Return a new member with the consumer protocol."""
    options = {} if instance is None else {"instance": instance}
    return group.join(None, protocol="consumer", assignor=assignor, **options)


def test_member_reads_from_the_beginning_and_continues(group: Group) -> None:
    first = spread(group.client, group.topic, 0)
    with join(group) as member:
        wait_for_values([member], first)
        assert member.assignment == list(range(PARTITIONS))
        member.commit()
    second = spread(group.client, group.topic, 30)
    wait_for_values([join(group)], second)


@pytest.mark.parametrize("assignor", ["uniform", "range"])
def test_members_that_come_and_go_share_the_partitions(group: Group, assignor: str) -> None:
    one = join(group, assignor)
    wait_for_assignment([one], PARTITIONS)
    two = join(group, assignor)
    wait_for_assignment([one, two], PARTITIONS)
    three = join(group, assignor)
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


def test_members_keep_most_partitions(group: Group) -> None:
    one, two = join(group), join(group)
    wait_for_assignment([one, two], PARTITIONS)
    before = one.poll().revoked + two.poll().revoked
    three = join(group)
    wait_for_assignment([one, two, three], PARTITIONS)
    assert one.poll().revoked + two.poll().revoked - before == PARTITIONS // 3
    wait_for_values([one, two, three], spread(group.client, group.topic, 0))


def test_static_member_returns_without_a_rebalance(group: Group) -> None:
    stays, restarts = join(group, instance="a"), join(group, instance="b")
    wait_for_assignment([stays, restarts], PARTITIONS)
    before, kept = stays.poll().revoked, restarts.assignment
    restarts.close()
    again = join(group, instance="b")
    wait_until(lambda: again.assignment == kept, 20, "the static member has its partitions again")
    assert stays.poll().revoked == before
    wait_for_values([stays, again], spread(group.client, group.topic, 0))


def test_empty_group_changes_its_protocol(group: Group) -> None:
    first = spread(group.client, group.topic, 0)
    for number, protocol in enumerate(("classic", "consumer", "classic", "consumer"), 1):
        with group.join(protocol=protocol) as member:
            wait_for_values([member], first)
            member.commit()
        first = spread(group.client, group.topic, 100 * number)


@pytest.mark.long
def test_partitions_of_a_killed_member_are_taken_over(group: Group, programs: Programs) -> None:
    stays = join(group)
    wait_for_assignment([stays], PARTITIONS)
    with process_of_its_own(group.client, programs) as client:
        dies = group.join(client, protocol="consumer", assignor="uniform")
        wait_for_assignment([stays, dies], PARTITIONS)
    wait_for_assignment([stays], PARTITIONS, 2 * SESSION_SECONDS)
    wait_for_values([stays], spread(group.client, group.topic, 0))
