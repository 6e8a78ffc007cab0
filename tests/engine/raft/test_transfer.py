"""Leadership is handed over."""

import pytest

from mqgateway.engine.raft.messages import Code, LeadershipTransfer
from tests.support.engine.raft.group import Group, bodies


class TestTransfer:
    def test_leadership_is_handed_over(self) -> None:
        group = Group(3)
        first = group.elect()
        group.append(first, b"one")
        group.run(3000)
        second = next(one for one in group.nodes if one != first)
        token = group.request(first, LeadershipTransfer(first, second, group.member(first).term))
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
        assert bodies(group, "n2") == bodies(group, other)
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
    def test_leader_refuses_transfers(self, transferor: str, transferee: str, term: int, code: Code) -> None:
        group = Group(3)
        leader = group.elect()
        other, third = (one for one in group.nodes if one != leader)
        names = {"leader": leader, "other": other, "third": third}
        request = LeadershipTransfer(
            names[transferor], names.get(transferee, transferee), group.member(leader).term + term
        )
        token = group.request(leader, request)
        assert group.answers[token].code is code

    def test_member_that_lags_far_does_not_take_over(self) -> None:
        group = Group(3, transfer_behind_max=10)
        leader = group.elect()
        other = next(one for one in group.nodes if one != leader)
        group.crash(other)
        for _ in range(20):
            group.append(leader, b"one")
        token = group.request(leader, LeadershipTransfer(leader, other, group.member(leader).term))
        assert group.answers[token].code is Code.FALL_BEHIND_TOO_MUCH
