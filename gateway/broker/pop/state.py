"""POP state of a broker: its log, the table of messages popped in order, and parked requests.

`BrokerService` loads it, drives its ticks and closes it; the operations are in `pop`, `acks` and `questions`.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence

from twisted.internet.defer import Deferred
from twisted.python.failure import Failure

from mqgateway.engine.counting import Counting
from mqgateway.engine.ha.escape import Escape
from mqgateway.engine.pop import Ack, CheckPoint, OrderKey, Orders, PointKey
from mqgateway.engine.pop.foreign import ForeignMessages
from mqgateway.engine.pop.pop_log import PopLog
from mqgateway.engine.steps import Steps, run
from mqgateway.engine.store.message_store import MessageStore, PutResult, PutStatus
from mqgateway.engine.tables.offsets import UNKNOWN
from mqgateway.engine.timers.timers import Timers
from mqgateway.gateway.broker.environment import BrokerEnvironment
from mqgateway.gateway.broker.parked_pops import ANY_QUEUE, ParkedPops
from mqgateway.gateway.broker.pop.away import PopsAway
from mqgateway.gateway.broker.pop.client_clocks import ClientClocks
from mqgateway.gateway.broker.pop.gathered_acks import GatheredAcks
from mqgateway.gateway.broker.tables import Tables

CLEAN_MILLIS = 60_000


class PopState:
    """POP state of one broker. `foreign` reads messages of other broker groups. `is_turn` returns True if
    `gathered.settle` will be called before answers are written; `chance` returns a random number from 0 to
    99."""

    def __init__(
        self,
        environment: BrokerEnvironment,
        tables: Tables,
        store: MessageStore,
        timers: Timers,
        counts: Counting,
        foreign: ForeignMessages,
        is_turn: Callable[[], bool],
    ) -> None:
        options, groups = environment.options, tables.groups
        self._options = options
        self._store = store
        self._topics = tables.topics
        self._groups = groups
        self._offsets = tables.offsets
        self._next_clean = 0
        self.log = PopLog(
            store,
            timers,
            tables.topics,
            tables.offsets,
            options,
            environment.clock,
            environment.store_host,
            foreign,
            has_group=groups.__contains__,
            make_group=lambda name: groups.find(name) is not None,
            counts=counts,
        )
        path = environment.table_path("consumerOrderInfo.json")
        self.orders = Orders(options, environment.disk, path, environment.worker)
        self.parked = ParkedPops(
            lambda: options.max_pop_polling_size, lambda: options.pop_polling_size, last_first=False
        )
        self.parked_notifications = ParkedPops(
            lambda: options.max_pop_polling_size, lambda: options.pop_polling_size, last_first=True
        )
        self.clocks = ClientClocks()
        self.gathered = GatheredAcks(self.acknowledge, is_turn)
        self.chance: Callable[[], int] = lambda: random.randrange(100)
        self.away: PopsAway | None = None
        """Store of checkpoints while this is a slave that acts for its master; else None."""

    def act(self, escape: Escape) -> None:
        """Act for the master: store checkpoints on other brokers, by `escape`."""
        self.away = PopsAway(self.log, escape)

    def act_no_more(self) -> None:
        """Store checkpoints in the own log again, or none as a slave."""
        self.away = None

    def load(self) -> None:
        """Load the state, after store, offsets and timers. Raises `ConfigError`."""
        run(self.loading())

    def loading(self) -> Steps[None]:
        """Load the state as a cooperative task."""
        self.orders.load(self._store.steady.now())
        yield from self.log.loading()

    def persist(self) -> None:
        """Write the offsets, and the messages popped in order."""
        self.log.pop_offsets.persist()
        self.orders.persist()

    def tick(self, now: int, elapsed: int) -> None:
        """Do the work due at `now` (ms since the epoch).

        `elapsed` is the time in ms by which parked requests expire.
        """
        self.log.tick(now)
        for key in self.orders.freed(now):
            if self._options.enable_notify_after_pop_order_lock_release:
                self.offer(key)
        if self.parked:
            self.parked.due(elapsed)
        if self.parked_notifications:
            self.parked_notifications.due(elapsed)
        if now >= self._next_clean:
            self._next_clean = now + CLEAN_MILLIS
            self.orders.clean(now, self._has_queue)

    def acknowledge(
        self, acks: Sequence[Ack], queue_id: int, revive_time: int
    ) -> PutResult | Deferred[PutResult]:
        """Store acknowledgements; return the result of the last one tried.

        `revive_time` is when the messages would be visible again (ms).
        """
        if self.away is not None:
            return self.away.acknowledge(acks, queue_id, revive_time)
        put = PutResult(PutStatus.UNKNOWN_ERROR)
        for ack in acks:
            put = self.log.acknowledge(ack, queue_id, revive_time)
            if put.status is not PutStatus.PUT_OK:
                break
        return put

    def acknowledge_one(
        self, point: PointKey, offset: int, queue_id: int, revive_time: int
    ) -> PutResult | Deferred[PutResult]:
        """Acknowledge one message; within a turn it is stored when the turn ends, see `GatheredAcks`."""
        if self.away is None and self.gathered.is_turn():
            # Later requests of this turn find the message already acknowledged.
            self.log.points.acknowledged(point, (offset,))
            waiting = self.gathered.add(point, offset, queue_id, revive_time)
            return waiting.addBoth(self._noted, point, offset)
        return self.acknowledge([Ack(point, (offset,))], queue_id, revive_time)

    def _noted(self, put: PutResult | Failure, point: PointKey, offset: int) -> PutResult | Failure:
        if isinstance(put, Failure) or put.status is not PutStatus.PUT_OK:
            self.log.points.reopen(point, offset)
        return put

    def change(
        self, point: CheckPoint, ack: Ack, queue_id: int, revive_time: int
    ) -> PutResult | Deferred[PutResult]:
        """Store the new checkpoint of a message, and end its old one."""
        store = self.log if self.away is None else self.away
        return store.change(point, ack, queue_id, revive_time)

    def wait_no_longer(self, elapsed: int) -> None:
        """Expire parked requests whose deadline is `elapsed` (ms) or before; an alternative to `tick`."""
        self.parked.due(elapsed)
        self.parked_notifications.due(elapsed)

    def sent_elsewhere(self, group: str, topic: str, queue_id: int) -> None:
        """Reset the in-flight count and wake a parked request, after a reset of the group's offset."""
        self.log.in_flight.forget(lambda key: key == (topic, group, queue_id))
        self.offer(OrderKey(topic, group, queue_id))

    def forget_topic(self, topic: str) -> None:
        """Drop the state of a deleted topic, and write that: a restart could take it for a new topic's."""
        self.log.in_flight.forget(lambda key: key[0] == topic)
        self.log.points.forget(lambda key: key.topic == topic)
        self.orders.forget_topic(topic)
        self.persist()
        self.parked.end(topic)
        self.parked_notifications.end(topic)

    def forget_group(self, group: str) -> None:
        """Drop the state of a deleted group."""
        self.log.in_flight.forget(lambda key: key[1] == group)
        self.log.points.forget(lambda key: key.group == group)

    def offer(self, key: OrderKey) -> None:
        """Wake one request parked for a queue, if the queue has messages.

        RocketMQ: `notifyLongPollingRequestIfNeed`.
        """
        offset = self._offsets.query(key.group, key.topic, key.queue_id)
        if self._store.readable_end(key.topic, key.queue_id) > offset:
            places = [key._replace(queue_id=ANY_QUEUE), key]
            self.parked.wake(*places)
            self.parked_notifications.wake(*places)

    def first_offset(self, group: str, topic: str, queue_id: int) -> int:
        """Return the group's next offset of a queue; the oldest message if the group has none."""
        offset = self._offsets.query(group, topic, queue_id)
        return self._store.min_offset(topic, queue_id) if offset == UNKNOWN else offset

    def take_reset(self, group: str, topic: str, queue_id: int) -> int | None:
        """Apply and return the offset to which an administrator reset the group; None without a reset."""
        reset = self._offsets.take_reset(group, topic, queue_id)
        if reset is not None:
            self.orders.forget(OrderKey(topic, group, queue_id))
            self.log.in_flight.forget(lambda key: key == (topic, group, queue_id))
            self._offsets.commit(group, topic, queue_id, reset)
            self.log.pop_offsets.forget_pops()
        return reset

    @property
    def is_behind(self) -> bool:
        """True if more work is due at once."""
        return self.log.is_behind

    @property
    def is_busy(self) -> bool:
        """True if work is due soon."""
        return self.log.is_waiting or bool(
            (self.parked or self.parked_notifications) and self.orders.is_waiting
        )

    def _has_queue(self, key: OrderKey) -> bool:
        config = self._topics.get(key.topic)
        return config is not None and key.queue_id < config.read_queue_nums and key.group in self._groups
