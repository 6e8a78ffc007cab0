"""The groups, and the count of their members."""

from mqgateway.gateway.kafka.coordinator.group import Group
from mqgateway.gateway.kafka.coordinator.group_table import KafkaGroupTable
from mqgateway.gateway.kafka.coordinator.settings import GroupSettings


def test_groups_are_made_up_to_their_limit() -> None:
    table = KafkaGroupTable(GroupSettings(groups_max=1))
    group = table.find_or_create("g", 0)
    assert group is table.get("g") is table.find_or_create("g", 0)
    assert table.find_or_create("h", 0) is None
    table.discard("g")
    table.discard("g")
    assert table.find_or_create("h", 0) is not None


def test_members_of_a_group_that_is_discarded_or_replaced_do_not_count() -> None:
    table = KafkaGroupTable(GroupSettings(members_max=2))
    for _ in range(2):
        group = Group("g", 0, table.tally)
        group.await_id("m1")
        table.put(group)
    assert table.tally.members == 1
    assert table.has_room(0)
    group.await_id("m2")
    assert not table.has_room(0)
    table.clear()
    assert (table.tally.members, len(table), list(table)) == (0, 0, [])
