"""Version of a table: a counter that grows with every change. RocketMQ: `DataVersion`."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

from mqgateway.engine.lenient_json import dumps


@dataclass(slots=True)
class DataVersion:
    """A table's version; the state is the same if all three numbers are equal.

    `timestamp` is the time of the last change, in milliseconds; `state_version` is the term of a controller,
    0 without one.
    """

    counter: int = 0
    state_version: int = 0
    timestamp: int = 0

    def next(self, now: int, changes: int = 1) -> None:
        """Count one change or more at `now` ms."""
        self.counter += changes
        self.timestamp = now

    def to_json(self) -> dict[str, int]:
        """Return the numbers under RocketMQ's names."""
        return {"counter": self.counter, "stateVersion": self.state_version, "timestamp": self.timestamp}

    def encode(self) -> bytes:
        """Return the numbers as JSON text."""
        return dumps(self.to_json())

    @classmethod
    def from_json(cls, value: Mapping[str, Any] | None) -> Self:
        """Parse the numbers; missing ones are 0."""
        value = value or {}
        return cls(
            int(value.get("counter") or 0),
            int(value.get("stateVersion") or 0),
            int(value.get("timestamp") or 0),
        )
