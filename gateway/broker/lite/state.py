"""State of lite topics: subscriptions, notifications, messages in flight, parked requests.

`BrokerService` drives its ticks; the operations are in `pop`, `subscriptions`, `acks` and `admin.lite`.
Messages of a lite topic that were popped and not acknowledged block it for the group; this is in memory only.
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
from mqgateway.engine.lite.rules import LiteRules
from mqgateway.engine.lite.subscriptions import Subscriber, Subscriptions, SubscriptionStart
from mqgateway.engine.pop import OrderKey, Orders
from mqgateway.engine.store.message_store import Arrival, MessageStore
from mqgateway.gateway.broker.cluster.route_cache import Found, RouteCache
from mqgateway.gateway.broker.environment import BrokerEnvironment
from mqgateway.gateway.broker.parked_pops import ANY_QUEUE, ParkedPops
from mqgateway.gateway.broker.tables import Tables

log = logging.getLogger(__name__)

QUEUE_ID = 0
"""The only queue of an LMQ."""


class LiteClient(Protocol):
    """A client that subscribes to lite topics, while its connection is open."""

    def unsubscribed(self, subscriber: Subscriber, lite_topic: str) -> None:
        """Notify the client, if connected, that another client of its group has a lite topic now."""
        ...


class LiteState:
    """State of lite topics. `route_cache` has the writable queues of parent topics on all brokers."""

    def __init__(
        self,
        environment: BrokerEnvironment,
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
        self.rules = LiteRules(options, tables.topics, tables.groups)
        self.orders = Orders(options, environment.disk, "")
        self.lifetimes = Lifetimes(options, store, self.rules)
        self.subscriptions = Subscriptions(options, self.rules, self._restart, self._notify_excluded)
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
        """Return the end of an LMQ queue; 0 if it does not exist."""
        return self._store.max_offset(queue, QUEUE_ID)

    def heard(self, client_id: str, client: LiteClient) -> None:
        """Note the connection by which a subscribed client is notified of lost topics."""
        if self.subscriptions.of(client_id) is not None:
            self._clients[client_id] = client

    def arrived(self, arrivals: Iterable[Arrival]) -> None:
        """Notify clients of messages in the lite topics they subscribe to."""
        for arrival in arrivals:
            if arrival.topic.startswith(LITE_PREFIX):
                self.events.offer(arrival.topic)

    def offer(self, group: str, queue: str) -> None:
        """Notify a client of a group that a queue may be popped, if there are more messages."""
        if self.max_offset(queue) > self._offsets.query(group, queue, QUEUE_ID):
            self.events.offer(queue, group)

    def is_home(self, queue: str, found: Found) -> bool:
        """Return True if this broker is home of the lite topic; `found` are the queues of the parent."""
        names = split_name(queue)
        own = self._options.broker_name
        brokers = [each.broker_name for each in found or ()]
        return names is None or home(names[1], brokers, own) == own

    def tick(self, now: int, elapsed: int) -> None:
        """Do the work due at `now` (steady time, ms); `elapsed` is the monotonic clock's, in ms."""
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
        """True if work is due soon."""
        return bool(self.parked) and self.orders.is_waiting

    def delete(self, queues: list[str]) -> None:
        """Delete lite topics, with all their state; clients are not notified. RocketMQ: `deleteLmq`."""
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
        """Delete all lite topics of a deleted parent. RocketMQ: `cleanByParentTopic`."""
        if self.rules.is_parent(topic):
            self.delete(self.lifetimes.queues_of(topic))

    def _restart(self, group: str, queue: str, start: SubscriptionStart) -> None:
        """Reset a group's offset of a lite topic. RocketMQ: `LiteSubscriptionRegistryImpl.resetOffset`."""
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

    def _notify_excluded(self, subscriber: Subscriber, queue: str) -> None:
        """Notify a client that another client of the group has the lite topic now."""
        client, names = self._clients.get(subscriber.client_id), split_name(queue)
        if client is not None and names is not None:
            client.unsubscribed(subscriber, names[1])
