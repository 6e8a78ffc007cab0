"""Number of open half messages of each topic, and its file.

RocketMQ: `TransactionMetrics`; the file is one line of JSON with everything but ASCII escaped.
"""

import json
import logging
from typing import Any

from mqgateway.engine.clock import Clock
from mqgateway.engine.disk import Disk
from mqgateway.engine.errors import ConfigError
from mqgateway.engine.tables.data_version import DataVersion
from mqgateway.engine.tables.jsonfile import TableFile
from mqgateway.engine.worker import Worker

log = logging.getLogger(__name__)


class TransactionCounts:
    """Open half messages by topic. A crash may make the counts slightly wrong, as in RocketMQ."""

    def __init__(self, disk: Disk, path: str, clock: Clock, worker: Worker | None = None) -> None:
        self._clock = clock
        self._file = TableFile(disk, path, worker)
        self._table: dict[str, dict[str, int]] = {}
        self._is_dirty = False
        self.data_version = DataVersion(timestamp=clock.millis())

    def load(self) -> None:
        """Load the file. It has statistics only: an unreadable one is ignored."""
        try:
            table = self._file.load()
        except ConfigError as error:
            log.warning("counts of transactions are reset: %s", error)
            return
        if table is None:
            return
        for topic, entry in (table.get("transactionCount") or {}).items():
            self._table[topic] = {
                "count": int(entry.get("count") or 0),
                "timeStamp": int(entry.get("timeStamp") or 0),
            }
        self.data_version = DataVersion.from_json(table.get("dataVersion"))

    def add(self, topic: str, number: int) -> None:
        """Count half messages that were stored (positive) or settled (negative)."""
        now = self._clock.millis()
        entry = self._table.get(topic)
        if entry is None:
            entry = self._table[topic] = {"count": 0, "timeStamp": now}
        entry["count"] += number
        entry["timeStamp"] = now
        self.data_version.next(now)
        self._is_dirty = True

    def count(self, topic: str) -> int:
        """Return the number of open half messages of a topic."""
        entry = self._table.get(topic)
        return 0 if entry is None else entry["count"]

    def forget(self, topic: str) -> None:
        """Forget a deleted topic. RocketMQ: `cleanMetrics`."""
        if self._table.pop(topic, None) is not None:
            self._is_dirty = True

    @property
    def table(self) -> dict[str, int]:
        """Open half messages of each topic that had any."""
        return {topic: entry["count"] for topic, entry in self._table.items()}

    def to_json(self) -> dict[str, Any]:
        """Return the counts under RocketMQ's names."""
        return {"dataVersion": self.data_version.to_json(), "transactionCount": self._table}

    def persist(self, *, inline: bool = False) -> None:
        """Write the file if anything has changed; `inline` synchronously."""
        if self._is_dirty or self._file.has_failed:
            self._is_dirty = False
            text = json.dumps(self.to_json(), separators=(",", ":"), sort_keys=True).encode()
            self._file.save(lambda: text, inline=inline)
