"""Subscriptions of clients to lite topics; in memory only, since clients repeat them.

A client of a wildcard group reads every lite topic of the parent: it has one subscription, named
`parent@group`. Standard: `LiteSubscriptionRegistryImpl`.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Iterable
from typing import NamedTuple

from mqgateway.engine.errors import EngineError
from mqgateway.engine.lite.names import split_name
from mqgateway.engine.lite.rules import LiteRules
from mqgateway.engine.options import BrokerOptions

log = logging.getLogger(__name__)


class SubscriptionQuotaExceeded(EngineError):
    """There are as many subscriptions as there may be."""


class NotForWildcards(EngineError):
    """A client of a wildcard group subscribes to single lite topics."""


class Subscriber(NamedTuple):
    """A client as a member of a group."""

    client_id: str
    group: str


class SubscriptionStart(NamedTuple):
    """Start position of a new subscription. Standard: `OffsetOption`."""

    kind: str
    value: int


FIRST = SubscriptionStart("POLICY", 1)


class Subscription:
    """Subscription of one client: LMQ queues of one parent. `seen` is its last confirmation (ms)."""

    __slots__ = ("group", "queues", "seen", "topic")

    def __init__(self, group: str, topic: str) -> None:
        self.group = group
        self.topic = topic
        self.queues: set[str] = set()
        self.seen = 0


class Subscriptions:
    """The table of subscriptions. `restart` resets a group's offset in a queue.

    `on_excluded` is called for each pair of subscriber and queue that an exclusive subscription has ended.
    """

    def __init__(
        self,
        options: BrokerOptions,
        rules: LiteRules,
        restart: Callable[[str, str, SubscriptionStart], None],
        on_excluded: Callable[[Subscriber, str], None],
    ) -> None:
        self._options = options
        self._rules = rules
        self._restart = restart
        self._on_excluded = on_excluded
        self._clients: dict[str, Subscription] = {}
        self._readers: dict[str, dict[Subscriber, None]] = {}
        self._wildcards: dict[str, dict[str, None]] = {}
        self.count = 0
        self._addition_watchers: list[Callable[[Subscriber, str], None]] = []
        self._departure_watchers: list[Callable[[Subscriber], None]] = []

    def __len__(self) -> int:
        return len(self._clients)

    def watch_additions(self, callback: Callable[[Subscriber, str], None]) -> None:
        """Call back for each new pair of subscriber and queue."""
        self._addition_watchers.append(callback)

    def watch_departures(self, callback: Callable[[Subscriber], None]) -> None:
        """Call back for each client that left."""
        self._departure_watchers.append(callback)

    def of(self, client_id: str) -> Subscription | None:
        """Return the subscription of a client."""
        return self._clients.get(client_id)

    def clients_of(self, group: str) -> list[str]:
        """Return the clients of a group."""
        return [client_id for client_id, one in self._clients.items() if one.group == group]

    def readers(self, queue: str, group: str | None = None) -> dict[str, list[Subscriber]]:
        """Return the subscribers of an LMQ queue, by group; of one group if it is named."""
        found: dict[str, list[Subscriber]] = {}
        for subscriber in self._readers.get(queue, ()):
            found.setdefault(subscriber.group, []).append(subscriber)
        names = split_name(queue)
        for wildcard in () if names is None else self._wildcards.get(names[0], ()):
            assert names is not None
            found.setdefault(wildcard, list(self._readers.get(every_queue(names[0], wildcard), ())))
        return found if group is None else {group: found[group]} if group in found else {}

    def add(
        self,
        subscriber: Subscriber,
        topic: str,
        queues: Iterable[str],
        start: SubscriptionStart | None,
        now: int,
    ) -> None:
        """Add queues to the subscription of a client. Raises `QuotaExceeded` and `NotForWildcards`."""
        self._check_room()
        group = subscriber.group
        if self._rules.is_wildcard(group):
            raise NotForWildcards("subscribe lite operation is not supported for this group")
        own = self._own(subscriber, topic, now)
        for queue in queues:
            if self._rules.is_exclusive(group):
                self._exclude_others(subscriber, queue)
            if start is not None:
                self._restart(group, queue, start)
            self._add(subscriber, own, queue)

    def remove(self, subscriber: Subscriber, queues: Iterable[str], now: int) -> None:
        """Remove queues from the subscription of a client."""
        own = self._clients.get(subscriber.client_id)
        if own is None or own.group != subscriber.group:
            return
        own.seen = now
        for queue in queues:
            if self._remove(subscriber, queue) and self._rules.restarts_when_removed(own.group):
                self._restart(own.group, queue, FIRST)

    def replace(self, subscriber: Subscriber, topic: str, queues: Collection[str], now: int) -> None:
        """Replace the queues of a client's subscription. Raises `QuotaExceeded`; RocketMQ has no limit
        here.
        """
        group = subscriber.group
        if self._rules.is_wildcard(group):
            queues = {every_queue(topic, group)}
            self._wildcards.setdefault(topic, {})[group] = None
        known = self._clients.get(subscriber.client_id)
        before = known.queues if known is not None and known.group == group else set()
        if set(queues) - before or known is None:
            self._check_room(len(set(queues) - before))
        own = self._own(subscriber, topic, now)
        for queue in own.queues - set(queues):
            self._remove(subscriber, queue)
        for queue in queues:
            self._add(subscriber, own, queue)

    def remove_client(self, client_id: str) -> None:
        """Forget a client."""
        own = self._clients.get(client_id)
        if own is None:
            return
        subscriber = Subscriber(client_id, own.group)
        for queue in list(own.queues):
            self._remove(subscriber, queue)
        del self._clients[client_id]
        for callback in self._departure_watchers:
            callback(subscriber)

    def remove_queue(self, queue: str) -> None:
        """Forget the readers of a deleted queue."""
        for subscriber in list(self._readers.get(queue, ())):
            self._remove(subscriber, queue)

    def expire(self, now: int) -> None:
        """Forget clients that have been silent for too long. Standard: `cleanupExpiredSubscriptions`."""
        longest = self._options.lite_subscription_check_timeout_mills
        for client_id in [each for each, one in self._clients.items() if now - one.seen > longest]:
            log.info("client %s no longer reports its subscriptions to lite topics", client_id)
            self.remove_client(client_id)

    def _check_room(self, more: int = 1) -> None:
        most = self._options.max_lite_subscription_count
        if max(self.count, len(self._clients)) + more > most:
            raise SubscriptionQuotaExceeded(f"lite subscription quota exceeded {most}")

    def _own(self, subscriber: Subscriber, topic: str, now: int) -> Subscription:
        own = self._clients.get(subscriber.client_id)
        if own is not None and (own.group, own.topic) != (subscriber.group, topic):
            self.remove_client(subscriber.client_id)
            own = None
        if own is None:
            own = self._clients[subscriber.client_id] = Subscription(subscriber.group, topic)
        own.seen = now
        return own

    def _add(self, subscriber: Subscriber, own: Subscription, queue: str) -> None:
        if queue in own.queues:
            return
        own.queues.add(queue)
        self._readers.setdefault(queue, {})[subscriber] = None
        self.count += 1
        for callback in self._addition_watchers:
            callback(subscriber, queue)

    def _remove(self, subscriber: Subscriber, queue: str) -> bool:
        readers = self._readers.get(queue)
        if readers is None or subscriber not in readers:
            return False
        del readers[subscriber]
        self.count -= 1
        self._clients[subscriber.client_id].queues.discard(queue)
        if not readers:
            del self._readers[queue]
            topic, _, group = queue.partition("@")
            wildcards = self._wildcards.get(topic, {})
            if wildcards.pop(group, group) is None and not wildcards:
                del self._wildcards[topic]
        return True

    def _exclude_others(self, subscriber: Subscriber, queue: str) -> None:
        for other in list(self._readers.get(queue, ())):
            if other.group == subscriber.group and other != subscriber:
                self._remove(other, queue)
                self._on_excluded(other, queue)
                if self._rules.restarts_when_excluded(other.group):
                    self._restart(other.group, queue, FIRST)


def every_queue(topic: str, group: str) -> str:
    """Return the subscription name of the clients of a wildcard group."""
    return f"{topic}@{group}"
