"""The requests that wait until the log is durable up to an offset, answered by one sync together.

`GroupCommit` is the rule, without a disk: waiters with the offset they need; one sync at a time; a request
that arrives while it runs waits for the next. A sync that failed is never trusted afterwards, not even when
a later one succeeds: the system may have dropped the pages it could not write. `flush` carries out the syncs.

Standard: `CommitLog.GroupCommitService`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from mqgateway.engine.store.results import PutStatus

Done = Callable[[PutStatus], None]


class _Waiter(NamedTuple):
    end: int
    deadline: int
    done: Done


class GroupCommit:
    """Requests that wait for an offset of the log to be durable. Times in ms."""

    def __init__(self) -> None:
        self.flushed = 0
        self.target: int | None = None
        self.failure = ""
        self._waiters: list[_Waiter] = []

    @property
    def waiting(self) -> int:
        """Number of requests that wait."""
        return len(self._waiters)

    def wait(self, end: int, deadline: int, done: Done) -> None:
        """Call `done` once everything before `end` is durable, or it is clear that it will not be in time."""
        if end <= self.flushed:
            done(PutStatus.PUT_OK)
        elif self.failure:
            done(PutStatus.FLUSH_DISK_TIMEOUT)
        else:
            self._waiters.append(_Waiter(end, deadline, done))

    def begin(self, written: int) -> bool:
        """Return True if a sync must start now; it then counts for everything before `written`."""
        if self.target is not None or self.failure or written <= self.flushed:
            return False
        self.target = written
        return True

    def finish(self, failure: str = "") -> None:
        """End the sync. Waiters that are served by it are called by `answer`."""
        assert self.target is not None
        if failure:
            self.failure = failure
        elif not self.failure:
            self.flushed = self.target
        self.target = None

    def rewind(self, end: int) -> None:
        """Follow a truncation of the log to `end`."""
        self.flushed = min(self.flushed, end)
        if self.target is not None:
            self.target = min(self.target, end)

    def fail(self, failure: str) -> None:
        """Trust no sync any more."""
        self.failure = failure
        self.answer()

    def answer(self) -> None:
        """Call the waiters whose outcome is known."""
        waiters, self._waiters = self._waiters, []
        for waiter in waiters:
            if waiter.end <= self.flushed:
                waiter.done(PutStatus.PUT_OK)
            elif self.failure:
                waiter.done(PutStatus.FLUSH_DISK_TIMEOUT)
            else:
                self._waiters.append(waiter)

    def give_up(self) -> None:
        """Answer all requests: the store stops."""
        self.answer()
        self.expire(max((waiter.deadline for waiter in self._waiters), default=0))

    def expire(self, now: int) -> None:
        """Answer the requests whose deadline has passed."""
        if not any(waiter.deadline <= now for waiter in self._waiters):
            return
        waiters, self._waiters = self._waiters, []
        for waiter in waiters:
            if waiter.deadline <= now:
                waiter.done(PutStatus.FLUSH_DISK_TIMEOUT)
            else:
                self._waiters.append(waiter)
