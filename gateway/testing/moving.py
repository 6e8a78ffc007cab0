"""A clock that runs on by itself, may run faster than the machine's, and can be made to leap."""

from __future__ import annotations

from mqgateway.engine.clock import Clock, SystemClock


class MovingClock:
    """The server's time. `speed` is how many of its seconds pass in one of the machine's."""

    def __init__(self, speed: float = 1.0, machine: Clock | None = None) -> None:
        if speed < 1:
            raise ValueError(f"speed={speed}: time runs at least as fast as it does")
        self.speed = speed
        self._machine = machine or SystemClock()
        self._began_millis = self._machine.millis()
        self._began = self._machine.monotonic()
        self._leapt = 0.0

    def millis(self) -> int:
        """The wall time, in ms since the epoch."""
        return self._began_millis + int(self.monotonic() * 1000)

    def monotonic(self) -> float:
        """Seconds since it was made."""
        return (self._machine.monotonic() - self._began) * self.speed + self._leapt

    def leap(self, seconds: float) -> None:
        """Let that much time have passed. Raises `ValueError` for a step back."""
        if seconds < 0:
            raise ValueError("time does not go back")
        self._leapt += seconds

    @property
    def ahead_millis(self) -> int:
        """How far it is ahead of the machine's clock."""
        return self.millis() - self._machine.millis()
