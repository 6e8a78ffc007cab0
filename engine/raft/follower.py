"""A follower's side of replication: compares, truncates or appends what a leader pushes.

Entries may arrive out of order, as one request overtakes another: early ones wait for those before. The
answer that an entry is in the log is sent once it is on stable storage, if the rules say so. A push in this
member's term comes from its leader, and counts as a heartbeat.

RocketMQ: `EntryHandler`, `DLedgerMmapFileStore.truncate`. Departures: a push that is not of this member's
leader, or cannot be taken now, is answered at once, and not with INCONSISTENT_STATE, by which a leader takes
an entry for a different one; an entry that is in the log is compared at once; committed entries are never
truncated; early entries are bounded.
"""

from __future__ import annotations

import errno
import logging
from collections import deque
from typing import NamedTuple

from mqgateway.engine.errors import StoreError
from mqgateway.engine.raft.effects import Effects
from mqgateway.engine.raft.election import Elector
from mqgateway.engine.raft.log import NO_INDEX, Entry, LogMismatch
from mqgateway.engine.raft.messages import Code, HeartBeat, Push, PushAnswer, PushType
from mqgateway.engine.raft.state import MemberState

log = logging.getLogger(__name__)


class _Early(NamedTuple):
    push: Push
    token: object
    received_at: int


class _Unsynced(NamedTuple):
    last_index: int
    push: Push
    token: object


class Follower:
    """Takes pushes for one member. Up to `matched` the log is known to be that of this term's leader."""

    def __init__(self, state: MemberState, elector: Elector, effects: Effects) -> None:
        self._state = state
        self._settings = state.settings
        self._elector = elector
        self._effects = effects
        self._log = state.log
        self.matched = NO_INDEX
        self._early: dict[int, _Early] = {}
        self._early_bytes = 0
        self._unsynced: deque[_Unsynced] = deque()
        state.on_change.append(self._role_changed)

    def _role_changed(self, _now: int) -> None:
        self.matched = NO_INDEX
        for waiting in self._unsynced:
            self._reply(waiting.push, waiting.token, Code.NOT_FOLLOWER)
        self._unsynced.clear()
        self._drop_early(Code.NOT_FOLLOWER)

    def push(self, request: Push, token: object, now: int) -> None:
        """Take a leader's push; the answer has this token."""
        code = self._elector.hear(HeartBeat(request.leader, request.term), now).code
        if code is not Code.SUCCESS:
            self._reply(request, token, code)
        elif request.type is PushType.COMMIT:
            self._commit(request)
            self._reply(request, token, Code.SUCCESS)
        elif not request.entries or not _is_run(request.entries):
            self._reply(request, token, Code.UNEXPECTED_ARGUMENT)
        elif request.type is PushType.APPEND:
            self._append(request, token, now)
        else:
            # The leader begins again: it repeats its earlier pushes.
            self._drop_early(Code.REPEATED_PUSH)
            if request.type is PushType.COMPARE:
                self._compare(request, token)
            else:
                self._truncate(request, token)

    def tick(self, now: int) -> None:
        """Reject the early entries if those before the first one have not arrived in time."""
        first = min(self._early, default=None)
        if first is not None and now - self._early[first].received_at > self._settings.push_timeout:
            early = self._take_early(first)
            assert early is not None
            self._reply(early.push, early.token, Code.INCONSISTENT_STATE)

    def synced(self) -> None:
        """Note that more of the log may be on stable storage."""
        while self._unsynced and self._unsynced[0].last_index <= self._log.synced_index:
            waiting = self._unsynced.popleft()
            self._reply(waiting.push, waiting.token, Code.SUCCESS)

    # Answers.

    def _reply(self, push: Push, token: object, code: Code) -> None:
        index, count = (None, 0) if push.type is PushType.COMMIT else (push.first_index, len(push.entries))
        begin, end = self._log.begin_index, self._log.end_index
        if end == NO_INDEX:
            begin = NO_INDEX  # as a log of RocketMQ has it that never had an entry
        self._effects.reply(token, PushAnswer(code, push.term, index, count, begin, end))

    def _has(self, push: Push, token: object, index: int) -> None:
        """Answer that everything up to `index` is in the log, once the rules allow that."""
        if self._settings.rules.acknowledges_synced and index > self._log.synced_index:
            self._unsynced.append(_Unsynced(index, push, token))
        else:
            self._reply(push, token, Code.SUCCESS)

    def _failed(self, push: Push, token: object, error: Exception) -> None:
        log.error("the log of %s cannot be written: %s", self._state.self_id, error)
        is_full = isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT)
        self._reply(push, token, Code.DISK_FULL if is_full else Code.DISK_ERROR)

    def _commit(self, push: Push) -> None:
        index = min(push.commit_index, self._log.end_index)
        if index > self._log.committed_index:
            self._log.note_committed(index)

    # Comparing and truncating.

    def _compare(self, push: Push, token: object) -> None:
        (entry, *_) = push.entries
        try:
            is_same = self._log.entry(entry.index) == entry
        except (OSError, StoreError) as error:
            self._failed(push, token, error)
            return
        if not is_same:
            self._reply(push, token, Code.INCONSISTENT_STATE)
            return
        if entry.index == self._log.end_index:
            self.matched = max(self.matched, entry.index)
        # The leader counts this one as stored from here on.
        self._has(push, token, entry.index)

    def _truncate(self, push: Push, token: object) -> None:
        (entry, *_) = push.entries
        try:
            has_it = self._log.entry(entry.index) == entry
            if has_it:
                self._cut_behind(entry.index)
            elif not self._begin_with(entry):
                self._reply(push, token, Code.INCONSISTENT_STATE)
                return
        except LogMismatch:
            self._reply(push, token, Code.INCONSISTENT_STATE)
            return
        except (OSError, StoreError) as error:
            self._failed(push, token, error)
            return
        self.matched = max(self.matched, entry.index)
        self._has(push, token, entry.index)
        self._commit(push)

    def _cut_behind(self, index: int) -> None:
        """Truncate after `index`, except what this leader is known to have too."""
        keeps = self._settings.rules.keeps_matched
        last = max(index, self.matched) if keeps else index
        if last < self._log.end_index:
            log.warning("%s truncates entries %d to %d", self._state.self_id, last + 1, self._log.end_index)
            self._log.cut(last)

    def _begin_with(self, entry: Entry) -> bool:
        """Replace the log by one that ends with this entry; return False if that is not allowed."""
        index, is_empty = entry.index, self._log.begin_index > self._log.end_index
        last_kept = max(self.matched, self._log.committed_index)
        if self._settings.rules.keeps_matched and not is_empty and index <= last_kept:
            log.error(
                "%s was requested to truncate entry %d but keeps all entries up to %d",
                self._state.self_id,
                index,
                last_kept,
            )
            return False
        if self._log.begin_index < index <= self._log.end_index + 1:
            self._log.cut(index - 1)
        else:
            # The leader's log begins after the end of this one, or before its beginning: take all of it.
            log.warning("%s starts a new log at entry %d", self._state.self_id, index)
            self._log.reset(index, entry.position)
        self._log.append_entry(entry)
        return True

    # Appending.

    def _append(self, push: Push, token: object, now: int) -> None:
        first = push.first_index
        if first > self._log.end_index + 1:
            self._keep_early(push, token, now)
            return
        self._append_now(push, token)
        while (early := self._take_early(self._log.end_index + 1)) is not None:
            self._append_now(early.push, early.token)

    def _append_now(self, push: Push, token: object) -> None:
        try:
            for entry in push.entries:
                if entry.index <= self._log.end_index:
                    if self._log.entry(entry.index) != entry:
                        raise LogMismatch(f"entry {entry.index} is another one")
                else:
                    self._log.append_entry(entry)
        except LogMismatch:
            self._reply(push, token, Code.INCONSISTENT_STATE)
            return
        except (OSError, StoreError) as error:
            self._failed(push, token, error)
            return
        self.matched = max(self.matched, push.last_index)
        self._has(push, token, push.last_index)
        self._commit(push)

    def _keep_early(self, push: Push, token: object, now: int) -> None:
        if push.first_index in self._early:
            self._reply(push, token, Code.REPEATED_PUSH)
            return
        size = _size(push)
        is_full = len(self._early) >= self._settings.pending_pushes_max
        if is_full or self._early_bytes + size > self._settings.pending_bytes_max:
            self._reply(push, token, Code.INCONSISTENT_STATE)
            return
        self._early[push.first_index] = _Early(push, token, now)
        self._early_bytes += size

    def _take_early(self, index: int) -> _Early | None:
        early = self._early.pop(index, None)
        if early is not None:
            self._early_bytes -= _size(early.push)
        return early

    def _drop_early(self, code: Code) -> None:
        for early in self._early.values():
            self._reply(early.push, early.token, code)
        self._early.clear()
        self._early_bytes = 0


def _is_run(entries: tuple[Entry, ...]) -> bool:
    """Return True if the entries are consecutive."""
    first = entries[0].index
    return first >= 0 and all(entry.index == first + count for count, entry in enumerate(entries))


def _size(push: Push) -> int:
    return sum(entry.size for entry in push.entries)
