"""Lifetimes of lite topics: which exist and which have expired. Standard: `AbstractLiteLifecycleManager`,
`LiteLifecycleManager`.
"""

from __future__ import annotations

from mqgateway.engine.lite.names import lmq_name, split_name
from mqgateway.engine.lite.rules import LiteRules
from mqgateway.engine.options import BrokerOptions
from mqgateway.engine.store.message_store import MessageStore

EMPTY_SCANS_MAX = 5
"""An LMQ queue that is empty in more scans than these is deleted."""
MINUTE_MILLIS = 60_000


class Lifetimes:
    """Scans the LMQ queues of a store."""

    def __init__(self, options: BrokerOptions, store: MessageStore, rules: LiteRules) -> None:
        self._options = options
        self._store = store
        self._rules = rules
        self._empty: dict[str, int] = {}

    def queues_of(self, parent: str) -> list[str]:
        """Return the LMQ queues of all lite topics of a parent."""
        begin = lmq_name(parent, "")
        return [queue for queue in self._store.queues() if queue.startswith(begin)]

    def expired(self, now: int) -> list[str]:
        """Return LMQ queues whose last message is older than their parent allows, or that stay empty.

        `now` is steady time, in ms.
        """
        found = []
        empty: dict[str, int] = {}
        for queue in self._store.queues():
            names = split_name(queue)
            if names is None:
                continue
            end = self._store.max_offset(queue, 0)
            if end <= 0:
                empty[queue] = self._empty.get(queue, 0) + 1
                if empty[queue] > EMPTY_SCANS_MAX:
                    del empty[queue]
                    found.append(queue)
            elif self._is_old(names[0], now - self._stored(queue, end - 1)):
                found.append(queue)
        self._empty = empty
        return found

    def _stored(self, queue: str, offset: int) -> int:
        """Return when a message was stored, in steady time (ms)."""
        stored = self._store.store_time(queue, 0, offset)
        units = self._store.consume_queue_units(queue, 0, offset, 1)
        return stored + self._store.steady.ahead_at(units[0][0] if units else 0, stored)

    def _is_old(self, parent: str, age: int) -> bool:
        """Return True if the last message of a lite topic is old enough (ms) for the topic to expire."""
        minutes = self._rules.minutes_to_live(parent) if self._rules.is_parent(parent) else -1
        return minutes > 0 and age > max(minutes * MINUTE_MILLIS, self._options.min_lite_t_tl - 1)
