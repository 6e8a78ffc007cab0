"""Lite topics with new messages, queued for the clients that read them.

For each group that reads an LMQ queue one client is notified. A client's events wait in the order they
arrived, each queue once, until the client pops. A client whose events are full is looked after later, from
its subscriptions (`dispatch_all`). A client that does not pop is given nothing for a while, and its queues go
to other clients. Times are in ms. Standard: `LiteEventDispatcher`.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator

from mqgateway.engine.clock import Clock, elapsed_millis
from mqgateway.engine.lite.names import lmq_name
from mqgateway.engine.lite.rules import LiteRules
from mqgateway.engine.lite.subscriptions import Subscriber, Subscriptions
from mqgateway.engine.options import BrokerOptions
from mqgateway.engine.tables.offsets import ConsumerOffsets

log = logging.getLogger(__name__)

SILENCE_MILLIS = 35_000
"""A client without a pop for this long is taken to be gone."""
SILENCE_WITH_EVENTS_MILLIS = 10_000
"""The limit for a client with events waiting."""
AVOIDED_MILLIS = 10_000
JITTER_MILLIS = 15_000
FULL_PERCENT = 20
"""More of a client's room than this may not be in use when it is given all it subscribes to."""
WILDCARD_DELAY_MILLIS = 5_000
"""After a new client of a wildcard group, this passes before queues are shared out."""
SHORTEST_DELAY_MILLIS = 50


class ClientEvents:
    """Events of one client. `popped` is the wall time of its last pop, `popped_elapsed` that of the monotonic
    clock; both in ms.
    """

    __slots__ = ("group", "most", "popped", "popped_elapsed", "queues")

    def __init__(self, group: str, most: int, now: int, elapsed: int) -> None:
        self.group = group
        self.most = most
        self.popped = now
        self.popped_elapsed = elapsed
        self.queues: dict[str, None] = {}

    def offer(self, queue: str) -> bool:
        """Add a queue; return False if there is no room."""
        if len(self.queues) >= self.most:
            return False
        self.queues[queue] = None
        return True

    def is_silent(self, elapsed: int) -> bool:
        """Return True if the client seems to have stopped popping."""
        silence = elapsed - self.popped_elapsed
        return silence > SILENCE_MILLIS or (bool(self.queues) and silence > SILENCE_WITH_EVENTS_MILLIS)


class Events:
    """The events of all clients. `max_offset` returns the end of an LMQ queue, `queues_of` those of a parent;
    `wake` wakes the parked pop of a subscriber; `chance` returns a number below its argument.
    """

    def __init__(
        self,
        options: BrokerOptions,
        clock: Clock,
        rules: LiteRules,
        subscriptions: Subscriptions,
        offsets: ConsumerOffsets,
        *,
        max_offset: Callable[[str], int],
        queues_of: Callable[[str], list[str]],
        wake: Callable[[Subscriber], None],
        chance: Callable[[int], int],
    ) -> None:
        self._options = options
        self._clock = clock
        self._rules = rules
        self._subscriptions = subscriptions
        self._offsets = offsets
        self._max_offset = max_offset
        self._queues_of = queues_of
        self._wake = wake
        self._chance = chance
        self._waiting: dict[str, ClientEvents] = {}
        self._avoided: dict[str, int] = {}
        self._later: dict[Subscriber, int] = {}
        subscriptions.watch_additions(self._added)
        subscriptions.watch_departures(self._gone)

    def __len__(self) -> int:
        return len(self._waiting)

    def last_pop(self, client_id: str) -> int:
        """Return when a client popped last; -1 for an unknown client."""
        waiting = self._waiting.get(client_id)
        return -1 if waiting is None else waiting.popped

    def offer(self, queue: str, group: str | None = None, without: str = "") -> None:
        """Notify one client of each group that reads a queue, or of one group; `without` comes last."""
        if not self._options.enable_lite_event_mode:
            return
        for name, readers in self._subscriptions.readers(queue, group).items():
            self._offer_one(queue, name, readers, without)

    def take(self, client_id: str, parent: str) -> Iterator[str]:
        """Yield the queues of a parent that a client is to look into, each of which is taken as it comes.

        A client id is only what a request says: queues of another parent are left for one that names it.
        """
        prefix = lmq_name(parent, "")
        if not self._options.enable_lite_event_mode:
            own = self._subscriptions.of(client_id)
            yield from () if own is None else [one for one in own.queues if one.startswith(prefix)]
            return
        waiting = self._waiting.get(client_id)
        if waiting is None:
            return
        waiting.popped, waiting.popped_elapsed = self._clock.millis(), elapsed_millis(self._clock)
        for queue in list(waiting.queues):
            if queue in waiting.queues and queue.startswith(prefix):
                del waiting.queues[queue]
                yield queue

    def give_back(self, client_id: str, queue: str) -> None:
        """Put a queue that a client took and could not read first in its events again."""
        waiting = self._waiting.get(client_id)
        if waiting is not None:
            waiting.queues = {queue: None, **waiting.queues}

    def dispatch_group(self, group: str) -> None:
        """Notify all clients of a group of all their queues. Standard: `doFullDispatchByGroup`."""
        if self._rules.is_wildcard(group):
            self._dispatch_wildcard(group)
            return
        for client_id in self._subscriptions.clients_of(group):
            self.dispatch_all(Subscriber(client_id, group))

    def dispatch_all(self, subscriber: Subscriber) -> None:
        """Notify a client of all its queues with messages. Standard: `doFullDispatchForClient`."""
        own = self._subscriptions.of(subscriber.client_id)
        if own is None or not own.queues or not self._options.enable_lite_event_mode:
            return
        waiting = self._waiting_of(subscriber)
        if (
            waiting.is_silent(elapsed_millis(self._clock))
            or len(waiting.queues) * 100 >= FULL_PERCENT * waiting.most
        ):
            self._again_later(subscriber)
            return
        for queue in own.queues:
            if self._has_more(subscriber.group, queue) and not waiting.offer(queue):
                self._again_later(subscriber)
                break
        if waiting.queues:
            self._wake(subscriber)

    def tick(self, elapsed: int) -> None:
        """Look after clients that are silent, and do what was put off; `elapsed` in ms. Standard: `scan`."""
        self._avoided = {client_id: until for client_id, until in self._avoided.items() if until > elapsed}
        for client_id in [each for each, one in self._waiting.items() if one.is_silent(elapsed)]:
            waiting = self._waiting.pop(client_id)
            self._avoided[client_id] = elapsed + AVOIDED_MILLIS
            for queue in waiting.queues:
                self.offer(queue, waiting.group, client_id)
        for subscriber in [each for each, time in self._later.items() if time <= elapsed]:
            del self._later[subscriber]
            if subscriber.client_id:
                self.dispatch_all(subscriber)
            else:
                self._dispatch_wildcard(subscriber.group)

    def _offer_one(self, queue: str, group: str, readers: list[Subscriber], without: str) -> bool:
        """Notify the first that has room, beginning anywhere; clients that may not pop come last."""
        if not readers:
            return True
        start = self._chance(len(readers))
        in_turn = readers[start:] + readers[:start]
        is_wildcard = self._rules.is_wildcard(group)
        last = [each for each in in_turn if self._is_last(each, without)]
        first = [each for each in in_turn if each not in last]
        if is_wildcard:
            last = [each for each in last if each.client_id == without]
        for subscriber in first + last:
            if self._waiting_of(subscriber).offer(queue):
                self._wake(subscriber)
                return True
            if not is_wildcard:
                self._again_later(subscriber)
        if is_wildcard:
            delay = self._options.lite_event_full_dispatch_delay_time_for_wildcard_group
            self._schedule(Subscriber("", group), delay)
        return False

    def _is_last(self, subscriber: Subscriber, without: str) -> bool:
        return subscriber.client_id == without or subscriber.client_id in self._avoided

    def _dispatch_wildcard(self, group: str) -> None:
        """Share out all queues of the parent that have more for a wildcard group."""
        parent = self._rules.bound_topic(group)
        if parent is None or not self._options.enable_lite_event_mode:
            return
        for queue in self._queues_of(parent):
            if self._has_more(group, queue):
                for name, readers in self._subscriptions.readers(queue, group).items():
                    if not self._offer_one(queue, name, readers, ""):
                        return

    def _has_more(self, group: str, queue: str) -> bool:
        most = self._max_offset(queue)
        return most > 0 and self._offsets.query(group, queue, 0) < most

    def _waiting_of(self, subscriber: Subscriber) -> ClientEvents:
        waiting = self._waiting.get(subscriber.client_id)
        if waiting is None:
            waiting = ClientEvents(
                subscriber.group,
                self._rules.max_events(subscriber.group),
                self._clock.millis(),
                elapsed_millis(self._clock),
            )
            self._waiting[subscriber.client_id] = waiting
        return waiting

    def _again_later(self, subscriber: Subscriber) -> None:
        delay = self._options.lite_event_full_dispatch_delay_time
        self._schedule(subscriber, delay + self._chance(JITTER_MILLIS))

    def _schedule(self, subscriber: Subscriber, delay: int) -> None:
        self._later.setdefault(subscriber, elapsed_millis(self._clock) + max(delay, SHORTEST_DELAY_MILLIS))

    def _added(self, subscriber: Subscriber, queue: str) -> None:
        if self._rules.is_wildcard(subscriber.group):
            self._schedule(Subscriber("", subscriber.group), WILDCARD_DELAY_MILLIS)
        elif self._max_offset(queue) > 0:
            self.offer(queue, subscriber.group)

    def _gone(self, subscriber: Subscriber) -> None:
        self._later.pop(subscriber, None)
        waiting = self._waiting.pop(subscriber.client_id, None)
        for queue in () if waiting is None else waiting.queues:
            self.offer(queue, subscriber.group)
