"""Ordered pops: the messages of each queue in flight for a group, and which of them were consumed.

A queue is blocked for its group while any of them is neither consumed nor visible again. Then the next pop
starts at the first one that was not consumed. A client that repeats an attempt, with the same id, is not
blocked and gets the same messages again. The table is the file consumerOrderInfo.json. RocketMQ:
`QueueLevelConsumerManager`, `QueueLevelConsumerOrderInfoLockManager`.
"""

from __future__ import annotations

import heapq
import logging
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from mqgateway.engine import json_members
from mqgateway.engine.disk import Disk
from mqgateway.engine.errors import ConfigError
from mqgateway.engine.json_members import LONG_BITS
from mqgateway.engine.lenient_json import dumps
from mqgateway.engine.pop.names import MESSAGES_MAX
from mqgateway.engine.tables.jsonfile import TableFile
from mqgateway.engine.worker import Worker

if TYPE_CHECKING:
    from mqgateway.engine.options import BrokerOptions

log = logging.getLogger(__name__)

SEPARATOR = "@"
KEPT_MILLIS = 24 * 3_600_000
"""Time after which a queue without pops is forgotten."""


class OrderKey(NamedTuple):
    """A queue as read by a group."""

    topic: str
    group: str
    queue_id: int


class Order:
    """The messages of one queue in flight. Times are steady, in ms since the epoch."""

    __slots__ = (
        "attempt_id",
        "consumed",
        "counts",
        "invisible_time",
        "offsets",
        "pop_time",
        "popped_at",
        "visible",
    )

    def __init__(
        self, attempt_id: str | None, pop_time: int, invisible_time: int, offsets: tuple[int, ...], now: int
    ) -> None:
        self.attempt_id = attempt_id
        self.pop_time = pop_time
        self.invisible_time = invisible_time
        self.offsets = offsets
        self.popped_at = now
        self.consumed: set[int] = set()
        self.counts: dict[int, int] = {}
        """Number of earlier deliveries of a message, if any."""
        self.visible: dict[int, int] = {}
        """Time at which a message is visible again, if that was changed."""

    def follow(self, before: Order) -> None:
        """Count the messages that were in flight before and are delivered again."""
        if before.attempt_id is not None and before.attempt_id == self.attempt_id:
            self.counts = before.counts
            return
        again = set(before.offsets).intersection(self.offsets)
        self.counts = {offset: before.counts.get(offset, 0) + 1 for offset in self.offsets if offset in again}

    def free_time(self, now: int) -> int:
        """Return the time at which the blocking message is visible again; `now` if none blocks."""
        usual = self.pop_time + self.invisible_time
        for offset in self.offsets:
            if offset not in self.consumed:
                time = self.visible.get(offset, usual)
                if now < time:
                    return time
        return now

    def shorten(self, now: int) -> None:
        """Limit invisible times after the clock was set back."""
        if self.pop_time > now:
            usual, longest = self.pop_time + self.invisible_time, now + self.invisible_time
            self.visible = {each: min(self.visible.get(each, usual), longest) for each in self.offsets}
            self.popped_at = min(self.popped_at, now)

    @property
    def next_offset(self) -> int:
        """The offset at which the group continues."""
        return next((each for each in self.offsets if each not in self.consumed), self.offsets[-1] + 1)

    def to_json(self) -> dict[str, Any]:
        """Return RocketMQ's format: the offsets as distances from the first, the consumed ones as bits."""
        first = self.offsets[0]
        bits = sum(1 << place for place, offset in enumerate(self.offsets) if offset in self.consumed)
        shape: dict[str, Any] = {
            "a": self.attempt_id,
            "cm": bits,
            "i": self.invisible_time,
            "l": self.popped_at,
            "o": [first, *(offset - first for offset in self.offsets[1:])],
            "oc": self.counts or None,
            "ot": self.visible or None,
            "popTime": self.pop_time,
        }
        return {name: value for name, value in shape.items() if value is not None}

    @classmethod
    def from_json(cls, shape: Mapping[str, Any]) -> Order | None:
        """Parse an entry; return None if no message is in flight. Raises `ConfigError`."""
        given = json_members.read(shape, "o", list[Any]())
        if not given or len(given) > 63 or not all(type(each) is int for each in given):
            return None
        offsets = (given[0], *(given[0] + distance for distance in given[1:]))
        attempt_id = json_members.read(shape, "a", "") or None
        times = [json_members.read(shape, name, 0, LONG_BITS) for name in ("popTime", "i", "l")]
        order = cls(attempt_id, times[0], times[1], offsets, times[2])
        bits = json_members.read(shape, "cm", 0, LONG_BITS)
        order.consumed = {offset for place, offset in enumerate(offsets) if bits >> place & 1}
        order.counts = _numbers(shape, "oc", offsets)
        order.visible = _numbers(shape, "ot", offsets)
        return order


def _numbers(shape: Mapping[str, Any], name: str, offsets: tuple[int, ...]) -> dict[int, int]:
    found = json_members.read(shape, name, dict[str, Any]())
    numbers = {int(key): value for key, value in found.items() if type(value) is int}
    return {offset: numbers[offset] for offset in offsets if offset in numbers}


class Orders:
    """The table; `maxOrderedQueues` bounds it."""

    def __init__(self, options: BrokerOptions, disk: Disk, path: str, worker: Worker | None = None) -> None:
        self._options = options
        self._file = TableFile(disk, path, worker)
        self._table: dict[OrderKey, Order] = {}
        self._is_dirty = False
        # Times at which queues may be unblocked: one valid entry for each, and stale ones.
        self._alarms: list[tuple[int, OrderKey]] = []
        self._alarm_of: dict[OrderKey, int] = {}

    def __len__(self) -> int:
        return len(self._table)

    def load(self, now: int) -> None:
        """Load the file. Raises `ConfigError` if it cannot be read.

        Messages popped later than `now` are visible again no later than if they were popped now: the clock
        was set back.
        """
        for name, queues in ((self._file.load() or {}).get("table") or {}).items():
            topic, _, group = str(name).partition(SEPARATOR)
            for queue_id, shape in queues.items():
                try:
                    order = Order.from_json(shape)
                except (AttributeError, ConfigError, ValueError) as error:
                    log.warning(
                        "the state of ordered pops of %s queue %s cannot be read: %s", name, queue_id, error
                    )
                    continue
                if order is not None and len(self._table) < self._options.max_ordered_queues:
                    key = OrderKey(topic, group, int(queue_id))
                    order.shorten(now)
                    self._table[key] = order
                    self._set_alarm(key, order, 0)

    def is_blocked(self, key: OrderKey, attempt_id: str | None, now: int) -> bool:
        """Return True if the group has to wait: messages are in flight, of another attempt."""
        order = self._table.get(key)
        if order is None or (order.attempt_id is not None and order.attempt_id == attempt_id):
            return False
        return order.free_time(now) > now

    def has_room(self, key: OrderKey, others: int = 0) -> bool:
        """Return True if messages of this queue may be delivered, in addition to `others` queues."""
        return key in self._table or len(self._table) + others < self._options.max_ordered_queues

    def take(
        self,
        key: OrderKey,
        attempt_id: str | None,
        pop_time: int,
        invisible_time: int,
        offsets: tuple[int, ...],
        now: int,
    ) -> Order:
        """Note that messages are in flight."""
        assert 0 < len(offsets) <= MESSAGES_MAX
        order = Order(attempt_id, pop_time, invisible_time, offsets, now)
        before = self._table.get(key)
        if before is not None:
            order.follow(before)
        self._table[key] = order
        self._set_alarm(key, order, now)
        return order

    def consume(self, key: OrderKey, offset: int, pop_time: int, now: int) -> int | None:
        """Note that a message was consumed; return the offset at which the group continues.

        Returns None if that does not change, as it was popped again meanwhile. Raises `ValueError` for a
        message that is not in flight. RocketMQ: `commitAndNext`.
        """
        order = self._table.get(key)
        if order is None:
            return offset + 1
        if pop_time != order.pop_time:
            return None
        if offset not in order.offsets:
            raise ValueError(f"{offset} is not one of {order.offsets}")
        order.consumed.add(offset)
        self._set_alarm(key, order, now)
        return order.next_offset

    def is_out(self, key: OrderKey, offset: int, pop_time: int) -> bool:
        """Return True if a message popped at `pop_time` is in flight, or may be, as after a kill."""
        order = self._table.get(key)
        if order is None:
            return True
        return order.pop_time == pop_time and offset in order.offsets and offset not in order.consumed

    def hide(self, key: OrderKey, offset: int, pop_time: int, until: int, now: int) -> None:
        """Change the time at which a message is visible again; do nothing if it was popped again meanwhile.

        RocketMQ: `updateNextVisibleTime`.
        """
        order = self._table.get(key)
        if order is not None and order.pop_time == pop_time and offset in order.offsets:
            order.visible[offset] = until
            self._set_alarm(key, order, now)

    def suspend(self, key: OrderKey, pop_time: int, until: int, now: int) -> None:
        """Hide the queue's messages until a time, without counting this delivery.

        Does nothing if it was popped again meanwhile. RocketMQ:
        `MemoryConsumerOrderInfoManager.suspendQueue`.
        """
        order = self._table.get(key)
        if order is not None and order.pop_time == pop_time:
            order.counts = {offset: max(0, count - 1) for offset, count in order.counts.items()}
            order.visible = {}
            order.invisible_time = until - pop_time
            self._set_alarm(key, order, now)

    def forget(self, key: OrderKey) -> None:
        """Unblock a queue and forget its messages."""
        if self._table.pop(key, None) is not None:
            self._is_dirty = True
        self._alarm_of.pop(key, None)

    def forget_topic(self, topic: str) -> None:
        """Forget the queues of a deleted topic."""
        for key in [key for key in self._table if key.topic == topic]:
            self.forget(key)

    def freed(self, now: int) -> Iterator[OrderKey]:
        """Yield the queues that were unblocked since the last call."""
        while self._alarms and self._alarms[0][0] <= now:
            time, key = heapq.heappop(self._alarms)
            if self._alarm_of.get(key) != time:
                continue
            del self._alarm_of[key]
            order = self._table.get(key)
            if order is None:
                continue
            if order.free_time(now) > now:
                self._set_alarm(key, order, now)
            else:
                yield key

    @property
    def is_waiting(self) -> bool:
        """True if a queue is still to be unblocked."""
        return bool(self._alarm_of)

    def _set_alarm(self, key: OrderKey, order: Order, now: int) -> None:
        self._is_dirty = True
        time = order.free_time(now)
        if self._alarm_of.get(key) != time:
            self._alarm_of[key] = time
            heapq.heappush(self._alarms, (time, key))
        if len(self._alarms) > 2 * len(self._alarm_of) + 64:
            self._alarms = [(time, key) for key, time in self._alarm_of.items()]
            heapq.heapify(self._alarms)

    def clean(self, now: int, has_queue: Callable[[OrderKey], bool]) -> None:
        """Forget deleted queues, and those without pops for a day."""
        for key in list(self._table):
            if not has_queue(key) or now - self._table[key].popped_at > KEPT_MILLIS:
                self.forget(key)

    def persist(self) -> None:
        """Write the file if anything has changed since it was written, or the last write failed."""
        if self._is_dirty or self._file.has_failed:
            self._is_dirty = False
            self._file.save(self._text)

    def _text(self) -> bytes:
        table: dict[str, dict[int, Any]] = {}
        for key, order in self._table.items():
            table.setdefault(f"{key.topic}{SEPARATOR}{key.group}", {})[key.queue_id] = order.to_json()
        return dumps({"table": table}, indent=True)
