"""State of a member in its group: its role, its term and vote, its leader.

The log stores term and vote. A newer term of another member is not adopted at once, but with the next raise
of the term. RocketMQ: `MemberState`.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from enum import Enum

from mqgateway.engine.raft.log import RaftLog
from mqgateway.engine.raft.settings import MemberSettings

log = logging.getLogger(__name__)

NO_TERM = -1


class RaftRole(Enum):
    """Role of a member in a term."""

    CANDIDATE = "CANDIDATE"
    LEADER = "LEADER"
    FOLLOWER = "FOLLOWER"


class MemberState:
    """Attributes are to be read only. Functions in `on_change` are called with each change of the role, in
    the order of their subscription; they must not change it.
    """

    def __init__(self, settings: MemberSettings, raft_log: RaftLog) -> None:
        self.settings = settings
        self.self_id = settings.self_id
        self.log = raft_log
        self.role = RaftRole.CANDIDATE
        self.leader = ""
        self.transferee = ""
        """The member that is to take over leadership from this one; "" for none."""
        self.term_to_take = NO_TERM
        """The term in which this one is to take over leadership."""
        self.on_change: list[Callable[[int], None]] = []
        self._known_term = NO_TERM

    @property
    def term(self) -> int:
        """The member's term."""
        return self.log.term

    @property
    def is_leader(self) -> bool:
        """True if the member leads."""
        return self.role is RaftRole.LEADER

    @property
    def is_candidate(self) -> bool:
        """True if the member neither leads nor follows."""
        return self.role is RaftRole.CANDIDATE

    @property
    def is_taking_leadership(self) -> bool:
        """True if the member is to take over leadership in this term."""
        return self.term_to_take == self.term

    def follows(self, leader: str, term: int) -> bool:
        """Return True if the member follows this leader in this term."""
        return self.role is RaftRole.FOLLOWER and term == self.term and leader == self.leader

    def is_member(self, member_id: str) -> bool:
        """Return True if the id is one of the group."""
        return member_id in self.settings.peers

    def raise_term(self) -> None:
        """Adopt the newest known term, or the next one. Raises `OSError`, and then the term is unchanged."""
        self.log.keep_vote(max(self._known_term, self.term + 1), "")

    def vote_for(self, candidate: str) -> None:
        """Vote in this term. Raises `OSError`, and then there was no vote."""
        if self.log.vote != candidate:
            self.log.keep_vote(self.term, candidate)

    def lead(self, now: int) -> None:
        """Lead in this term."""
        self._become(RaftRole.LEADER, self.self_id, now)

    def follow(self, leader: str, now: int) -> None:
        """Follow a leader of this term."""
        self._become(RaftRole.FOLLOWER, leader, now)

    def stand_for_election(self, term: int, now: int) -> None:
        """Become a candidate; `term`, this one or a newer one, is known."""
        self._known_term = max(self._known_term, term)
        self._become(RaftRole.CANDIDATE, "", now)

    def _become(self, role: RaftRole, leader: str, now: int) -> None:
        if (role, leader) != (self.role, self.leader):
            log.info("%s is %s in term %d, the leader is %s", self.self_id, role.value, self.term, leader)
        self.role, self.leader, self.transferee = role, leader, ""
        for listener in self.on_change:
            listener(now)
