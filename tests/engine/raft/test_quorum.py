"""Committed entries stay, and others are not acknowledged."""

from dataclasses import replace

from mqgateway.engine.raft.messages import Code
from mqgateway.engine.raft.settings import STANDARD_RULES, RaftRules
from tests.support.engine.raft.group import Group, bodies


class TestDisks:
    def test_a_leader_with_a_full_disk_says_so_and_leads_on(self) -> None:
        group = Group(3)
        leader = group.elect()
        group.memory_log(leader).fill_disk()
        token = group.append(leader, b"one")
        assert group.answers[token].code is Code.DISK_FULL
        assert group.leader_id == leader

    def test_a_leader_with_a_sick_disk_gives_way(self) -> None:
        group = Group(3)
        leader = group.elect()
        group.run(3000)
        group.memory_log(leader).failure = OSError(5, "input/output error")
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
            group.memory_log(one).failure = OSError(5, "input/output error")
        group.run(30_000)
        assert group.leader_id == ""


class TestFigure8:
    """An entry of an older term that a majority has may still be replaced: Raft paper, section 5.4.2."""

    def _history(self, rules: RaftRules) -> Group:
        group = Group(3, rules=rules)
        first = group.elect()
        group.append(first, b"all")
        group.run(3000)
        # Its entry reaches no other member, and it stops.
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
        assert b"replaced" in bodies(group, third)
        # Two of three have it. The second one comes back, and the first one is gone.
        group.crash(first)
        group.start(second)
        group.run(30_000)
        return group

    def test_the_standard_loses_a_committed_entry(self) -> None:
        group = self._history(STANDARD_RULES)
        assert group.lost_committed

    def test_ours_keeps_it(self) -> None:
        group = self._history(RaftRules())
        group.check()
        leader = group.elect()
        assert b"replaced" in bodies(group, leader)


class TestSameTerm:
    """A member that led in a term and lost its newest entries writes others of the same index and term, if it
    leads in that term again; members then cannot tell which log is newer."""

    def _history(self, rules: RaftRules) -> Group:
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
        group.memory_log(near).sync()
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
        group = self._history(replace(RaftRules(), leads_term_once=False, commits_own_term=False))
        assert group.lost_committed

    def test_a_new_term_keeps_it(self) -> None:
        group = self._history(RaftRules())
        group.check()
        leader = group.elect()
        assert b"acknowledged" in bodies(group, leader)
