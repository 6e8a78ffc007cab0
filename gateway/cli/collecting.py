"""Limits on Python's cyclic garbage collector, so that it does not scan long-lived objects again and again.

A full pass looks at everything that lives, and blocks the loop meanwhile: with a hundred thousand topics for
a second. Topics and queues live long, so once some thousands of them have come to be, garbage is looked for
among what is new, which takes some milliseconds, and what is left is never looked at again (`gc.freeze`). It
goes all the same when nothing refers to it any more; only rings that are let go of later stay: of
connections that were open just then, say. So this happens when there are more entries than ever, and
at no other time, and what can stay is bounded.
"""

from __future__ import annotations

import gc
from collections.abc import Callable
from typing import Protocol, runtime_checkable

FULL_PASS_EVERY = 100
"""Passes of the middle generation before the collector may look at everything that it looks at: at ten, as it
is by default, full passes held the loop for 130 to 257 ms each while ten thousand topics came to be, under a
profiler. What rings of garbage may wait longer for that is bounded by 700,000 objects."""
OFTEN = (700, 10)
"""Thresholds of the younger generations while a server runs: Python's own numbers."""
WHILE_LOADING = 100_000
"""New objects before the collector looks at anything while modules are loaded: none of those is garbage, and
to look through them again and again took a tenth of the time of a start."""
WHILE_STARTING = 1_000_000
"""The threshold while a server starts: more than it makes until it is ready."""
ENTRIES = 3000
"""Growth of the number of entries, over its highest value, at which existing objects are frozen: some 40,000
objects.
"""


def seldom(new_objects: int = WHILE_LOADING) -> None:
    """Make the collector run rarely while a program is loaded; a running server resets its thresholds."""
    gc.set_threshold(new_objects, *gc.get_threshold()[1:])


@runtime_checkable
class EntryCounter(Protocol):
    """An object that counts its entries that live long and may be very many: topics, queues."""

    @property
    def entries(self) -> int:
        """The present number of entries."""
        ...


class Collecting:
    """Watches a service after its start; `soon` calls a function on the loop, from any thread."""

    def __init__(self, service: object, soon: Callable[[Callable[[], None]], object]) -> None:
        self._service = service
        self._soon = soon
        self._most = self._entries()
        self._is_requested = False
        # What exists now lives as long as the process, and the server is ready without looking once more.
        gc.freeze()
        gc.set_threshold(*OFTEN, FULL_PASS_EVERY)
        gc.callbacks.append(self._passed)

    def end(self) -> None:
        """Stop and freeze all objects: they live until the process ends, so they are not scanned again."""
        gc.callbacks.remove(self._passed)
        gc.freeze()

    def _entries(self) -> int:
        return self._service.entries if isinstance(self._service, EntryCounter) else 0

    def _passed(self, phase: str, info: dict[str, int]) -> None:
        """Count passes. The middle generation's come after some seven thousand new objects."""
        if phase == "start" or info["generation"] == 0 or self._is_requested:
            return
        if self._entries() >= self._most + ENTRIES:
            self._is_requested = True
            self._soon(self._keep)

    def _keep(self) -> None:
        gc.collect()
        gc.freeze()
        self._most = self._entries()
        self._is_requested = False
