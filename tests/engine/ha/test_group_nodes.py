"""Nodes of a group as its master sees them, and their texts."""

from __future__ import annotations

import json

import pytest

from mqgateway.engine.ha.group_nodes import (
    LOST_MILLIS,
    NO_END,
    NODES_MAX,
    GroupNode,
    GroupNodes,
    NodeState,
    NodesView,
    format_node,
    format_view,
    parse_node,
    parse_view,
)

OWN = GroupNode(1, 1, "a", 9092, "r1", 1000)
SLAVE = GroupNode(2, 2, "b", 9093, "", 900)
GAP = 200


def states(view: NodesView) -> list[tuple[int, bool, bool]]:
    """Return id, presence and synchrony of each node."""
    return [(each.node.id, each.is_online, each.is_in_sync) for each in view.nodes]


def test_master_judges_by_reports_and_by_the_ends_of_logs() -> None:
    nodes = GroupNodes()
    assert nodes.note(SLAVE, 0, 0)
    view = nodes.view(OWN, 3, 10, in_sync=None, gap_max=GAP)
    assert (view.epoch, view.leader) == (3, 1)
    assert states(view) == [(1, True, True), (2, True, True)]
    assert states(nodes.view(OWN, 3, 10, in_sync=None, gap_max=100)) == [(1, True, True), (2, True, False)]
    nodes.note(SLAVE._replace(end=NO_END), 20, 0)
    assert states(nodes.view(OWN, 3, 30, in_sync=None, gap_max=GAP)) == [(1, True, True), (2, True, False)]


def test_silent_node_is_offline_and_in_sync_as_long_as_the_set_has_it() -> None:
    nodes = GroupNodes()
    nodes.note(SLAVE, 0, 0)
    assert states(nodes.view(OWN, 3, LOST_MILLIS, in_sync={1, 2}, gap_max=GAP))[1] == (2, False, True)
    assert states(nodes.view(OWN, 3, LOST_MILLIS, in_sync={1}, gap_max=GAP))[1] == (2, False, False)


def test_nodes_of_an_earlier_master_are_kept_and_offline_until_they_report() -> None:
    view = NodesView(3, 1, (NodeState(OWN, True, True), NodeState(SLAVE, True, True)))
    nodes = GroupNodes()
    nodes.adopt(view)
    assert states(nodes.view(SLAVE, 4, 0, in_sync={2}, gap_max=GAP)) == [(1, False, False), (2, True, True)]
    nodes.note(OWN, 5, 0)
    assert states(nodes.view(SLAVE, 4, 6, in_sync={2}, gap_max=GAP))[0] == (1, True, False)


def test_two_nodes_with_one_id_and_too_many_nodes_are_refused() -> None:
    nodes = GroupNodes()
    assert nodes.note(SLAVE, 0, 0)
    assert not nodes.note(GroupNode(3, 2, "c", 9094), 0, 0)
    for number in range(3, NODES_MAX + 2):
        assert nodes.note(GroupNode(number, number, "c", 9094), 0, 0)
    assert not nodes.note(GroupNode(100, 100, "c", 9094), 0, 0)
    assert len(nodes.view(OWN, 0, 0, in_sync=None, gap_max=GAP).nodes) == NODES_MAX + 1
    assert all(each.node.id != 100 for each in nodes.view(OWN, 0, 0, in_sync=None, gap_max=GAP).nodes)


def test_texts_are_read_as_they_are_written() -> None:
    assert parse_node(format_node(OWN)) == OWN
    leaving = SLAVE._replace(begin=700, is_leaving=True)
    assert parse_node(format_node(leaving)) == leaving
    view = NodesView(3, 1, (NodeState(OWN, True, True, True), NodeState(SLAVE, False, True)))
    assert parse_view(format_view(view)) == view
    assert view.find(2) == SLAVE and view.find(7) is None


def test_node_that_has_what_the_master_had_at_its_last_report_serves_readers() -> None:
    nodes = GroupNodes()

    def serves(end: int, master_end: int, in_sync: set[int] | None = None) -> bool:
        nodes.note(SLAVE._replace(end=end), 0, master_end)
        states = nodes.view(OWN, 3, 0, in_sync=in_sync, gap_max=GAP).nodes
        assert states[0].serves
        return states[1].serves

    assert not serves(900, 900)  # its first report
    assert serves(900, 950)
    assert serves(950, 1000)
    assert not serves(999, 1000)
    assert serves(1000, 1000)
    assert not serves(1000, 1000, in_sync={1})
    assert serves(1000, 1000, in_sync={1, 2})
    assert not nodes.view(OWN, 3, LOST_MILLIS, in_sync={1, 2}, gap_max=GAP).nodes[1].serves
    assert not serves(NO_END, 1000, in_sync={1, 2})


def test_node_that_is_leaving_is_offline_until_it_reports_again() -> None:
    nodes = GroupNodes()
    nodes.note(SLAVE, 0, 900)
    nodes.note(SLAVE._replace(is_leaving=True), 1, 900)
    [_, left] = nodes.view(OWN, 3, 1, in_sync={1, 2}, gap_max=GAP).nodes
    assert (left.is_online, left.is_in_sync, left.serves) == (False, True, False)
    nodes.note(SLAVE, 2, 900)
    [_, again] = nodes.view(OWN, 3, 2, in_sync={1, 2}, gap_max=GAP).nodes
    assert (again.is_online, again.serves) == (True, False)


def test_node_of_an_earlier_version_has_a_log_from_the_beginning() -> None:
    fields = json.loads(format_node(SLAVE._replace(begin=700, is_leaving=True)))
    del fields["begin"], fields["is_leaving"]
    assert parse_node(json.dumps(fields)) == SLAVE


@pytest.mark.parametrize(
    "changes",
    [
        {"host": ""},
        {"host": "x" * 256},
        {"rack": "x" * 256},
        {"port": 0},
        {"port": 65536},
        {"id": -1},
        {"id": 1 << 31},
        {"number": -1},
        {"number": True},
        {"end": "1"},
        {"begin": "1"},
        {"host": None},
    ],
)
def test_invalid_node_is_refused(changes: dict[str, object]) -> None:
    with pytest.raises(ValueError):
        parse_node(format_node(OWN._replace(**changes)))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "text", ["", "[]", "1", "{}", '{"epoch":1,"leader":1}', '{"epoch":1,"leader":1,"nodes":[{}]}']
)
def test_invalid_view_is_refused(text: str) -> None:
    with pytest.raises(ValueError):
        parse_view(text)
