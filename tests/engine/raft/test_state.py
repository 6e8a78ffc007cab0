"""Roles, terms and votes of one member."""

import pytest

from mqgateway.engine.raft.settings import MemberSettings
from mqgateway.engine.raft.state import MemberState, RaftRole
from mqgateway.engine.testing.raft_log import MemoryRaftLog


def new_state() -> MemberState:
    return MemberState(MemberSettings("group", "n0", {"n0": "", "n1": ""}), MemoryRaftLog())


def test_a_member_begins_as_a_candidate_in_term_0() -> None:
    state = new_state()
    assert (state.role, state.term, state.leader) == (RaftRole.CANDIDATE, 0, "")


def test_the_next_term_is_the_newest_known_one_or_one_more() -> None:
    state = new_state()
    state.stand_for_election(7, 0)
    assert state.term == 0
    state.raise_term()
    assert state.term == 7
    state.raise_term()
    assert state.term == 8


def test_a_new_term_has_no_vote_yet() -> None:
    state = new_state()
    state.vote_for("n1")
    assert state.log.vote == "n1"
    state.raise_term()
    assert state.log.vote == ""


def test_a_term_that_cannot_be_kept_is_not_begun() -> None:
    state = new_state()
    assert isinstance(state.log, MemoryRaftLog)
    state.log.fill_disk()
    with pytest.raises(OSError, match="space"):
        state.raise_term()
    assert state.term == 0


def test_changes_are_reported() -> None:
    state = new_state()
    notified: list[tuple[RaftRole, str, int]] = []
    state.on_change.append(lambda now: notified.append((state.role, state.leader, now)))
    state.follow("n1", 5)
    state.stand_for_election(0, 6)
    state.lead(7)
    assert notified == [(RaftRole.FOLLOWER, "n1", 5), (RaftRole.CANDIDATE, "", 6), (RaftRole.LEADER, "n0", 7)]
    assert not state.follows("n1", 0)
