"""The lag of a group in one queue; pure.

Each queue counts by itself: a queue whose group is past its end, which is an anomaly, must not hide the
messages that wait in another.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from mqgateway.gateway.codec.bodies import OffsetWrapper
from mqgateway.gateway.mqadmin.declaration import CommandCall, Row, Text


def behind(progress: OffsetWrapper) -> int:
    """Return the number of messages that wait."""
    return max(0, progress.broker_offset - max(0, progress.consumer_offset))


def ahead(progress: OffsetWrapper) -> int:
    """Return how far the group is past the end of the queue: 0 unless something is wrong."""
    return max(0, progress.consumer_offset - progress.broker_offset)


def anomaly(group: str, topic: str, ahead: int) -> str:
    """Return the line that reports a group past the end of queues."""
    return f"anomaly: {group} is {ahead} messages past the end of {topic}; see mqgateway doctor {group}\n"


def with_anomalies(text: Text) -> Text:
    """Return a table of rows with `ahead`, and below it a line for each that is past the end of its queue."""

    def shown(call: CommandCall, rows: Iterable[Row]) -> Iterator[str]:
        found = list(rows)
        yield from text(call, found)
        for row in found:
            if row["ahead"]:
                group = row.get("group") or call.given.need("g")
                yield anomaly(group, row.get("topic", "its topics"), row["ahead"])

    return shown
