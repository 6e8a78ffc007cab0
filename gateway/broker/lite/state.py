"""What a broker has of lite topics: subscriptions, who is told of messages, what is out, who waits.

`BrokerService` moves its time; the operations are in `pop`, `subscriptions`, `acks` and `admin.lite`. What
was popped of a lite topic and not acknowledged holds it back for the group; this is in memory only.
"""

from __future__ import annotations

import logging
import random
from collections.abc import Iterable
from typing import Protocol

from mqgateway.engine.clock import elapsed_millis
from mqgateway.engine.lite.events import Events
from mqgateway.engine.lite.lifetimes import Lifetimes
from mqgateway.engine.lite.names import LITE_PREFIX, home, split_name
from mqgateway.engine.lite.rules import Rules
from mqgateway.engine.lite.subscriptions import Start, Subscriber, Subscriptions
from mqgateway.engine.pop import OrderKey, Orders
from mqgateway.engine.store.message_store import Arrival, MessageStore
from mqgateway.gateway.broker.cluster.route_cache import Found, RouteCache
from mqgateway.gateway.broker.environment import Environment
from mqgateway.gateway.broker.parked_pops import ANY_QUEUE, ParkedPops
from mqgateway.gateway.broker.tables import Tables

log = logging.getLogger(__name__)

QUEUE_ID = 0
"""A light queue has one queue."""


class LiteClient(Protocol):
    """A client that subscribes to lite topics, as long as its connection lives."""

    def unsubscribed(self, subscriber: Subscriber, lite_topic: str) -> None:
        """Tell it that another client of the group has a lite topic now; one that is gone is not told."""
        ...


class LiteState:
    """`route_cache` knows the queues of parents on all brokers that are written to."""

    def __init__(
        self,
        environment: Environment,
        tables: Tables,
        store: MessageStore,
        route_cache: RouteCache,
    ) -> None:
        options, clock = environment.options, environment.clock
        self._options = options
        self._store = store
        self._offsets = tables.offsets
        self._clients: dict[str, LiteClient] = {}
        elapsed = elapsed_millis(clock)
        self._next_check = self._next_scan = elapsed
        self._next_end = elapsed + options.min_lite_t_tl
        self.route_cache = route_cache
        self.rules = Rules(options, tables.topics, tables.groups)
        self.orders = Orders(options, environment.disk, "")
        self.lifetimes = Lifetimes(options, store, self.rules)
        self.subscriptions = Subscriptions(options, self.rules, self._restart)
        self.subscriptions.on_excluded = self._tell_excluded
        self.events = Events(
            options,
            clock,
            self.rules,
            self.subscriptions,
            tables.offsets,
            max_offset=self.max_offset,
            queues_of=self.lifetimes.queues_of,
            wake=self._wake,
            chance=random.randrange,
        )
        self.parked = ParkedPops(
            lambda: options.max_pop_polling_size, lambda: options.pop_polling_size, last_first=False
        )

    def max_offset(self, queue: str) -> int:
        """The end of a light queue; 0 where it is not there."""
        return self._store.max_offset(queue, QUEUE_ID)

    def heard(self, client_id: str, client: LiteClient) -> None:
        """Note by which connection a client that subscribes is told what it lost."""
        if self.subscriptions.of(client_id) is not None:
            self._clients[client_id] = client

    def arrived(self, arrivals: Iterable[Arrival]) -> None:
        """Tell clients of messages in the lite topics they subscribe to."""
        if not self.subscriptions:
            return
        for arrival in arrivals:
            if arrival.topic.startswith(LITE_PREFIX):
                self.events.offer(arrival.topic)

    def offer(self, group: str, queue: str) -> None:
        """Tell a client of a group that a queue may be popped, if there is more."""
        if self.max_offset(queue) > self._offsets.query(group, queue, QUEUE_ID):
            self.events.offer(queue, group)

    def is_home(self, queue: str, found: Found) -> bool:
        """Whether this broker has the lite topic of a queue; `found` are the queues of the parent."""
        names = split_name(queue)
        own = self._options.broker_name
        brokers = [each.broker_name for each in found or ()]
        return names is None or home(names[1], brokers, own) == own

    def tick(self, now: int, elapsed: int) -> None:
        """Do what is due at `now` (steady time, ms); `elapsed` is the monotonic clock's, in ms."""
        for key in self.orders.freed(now):
            self.offer(key.group, key.topic)
        if self.parked:
            self.parked.due(elapsed)
        if elapsed >= self._next_scan:
            self._next_scan = elapsed + self._options.lite_event_check_interval
            self.events.tick(elapsed)
        if elapsed >= self._next_check:
            self._next_check = elapsed + self._options.lite_subscription_check_interval
            self.subscriptions.expire(elapsed)
            subscribers, clients = self.subscriptions, self._clients
            self._clients = {name: clients[name] for name in clients if subscribers.of(name) is not None}
            self.orders.clean(now, lambda key: self.max_offset(key.topic) > 0)
        if elapsed >= self._next_end:
            self._next_end = elapsed + self._options.lite_ttl_check_interval
            self.delete(self.lifetimes.expired(now))

    @property
    def is_busy(self) -> bool:
        """Whether something is due soon."""
        return bool(self.parked) and self.orders.is_waiting

    def delete(self, queues: list[str]) -> None:
        """End lite topics, with all that is known of them; nobody is told. Standard: `deleteLmq`."""
        for queue in queues:
            names = split_name(queue)
            for group in () if names is None else self.rules.groups_of(names[0]):
                self._offsets.remove(group, queue)
                self.orders.forget(OrderKey(queue, group, QUEUE_ID))
            self.subscriptions.remove_queue(queue)
        if queues:
            log.info("%d lite topics are deleted", len(queues))
            self._store.admin.delete_topics(queues)

    def delete_parent(self, topic: str) -> None:
        """End all lite topics of a parent that is deleted. Standard: `cleanByParentTopic`."""
        if self.rules.is_parent(topic):
            self.delete(self.lifetimes.queues_of(topic))

    def _restart(self, group: str, queue: str, start: Start) -> None:
        """Let a group go on elsewhere. Standard: `LiteSubscriptionRegistryImpl.resetOffset`."""
        current = self._offsets.query(group, queue, QUEUE_ID)
        target: int | None = None
        if start.kind == "POLICY":
            target = {1: 0, 2: self.max_offset(queue)}.get(start.value)
        elif start.kind == "OFFSET":
            target = start.value
        elif start.kind == "TAIL_N" and current >= 0:
            target = max(0, current - start.value)
        if target is not None and target != current:
            self._offsets.assign_reset(group, queue, QUEUE_ID, target)
            self.orders.forget(OrderKey(queue, group, QUEUE_ID))

    def _wake(self, subscriber: Subscriber) -> None:
        self.parked.wake(OrderKey(subscriber.client_id, subscriber.group, ANY_QUEUE))

    def _tell_excluded(self, subscriber: Subscriber, queue: str) -> None:
        """Another client of the group has the lite topic now."""
        client, names = self._clients.get(subscriber.client_id), split_name(queue)
        if client is not None and names is not None:
            client.unsubscribed(subscriber, names[1])
