"""A coordinator in the broker's time: it reads its log where the broker is a master, and is ticked after
that."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final, Protocol

from mqgateway.gateway.broker.operations import Operations

LOAD_SECONDS: Final = 0.04
"""Time that a tick spends on reading records from the log."""


class LoadedCoordinator(Protocol):
    """A coordinator that reads its log before it answers requests."""

    is_loaded: bool

    def load(self) -> Iterator[bool]:
        """Read the log in steps; yield True if nothing can be done at once."""
        ...

    def unload(self) -> None:
        """Forget what was read."""
        ...

    def tick(self) -> None:
        """Do what is due."""
        ...


class Coordinated:
    """Reads a coordinator's log at once and, what takes longer, at the next ticks.

    A slave coordinates nothing, and reads the log once it is master. So does a broker whose group coordinates
    no keys: `coordinates` returns whether it does.
    """

    def __init__(
        self, operations: Operations, coordinator: LoadedCoordinator, coordinates: Callable[[], bool]
    ) -> None:
        self._clock = operations.clock
        self._coordinator = coordinator
        self._coordinates = coordinates
        self._loading = coordinator.load()
        operations.gate.on_role_change(self._start_again)

    def _start_again(self) -> None:
        """Forget everything, and read it again if this broker coordinates it."""
        self._coordinator.unload()
        self._loading = self._coordinator.load()

    def tick(self) -> None:
        """Do what is due."""
        if self._coordinator.is_loaded:
            self._coordinator.tick()
            return
        if not self._coordinates():
            return
        end = self._clock.monotonic() + LOAD_SECONDS
        for has_to_wait in self._loading:
            if has_to_wait or self._clock.monotonic() >= end:
                break
