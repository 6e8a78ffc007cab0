"""Transfers of leadership: requested by an administrator, or to the leaders that a group prefers.

The leader refuses entries meanwhile and notifies the target, which waits until it has all of them, takes the
next term and becomes a candidate in it. RocketMQ: `DLedgerServer.handleLeadershipTransfer`,
`checkPreferredLeader`, `TakeLeadershipTask`. Departure: the target requests votes as soon as it can,
preferred or not.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import NamedTuple

from mqgateway.engine.raft.effects import Effects
from mqgateway.engine.raft.election import Elector
from mqgateway.engine.raft.messages import Code, LeadershipTransfer, TransferAnswer
from mqgateway.engine.raft.quorum import Quorum
from mqgateway.engine.raft.state import NO_TERM, MemberState, RaftRole

log = logging.getLogger(__name__)

OnTransferred = Callable[[TransferAnswer], None]


class _TakingOver(NamedTuple):
    request: LeadershipTransfer
    token: object
    until: int


class Transfers:
    """Hands leadership over, and takes it, for one member."""

    def __init__(self, state: MemberState, elector: Elector, quorum: Quorum, effects: Effects) -> None:
        self._state = state
        self._settings = state.settings
        self._elector = elector
        self._quorum = quorum
        self._effects = effects
        self._taking: _TakingOver | None = None
        self._last_look = 0
        state.on_change.append(self._role_changed)

    def tick(self, now: int) -> None:
        """Continue transfers in progress; look for a preferred leader."""
        taking = self._taking
        if taking is not None and self._state.term_to_take == NO_TERM:
            self._wait_for_log(taking, now)
        if now - self._last_look >= self._settings.preferred_interval:
            self._last_look = now
            self._look_for_preferred(now)

    def take(self, request: LeadershipTransfer, token: object, now: int) -> None:
        """Take a request, which is for a leader or for the target of a transfer."""
        state = self._state
        if request.transferor == state.self_id:
            code = self._refusal(request)
            if code is None:
                self._hand_over(request.transferee, lambda answer: self._effects.reply(token, answer))
                return
        elif request.transferee != state.self_id:
            code = Code.UNEXPECTED_ARGUMENT
        elif request.transferor != state.leader:
            code = Code.INCONSISTENT_LEADER
        elif self._taking is not None:
            code = Code.LEADER_TRANSFERRING
        else:
            self._taking = _TakingOver(request, token, now + self._settings.transfer_wait)
            self._wait_for_log(self._taking, now)
            return
        self._effects.reply(token, TransferAnswer(code, state.term))

    # The leader.

    def _refusal(self, request: LeadershipTransfer) -> Code | None:
        state = self._state
        if not state.is_member(request.transferee):
            return Code.UNKNOWN_MEMBER
        if request.term != state.term:
            return Code.INCONSISTENT_TERM
        if not state.is_leader:
            return Code.NOT_LEADER
        if self._behind(request.transferee) >= self._settings.transfer_behind_max:
            return Code.FALL_BEHIND_TOO_MUCH
        if state.transferee:
            return Code.LEADER_TRANSFERRING
        return Code.UNEXPECTED_ARGUMENT if request.transferee == state.self_id else None

    def _behind(self, member_id: str) -> int:
        return self._state.log.end_index - self._quorum.mark(member_id)

    def _hand_over(self, transferee: str, on_transferred: OnTransferred) -> None:
        state, term = self._state, self._state.term
        log.info("%s transfers leadership to %s", state.self_id, transferee)
        state.transferee = transferee

        def answered(answer: TransferAnswer | None, _now: int) -> None:
            if state.is_leader and state.term == term:
                state.transferee = ""
            on_transferred(TransferAnswer(Code.NETWORK_ERROR) if answer is None else answer)

        request = LeadershipTransfer(state.self_id, transferee, term, state.log.end_index)
        self._effects.send(transferee, request, answered)

    def _look_for_preferred(self, now: int) -> None:
        state, preferred = self._state, self._settings.preferred_leaders
        if not state.is_leader or state.transferee or not preferred or state.self_id in preferred:
            return
        live = [one for one in preferred if self._elector.live.get(one)]
        nearest = min(live, key=self._behind, default=None)
        if nearest is None or self._behind(nearest) >= self._settings.transfer_behind_max:
            return
        self._hand_over(nearest, lambda answer: log.info("%s takes over: %s", nearest, answer.code.name))

    # The target.

    def _wait_for_log(self, taking: _TakingOver, now: int) -> None:
        state, request = self._state, taking.request
        if state.log.end_index < request.index:
            if now > taking.until:
                self._finish(Code.TAKE_LEADERSHIP_FAILED)
        elif state.term != request.term:
            self._finish(Code.INCONSISTENT_TERM)
        else:
            state.term_to_take = request.term + 1
            self._elector.newer_term(state.term_to_take, now)

    def _role_changed(self, _now: int) -> None:
        state = self._state
        if self._taking is None or state.term_to_take == NO_TERM:
            return
        if state.term > state.term_to_take:
            self._finish(Code.EXPIRED_TERM)
        elif state.role is RaftRole.FOLLOWER:
            # Perhaps by a heartbeat that arrived before the term was raised.
            self._finish(Code.TAKE_LEADERSHIP_FAILED)
        elif state.role is RaftRole.LEADER:
            is_new = state.term == state.term_to_take
            self._finish(Code.SUCCESS if is_new else Code.INTERNAL_ERROR)

    def _finish(self, code: Code) -> None:
        taking, self._taking = self._taking, None
        self._state.term_to_take = NO_TERM
        if taking is not None:
            self._effects.reply(taking.token, TransferAnswer(code, self._state.term))
