"""Messages of one queue that were pulled but not yet consumed; no I/O, times in ms.

Messages are ordered by offset. The offset that may be committed is that of the first unconsumed message.
Concurrent consumers `remove` consumed messages in any order. Ordered consumers `take` messages from the
front, and then `commit` them or `put_back`. RocketMQ: `ProcessQueue`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from mqgateway.gateway.client.message import ReceivedMessage
from mqgateway.gateway.codec.bodies import ProcessQueueInfo

PULL_IDLE_MILLIS = 120_000
"""A queue that was not pulled for this time is stuck, and is acquired again."""
LOCK_LIVE_MILLIS = 30_000
"""Time after which a broker's lock expires unless renewed."""
FIRST_SECONDS = 0.5
"""Delay before a new queue is read, in which its previous owner can commit."""
PAUSED_MILLIS = 1_000
FLOW_CONTROL_MILLIS = 50
BROKER_FLOW_CONTROL_MILLIS = 20
"""Pauses before the next request for messages: of a paused consumer, with too many messages, and of a broker
that is too busy."""
MEBIBYTE = 1024 * 1024


class ProcessQueue:
    """Queue assigned to this consumer. `dropped` is set when it no longer is."""

    def __init__(self, now: int) -> None:
        self._waiting: dict[int, ReceivedMessage] = {}
        self._taken: dict[int, ReceivedMessage] = {}
        self._highest = 0
        self.size = 0
        """Bytes of the bodies of all messages."""
        self.dropped = False
        self.is_consuming = False
        """True if ordered consumption of the queue is running or scheduled."""
        self.is_busy = False
        """True while an ordered listener call is running."""
        self.is_locked = False
        self.locked_at = now
        self.try_unlock_times = 0
        self.pulled_at = now
        self.consumed_at = now

    @property
    def count(self) -> int:
        """Number of unconsumed messages."""
        return len(self._waiting) + len(self._taken)

    @property
    def span(self) -> int:
        """Difference between the offsets of the first and the last waiting message."""
        return next(reversed(self._waiting)) - next(iter(self._waiting)) if self._waiting else 0

    def put(self, messages: Sequence[ReceivedMessage]) -> bool:
        """Add pulled messages. Returns True if ordered consumption must be started."""
        waiting = self._waiting
        last = next(reversed(waiting), -1)
        offsets = [message.queue_offset for message in messages]
        if offsets and offsets[0] > last and offsets == list(range(offsets[0], offsets[0] + len(offsets))):
            # The usual case: consecutive offsets after those already here.
            waiting.update(zip(offsets, messages, strict=True))
            self.size += sum([len(message.body) for message in messages])
            self._highest = max(self._highest, offsets[-1])
        else:
            self._put_in_order(messages, last)
        if not self._waiting or self.is_consuming:
            return False
        self.is_consuming = True
        return True

    def _put_in_order(self, messages: Sequence[ReceivedMessage], last: int) -> None:
        waiting = self._waiting
        in_order = True
        for message in messages:
            offset = message.queue_offset
            if offset not in waiting:
                self.size += len(message.body)
            waiting[offset] = message
            if offset > last:
                last = offset
            else:
                in_order = False
        self._highest = max(self._highest, last)
        if not in_order:
            self._waiting = dict(sorted(waiting.items()))

    def has(self, message: ReceivedMessage) -> bool:
        """Return True if the message is here and waiting."""
        return message.queue_offset in self._waiting

    def first(self) -> ReceivedMessage | None:
        """Return the waiting message with the lowest offset."""
        return next(iter(self._waiting.values()), None)

    def remove(self, messages: Iterable[ReceivedMessage], now: int) -> int:
        """Remove consumed messages and return the offset that may be committed, -1 if the queue was empty."""
        self.consumed_at = now
        waiting = self._waiting
        if not waiting:
            return -1
        pop = waiting.pop
        gone = [pop(message.queue_offset, None) for message in messages]
        self.size -= sum([len(message.body) for message in gone if message is not None])
        return next(iter(waiting), self._highest + 1)

    def take(self, limit: int, now: int) -> list[ReceivedMessage]:
        """Take up to `limit` messages from the front for ordered consumption; an empty result ends it."""
        self.consumed_at = now
        offsets = list(self._waiting)[:limit] if limit < len(self._waiting) else list(self._waiting)
        if not offsets:
            self.is_consuming = False
        for offset in offsets:
            self._taken[offset] = self._waiting.pop(offset)
        return [self._taken[offset] for offset in offsets]

    def commit(self) -> int:
        """Remove the taken messages and return the offset that may be committed, -1 if none were taken."""
        if not self._taken:
            return -1
        self.size -= sum(len(message.body) for message in self._taken.values())
        last = max(self._taken)
        self._taken.clear()
        return last + 1

    def put_back(self, messages: Sequence[ReceivedMessage] | None = None) -> None:
        """Return taken messages to the queue: the given ones, or all."""
        offsets = list(self._taken) if messages is None else [message.queue_offset for message in messages]
        for offset in offsets:
            message = self._taken.pop(offset, None)
            if message is not None:
                self._waiting[offset] = message
        self._waiting = dict(sorted(self._waiting.items()))

    def clear(self) -> None:
        """Remove all messages."""
        self._waiting.clear()
        self._taken.clear()
        self.size = 0
        self._highest = 0

    def is_pull_overdue(self, now: int) -> bool:
        """Return True if the queue was not pulled for `PULL_IDLE_MILLIS`."""
        return now - self.pulled_at > PULL_IDLE_MILLIS

    def lock(self, now: int) -> None:
        """Record that the broker has locked the queue for this client."""
        self.is_locked = True
        self.locked_at = now

    def has_lock(self, now: int) -> bool:
        """Return True if the broker's lock has not expired."""
        return self.is_locked and now - self.locked_at <= LOCK_LIVE_MILLIS

    def info(self, commit_offset: int) -> ProcessQueueInfo:
        """Return the state for administrators."""
        waiting, taken = self._waiting, self._taken
        return ProcessQueueInfo(
            commit_offset=commit_offset,
            cached_msg_min_offset=next(iter(waiting), 0),
            cached_msg_max_offset=next(reversed(waiting), 0),
            cached_msg_count=len(waiting),
            cached_msg_size_in_mib=self.size // MEBIBYTE,
            transaction_msg_min_offset=min(taken, default=0),
            transaction_msg_max_offset=max(taken, default=0),
            transaction_msg_count=len(taken),
            locked=self.is_locked,
            try_unlock_times=self.try_unlock_times,
            last_lock_timestamp=self.locked_at,
            droped=self.dropped,
            last_pull_timestamp=self.pulled_at,
            last_consume_timestamp=self.consumed_at,
        )
