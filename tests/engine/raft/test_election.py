"""Votes and heart beats, against a specification that was written without looking at them."""

from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mqgateway.engine.raft.effects import Effects
from mqgateway.engine.raft.election import Elector, VoteTally
from mqgateway.engine.raft.messages import HeartBeat, Vote, VoteAnswer, VoteResult
from mqgateway.engine.raft.settings import STANDARD_RULES, MemberSettings
from mqgateway.engine.raft.state import MemberState, RaftRole
from mqgateway.engine.testing.raft_log import MemoryRaftLog
from tests.support.engine.raft.group import Group


class TestElection:
    @pytest.mark.parametrize("count", [1, 3, 5])
    def test_a_group_elects_one_leader(self, count: int) -> None:
        group = Group(count)
        leader = group.elect()
        group.run(5000)
        assert group.leader_id == leader
        assert [group.member(one).leader for one in group.nodes] == [leader] * count
        group.check()

    def test_minority_elects_no_leader(self) -> None:
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

    def test_restarted_member_leads_in_a_new_term(self) -> None:
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


# The table of the standard's rules, row by row, as sentences about numbers: not the product's own words.


def _spec_vote(voter: dict[str, Any], asked: dict[str, Any]) -> tuple[str, int, dict[str, Any]]:
    """Return a voter's answer, its term, and its state afterwards."""
    after = dict(voter)
    rows = [
        ("UNKNOWN_LEADER", asked["by"] not in ("n0", "n1", "n2")),
        ("EXPIRED_LEDGER_TERM", asked["log"][0] < voter["log"][0]),
        (
            "SMALL_LEDGER_END_INDEX",
            asked["log"][0] == voter["log"][0] and asked["log"][1] < voter["log"][1],
        ),
        ("EXPIRED_VOTE_TERM", asked["term"] < voter["term"]),
        ("TERM_NOT_READY", asked["term"] > voter["term"]),
        ("ALREADY_HAS_LEADER", voter["vote"] not in ("", asked["by"]) and voter["leader"] != ""),
        ("ALREADY_VOTED", voter["vote"] not in ("", asked["by"])),
        ("TERM_SMALL_THAN_LEDGER", asked["term"] < voter["log"][0]),
        ("TAKING_LEADERSHIP", voter["taking"] and asked["log"] == voter["log"]),
    ]
    said = next((name for name, applies in rows if applies), "")
    if not said:
        after["vote"] = asked["by"]
        return "ACCEPT", voter["term"], after
    if said == "TERM_NOT_READY":
        after |= {"leader": "", "role": "CANDIDATE"}
    term = voter["log"][0] if said == "TERM_SMALL_THAN_LEDGER" else voter["term"]
    return f"REJECT_{said}", term, after


def _spec_heartbeat(heard: dict[str, Any], by: str, term: int) -> tuple[int, int, str, str]:
    """Return a member's answer to a heartbeat: code, term; then its role and leader."""
    role, leader = heard["role"], heard["leader"]
    if by not in ("n0", "n1", "n2"):
        return 401, heard["term"], role, leader
    if by == "n0":
        return 402, heard["term"], role, leader
    if term < heard["term"]:
        return 403, heard["term"], role, leader
    if term > heard["term"]:
        return 416, -1, "CANDIDATE", ""
    if leader == "":
        return 200, -1, "FOLLOWER", by
    return (200 if by == leader else 409), -1, role, leader


MEMBERS = st.sampled_from(["n1", "n2", "nx"])
TERMS = st.integers(0, 4)
LOGS = st.tuples(st.integers(-1, 4), st.integers(0, 3))


@st.composite
def voters(draw: st.DrawFn) -> dict[str, Any]:
    """The state of member n0."""
    role = draw(st.sampled_from(["CANDIDATE", "LEADER", "FOLLOWER"]))
    leader = {"CANDIDATE": "", "LEADER": "n0", "FOLLOWER": draw(st.sampled_from(["n1", "n2"]))}[role]
    end_term, end_index = draw(LOGS)
    return {
        "role": role,
        "leader": leader,
        "term": draw(TERMS),
        "vote": leader or draw(st.sampled_from(["", "n0", "n1", "n2"])),
        "log": (end_term, end_index if end_term >= 0 else -1),
        "taking": role == "CANDIDATE" and draw(st.booleans()),
    }


def _member_in(voter: dict[str, Any]) -> tuple[MemberState, Elector]:
    log = MemoryRaftLog()
    end_term, end_index = voter["log"]
    for _ in range(end_index + 1 if end_term >= 0 else 0):
        log.append(end_term, b"")
    log.keep_vote(voter["term"], voter["vote"])
    peers = {one: f"{one}:1" for one in ("n0", "n1", "n2")}
    state = MemberState(MemberSettings("group", "n0", peers), log)
    elector = Elector(state, Effects(), Random(1))
    if voter["role"] == "LEADER":
        state.lead(0)
    elif voter["role"] == "FOLLOWER":
        state.follow(voter["leader"], 0)
    if voter["taking"]:
        state.term_to_take = voter["term"]
    return state, elector


@given(voters(), MEMBERS, TERMS, LOGS)
@settings(max_examples=500)
def test_votes_are_as_specified(voter: dict[str, Any], by: str, term: int, log: tuple[int, int]) -> None:
    log = (log[0], log[1] if log[0] >= 0 else -1)
    state, elector = _member_in(voter)
    answer = elector.vote(Vote(by, term, log[1], log[0]), 5)
    said, said_term, after = _spec_vote(voter, {"by": by, "term": term, "log": log})
    assert (answer.result.value, answer.term) == (said, said_term)
    assert state.role.value == after["role"]
    assert (state.leader, state.log.vote, state.term) == (after["leader"], after["vote"], voter["term"])


@given(voters(), st.sampled_from(["n0", "n1", "n2", "nx"]), TERMS)
@settings(max_examples=300)
def test_heart_beats_are_as_specified(voter: dict[str, Any], by: str, term: int) -> None:
    state, elector = _member_in(voter)
    answer = elector.hear(HeartBeat(by, term), 5)
    assert (answer.code, answer.term, state.role.value, state.leader) == _spec_heartbeat(voter, by, term)


ANSWERS = st.lists(
    st.one_of(st.none(), st.builds(VoteAnswer, st.sampled_from(VoteResult), st.integers(0, 6))), max_size=4
)


@given(ANSWERS)
@settings(max_examples=500)
def test_outcome_of_a_vote_is_as_specified(answers: list[VoteAnswer | None]) -> None:
    """Five members; the own vote is one of the answers."""
    all_answers = [VoteAnswer(VoteResult.ACCEPT, 3), *answers]
    tally = VoteTally(3, 0)
    for answer in all_answers:
        tally.add(answer)
    said = [answer for answer in all_answers if answer is not None]
    names = [answer.result.value.removeprefix("REJECT_") for answer in said]
    count = names.count
    newer = [
        answer.term
        for answer, name in zip(said, names, strict=True)
        if name in ("TERM_SMALL_THAN_LEDGER", "EXPIRED_VOTE_TERM")
    ]
    valid = len(names) - count("UNKNOWN")
    bigger = count("EXPIRED_LEDGER_TERM") + count("SMALL_LEDGER_END_INDEX")
    if max(newer, default=0) > 3:
        expected = ("WAIT_TO_VOTE_NEXT", 0)
    elif "ALREADY_HAS_LEADER" in names:
        expected = ("WAIT_TO_REVOTE", 6000)
    elif valid < 3:
        expected = ("WAIT_TO_REVOTE", 0)
    elif valid - bigger < 3:
        expected = ("WAIT_TO_REVOTE", 1000)
    elif count("ACCEPT") >= 3:
        expected = ("PASSED", 0)
    elif count("ACCEPT") + count("TERM_NOT_READY") >= 3:
        expected = ("REVOTE_IMMEDIATELY", 0)
    else:
        expected = ("WAIT_TO_VOTE_NEXT", 0)
    peers = {f"n{number}": "" for number in range(5)}
    outcome, longer = tally.judge(MemberSettings("group", "n0", peers))
    assert (outcome.value, longer) == expected
