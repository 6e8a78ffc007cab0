"""How new a table is: a counter that grows with every change. Standard: `DataVersion`."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

from mqgateway.engine.lenient_json import dumps


@dataclass(slots=True)
class DataVersion:
    """A table's version; two are the same state when all three numbers are equal.

    `timestamp` is when the table last changed, in milliseconds; `state_version` is the term of a
    controller, 0 without one.
    """

    counter: int = 0
    state_version: int = 0
    timestamp: int = 0

    def next(self, now: int, changes: int = 1) -> None:
        """Note one change or more at `now` ms."""
        self.counter += changes
        self.timestamp = now

    def to_json(self) -> dict[str, int]:
        """The numbers under the standard's names."""
        return {"counter": self.counter, "stateVersion": self.state_version, "timestamp": self.timestamp}

    def encode(self) -> bytes:
        """The same as JSON text."""
        return dumps(self.to_json())

    @classmethod
    def from_json(cls, value: Mapping[str, Any] | None) -> Self:
        """Read the numbers; those that are missing are 0."""
        value = value or {}
        return cls(
            int(value.get("counter") or 0),
            int(value.get("stateVersion") or 0),
            int(value.get("timestamp") or 0),
        )
