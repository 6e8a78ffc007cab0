"""Calls that are to come: of a client or a server, with which they end.

What is called may fail, which is logged.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

from twisted.internet.defer import Deferred

from mqgateway.gateway.runtime.loop import Clockwork, Timer

log = logging.getLogger(__name__)


class Schedule:
    """Calls later, once or again and again; times are in seconds."""

    def __init__(self, reactor: Clockwork) -> None:
        self._reactor = reactor
        self._timers: set[ScheduledCall] = set()
        self._is_over = False

    def seconds(self) -> float:
        """The loop's time."""
        return self._reactor.seconds()

    def later(self, seconds: float, work: Callable[..., object], *args: Any) -> ScheduledCall:
        """Call `work(*args)` once; the result can be cancelled. Nothing is called once this is stopped."""
        return ScheduledCall(self, seconds, None, work, args)

    def every(self, first: float, seconds: float, work: Callable[[], object]) -> ScheduledCall:
        """Call `work` after `first` seconds and then again and again."""
        return ScheduledCall(self, first, seconds, work, ())

    def pause(self, seconds: float) -> Deferred[None]:
        """A Deferred that fires after a while; never, once this is stopped."""
        waited: Deferred[None] = Deferred()
        self.later(seconds, waited.callback, None)
        return waited

    def stop(self) -> None:
        """Cancel everything, and take nothing more."""
        self._is_over = True
        for call in list(self._timers):
            call.cancel()


class ScheduledCall:
    """One call that is to come."""

    def __init__(
        self,
        schedule: Schedule,
        seconds: float,
        again: float | None,
        work: Callable[..., object],
        args: tuple[Any, ...],
    ) -> None:
        self._schedule = schedule
        self._again = again
        self._work = work
        self._args = args
        self._timer: Timer | None = None
        self._set(seconds)

    @property
    def is_waiting(self) -> bool:
        """Whether it is still to come."""
        return self._timer is not None

    def cancel(self) -> None:
        """Do not call it; harmless when it has been called."""
        self._again = None
        timer, self._timer = self._timer, None
        self._schedule._timers.discard(self)
        if timer is not None and timer.active():
            timer.cancel()

    def _set(self, seconds: float) -> None:
        if self._schedule._is_over:
            return
        self._timer = self._schedule._reactor.callLater(max(0.0, seconds), self._call)
        self._schedule._timers.add(self)

    def _call(self) -> None:
        self._timer = None
        self._schedule._timers.discard(self)
        if self._again is not None:
            self._set(self._again)
        try:
            self._work(*self._args)
        except Exception:
            log.exception("%s failed", getattr(self._work, "__qualname__", self._work))
