"""A member of a group as a step machine: it takes requests, answers and the time, and returns requests and
answers.

    member = Member(settings, log, Random())
    member.tick(now)                      # each `TICK` ms
    member.receive(request, token, now)   # another member's, or a client's: a `Reply` with the token answers
    member.synced(now)                    # more of the log is on stable storage
    for effect in member.take(): ...      # after each of them: send, reply

Each `Send` must be followed by one call of its `answered`. Times are ms of a monotonic clock.
RocketMQ: `DLedgerServer`.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from mqgateway.engine.raft.dispatcher import EntryDispatcher
from mqgateway.engine.raft.effects import Effect, Effects
from mqgateway.engine.raft.election import Elector
from mqgateway.engine.raft.follower import Follower
from mqgateway.engine.raft.log import Entry, RaftLog
from mqgateway.engine.raft.messages import (
    Append,
    AppendAnswer,
    Code,
    Get,
    GetAnswer,
    HeartBeat,
    LeadershipTransfer,
    MetadataAnswer,
    Push,
    Request,
    Vote,
)
from mqgateway.engine.raft.quorum import EMPTY_OPENING, AppendRefused, Quorum, TermOpening
from mqgateway.engine.raft.settings import MemberSettings
from mqgateway.engine.raft.state import MemberState, RaftRole
from mqgateway.engine.raft.transfer import Transfers

TICK = 10
"""Interval of `tick`, in ms. RocketMQ: the pause of `StateMaintainer`."""


class RaftMember:
    """One member. Readers may see entries up to `log.committed_index`. `on_role` is called with each change
    of `role`, `leader` or `term`; it may append entries, but not wait.
    """

    def __init__(
        self,
        settings: MemberSettings,
        log: RaftLog,
        random: Random,
        opening: TermOpening | None = EMPTY_OPENING,
    ) -> None:
        self.settings = settings
        self.log = log
        self._effects = Effects()
        self._state = state = MemberState(settings, log)
        self._elector = Elector(state, self._effects, random)
        self._quorum = Quorum(state, self._elector, self._effects, opening)
        self._follower = Follower(state, self._elector, self._effects)
        self._transfers = Transfers(state, self._elector, self._quorum, self._effects)
        self._dispatchers = [
            EntryDispatcher(peer, state, self._quorum, self._effects) for peer in self._elector.others
        ]
        self.on_role: Callable[[], None] | None = None
        state.on_change.append(self._role_changed)

    def _role_changed(self, _now: int) -> None:
        if self.on_role is not None:
            self.on_role()

    @property
    def role(self) -> RaftRole:
        """The member's role."""
        return self._state.role

    @property
    def leader(self) -> str:
        """The leader's id; "" if it is unknown."""
        return self._state.leader

    @property
    def term(self) -> int:
        """The member's term."""
        return self._state.term

    def water_mark(self, member_id: str) -> int:
        """Of a leader: the index up to which another member is known to have the log; -1 if unknown."""
        return self._quorum.mark(member_id)

    def take(self) -> list[Effect]:
        """Return the effects in order, and clear them."""
        return self._effects.take()

    def tick(self, now: int) -> None:
        """Do what is due."""
        self._elector.tick(now)
        self._transfers.tick(now)
        self._follower.tick(now)
        self._quorum.tick(now)
        self.push(now)

    def push(self, now: int) -> None:
        """Send new entries to the followers; `tick` does so too."""
        for dispatcher in self._dispatchers:
            dispatcher.tick(now)

    def synced(self, now: int) -> None:
        """Take a new `log.synced_index` into account."""
        self._follower.synced()
        if self._state.is_leader:
            self._quorum.advance()
            self.push(now)

    def check(self) -> None:
        """Raise `AppendRefused` if entries are refused."""
        self._quorum.check()

    def append(self, body: bytes, token: object, now: int) -> Entry:
        """Append an entry, and answer with this token (None for no answer) once it is committed; `push` must
        follow. Raises `AppendRefused`, and `ValueError` for one that no file can hold.
        """
        entry = self._quorum.append(body, now)
        self._quorum.wait(entry, token, now)
        if not self.settings.rules.acknowledges_synced:
            self._quorum.advance()
        return entry

    def refusal(self, group: str, receiver: str) -> Code | None:
        """Return the reason why a request to `receiver` in `group` is not for this member; None if it is."""
        if receiver != self.settings.self_id:
            return Code.UNKNOWN_MEMBER
        return None if group == self.settings.group else Code.UNKNOWN_GROUP

    def receive(self, request: Request, token: object, now: int) -> None:
        """Take a request of another member or a client."""
        match request:
            case Vote():
                self._effects.reply(token, self._elector.vote(request, now))
            case HeartBeat():
                self._effects.reply(token, self._elector.hear(request, now))
            case Push():
                self._follower.push(request, token, now)
            case LeadershipTransfer():
                self._transfers.take(request, token, now)
            case Append():
                self._append(request, token, now)
            case Get():
                self._get(request, token)
            case _:
                peers = dict(self.settings.peers)
                self._effects.reply(token, MetadataAnswer(Code.SUCCESS, self.leader, peers))

    def _append(self, request: Append, token: object, now: int) -> None:
        try:
            self.append(request.body, token, now)
            self.push(now)
        except AppendRefused as refused:
            code = refused.code
        except ValueError:
            code = Code.UNEXPECTED_ARGUMENT
        else:
            return
        self._effects.reply(token, AppendAnswer(code, self.term, leader=self.leader))

    def _get(self, request: Get, token: object) -> None:
        entries: tuple[Entry, ...] = ()
        if not self._state.is_leader:
            code = Code.NOT_LEADER
        elif request.index < self.log.begin_index:
            code = Code.INDEX_LESS_THAN_LOCAL_BEGIN
        elif request.index > self.log.end_index:
            code = Code.INDEX_OUT_OF_RANGE
        else:
            try:
                code, entries = Code.SUCCESS, tuple(self.log.entries(request.index, 0))
            except OSError:
                code = Code.DISK_ERROR
        self._effects.reply(token, GetAnswer(code, entries))
