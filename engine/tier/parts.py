"""Parts of a tier that readers ask for: from memory, or loaded by workers, each by one request at a time.

A reader that lacks a part gets `TierRead`, and tries again once the part is loaded. Unlike reads of the disk
it never waits on the event loop: if that takes longer than `WAIT_MILLIS`, or the store is away, its answer is
that there is nothing yet. The part is kept when it comes.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Hashable, Iterable
from typing import Final

from mqgateway.engine.clock import Clock, elapsed_millis
from mqgateway.engine.store.cold import ColdRead
from mqgateway.engine.store.older_messages import NothingYet
from mqgateway.engine.tier.part_cache import PartCache, Weighted
from mqgateway.engine.worker import Worker

log = logging.getLogger(__name__)

WAIT_MILLIS: Final = 5000
"""Time that a reader waits for a part."""
PAUSE_MILLIS: Final = 5000
"""Time without requests after one that failed."""

Part = tuple[Hashable, Weighted]
Load = Callable[[], Iterable[Part]]
"""Loads parts, on a worker's thread; returns them with their keys."""


class TierRead(ColdRead):
    """A part of a tier is not in memory."""

    def __init__(self, flight: Flight, position: int) -> None:
        super().__init__(position, [])
        self._flight = flight

    def bring_by(self, worker: Worker, done: Callable[[], None], *, ahead: bool) -> None:
        """Call `done` when the part is loaded, or the reader has waited long enough. The tier's own workers
        load it."""
        self._flight.wait(done)


class Flight:
    """A part that is being loaded, since a time in ms, and the readers that wait for it."""

    def __init__(self, began: int) -> None:
        self.began = began
        self._is_over = False
        self._waiting: list[Callable[[], None]] = []

    def wait(self, done: Callable[[], None]) -> None:
        """Call `done` once it is over."""
        if self._is_over:
            done()
        else:
            self._waiting.append(done)

    def end(self) -> None:
        """Note that the part is loaded, or could not be."""
        self._is_over = True
        self.release()

    def release(self) -> None:
        """Let the readers try again."""
        waiting, self._waiting = self._waiting, []
        for done in waiting:
            done()


class TierParts:
    """Loads parts on `worker`, whose threads are the tier's, and keeps `most` bytes of them."""

    def __init__(self, worker: Worker, clock: Clock, most: int) -> None:
        self._worker = worker
        self._clock = clock
        self._flights: dict[Hashable, Flight] = {}
        self._paused_until = 0
        self.cache = PartCache(most)
        self.fault = ""
        """The reason why the store cannot be used; empty while it can."""

    @property
    def missing(self) -> str:
        """The reason why something is not there, for people."""
        why = self.fault or "they are being loaded"
        return f"older messages cannot be read now: {why}. Try again later"

    @property
    def is_paused(self) -> bool:
        """True for a while after a request that failed."""
        return elapsed_millis(self._clock) < self._paused_until

    def get(self, key: Hashable, load: Load, may_wait: bool, position: int) -> Weighted:
        """Return a part, which is loaded by `load` if it is not in memory.

        Raises `TierRead`, with the position in the log that it is for, if a worker loads it, or `NothingYet`
        if the reader is not to wait: `may_wait` would make it wait on the event loop.
        """
        found = self.cache.get(key)
        if found is not None:
            return found
        flight = self.begin((key,), load)
        found = self.cache.get(key)
        if found is not None:  # the worker had it at once
            return found
        if flight is None or may_wait or elapsed_millis(self._clock) - flight.began >= WAIT_MILLIS:
            raise NothingYet(self.missing)
        raise TierRead(flight, position)

    def begin(self, keys: Iterable[Hashable], load: Load) -> Flight | None:
        """Have a worker load parts, unless the first of them is being loaded; None if the store is away."""
        keys = tuple(keys)
        flight = self._flights.get(keys[0])
        if flight is not None or self.is_paused:
            return flight
        flight = Flight(elapsed_millis(self._clock))
        begun = flight
        for key in keys:
            self._flights.setdefault(key, flight)

        def done(outcome: Iterable[Part] | Exception) -> None:
            for key in keys:
                if self._flights.get(key) is begun:
                    del self._flights[key]
            if isinstance(outcome, Exception):
                self.fail(outcome)
            else:
                self.succeed()
                for key, part in outcome:
                    self.cache.put(key, part)
            begun.end()

        self._worker.run(lambda: list(load()), done)
        return flight

    def fail(self, error: Exception) -> None:
        """Note that the store is away: nothing is requested for a while."""
        if not self.fault:
            log.error("messages of the tier cannot be read: %s", error)
        self.fault = str(error)
        self._paused_until = elapsed_millis(self._clock) + PAUSE_MILLIS

    def succeed(self) -> None:
        """Note that the store has answered."""
        if self.fault:
            log.info("messages of the tier can be read again")
        self.fault = ""

    def tick(self) -> None:
        """Release readers that have waited long enough. Called every second or so."""
        now = elapsed_millis(self._clock)
        for flight in set(self._flights.values()):
            if now - flight.began >= WAIT_MILLIS:
                flight.release()
