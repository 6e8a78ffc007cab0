"""Other groups of a cluster: what is known of them, and to which one a topic belongs."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mqgateway.engine.clock import ManualClock
from mqgateway.engine.errors import ConfigError
from mqgateway.engine.ha.group_nodes import LOST_MILLIS, NO_VIEW, GroupNode, NodeState, NodesView
from mqgateway.engine.ha.peer_groups import BLOCK, PeerGroups, first_node_id, group_names
from mqgateway.engine.tables.attributes import KAFKA_TOPIC_ID
from mqgateway.engine.tables.peer_topics import PeerTopicTable
from mqgateway.engine.tables.topics import TopicConfig
from mqgateway.engine.testing.crash_disk import CrashDisk

NAMES = ("a", "b", "c")
VIEW = NodesView(3, 1001, (NodeState(GroupNode(1, 1001, "h", 9092), True, True),))


def table(disk: CrashDisk | None = None) -> PeerTopicTable:
    """Return the table of a broker, loaded."""
    loaded = PeerTopicTable(disk or CrashDisk(), "/peers.json", ManualClock())
    loaded.load()
    return loaded


def topics(*names: str, by_kafka: bool = False) -> dict[str, TopicConfig]:
    """Return topics by name."""
    attributes = {KAFKA_TOPIC_ID: "x"} if by_kafka else {}
    return {name: TopicConfig(name, attributes=attributes) for name in names}


def groups_of(own: str, mine: dict[str, TopicConfig], disk: CrashDisk | None = None) -> PeerGroups:
    """Return the groups as a member of one of them knows them."""
    return PeerGroups(NAMES, own, mine.get, table(disk))


def test_setting_is_a_list_in_order() -> None:
    assert group_names(" b, a ,,") == ["b", "a"] and group_names("") == []
    assert [first_node_id("b,a", name) for name in ("b", "a", "c")] == [0, BLOCK, 0]
    assert first_node_id("", "a") == 0


def test_setting_without_the_own_group_is_refused() -> None:
    with pytest.raises(ConfigError, match="no group d"):
        PeerGroups(NAMES, "d", lambda name: None, table())


def test_nodes_of_a_silent_group_have_no_leader() -> None:
    groups = groups_of("a", {})
    assert groups.view("b", 0) == NO_VIEW
    groups.note("b", VIEW, 100)
    assert groups.view("b", 100 + LOST_MILLIS - 1) == VIEW
    assert groups.view("b", 100 + LOST_MILLIS) == VIEW._replace(leader=-1)


def test_groups_are_current_while_all_answer() -> None:
    groups = groups_of("a", {})
    assert not groups.is_current(0)
    groups.note("b", VIEW, 100)
    assert not groups.is_current(100)
    groups.note("c", VIEW, 200)
    assert groups.is_current(100 + LOST_MILLIS - 1) and not groups.is_current(100 + LOST_MILLIS)


def test_topics_survive_a_restart() -> None:
    disk = CrashDisk()
    groups = groups_of("a", {}, disk)
    assert not groups.is_complete
    groups.note_topics("b", topics("x", "y"), "1")
    groups.note_topics("b", topics("x", "z"), "2")
    groups.note_topics("c", topics("z"), "1")
    assert groups.is_complete and groups.changes == 3 and groups.version_of("b") == "2"
    again = groups_of("a", {}, disk)
    assert again.is_complete and again.version_of("b") == ""
    assert {(one.group, one.config.topic_name) for one in again.foreign_topics()} == {("b", "x"), ("b", "z")}
    assert again.holders("z") == ["b", "c"] and again.foreign_count == 3
    assert groups_of("b", {}, disk).foreign("x") is None


def test_unchanged_topics_are_no_change() -> None:
    groups = groups_of("a", {})
    groups.note_topics("b", topics("x"), "1")
    groups.note_topics("b", topics("x"), "2")
    assert groups.changes == 1 and groups.version_of("b") == "2"


def test_unknown_topic_may_be_foreign_until_all_groups_have_answered() -> None:
    groups = groups_of("a", topics("own"))
    groups.note_topics("b", topics("x"), "1")
    assert [groups.may_be_foreign(name) for name in ("own", "x", "y")] == [False, True, True]
    groups.note_topics("c", topics("z"), "1")
    assert [groups.may_be_foreign(name) for name in ("own", "x", "y")] == [False, True, False]


def test_deleted_topics_and_those_made_again_have_ended() -> None:
    groups = groups_of("a", topics("own"))
    first = topics("x", "own") | topics("y", "z", by_kafka=True)
    assert groups.note_topics("b", first, "1") == []
    assert groups.note_topics("c", topics("x"), "1") == []
    again = {"z": TopicConfig("z", attributes={KAFKA_TOPIC_ID: "other"})}
    assert groups.note_topics("b", topics("x", "y", by_kafka=True) | again, "2") == ["x", "z"]
    assert groups.note_topics("c", {}, "2") == []
    assert groups.note_topics("b", {}, "3") == ["x", "y", "z"]


@given(st.lists(st.tuples(st.sampled_from(NAMES), st.booleans()), unique_by=lambda one: one[0]))
def test_all_groups_agree_on_the_owner_of_a_topic(holders: list[tuple[str, bool]]) -> None:
    owners = set()
    for own in NAMES:
        tables = {name: topics("t", by_kafka=kafka) for name, kafka in holders}
        groups = groups_of(own, tables.pop(own, {}))
        for name in groups.others:
            groups.note_topics(name, tables.get(name, {}), "1")
        foreign = groups.foreign("t")
        is_own = own in dict(holders) and foreign is None
        owners.add(own if is_own else "" if foreign is None else foreign.group)
    made_by_kafka = [name for name in NAMES if (name, True) in holders]
    first = next(iter(made_by_kafka or sorted(name for name, _ in holders)), "")
    assert owners == {first}
