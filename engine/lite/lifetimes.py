"""Which lite topics there are, and which have lived long enough. Standard: `AbstractLiteLifecycleManager`,
`LiteLifecycleManager`.
"""

from __future__ import annotations

from mqgateway.engine.lite.names import light_queue, split_name
from mqgateway.engine.lite.rules import LiteRules
from mqgateway.engine.options import BrokerOptions
from mqgateway.engine.store.message_store import MessageStore

EMPTY_SCANS_MAX = 5
"""A light queue that is empty in more looks than these is deleted."""
MINUTE_MILLIS = 60_000


class Lifetimes:
    """Looks through the light queues of a store."""

    def __init__(self, options: BrokerOptions, store: MessageStore, rules: LiteRules) -> None:
        self._options = options
        self._store = store
        self._rules = rules
        self._empty: dict[str, int] = {}

    def queues_of(self, parent: str) -> list[str]:
        """The light queues of all lite topics of a parent."""
        begin = light_queue(parent, "")
        return [queue for queue in self._store.queues() if queue.startswith(begin)]

    def expired(self, now: int) -> list[str]:
        """Light queues whose last message is older than their parent allows, or that stay empty.

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
        """When a message was stored, in steady time (ms)."""
        stored = self._store.store_time(queue, 0, offset)
        units = self._store.consume_queue_units(queue, 0, offset, 1)
        return stored + self._store.steady.ahead_at(units[0][0] if units else 0, stored)

    def _is_old(self, parent: str, age: int) -> bool:
        """Whether the last message of a lite topic is so old (ms) that the topic ends."""
        minutes = self._rules.minutes_to_live(parent) if self._rules.is_parent(parent) else -1
        return minutes > 0 and age > max(minutes * MINUTE_MILLIS, self._options.min_lite_t_tl - 1)
