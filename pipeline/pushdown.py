"""Spark's filters, as far as they restrict the queues and offsets to be read.

Conditions on topic, broker, queue and offset are applied exactly, so Spark need not check them again.
Conditions on the store time narrow the range, by the broker's own search, and Spark checks them as well.
Filters are given as (operator, column, value), so that this module does not depend on Spark.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Protocol

from mqgateway.gateway.codec.bodies import MessageQueue
from mqgateway.pipeline.offsets import Offsets
from mqgateway.pipeline.planning import Range

Condition = tuple[str, str, Any]
"""Operator (`=`, `in`, `>`, `>=`, `<`, `<=`), column, value."""

_COMPARE: dict[str, Callable[[Any, Any], bool]] = {
    "=": operator.eq,
    "in": lambda value, values: value in values,
    ">": operator.gt,
    ">=": operator.ge,
    "<": operator.lt,
    "<=": operator.le,
}
_OF_QUEUES = {"topic": "topic", "brokerName": "broker_name", "queueId": "queue_id"}
_HOUR_MILLIS = 3_600_000


class TimeSearch(Protocol):
    """Search of offsets by store time."""

    def offsets_by_time(self, times: dict[MessageQueue, int]) -> Offsets:
        """Return each queue's first offset stored at a time (ms) or later."""
        ...


@dataclass
class Narrowing:
    """The part of all ranges that is to be read."""

    queues: list[Condition] = field(default_factory=list)
    low: int = 0
    high: int | None = None
    begin_millis: int | None = None
    end_millis: int | None = None

    def take(self, condition: Condition) -> bool:
        """Apply a condition; return True if Spark need not check the rows again."""
        name, column, value = condition
        if value is None:
            return False
        if column in _OF_QUEUES and name in _COMPARE:
            self.queues.append(condition)
            return True
        if column == "queueOffset" and name in _COMPARE and name != "in" and type(value) is int:
            self._take_offset(name, value)
            return True
        if column == "storeTimestamp" and isinstance(value, datetime):
            self._take_time(name, value)
        return False

    def has(self, queue: MessageQueue) -> bool:
        """Return True if any of a queue is to be read."""
        return all(
            _COMPARE[name](getattr(queue, _OF_QUEUES[column]), value) for name, column, value in self.queues
        )

    def narrowed(self, whole: Iterable[Range], search: TimeSearch) -> list[Range]:
        """Return the parts of ranges that are to be read."""
        cut = [
            Range(
                one.queue, max(one.start, self.low), one.end if self.high is None else min(one.end, self.high)
            )
            for one in whole
        ]
        for millis, is_begin in ((self.begin_millis, True), (self.end_millis, False)):
            if millis is None or not cut:
                continue
            found = search.offsets_by_time({one.queue: millis for one in cut})
            for number, one in enumerate(cut):
                at = found[one.queue]
                cut[number] = (
                    one._replace(start=max(one.start, at)) if is_begin else one._replace(end=min(one.end, at))
                )
        return [one for one in cut if one.start < one.end]

    def _take_offset(self, name: str, value: int) -> None:
        low, high = {
            "=": (value, value + 1),
            ">": (value + 1, None),
            ">=": (value, None),
            "<": (0, value),
            "<=": (0, value + 1),
        }[name]
        self.low = max(self.low, low)
        if high is not None:
            self.high = high if self.high is None else min(self.high, high)

    def _take_time(self, name: str, value: datetime) -> None:
        """Narrow by a store time, with a margin of an hour for clocks that were set back."""
        moment = value if value.tzinfo else value.replace(tzinfo=UTC)
        millis = int(moment.timestamp() * 1000)
        if name in (">", ">=", "="):
            begin = max(0, millis - _HOUR_MILLIS)
            self.begin_millis = max(self.begin_millis or 0, begin)
        if name in ("<", "<=", "="):
            end = millis + _HOUR_MILLIS
            self.end_millis = end if self.end_millis is None else min(self.end_millis, end)
