"""A group of members as a whole: elections, replication, hand-over, what is committed."""

from dataclasses import replace

import pytest

from mqgateway.engine.raft.messages import (
    Append,
    AppendAnswer,
    Code,
    Get,
    Metadata,
    Push,
    PushType,
    Transfer,
)
from mqgateway.engine.raft.settings import STANDARD_RULES, Rules
from mqgateway.engine.raft.state import RaftRole
from tests.support.engine.raft.group import Group


def _bodies(group: Group, one: str) -> list[bytes]:
    log = group.nodes[one].log
    return [entry.body for entry in log.entries(log.begin_index, 1 << 30)]


class TestElection:
    @pytest.mark.parametrize("count", [1, 3, 5])
    def test_a_group_elects_one_leader(self, count: int) -> None:
        group = Group(count)
        leader = group.elect()
        group.run(5000)
        assert group.leader_id == leader
        assert [group.member(one).leader for one in group.nodes] == [leader] * count
        group.check()

    def test_a_minority_elects_nobody(self) -> None:
        group = Group(3)
        group.crash("n0")
        group.crash("n1")
        group.run(60_000)
        assert group.leader_id == ""

    def test_a_leader_that_is_gone_is_replaced(self) -> None:
        group = Group(3)
        first = group.elect()
        group.crash(first)
        began = group.now
        second = group.elect()
        assert second != first
        assert 4000 < group.now - began < 20_000
        assert group.member(second).term > 0
        group.check()

    def test_a_leader_without_a_quorum_steps_down(self) -> None:
        group = Group(3)
        first = group.elect()
        group.run(3000)
        group.isolate(first)
        group.run(12_000)
        assert group.member(first).role is RaftRole.CANDIDATE
        group.heal()
        group.run(12_000)
        assert {group.member(one).leader for one in group.nodes} == {group.leader_id}
        group.check()

    def test_who_starts_again_leads_in_a_new_term(self) -> None:
        group = Group(1)
        group.elect()
        term = group.member("n0").term
        group.crash("n0")
        group.start("n0")
        group.elect()
        assert group.member("n0").term == term + 1

    def test_the_standard_leads_in_the_same_term_again(self) -> None:
        group = Group(1, rules=STANDARD_RULES)
        group.elect()
        term = group.member("n0").term
        group.crash("n0")
        group.start("n0")
        group.elect()
        assert group.member("n0").term == term


class TestReplication:
    @pytest.mark.parametrize("batch", [False, True])
    def test_all_get_what_is_appended(self, batch: bool) -> None:
        group = Group(3, batch_push=batch)
        leader = group.elect()
        tokens = [group.append(leader, b"%d" % number * 40) for number in range(100)]
        group.run(3000)
        assert {group.answers[token].code for token in tokens} == {Code.SUCCESS}
        assert [group.answers[token].index for token in tokens] == list(range(100))
        assert _bodies(group, "n0") == _bodies(group, "n1") == _bodies(group, "n2")
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
        assert _bodies(group, away) == _bodies(group, leader)
        group.check()

    def test_what_an_old_leader_alone_has_is_cut(self) -> None:
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
        assert _bodies(group, first) == _bodies(group, second)
        assert b"alone" not in _bodies(group, first)
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
        group.nodes[leader].log.delete_before(40)
        group.start(away)
        group.run(10_000)
        assert group.nodes[away].log.begin_index == 40
        assert _bodies(group, away) == _bodies(group, leader)

    def test_an_append_without_a_quorum_is_told_so(self) -> None:
        group = Group(3)
        leader = group.elect()
        group.run(3000)
        group.isolate(leader)
        token = group.append(leader, b"alone")
        group.run(2600)
        assert group.answers[token].code is Code.WAIT_QUORUM_ACK_TIMEOUT

    def test_an_append_whose_term_ends_is_told_so(self) -> None:
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


class TestDisks:
    def test_a_leader_with_a_full_disk_says_so_and_leads_on(self) -> None:
        group = Group(3)
        leader = group.elect()
        group.nodes[leader].log.fill_disk()
        token = group.append(leader, b"one")
        assert group.answers[token].code is Code.DISK_FULL
        assert group.leader_id == leader

    def test_a_leader_with_a_sick_disk_gives_way(self) -> None:
        group = Group(3)
        leader = group.elect()
        group.run(3000)
        group.nodes[leader].log.failure = OSError(5, "input/output error")
        token = group.append(leader, b"one")
        assert group.answers[token].code is Code.DISK_ERROR
        second = group.elect()
        assert second != leader
        token = group.append(second, b"one")
        group.run(1000)
        assert group.answers[token].code is Code.SUCCESS

    def test_a_vote_that_is_not_kept_is_not_given(self) -> None:
        group = Group(3)
        for one in ("n1", "n2"):
            group.nodes[one].log.failure = OSError(5, "input/output error")
        group.run(30_000)
        assert group.leader_id == ""


class TestTransfer:
    def test_leadership_is_handed_over(self) -> None:
        group = Group(3)
        first = group.elect()
        group.append(first, b"one")
        group.run(3000)
        second = next(one for one in group.nodes if one != first)
        token = group.request(first, Transfer(first, second, group.member(first).term))
        refused = group.append(first, b"two")
        assert group.answers[refused].code is Code.LEADER_TRANSFERRING
        began = group.now
        assert group.run(5000, lambda: token in group.answers)
        assert group.answers[token].code is Code.SUCCESS
        assert group.leader_id == second
        assert group.now - began < 500
        group.check()

    def test_the_preferred_leader_takes_over(self) -> None:
        group = Group(3, seed=3, preferred_leaders=("n2",))
        group.run(30_000)
        assert group.leader_id == "n2"
        group.crash("n2")
        other = group.elect()
        group.append(other, b"one")
        group.start("n2")
        group.run(30_000)
        assert group.leader_id == "n2"
        assert _bodies(group, "n2") == _bodies(group, other)
        group.check()

    @pytest.mark.parametrize(
        ("transferor", "transferee", "term", "code"),
        [
            ("leader", "nx", 0, Code.UNKNOWN_MEMBER),
            ("leader", "leader", 0, Code.UNEXPECTED_ARGUMENT),
            ("leader", "other", 1, Code.INCONSISTENT_TERM),
            ("other", "third", 0, Code.UNEXPECTED_ARGUMENT),
        ],
    )
    def test_what_a_leader_refuses(self, transferor: str, transferee: str, term: int, code: Code) -> None:
        group = Group(3)
        leader = group.elect()
        other, third = (one for one in group.nodes if one != leader)
        names = {"leader": leader, "other": other, "third": third}
        request = Transfer(
            names[transferor], names.get(transferee, transferee), group.member(leader).term + term
        )
        token = group.request(leader, request)
        assert group.answers[token].code is code

    def test_who_is_far_behind_does_not_take_over(self) -> None:
        group = Group(3, transfer_behind_max=10)
        leader = group.elect()
        other = next(one for one in group.nodes if one != leader)
        group.crash(other)
        for _ in range(20):
            group.append(leader, b"one")
        token = group.request(leader, Transfer(leader, other, group.member(leader).term))
        assert group.answers[token].code is Code.FALL_BEHIND_TOO_MUCH


class TestClients:
    def test_who_leads(self) -> None:
        group = Group(3)
        leader = group.elect()
        group.run(3000)
        for one in group.nodes:
            answer = group.answers[group.request(one, Metadata())]
            assert (answer.code, answer.leader) == (Code.SUCCESS, leader)
            assert answer.peers == group.nodes[one].settings.peers

    def test_an_entry_by_its_index(self) -> None:
        group = Group(3)
        leader = group.elect()
        group.append(leader, b"one")
        answers = [group.answers[group.request(leader, Get(index))] for index in (0, 1, -1)]
        assert [answer.code for answer in answers] == [
            Code.SUCCESS,
            Code.INDEX_OUT_OF_RANGE,
            Code.INDEX_LESS_THAN_LOCAL_BEGIN,
        ]
        assert [entry.body for entry in answers[0].entries] == [b"one"]

    def test_appends_go_to_the_leader(self) -> None:
        group = Group(3)
        leader = group.elect()
        group.run(3000)
        other = next(one for one in group.nodes if one != leader)
        token = group.request(other, Append(b"one"))
        assert group.answers[token] == AppendAnswer(Code.NOT_LEADER, group.member(other).term, leader=leader)
        token = group.request(leader, Append(b"x" * 2000))
        assert group.answers[token].code is Code.UNEXPECTED_ARGUMENT


class TestFigure8:
    """An entry of an older term that a majority has may still be replaced: Raft paper, section 5.4.2."""

    def _history(self, rules: Rules) -> Group:
        group = Group(3, rules=rules)
        first = group.elect()
        group.append(first, b"all")
        group.run(3000)
        # Its entry reaches nobody, and it ends.
        group.isolate(first)
        group.append(first, b"replaced")
        group.run(100)
        group.crash(first)
        group.heal()
        second = group.elect()
        third = ({*group.nodes} - {first, second}).pop()
        # The second one's reaches nobody either.
        group.isolate(second)
        group.append(second, b"newer")
        group.run(100)
        group.crash(second)
        group.heal()
        group.start(first)
        assert group.elect() == first
        group.run(1500)
        assert group.nodes[third].log.entry(1) == group.nodes[first].log.entry(1)
        assert b"replaced" in _bodies(group, third)
        # Two of three have it. The second one comes back, and the first one is gone.
        group.crash(first)
        group.start(second)
        group.run(30_000)
        return group

    def test_the_standard_loses_a_committed_entry(self) -> None:
        group = self._history(STANDARD_RULES)
        assert group.lost_committed

    def test_ours_keeps_it(self) -> None:
        group = self._history(Rules())
        group.check()
        leader = group.elect()
        assert b"replaced" in _bodies(group, leader)


class TestSameTerm:
    """Who led in a term and lost its newest entries writes others of the same index and term, if it leads in
    that term again; members then cannot tell whose log is newer."""

    def _history(self, rules: Rules) -> Group:
        group = Group(3, rules=rules)
        leader = group.elect()
        group.append(leader, b"all")
        group.run(3000)
        near, far = (one for one in group.nodes if one != leader)
        # One other member has two more entries, the leader loses them with its power.
        group.isolate(far)
        group.nodes[leader].syncs = group.nodes[near].syncs = False
        group.append(leader, b"lost")
        group.append(leader, b"lost as well")
        group.run(100)
        group.nodes[near].log.sync()
        group.crash(leader, power=True)
        group.crash(near)
        group.heal()
        group.start(leader)
        group.nodes[leader].syncs = group.nodes[near].syncs = True
        assert group.elect() == leader
        token = group.append(leader, b"acknowledged")
        group.run(1000)
        assert group.answers[token].code is Code.SUCCESS
        # The one with the longer log of that term comes back, the leader is gone.
        group.crash(leader)
        group.start(near)
        group.run(30_000)
        return group

    def test_it_would_lose_what_was_acknowledged(self) -> None:
        group = self._history(replace(Rules(), leads_term_once=False, commits_own_term=False))
        assert group.lost_committed

    def test_a_new_term_keeps_it(self) -> None:
        group = self._history(Rules())
        group.check()
        leader = group.elect()
        assert b"acknowledged" in _bodies(group, leader)


class TestLateTruncation:
    """A request to cut that was on its way while the leader gave it up, compared anew, and had more entries
    acknowledged."""

    def _history(self, rules: Rules) -> Group:
        group = Group(3, rules=rules)
        leader = group.elect()
        group.append(leader, b"first")
        group.run(1000)
        other = next(one for one in group.nodes if one != leader)
        truncate = next(
            request
            for _, to, request in group.sent
            if to == other and isinstance(request, Push) and request.type is PushType.TRUNCATE
        )
        for number in range(3):
            group.append(leader, b"%d" % number)
        group.run(1000)
        assert len(group.acknowledged) == 4
        group.request(other, truncate)
        self.other = other
        return group

    def test_the_standard_cuts_what_was_acknowledged(self) -> None:
        group = self._history(STANDARD_RULES)
        assert group.nodes[self.other].log.end_index == 0

    def test_ours_keeps_it(self) -> None:
        group = self._history(Rules())
        assert group.nodes[self.other].log.end_index == 3
