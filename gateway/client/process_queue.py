"""The messages of one queue that were pulled and are not done with; pure, times in ms.

Messages stand in the order of their offsets. What may be committed is the first offset that is not done with:
everything before it is. Concurrent consumers `remove` what they have consumed, in any order. Ordered ones
`take` from the front, and then `commit` what they took or `put_back`.
Standard: `ProcessQueue`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from mqgateway.gateway.client.message import ReceivedMessage
from mqgateway.gateway.codec.bodies import ProcessQueueInfo

PULL_IDLE_MILLIS = 120_000
"""A queue that was not pulled for so long has lost its way, and is begun anew."""
LOCK_LIVE_MILLIS = 30_000
"""How long a broker's lock counts without being renewed."""
MEBIBYTE = 1024 * 1024


class ProcessQueue:
    """One queue, as long as it is ours. `dropped` says that it is not any more."""

    def __init__(self, now: int) -> None:
        self._waiting: dict[int, ReceivedMessage] = {}
        self._taken: dict[int, ReceivedMessage] = {}
        self._highest = 0
        self.size = 0
        """Bytes of the bodies of all messages."""
        self.dropped = False
        self.is_consuming = False
        """Whether somebody consumes it in order, or has been told to."""
        self.is_busy = False
        """Whether an ordered listener is at work on it right now."""
        self.is_locked = False
        self.locked_at = now
        self.try_unlock_times = 0
        self.pulled_at = now
        self.consumed_at = now

    @property
    def count(self) -> int:
        """Messages that are not done with."""
        return len(self._waiting) + len(self._taken)

    @property
    def span(self) -> int:
        """Offsets between the first and the last message that waits."""
        return next(reversed(self._waiting)) - next(iter(self._waiting)) if self._waiting else 0

    def put(self, messages: Sequence[ReceivedMessage]) -> bool:
        """Messages have come; whether an ordered consumer must be told to begin."""
        waiting = self._waiting
        last = next(reversed(waiting), -1)
        offsets = [message.queue_offset for message in messages]
        if offsets and offsets[0] > last and offsets == list(range(offsets[0], offsets[0] + len(offsets))):
            # As they come mostly: one behind the other, and behind those that are here.
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
        """Whether the message is here and not done with."""
        return message.queue_offset in self._waiting

    def first(self) -> ReceivedMessage | None:
        """The message that has waited longest."""
        return next(iter(self._waiting.values()), None)

    def remove(self, messages: Iterable[ReceivedMessage], now: int) -> int:
        """Messages are done with; the offset that may be committed, -1 when there was nothing here."""
        self.consumed_at = now
        waiting = self._waiting
        if not waiting:
            return -1
        pop = waiting.pop
        gone = [pop(message.queue_offset, None) for message in messages]
        self.size -= sum([len(message.body) for message in gone if message is not None])
        return next(iter(waiting), self._highest + 1)

    def take(self, limit: int, now: int) -> list[ReceivedMessage]:
        """Up to `limit` messages from the front, to be consumed in order; none ends the consuming."""
        self.consumed_at = now
        offsets = list(self._waiting)[:limit] if limit < len(self._waiting) else list(self._waiting)
        if not offsets:
            self.is_consuming = False
        for offset in offsets:
            self._taken[offset] = self._waiting.pop(offset)
        return [self._taken[offset] for offset in offsets]

    def commit(self) -> int:
        """What was taken is done with; the offset that may be committed, -1 when nothing was taken."""
        if not self._taken:
            return -1
        self.size -= sum(len(message.body) for message in self._taken.values())
        last = max(self._taken)
        self._taken.clear()
        return last + 1

    def put_back(self, messages: Sequence[ReceivedMessage] | None = None) -> None:
        """What was taken waits again: these messages, or all."""
        offsets = list(self._taken) if messages is None else [message.queue_offset for message in messages]
        for offset in offsets:
            message = self._taken.pop(offset, None)
            if message is not None:
                self._waiting[offset] = message
        self._waiting = dict(sorted(self._waiting.items()))

    def clear(self) -> None:
        """Forget all messages."""
        self._waiting.clear()
        self._taken.clear()
        self.size = 0
        self._highest = 0

    def is_pull_overdue(self, now: int) -> bool:
        """Whether it was not pulled for too long."""
        return now - self.pulled_at > PULL_IDLE_MILLIS

    def lock(self, now: int) -> None:
        """The broker has said that the queue is ours."""
        self.is_locked = True
        self.locked_at = now

    def has_lock(self, now: int) -> bool:
        """Whether the broker's lock counts still."""
        return self.is_locked and now - self.locked_at <= LOCK_LIVE_MILLIS

    def info(self, commit_offset: int) -> ProcessQueueInfo:
        """As an administrator is told."""
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
