"""A leader has its followers' logs like its own."""

import pytest

from mqgateway.engine.raft.messages import AppendAnswer, Code, Push, PushType
from mqgateway.engine.raft.settings import STANDARD_RULES
from tests.support.engine.raft.group import Group, bodies


class TestReplication:
    @pytest.mark.parametrize("batch", [False, True])
    def test_all_get_what_is_appended(self, batch: bool) -> None:
        group = Group(3, batch_push=batch)
        leader = group.elect()
        tokens = [group.append(leader, b"%d" % number * 40) for number in range(100)]
        group.run(3000)
        assert {group.answers[token].code for token in tokens} == {Code.SUCCESS}
        assert [group.answers[token].index for token in tokens] == list(range(100))
        assert bodies(group, "n0") == bodies(group, "n1") == bodies(group, "n2")
        assert {node.log.committed_index for node in group.nodes.values()} == {99}
        assert {node.log.end_position for node in group.nodes.values()} == {
            group.nodes[leader].log.end_position
        }
        group.check()

    def test_nothing_is_pushed_before_there_is_an_entry(self) -> None:
        group = Group(3)
        group.elect()
        group.run(5000)
        assert not [request for _, _, request in group.sent if isinstance(request, Push)]

    def test_the_first_entry_comes_by_truncation(self) -> None:
        group = Group(3)
        leader = group.elect()
        group.append(leader, b"first")
        group.run(1000)
        kinds = [request.type for _, to, request in group.sent if isinstance(request, Push) and to != leader]
        assert kinds[:4] == [PushType.COMPARE] * 2 + [PushType.TRUNCATE] * 2

    def test_a_member_that_was_away_catches_up(self) -> None:
        group = Group(3)
        leader = group.elect()
        group.append(leader, b"before")
        group.run(3000)
        away = next(one for one in group.nodes if one != leader)
        group.crash(away)
        for number in range(50):
            group.append(leader, b"%d" % number)
        group.run(3000)
        group.start(away)
        group.run(10_000)
        assert bodies(group, away) == bodies(group, leader)
        group.check()

    def test_entries_of_an_old_leader_alone_are_truncated(self) -> None:
        group = Group(3)
        first = group.elect()
        group.append(first, b"all")
        group.run(3000)
        group.isolate(first)
        lost = group.append(first, b"alone")
        group.crash(first)
        second = group.elect()
        group.append(second, b"other")
        group.start(first)
        group.heal()
        group.run(15_000)
        assert lost not in group.answers
        assert bodies(group, first) == bodies(group, second)
        assert b"alone" not in bodies(group, first)
        group.check()

    def test_a_member_behind_the_leaders_beginning_begins_there(self) -> None:
        group = Group(3)
        leader = group.elect()
        group.append(leader, b"0")
        group.run(3000)
        away = next(one for one in group.nodes if one != leader)
        group.crash(away)
        for number in range(1, 60):
            group.append(leader, b"%d" % number)
        group.run(3000)
        group.memory_log(leader).delete_before(40)
        group.start(away)
        group.run(10_000)
        assert group.nodes[away].log.begin_index == 40
        assert bodies(group, away) == bodies(group, leader)

    def test_append_without_a_quorum_is_reported(self) -> None:
        group = Group(3)
        leader = group.elect()
        group.run(3000)
        group.isolate(leader)
        token = group.append(leader, b"alone")
        group.run(2600)
        assert group.answers[token].code is Code.WAIT_QUORUM_ACK_TIMEOUT

    def test_append_whose_term_ends_is_reported(self) -> None:
        group = Group(3, ack_timeout=60_000)
        leader = group.elect()
        group.isolate(leader)
        token = group.append(leader, b"alone")
        group.run(12_000)
        assert group.answers[token].code is Code.TERM_CHANGED

    def test_appends_wait_for_the_disks_of_a_majority(self) -> None:
        group = Group(3)
        leader = group.elect()
        others = [one for one in group.nodes if one != leader]
        for one in others:
            group.nodes[one].syncs = False
        token = group.append(leader, b"one")
        group.run(1000)
        assert token not in group.answers
        group.nodes[others[0]].syncs = True
        group.run(100)
        assert group.answers[token].code is Code.SUCCESS

    def test_the_standards_do_not(self) -> None:
        group = Group(3, rules=STANDARD_RULES)
        leader = group.elect()
        for node in group.nodes.values():
            node.syncs = False
        token = group.append(leader, b"one")
        group.run(1000)
        assert group.answers[token].code is Code.SUCCESS

    def test_so_many_may_wait(self) -> None:
        group = Group(3, pending_appends_max=3)
        leader = group.elect()
        group.isolate(leader)
        tokens = [group.append(leader, b"one") for _ in range(5)]
        assert group.answers == {tokens[4]: AppendAnswer(Code.LEADER_PENDING_FULL)}
