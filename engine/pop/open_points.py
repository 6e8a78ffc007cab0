"""Messages that are out: which receipts are current.

A receipt is current from the pop, or the change of invisible time, that gave it until its message is
acknowledged, gets another receipt, or is visible again. `OpenPoints` knows that of all messages popped since
it began. Of older receipts the log knows: it has the checkpoints and acknowledgements (`state_in_log`).
RocketMQ: `PopBufferMergeService`, which knows checkpoints of the last seconds, if it is enabled.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from enum import Enum, auto

from mqgateway.engine.message import PROPERTY_UNIQ_KEY, TIMER_TOPIC, StoredMessage
from mqgateway.engine.pop.records import (
    ACK_TAG,
    CHECK_POINT_TAG,
    REPLACED,
    Ack,
    CheckPoint,
    PointKey,
    unique_key_of,
)
from mqgateway.engine.store.message_store import MessageStore
from mqgateway.engine.store.record import decode

LATE_MILLIS = 10_000
"""Time after the end of the invisible time in which a receipt may still be current."""
POINTS_MAX = 100_000
"""Check points that are known; with more of them the log is asked."""
_RECORDS_MAX = 64
_BATCH = -1
"""In place of an offset: an acknowledgement of several messages."""
_LATEST = 1 << 62


class ReceiptState(Enum):
    """The state of a receipt."""

    CURRENT = auto()
    ACKNOWLEDGED = auto()
    """Its message was acknowledged with it, or it is of no message that was popped."""
    STALE = auto()
    """Its message has another receipt, or is visible again."""


class OpenPoints:
    """Check points with messages that are out. Times are steady, in ms."""

    def __init__(self, since: int) -> None:
        self._since = since
        """Pops from then on are known."""
        self._open: dict[PointKey, set[int]] = {}
        self._replaced: dict[tuple[PointKey, int], int] = {}

    def __len__(self) -> int:
        return len(self._open) + len(self._replaced)

    def popped(self, point: CheckPoint, now: int) -> None:
        """Note messages that were delivered, or got another receipt."""
        if len(self) >= POINTS_MAX:
            self._replaced = {place: until for place, until in self._replaced.items() if until > now}
        if len(self) >= POINTS_MAX:
            self._open.clear()
            self._replaced.clear()
            self._since = now + 1
        if point.key.pop_time >= self._since:
            self._open[point.key] = set(point.offsets)

    def acknowledged(self, key: PointKey, offsets: Collection[int]) -> None:
        """Note messages that are out no more."""
        left = self._open.get(key)
        if left is not None:
            left.difference_update(offsets)
            if not left:
                del self._open[key]

    def reopen(self, key: PointKey, offset: int) -> None:
        """Take back `acknowledged`: it could not be stored."""
        self._open.setdefault(key, set()).add(offset)

    def replaced(self, key: PointKey, offset: int, until: int) -> None:
        """Note that a message has another receipt; this one would have been current until a time."""
        self.acknowledged(key, (offset,))
        self._replaced[key, offset] = until

    def done(self, key: PointKey) -> None:
        """Note that the messages of a checkpoint are visible again."""
        self._open.pop(key, None)

    def forget(self, concerns: Callable[[PointKey], bool]) -> None:
        """Let no receipt of some queues be current."""
        for key in [key for key in self._open if concerns(key)]:
            del self._open[key]

    def state(self, key: PointKey, offset: int, visible_at: int, now: int) -> ReceiptState | None:
        """Return what the receipt of a message is worth that is visible again at a time; None if that is not
        known here."""
        if visible_at + LATE_MILLIS <= now or (key, offset) in self._replaced:
            return ReceiptState.STALE
        if offset in self._open.get(key, ()):
            return ReceiptState.CURRENT
        if visible_at <= now:
            return ReceiptState.STALE
        return ReceiptState.ACKNOWLEDGED if key.pop_time >= self._since else None


def state_in_log(
    store: MessageStore, key: PointKey, offset: int, is_past: Callable[[str, int], bool]
) -> ReceiptState:
    """Return what a receipt is worth as far as the index finds its records in the log; it is current where
    there is no index. `is_past` tells by topic and log offset what is of a topic that was deleted."""
    for point in _records(store, key, key.start_offset, CHECK_POINT_TAG):
        if is_past(key.topic, point.physical_offset):
            return ReceiptState.STALE
    for first in (offset, _BATCH):
        for stored in _records(store, key, first, ACK_TAG):
            ack = Ack.decode(stored.body, key.broker_name)
            if ack is not None and ack.key == key and offset in ack.offsets:
                is_replaced = REPLACED in stored.properties
                return ReceiptState.STALE if is_replaced else ReceiptState.ACKNOWLEDGED
    return ReceiptState.CURRENT


def _records(store: MessageStore, key: PointKey, first: int, kind: str) -> Iterator[StoredMessage]:
    """Yield the checkpoints or acknowledgements with a key, as they were moved to the timer topic."""
    unique_key = unique_key_of(
        (key.topic, key.queue_id, first, key.group, key.pop_time, key.broker_name), kind
    )
    for record in store.query(TIMER_TOPIC, unique_key, _RECORDS_MAX, 0, _LATEST).records:
        stored = decode(record)
        if stored.properties.get(PROPERTY_UNIQ_KEY) == unique_key:
            yield stored
