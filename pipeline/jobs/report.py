"""The final report of a job, as one JSON object; pure."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any


@dataclass
class Report:
    """The result of a job: its name, rows, batches, duration in seconds, and details of its own."""

    job: str
    rows: int = 0
    batches: int = 0
    seconds: float = 0.0
    details: dict[str, Any] = field(default_factory=dict)

    @property
    def rows_per_second(self) -> float:
        """The average rate; 0 without a duration."""
        return round(self.rows / self.seconds, 1) if self.seconds else 0.0

    def as_json(self) -> str:
        """Return the report as one line of JSON."""
        document = {**asdict(self), "seconds": round(self.seconds, 3), "rowsPerSecond": self.rows_per_second}
        return json.dumps(document, default=str, sort_keys=True)


def lag_of(end: Mapping[str, Any] | None, latest: Mapping[str, Any] | None) -> int:
    """Return the messages between two trees of offsets; queues that are missing in `end` count from 0."""
    if not latest:
        return 0
    total = 0
    for topic, brokers in latest.items():
        for broker, queues in brokers.items():
            done = ((end or {}).get(topic) or {}).get(broker) or {}
            total += sum(max(0, offset - done.get(queue, 0)) for queue, offset in queues.items())
    return total
