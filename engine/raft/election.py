"""Elections and heartbeats: a member's side of both, as candidate, follower and leader.

A candidate requests the votes of all members, its own among them, in its term, and follows the outcome of
`judge`. A follower becomes a candidate when its leader was silent for too long. A leader sends heartbeats,
and stops leading when no quorum answers, or a member knows a newer term. A member adopts a newer term by
raising its own with the next tick, never while it answers a request: the other side repeats it.

RocketMQ: `DLedgerLeaderElector`. Departures: a leader's pushes count as heartbeats; a vote that could not be
stored is not granted; a leader without a quorum's answer has its full time from the election on.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from enum import Enum
from functools import partial
from random import Random

from mqgateway.engine.raft.effects import Effects
from mqgateway.engine.raft.messages import (
    Code,
    HeartBeat,
    HeartBeatAnswer,
    Vote,
    VoteAnswer,
    VoteResult,
)
from mqgateway.engine.raft.settings import MemberSettings
from mqgateway.engine.raft.state import MemberState, RaftRole

log = logging.getLogger(__name__)

_ROUND_SETTLES = 10
"""Time in ms in which answers after those of a quorum are still taken into account."""


class VoteOutcome(Enum):
    """Outcome of a vote. RocketMQ: `VoteResponse.ParseResult`."""

    PASSED = "PASSED"
    REVOTE_IMMEDIATELY = "REVOTE_IMMEDIATELY"
    WAIT_TO_REVOTE = "WAIT_TO_REVOTE"
    WAIT_TO_VOTE_NEXT = "WAIT_TO_VOTE_NEXT"


@dataclass(slots=True)
class VoteTally:
    """The answers to a vote in `term` so far, its own among them."""

    term: int
    ends_at: int
    answered: int = 0
    valid: int = 0
    accepted: int = 0
    not_ready: int = 0
    bigger_logs: int = 0
    has_leader: bool = False
    term_max: int = 0

    def add(self, answer: VoteAnswer | None) -> None:
        """Take an answer into account; None if there was none."""
        self.answered += 1
        if answer is None or answer.result is VoteResult.UNKNOWN:
            return
        self.valid += 1
        match answer.result:
            case VoteResult.ACCEPT:
                self.accepted += 1
            case VoteResult.REJECT_ALREADY_HAS_LEADER:
                self.has_leader = True
            case VoteResult.REJECT_TERM_SMALL_THAN_LEDGER | VoteResult.REJECT_EXPIRED_VOTE_TERM:
                self.term_max = max(self.term_max, answer.term)
            case VoteResult.REJECT_EXPIRED_LEDGER_TERM | VoteResult.REJECT_SMALL_LEDGER_END_INDEX:
                self.bigger_logs += 1
            case VoteResult.REJECT_TERM_NOT_READY:
                self.not_ready += 1

    def is_settled(self, settings: MemberSettings) -> bool:
        """Return True if no more answers are needed."""
        return (
            self.has_leader
            or settings.is_quorum(self.accepted + self.not_ready)
            or self.answered == len(settings.peers)
        )

    def judge(self, settings: MemberSettings) -> tuple[VoteOutcome, int]:
        """Return the outcome, and the additional time in ms before the next vote."""
        if self.term_max > self.term:
            return VoteOutcome.WAIT_TO_VOTE_NEXT, 0
        if self.has_leader:
            return VoteOutcome.WAIT_TO_REVOTE, settings.leader_patience
        if not settings.is_quorum(self.valid):
            return VoteOutcome.WAIT_TO_REVOTE, 0
        if not settings.is_quorum(self.valid - self.bigger_logs):
            return VoteOutcome.WAIT_TO_REVOTE, settings.vote_interval_max
        if settings.is_quorum(self.accepted):
            return VoteOutcome.PASSED, 0
        if settings.is_quorum(self.accepted + self.not_ready):
            return VoteOutcome.REVOTE_IMMEDIATELY, 0
        return VoteOutcome.WAIT_TO_VOTE_NEXT, 0


@dataclass(slots=True)
class _HeartbeatRound:
    """The answers to one heartbeat."""

    term: int
    ends_at: int
    answered: int = 1
    succeeded: int = 1
    not_ready: int = 0
    is_inconsistent: bool = False
    term_max: int = -1


class Elector:
    """Votes and heartbeats of one member, which `member` drives."""

    def __init__(self, state: MemberState, effects: Effects, random: Random) -> None:
        self._state = state
        self._settings = state.settings
        self._effects = effects
        self._random = random
        self._next_vote = -1
        has_stood = state.settings.rules.leads_term_once and state.log.vote == state.self_id
        self._last_outcome = VoteOutcome.WAIT_TO_VOTE_NEXT if has_stood else VoteOutcome.WAIT_TO_REVOTE
        self._must_raise = False
        self._tally: VoteTally | None = None
        self._round: _HeartbeatRound | None = None
        self._last_heartbeat = self._heard_leader = self._heard_quorum = 0
        self.live: dict[str, bool] = {}
        """Of a leader: the members that answer heartbeats."""
        state.on_change.append(self._role_changed)

    @property
    def others(self) -> list[str]:
        """The ids of the other members."""
        return [one for one in self._settings.peers if one != self._state.self_id]

    def tick(self, now: int) -> None:
        """Do what is due."""
        if self._state.is_leader:
            self._tick_leader(now)
        elif self._state.is_candidate:
            self._tick_candidate(now)
        elif now - self._heard_leader > self._settings.leader_patience:
            log.info("%s received no heartbeat from %s", self._state.leader, self._state.self_id)
            self._state.stand_for_election(self._state.term, now)

    def _role_changed(self, now: int) -> None:
        self._tally = self._round = None
        role = self._state.role
        if role is RaftRole.LEADER:
            self.live.clear()
            self._last_heartbeat = now - self._settings.heart_beat_interval - 1
            self._heard_quorum = now
        elif role is RaftRole.FOLLOWER:
            self._last_outcome = VoteOutcome.WAIT_TO_REVOTE
            self._heard_leader = now

    def newer_term(self, term: int, now: int) -> None:
        """Adopt a newer term: become a candidate, and raise the term with the next tick."""
        self._state.stand_for_election(term, now)
        self._must_raise = True

    def rest(self, now: int) -> None:
        """Leave the next election to the others."""
        self._state.stand_for_election(self._state.term, now)
        self._next_vote = self._vote_time(now) + self._settings.leader_patience

    # As a voter.

    def vote(self, request: Vote, now: int) -> VoteAnswer:
        """Answer a candidate, which may be this member."""
        state, is_own = self._state, request.candidate == self._state.self_id
        result = self._vote_result(request, is_own, now)
        if result is VoteResult.ACCEPT:
            try:
                state.vote_for(request.candidate)
            except OSError as error:
                log.error("the vote of %s cannot be stored: %s", state.self_id, error)
                result = VoteResult.UNKNOWN
        is_ledgers = result is VoteResult.REJECT_TERM_SMALL_THAN_LEDGER
        return VoteAnswer(result, state.log.end_term if is_ledgers else state.term)

    def _vote_result(self, request: Vote, is_own: bool, now: int) -> VoteResult:
        state = self._state
        own_end = (state.log.end_term, state.log.end_index)
        if not state.is_member(request.candidate):
            return VoteResult.REJECT_UNKNOWN_LEADER
        if request.end_term < own_end[0]:
            return VoteResult.REJECT_EXPIRED_LEDGER_TERM
        if (request.end_term, request.end_index) < own_end:
            return VoteResult.REJECT_SMALL_LEDGER_END_INDEX
        if request.term < state.term:
            return VoteResult.REJECT_EXPIRED_VOTE_TERM
        if request.term > state.term:
            self.newer_term(request.term, now)
            return VoteResult.REJECT_TERM_NOT_READY
        if state.log.vote not in ("", request.candidate):
            return VoteResult.REJECT_ALREADY_HAS_LEADER if state.leader else VoteResult.REJECT_ALREADY_VOTED
        if request.term < own_end[0]:
            return VoteResult.REJECT_TERM_SMALL_THAN_LEDGER
        if not is_own and state.is_taking_leadership and (request.end_term, request.end_index) <= own_end:
            return VoteResult.REJECT_TAKING_LEADERSHIP
        return VoteResult.ACCEPT

    # As a candidate.

    def _vote_time(self, now: int) -> int:
        settings = self._settings
        if self._state.is_taking_leadership:
            least, most = settings.take_over_interval_min, settings.take_over_interval_max
        else:
            least, most = settings.vote_interval_min, settings.vote_interval_max
        return now + self._random.randrange(least, most)

    def _tick_candidate(self, now: int) -> None:
        if self._tally is not None:
            if not self._must_raise and now < self._tally.ends_at:
                return
            self._settle(now)
        if not self._state.is_candidate or (now < self._next_vote and not self._must_raise):
            return
        if self._last_outcome is VoteOutcome.WAIT_TO_VOTE_NEXT or self._must_raise:
            try:
                self._state.raise_term()
            except OSError as error:
                log.error("the term of %s cannot be stored: %s", self._state.self_id, error)
                self._next_vote = self._vote_time(now)
                return
            self._last_outcome = VoteOutcome.WAIT_TO_REVOTE
            if self._must_raise:
                self._must_raise = False
                self._next_vote = self._vote_time(now)
                return
        self._ask_for_votes(now)

    def _ask_for_votes(self, now: int) -> None:
        state, settings = self._state, self._settings
        request = Vote(state.self_id, state.term, state.log.end_index, state.log.end_term)
        wait = settings.vote_wait + self._random.randrange(settings.vote_interval_max)
        self._tally = tally = VoteTally(state.term, now + wait)
        for peer in self.others:
            self._effects.send(peer, request, partial(self._voted, tally))
        self._voted(tally, self.vote(request, now), now)

    def _voted(self, tally: VoteTally, answer: VoteAnswer | None, now: int) -> None:
        if tally is not self._tally:
            return
        tally.add(answer)
        if tally.is_settled(self._settings):
            self._settle(now)

    def _settle(self, now: int) -> None:
        tally, self._tally = self._tally, None
        if tally is None or self._must_raise or tally.term != self._state.term:
            return
        self._last_outcome, longer = tally.judge(self._settings)
        log.debug("the vote of %s: %s, %s", self._state.self_id, tally, self._last_outcome.value)
        if self._last_outcome is VoteOutcome.PASSED:
            self._state.lead(now)
        elif self._last_outcome is not VoteOutcome.REVOTE_IMMEDIATELY:
            self._next_vote = self._vote_time(now) + longer
            if tally.term_max > tally.term:
                self._state.stand_for_election(tally.term_max, now)

    # As a follower.

    def hear(self, request: HeartBeat, now: int) -> HeartBeatAnswer:
        """Answer a member that claims to lead."""
        state = self._state
        if not state.is_member(request.leader):
            return HeartBeatAnswer(Code.UNKNOWN_MEMBER, state.term)
        if request.leader == state.self_id:
            return HeartBeatAnswer(Code.UNEXPECTED_MEMBER, state.term)
        if request.term < state.term:
            return HeartBeatAnswer(Code.EXPIRED_TERM, state.term)
        if request.term > state.term:
            self.newer_term(request.term, now)
            return HeartBeatAnswer(Code.TERM_NOT_READY)
        if not state.leader:
            state.follow(request.leader, now)
        elif request.leader != state.leader:
            log.error("%s and %s both lead in term %d", state.leader, request.leader, state.term)
            return HeartBeatAnswer(Code.INCONSISTENT_LEADER)
        self._heard_leader = now
        return HeartBeatAnswer(Code.SUCCESS)

    # As a leader.

    def _tick_leader(self, now: int) -> None:
        if self._round is not None and now >= self._round.ends_at:
            self._settle_round(self._round, now)
        if self._state.is_leader and now - self._last_heartbeat > self._settings.heart_beat_interval:
            self._send_heartbeats(now)

    def _send_heartbeats(self, now: int) -> None:
        state = self._state
        self._last_heartbeat = now
        self._round = sent = _HeartbeatRound(state.term, now + self._settings.heart_beat_interval)
        for peer in self.others:
            self._effects.send(
                peer, HeartBeat(state.self_id, state.term), partial(self._heartbeat_answered, sent, peer)
            )
        if not self.others:
            self._heard_quorum = now

    def _heartbeat_answered(
        self, sent: _HeartbeatRound, peer: str, answer: HeartBeatAnswer | None, now: int
    ) -> None:
        if not self._state.is_leader or sent.term != self._state.term:
            return
        self.live[peer] = answer is not None
        sent.answered += 1
        if answer is not None:
            sent.succeeded += answer.code is Code.SUCCESS
            sent.not_ready += answer.code is Code.TERM_NOT_READY
            sent.is_inconsistent |= answer.code is Code.INCONSISTENT_LEADER
            if answer.code is Code.EXPIRED_TERM:
                sent.term_max = max(sent.term_max, answer.term)
        if self._settings.is_quorum(sent.succeeded + sent.not_ready) or (
            sent.answered == len(self._settings.peers)
        ):
            sent.ends_at = min(sent.ends_at, now + _ROUND_SETTLES)

    def _settle_round(self, sent: _HeartbeatRound, now: int) -> None:
        self._round = None
        state, settings = self._state, self._settings
        if sent.term_max > state.term:
            # In the old term it would be elected again, and find the same member in the newer one.
            self.newer_term(sent.term_max, now)
        elif settings.is_quorum(sent.succeeded):
            self._heard_quorum = now
        elif settings.is_quorum(sent.succeeded + sent.not_ready):
            self._last_heartbeat = now - settings.heart_beat_interval - 1
        elif sent.is_inconsistent or now - self._heard_quorum > settings.leader_patience:
            state.stand_for_election(state.term, now)
