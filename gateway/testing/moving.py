"""A running clock that may run faster than the machine's, and can leap forward."""

from __future__ import annotations

from mqgateway.engine.clock import Clock, SystemClock


class MovingClock:
    """The server's time. `speed` is the number of its seconds per second of the machine."""

    def __init__(self, speed: float = 1.0, machine: Clock | None = None) -> None:
        if speed < 1:
            raise ValueError(f"speed={speed}: time runs at least as fast as it does")
        self.speed = speed
        self._machine = machine or SystemClock()
        self._began_millis = self._machine.millis()
        self._began = self._machine.monotonic()
        self._leapt = 0.0

    def millis(self) -> int:
        """Return the wall time, in ms since the epoch."""
        return self._began_millis + int(self.monotonic() * 1000)

    def monotonic(self) -> float:
        """Return the seconds since the clock was created, including leaps."""
        return (self._machine.monotonic() - self._began) * self.speed + self._leapt

    def leap(self, seconds: float) -> None:
        """Advance the clock at once. Raises `ValueError` for a step back."""
        if seconds < 0:
            raise ValueError("time does not go back")
        self._leapt += seconds

    @property
    def ahead_millis(self) -> int:
        """Lead over the machine's clock, in ms."""
        return self.millis() - self._machine.millis()
