"""Agreement of a leader's group: the index up to which a majority has the log, and the appends that wait for
it.

RocketMQ: `QuorumAckChecker`, `DLedgerServer.handleAppend`.
"""

from __future__ import annotations

import errno
import logging
from collections import deque
from collections.abc import Callable
from typing import NamedTuple

from mqgateway.engine.errors import EngineError
from mqgateway.engine.raft.effects import Effects
from mqgateway.engine.raft.election import Elector
from mqgateway.engine.raft.log import NO_INDEX, Entry
from mqgateway.engine.raft.messages import AppendAnswer, Code
from mqgateway.engine.raft.state import NO_TERM, MemberState

log = logging.getLogger(__name__)


class TermOpening(NamedTuple):
    """The entry by which a leader opens its term: the size of its body in bytes, and a function that makes
    the body for the position of the entry.
    """

    size: int
    body: Callable[[int], bytes]


EMPTY_OPENING = TermOpening(0, lambda _position: b"")
"""For users that ignore entries without a body. RocketMQ: `DLedgerController`'s."""


class AppendRefused(EngineError):
    """An entry is refused; `code` is the reason."""

    def __init__(self, code: Code) -> None:
        super().__init__(code.name)
        self.code = code


class _Waiting(NamedTuple):
    entry: Entry
    token: object
    until: int


class Quorum:
    """Watermarks of the members, and the appends of this one, while it leads. Without `opening` it opens no
    term by an entry, and earlier entries that are not committed wait for its next append.
    """

    def __init__(
        self, state: MemberState, elector: Elector, effects: Effects, opening: TermOpening | None
    ) -> None:
        self._state = state
        self._settings = state.settings
        self._elector = elector
        self._effects = effects
        self._opening = opening
        self._log = state.log
        self._marks: dict[str, int] = {}
        self._term = NO_TERM
        self._first_own = 0
        self._waiting: deque[_Waiting] = deque()
        state.on_change.append(self._role_changed)

    def _role_changed(self, _now: int) -> None:
        if self._state.is_leader:
            self._begin()
        elif self._waiting:
            waiting, self._waiting = self._waiting, deque()
            for one in waiting:
                answer = AppendAnswer(Code.TERM_CHANGED, one.entry.term, one.entry.index)
                self._effects.reply(one.token, answer)

    def _begin(self) -> None:
        if self._term != self._state.term:
            self._term, self._first_own = self._state.term, self._log.end_index + 1
        self._marks = dict.fromkeys(self._settings.peers, NO_INDEX)
        is_open = self._log.end_index == self._log.committed_index or self._log.end_term == self._term
        if self._opening is not None and self._settings.rules.commits_own_term and not is_open:
            try:
                position = self._log.place(self._opening.size)
                self._log.append(self._term, self._opening.body(position))
            except OSError as error:
                log.error("%s cannot open its term: %s", self._state.self_id, error)
        self.advance()

    # Watermarks.

    def mark(self, member_id: str) -> int:
        """Return the index up to which a member is known to have the log of this term's leader; -1 if
        unknown.
        """
        return self._marks.get(member_id, NO_INDEX)

    def had(self, member_id: str, index: int) -> None:
        """Note that a member has the log up to `index`."""
        if index > self._marks[member_id]:
            self._marks[member_id] = index
            self.advance()

    def advance(self) -> None:
        """Advance the committed index, and answer the appends that waited for it."""
        rules = self._settings.rules
        own = self._log.synced_index if rules.acknowledges_synced else self._log.end_index
        self._marks[self._state.self_id] = own
        index = sorted(self._marks.values(), reverse=True)[len(self._marks) // 2]
        if index <= self._log.committed_index:
            return
        if rules.commits_own_term and index < self._first_own:
            return
        self._log.note_committed(index)
        while self._waiting and self._waiting[0].entry.index <= index:
            entry, token, _ = self._waiting.popleft()
            answer = AppendAnswer(Code.SUCCESS, entry.term, entry.index, entry.position, self._state.self_id)
            self._effects.reply(token, answer)

    # Appends.

    def check(self) -> None:
        """Raise `AppendRefused` if entries are refused."""
        if not self._state.is_leader:
            raise AppendRefused(Code.NOT_LEADER)
        if self._state.transferee:
            raise AppendRefused(Code.LEADER_TRANSFERRING)
        if len(self._waiting) > self._settings.pending_appends_max:
            raise AppendRefused(Code.LEADER_PENDING_FULL)

    def append(self, body: bytes, now: int) -> Entry:
        """Append an entry of this term. Raises `AppendRefused`."""
        self.check()
        try:
            return self._log.append(self._state.term, body)
        except OSError as error:
            log.error("%s cannot write its log: %s", self._state.self_id, error)
            if error.errno in (errno.ENOSPC, errno.EDQUOT):
                raise AppendRefused(Code.DISK_FULL) from error
            # Another member's disk may work.
            self._elector.rest(now)
            raise AppendRefused(Code.DISK_ERROR) from error

    def wait(self, entry: Entry, token: object, now: int) -> None:
        """Answer with this token once the entry is committed, late, or of a former term."""
        self._waiting.append(_Waiting(entry, token, now + self._settings.ack_timeout))

    def tick(self, now: int) -> None:
        """Answer the appends that were not committed in time."""
        while self._waiting and now >= self._waiting[0].until:
            entry, token, _ = self._waiting.popleft()
            answer = AppendAnswer(
                Code.WAIT_QUORUM_ACK_TIMEOUT, entry.term, entry.index, leader=self._state.self_id
            )
            self._effects.reply(token, answer)
