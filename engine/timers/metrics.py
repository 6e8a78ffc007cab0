"""The file `config/timermetrics`: the number of pending timers of each topic. RocketMQ: `TimerMetrics`."""

from __future__ import annotations

from typing import Any

from mqgateway.engine.disk import Disk
from mqgateway.engine.errors import ConfigError
from mqgateway.engine.lenient_json import dumps
from mqgateway.engine.meters import Meters
from mqgateway.engine.tables.data_version import DataVersion
from mqgateway.engine.tables.jsonfile import TableFile
from mqgateway.engine.worker import Worker


class TimerMetrics:
    """Pending timers by target topic; a deleting message counts against them from the start."""

    def __init__(self, disk: Disk, path: str, worker: Worker | None = None) -> None:
        self._file = TableFile(disk, path, worker)
        self._counts: dict[str, list[int]] = {}  # count, time of the last change in ms
        self._written = b""
        self.meters: Meters | None = None
        self.data_version = DataVersion()

    def count_with(self, meters: Meters) -> None:
        """Count timers for exported metrics from now on."""
        self.meters = meters

    def load(self) -> None:
        """Read the file; unreadable counts are dropped, as timers matter more than their number."""
        try:
            table = self._file.load() or {}
            for topic, metric in (table.get("timingCount") or {}).items():
                self._counts[str(topic)] = [int(metric.get("count") or 0), int(metric.get("timeStamp") or 0)]
            self.data_version = DataVersion.from_json(table.get("dataVersion"))
        except (ConfigError, ValueError, TypeError, AttributeError):
            self._counts.clear()

    def add(self, topic: str, count: int, now: int) -> None:
        """Add to the timers of a topic; a negative number subtracts."""
        entry = self._counts.setdefault(topic, [0, now])
        entry[0] += count
        entry[1] = now
        self.data_version.next(now)

    def counts(self) -> dict[str, int]:
        """Pending timers by topic."""
        return {topic: entry[0] for topic, entry in self._counts.items()}

    def to_json(self) -> dict[str, Any]:
        """Return the table in RocketMQ's format."""
        return {
            "dataVersion": self.data_version.to_json(),
            "timingCount": {
                topic: {"count": count, "timeStamp": changed}
                for topic, (count, changed) in sorted(self._counts.items())
            },
        }

    def encode(self) -> bytes:
        """Return the table as JSON text: the body of the response to request 61."""
        return dumps(self.to_json())

    def persist(self, text: bytes, *, inline: bool = False) -> None:
        """Write the counts, as `encode` returned them."""
        if text != self._written or self._file.has_failed:
            self._written = text
            self._file.save(lambda: text, inline=inline)
