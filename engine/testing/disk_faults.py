"""Operations of a simulated disk: they are counted, can be watched, and fail on request.

Every call that changes the disk is an operation with a number. `watch` is called with each while it is in
flight; `cut_at` names the operation at which the power goes: `PowerCut` leaves the call and every later one.
`fail_next` lets calls fail, at once or at the n-th, with any error, having written any part.
"""

from __future__ import annotations

import errno
import os
from collections import deque
from collections.abc import Callable
from typing import NamedTuple

_KEPT_OPERATIONS = 40


class PowerCut(BaseException):
    """The power went; not an `Exception`, so that no handler of those resumes the work."""


class Operation(NamedTuple):
    """One change of the disk: its number, from 1, what it was and on which path."""

    number: int
    call: str
    path: str


class DiskFault:
    """An injected failure: it passes `skip` calls, then fails `times`; `has_hit` is true after the first."""

    def __init__(self, call: str, path: str, error: int, skip: int, times: int, part: float) -> None:
        self.call, self.path, self.error, self.part = call, path, error, part
        self.skip, self.times = skip, times
        self.has_hit = False

    def hits(self, call: str, path: str) -> bool:
        """Return True if this call fails."""
        if call != self.call and self.call != "any":
            return False
        if self.path not in path or self.times <= 0:
            return False
        if self.skip:
            self.skip -= 1
            return False
        self.times -= 1
        self.has_hit = True
        return True


def disk_error(number: int, path: str) -> OSError:
    """Return the error that the operating system raises for a path."""
    return OSError(number, os.strerror(number), path)


class DiskFaults:
    """Operations and injected failures of one disk. `operations` counts changes, `recent` names the last."""

    def __init__(self) -> None:
        self.operations = 0
        self.recent: deque[Operation] = deque(maxlen=_KEPT_OPERATIONS)
        self.watch: Callable[[Operation], None] | None = None
        self.cut_at: int | None = None
        self._dead = False
        self._faults: list[DiskFault] = []

    def fail_next(
        self,
        call: str,
        part_of_path: str = "",
        error: int = errno.EIO,
        times: int = 1,
        *,
        skip: int = 0,
        part: float = 0.5,
    ) -> DiskFault:
        """Let `times` calls on such paths fail, after `skip` that do not.

        `call` is read, write, sync, truncate, open, window, makedirs, rename, unlink, sync_dir, or any of
        them with "any". `part` of the data is written before a write fails.
        """
        fault = DiskFault(call, part_of_path, error, skip, times, part)
        self._faults.append(fault)
        return fault

    def heal(self) -> None:
        """Remove all injected failures."""
        self._faults.clear()

    def fault(self, call: str, path: str) -> DiskFault | None:
        """Return the failure injected for this call."""
        if self._dead:
            raise PowerCut
        return next((fault for fault in self._faults if fault.hits(call, path)), None)

    def allow(self, call: str, path: str) -> None:
        """Raise if a failure was injected for this call."""
        fault = self.fault(call, path)
        if fault is not None:
            raise disk_error(fault.error, path)

    def step(self, call: str, path: str) -> None:
        """Count an operation that is in flight."""
        self.operations += 1
        operation = Operation(self.operations, call, path)
        self.recent.append(operation)
        if self.watch is not None:
            self.watch(operation)
        if self.operations == self.cut_at:
            self._dead = True
            raise PowerCut
