"""A leader's side of replication to one follower.

It compares entries from its end backwards until the follower has the same one (COMPARE), has what comes after
that cut (TRUNCATE), then sends its entries, many at a time (APPEND), and tells now and then how far they are
committed (COMMIT). Whatever goes wrong, it compares again.

Standard: `EntryDispatcher`. Departures: what is on its way is bounded in bytes, instead of a rate for who is
far behind; only the newest comparison is believed.
"""

from __future__ import annotations

import logging
from functools import partial
from typing import NamedTuple

from mqgateway.engine.errors import StoreError
from mqgateway.engine.raft.effects import Effects
from mqgateway.engine.raft.log import NO_INDEX, Entry
from mqgateway.engine.raft.messages import Code, Push, PushAnswer, PushType
from mqgateway.engine.raft.quorum import Quorum
from mqgateway.engine.raft.state import NO_TERM, MemberState

log = logging.getLogger(__name__)


class _Pending(NamedTuple):
    last_index: int
    size: int
    sent_at: int


class EntryDispatcher:
    """Keeps one follower's log like the own one, while this member leads."""

    def __init__(self, peer: str, state: MemberState, quorum: Quorum, effects: Effects) -> None:
        self._peer = peer
        self._state = state
        self._settings = state.settings
        self._quorum = quorum
        self._effects = effects
        self._log = state.log
        self._term = NO_TERM
        self._appends = False
        self._compare_index = NO_INDEX
        self._next_index = 0
        self._pending: dict[int, _Pending] = {}
        self._pending_bytes = 0
        self._last_push = 0
        self._is_waiting = False
        self._not_before = 0
        self._turn = 0
        """Which comparison this is: what comes of an older one is not believed."""

    def tick(self, now: int) -> None:
        """Send what is due."""
        if not self._state.is_leader:
            self._term = NO_TERM
            return
        if self._term != self._state.term:
            self._term = self._state.term
            self._restart(now)
        try:
            if self._appends:
                self._append(now)
            else:
                self._compare(now)
        except (OSError, StoreError) as error:
            log.error("%s cannot read its log for %s: %s", self._state.self_id, self._peer, error)
            self._restart(now + self._settings.push_pause)

    def _restart(self, when: int) -> None:
        """Compare, at `when`."""
        self._turn += 1
        self._appends = self._is_waiting = False
        self._compare_index = NO_INDEX
        self._pending.clear()
        self._pending_bytes = 0
        self._not_before = when

    def _push(self, kind: PushType, entries: tuple[Entry, ...], is_batch: bool = False) -> Push:
        return Push(kind, self._state.self_id, self._term, self._log.committed_index, entries, is_batch)

    def _is_current(self, turn: int) -> bool:
        return self._state.is_leader and self._term == self._state.term and turn == self._turn

    # Comparing and cutting.

    def _compare(self, now: int) -> None:
        if self._is_waiting or now < self._not_before or self._log.end_index < self._log.begin_index:
            return
        if not self._log.begin_index <= self._compare_index <= self._log.end_index:
            self._compare_index = self._log.end_index
        self._ask(PushType.COMPARE, self._compare_index)

    def _ask(self, kind: PushType, index: int) -> None:
        entry = self._log.entry(index)
        assert entry is not None
        self._is_waiting = True
        on_reply = self._compared if kind is PushType.COMPARE else self._truncated
        self._effects.send(self._peer, self._push(kind, (entry,)), partial(on_reply, self._turn, index))

    def _compared(self, turn: int, index: int, answer: PushAnswer | None, now: int) -> None:
        if not self._is_current(turn):
            return
        self._is_waiting = False
        if answer is not None and answer.code is Code.SUCCESS and answer.end_index == index:
            self._append_after(index)
            return
        if answer is None or answer.code not in (Code.SUCCESS, Code.INCONSISTENT_STATE):
            self._restart(now + self._settings.push_pause)
            return
        begin = self._log.begin_index
        cut_behind = self._judge(index, answer)
        if cut_behind is None and self._compare_index < begin:
            cut_behind = begin
        try:
            if cut_behind is None:
                self._compare(now)
            elif cut_behind < begin:  # deleted meanwhile
                self._restart(now)
            else:
                self._ask(PushType.TRUNCATE, cut_behind)
        except (OSError, StoreError) as error:
            log.error("%s cannot read its log for %s: %s", self._state.self_id, self._peer, error)
            self._restart(now + self._settings.push_pause)

    def _judge(self, index: int, answer: PushAnswer) -> int | None:
        """Behind which entry the follower is to be cut; None: compare at `_compare_index`, which is set."""
        begin, end = self._log.begin_index, self._log.end_index
        if answer.code is Code.SUCCESS:
            return index
        is_apart = answer.end_index < begin or answer.begin_index > end
        if is_apart or index < answer.begin_index:
            return begin
        self._compare_index = min(index - 1, answer.end_index)
        return None

    def _truncated(self, turn: int, index: int, answer: PushAnswer | None, now: int) -> None:
        if not self._is_current(turn):
            return
        if answer is not None and answer.code is Code.SUCCESS:
            self._append_after(index)
        else:
            self._restart(now + self._settings.push_pause)

    def _append_after(self, index: int) -> None:
        self._appends, self._is_waiting = True, False
        self._next_index = index + 1
        self._quorum.had(self._peer, index)

    # Appending.

    def _append(self, now: int) -> None:
        if self._next_index < self._log.begin_index:
            self._restart(now)
            return
        settings = self._settings
        while (
            self._next_index <= self._log.end_index
            and len(self._pending) < settings.pending_pushes_max
            and self._pending_bytes < settings.pending_bytes_max
        ):
            self._next_index = self._send_from(self._next_index, now)
        self._send_again(now)
        is_idle = self._next_index > self._log.end_index
        if is_idle and now - self._last_push > settings.commit_interval:
            self._last_push = now
            self._effects.send(self._peer, self._push(PushType.COMMIT, ()), _unheeded)

    def _send_from(self, index: int, now: int) -> int:
        """Push the entries from `index` on that go together; gives the index after them."""
        size_max = self._settings.batch_bytes if self._settings.batch_push else 0
        entries = tuple(self._log.entries(index, size_max))
        assert entries
        size = sum(entry.size for entry in entries)
        last = entries[-1].index
        before = self._pending.get(index)
        self._pending_bytes += size - (0 if before is None else before.size)
        self._pending[index] = _Pending(last, size, now)
        self._last_push = now
        push = self._push(PushType.APPEND, entries, self._settings.batch_push)
        self._effects.send(self._peer, push, partial(self._appended, self._turn))
        return last + 1

    def _send_again(self, now: int) -> None:
        """Send the first entries again that are not answered although they should have been."""
        first = next(iter(self._pending), None)
        if first is None or now - self._pending[first].sent_at <= self._settings.push_timeout:
            return
        if first < self._log.begin_index:
            self._restart(now)
            return
        last = self._pending[first].last_index
        if self._send_from(first, now) <= last:  # fewer than before: what is left is as if it was not sent
            self._restart(now)

    def _appended(self, turn: int, answer: PushAnswer | None, now: int) -> None:
        if not self._is_current(turn) or answer is None:
            return
        if answer.code is Code.SUCCESS and answer.index is not None:
            last = answer.index + max(answer.count, 1) - 1
            # Who has one has all before it.
            while self._pending and next(iter(self._pending.values())).last_index <= last:
                self._pending_bytes -= self._pending.pop(next(iter(self._pending))).size
            self._quorum.had(self._peer, last)
        elif answer.code in (Code.INCONSISTENT_STATE, Code.NOT_FOLLOWER, Code.INCONSISTENT_LEADER):
            self._restart(now)


def _unheeded(_answer: PushAnswer | None, _now: int) -> None:
    return
