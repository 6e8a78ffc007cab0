"""Delayed and periodic calls of a client or a server, cancelled together when it stops.

Exceptions of called functions are logged.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

from twisted.internet.defer import Deferred

from mqgateway.gateway.runtime.loop import Clockwork, Timer

log = logging.getLogger(__name__)


class Schedule:
    """Delayed and periodic calls; times are in seconds."""

    def __init__(self, reactor: Clockwork) -> None:
        self._reactor = reactor
        self._timers: set[ScheduledCall] = set()
        self._is_over = False

    def seconds(self) -> float:
        """Return the loop's time."""
        return self._reactor.seconds()

    def later(self, seconds: float, work: Callable[..., object], *args: Any) -> ScheduledCall:
        """Call `work(*args)` once; the result can be cancelled. Nothing is called after `stop`."""
        return ScheduledCall(self, seconds, None, work, args)

    def every(self, first: float, seconds: float, work: Callable[[], object]) -> ScheduledCall:
        """Call `work` after `first` seconds, then every `seconds`."""
        return ScheduledCall(self, first, seconds, work, ())

    def pause(self, seconds: float) -> Deferred[None]:
        """Return a Deferred that fires after some seconds; it never fires after `stop`."""
        waited: Deferred[None] = Deferred()
        self.later(seconds, waited.callback, None)
        return waited

    def stop(self) -> None:
        """Cancel all calls, and ignore new ones."""
        self._is_over = True
        for call in list(self._timers):
            call.cancel()


class ScheduledCall:
    """One delayed or periodic call."""

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
        """True if a call is pending."""
        return self._timer is not None

    def cancel(self) -> None:
        """Cancel the pending call and all later ones. Idempotent, also after the call."""
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
