"""Common base of consumers that share queues in a group: subscriptions, queue allocation, offsets.

`rebalance` assigns and revokes queues. Subclasses start to consume a queue in `_begin` and release it in
`_give_up`. Offsets are stored by brokers for clustering, in a local file for broadcasting.
RocketMQ: `RebalanceImpl`, `RebalancePushImpl`, `RemoteBrokerOffsetStore`, `DefaultMQPushConsumerImpl`.
"""

from __future__ import annotations

import logging
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable
from typing import TYPE_CHECKING

from mqgateway.engine.message import RETRY_PREFIX
from mqgateway.gateway.client import arguments
from mqgateway.gateway.client.allocation import Averagely, Strategy
from mqgateway.gateway.client.begin_times import begin_time
from mqgateway.gateway.client.client import Client, Environment, together
from mqgateway.gateway.client.errors import BrokerError, ClientError, NotRunning
from mqgateway.gateway.client.locks import lock, unlock
from mqgateway.gateway.client.message import ReceivedMessage
from mqgateway.gateway.client.namespaces import with_namespace, without_namespace
from mqgateway.gateway.client.offsets import NONE, ConsumedOffsets, LocalOffsets
from mqgateway.gateway.client.options import ConsumeFrom, ConsumerOptions, MessageModel, shown
from mqgateway.gateway.client.process_queue import ProcessQueue
from mqgateway.gateway.client.pulling import Puller
from mqgateway.gateway.client.rebalance import LOCK_RETRY_SECONDS, changes, share
from mqgateway.gateway.client.routes import queues_to_read
from mqgateway.gateway.client.running import TICK_SECONDS, ConsumerStats
from mqgateway.gateway.client.sending import check_group, check_topic
from mqgateway.gateway.client.subscriptions import Sql, Topics, subscription
from mqgateway.gateway.codec.bodies import (
    ConsumeMessageDirectlyResult,
    ConsumerData,
    ConsumerRunningInfo,
    MessageQueue,
    SubscriptionData,
    TopicRouteData,
)
from mqgateway.gateway.codec.codes import CURRENT_VERSION

if TYPE_CHECKING:
    from mqgateway.gateway.client.spans import Spans
    from mqgateway.gateway.client.trace import Tracer

log = logging.getLogger(__name__)

RESERVED_GROUP = "DEFAULT_CONSUMER"
RESET_PAUSE_SECONDS = 10.0
"""Pause of a consumer before it continues from reset offsets, so that listener calls in flight can end."""
UNKNOWN_SECONDS = 2.0
"""Delay before topics without a route at start-up are looked up again."""

QueuesChanged = Callable[[str, Collection[MessageQueue], Collection[MessageQueue]], object]
"""Callback for changed queues; it gets the topic, all queues of the topic, and the member's own queues."""
Failed = Callable[[ClientError], object]
"""Callback for failed requests for messages or offsets, which are retried; runs in the client's thread."""


class GroupConsumer(ABC):
    """Member of a consumer group. `strategy` allocates queues; the default is `Averagely`."""

    consume_type = "CONSUME_PASSIVELY"
    hands_back = False
    """True if failed messages are sent back, to be redelivered through the group's retry topic."""

    def __init__(
        self,
        group: str,
        options: ConsumerOptions,
        environment: Environment,
        *,
        client: Client | None = None,
        strategy: Strategy | None = None,
        on_queues_changed: QueuesChanged | None = None,
        on_failure: Failed | None = None,
    ) -> None:
        check_group(arguments.text("group", group), RESERVED_GROUP)
        is_strategy = callable(getattr(strategy, "allocate", None)) and not isinstance(strategy, type)
        if strategy is not None and not is_strategy:
            arguments.refuse("strategy", strategy, "pass one of mqgateway.allocation, as Averagely()")
        if on_queues_changed is not None and not callable(on_queues_changed):
            arguments.refuse("on_queues_changed", on_queues_changed, "pass a function")
        self.settings = options
        self.group = with_namespace(options.namespace, group)
        self.is_broadcasting = options.message_model is MessageModel.BROADCASTING
        self._owns_client = client is None
        self.client = client or Client(options, environment, named=self.is_broadcasting)
        self._strategy: Strategy = strategy or Averagely()
        self._on_queues_changed = on_queues_changed
        self._on_failure = on_failure
        self.subscriptions: dict[str, SubscriptionData] = {}
        self.readable: dict[str, set[MessageQueue]] = {}
        self.held: dict[MessageQueue, ProcessQueue] = {}
        self.offsets = ConsumedOffsets()
        self.stats = ConsumerStats()
        self.tracer: Tracer | None = None
        self.spans: Spans | None = None
        if options.enable_opentelemetry:
            from mqgateway.gateway.client.spans import Spans

            self.spans = Spans(group, self.client.client_id, options, is_broadcasting=self.is_broadcasting)
        self.puller = Puller(self.client, self.group)
        self.is_running = False
        self.is_closed = False
        self.is_paused = False
        self._has_joined = False
        self._started_at = 0
        self._local: LocalOffsets | None = None
        if self.is_broadcasting:
            self._local = LocalOffsets(
                environment.disk, options.local_offset_store_dir, self.client.client_id, group
            )

    # Hooks of subclasses

    @abstractmethod
    def _begin(self, queue: MessageQueue, process: ProcessQueue, offset: int) -> None:
        """Start to consume a newly assigned queue from an offset."""

    @property
    def _wants_locks(self) -> bool:
        """True if queues are consumed in order and must be locked at their broker."""
        return False

    @abstractmethod
    async def consume_directly(
        self, message: ReceivedMessage, broker_name: str
    ) -> ConsumeMessageDirectlyResult:
        """Consume one message now, on an administrator's request."""

    # Lifecycle

    async def _join(self) -> None:
        """Join the group and fetch the routes of the subscribed topics."""
        if self.is_closed:
            raise NotRunning(f"the consumer {self.group} was closed and cannot start again: make a new one")
        if self.is_running:
            raise NotRunning(f"the consumer {self.group} was started before")
        if self._local is not None:
            for queue, offset in self._local.load().items():
                self.offsets.update(queue, offset)
        if self.hands_back and not self.is_broadcasting:
            self._subscribe(RETRY_PREFIX + self.group, "*")
        self.client.add_consumer(self)
        self.is_running = True
        self._started_at = self.client.clock.millis()
        self.client.start()
        self.client.schedule.every(TICK_SECONDS, TICK_SECONDS, self._tick)
        try:
            await self._learn(self.subscriptions)
            for topic, wanted in self.subscriptions.items():
                if wanted.expression_type != "TAG":
                    await self.client.calls.check_subscription(topic, self.group, wanted)
        except ClientError:
            self.is_running = False
            await self.client.remove_consumer(self)
            raise
        await self.client.heartbeat()
        self._has_joined = True
        self.client.rebalance_soon()
        self.client.schedule.later(UNKNOWN_SECONDS, self._learn_unknown)

    async def _part(self) -> None:
        """Commit the consumed offsets and leave the group."""
        self.is_running, self.is_closed = False, True
        await self.commit_offsets(wait=True)
        for process in self.held.values():
            process.dropped = True
        if self._wants_locks and not self.is_broadcasting:
            unlock(self.client, self.group, self.held)
        self.held.clear()
        await self.client.remove_consumer(self)
        if self._owns_client:
            await self.client.close()

    async def _learn(self, topics: Iterable[str]) -> None:
        async def learn(topic: str) -> None:
            try:
                await self.client.update_route(topic)
            except BrokerError as error:
                log.warning("the route of %s is not told: %s", topic, error)
                self.report_failure(error)

        await together(learn(topic) for topic in list(topics))

    def _learn_unknown(self) -> None:
        """Fetch missing routes again: the retry topic of a new group is created by its first heartbeat."""
        unknown = [topic for topic in self.subscriptions if topic not in self.readable]
        if self.is_running and unknown:
            self.client.spawn(self._learn(unknown))

    def _tick(self) -> None:
        self.stats.tick(self.client.steady.now())

    # Subscriptions

    def _subscribe(self, topic: str, wanted: str | Sql) -> None:
        check_topic(topic)
        self.subscriptions[topic] = subscription(topic, wanted, self.client.steady.now())

    async def _subscribe_now(self, topic: Topics, wanted: str | Sql) -> None:
        """Subscribe to one or more topics; a running consumer notifies the brokers."""
        full = self._full_names(topic)
        for name in full:
            check_topic(name)
        for name in full:
            self._subscribe(name, wanted)
        if self.is_running:
            await self._learn(full)
            await self.client.heartbeat()
            self.client.rebalance_soon()

    def _unsubscribe(self, topic: Topics) -> None:
        for name in self._full_names(topic):
            self.subscriptions.pop(name, None)
        self.client.rebalance_soon()

    def _full_names(self, topic: Topics) -> list[str]:
        """Return the topic names with the namespace, as brokers know them. Raises `BadArgument`."""
        return [with_namespace(self.settings.namespace, name) for name in arguments.topics(topic)]

    def topics(self) -> list[str]:
        """Return the subscribed topics."""
        return list(self.subscriptions)

    def route_known(self, topic: str, route: TopicRouteData) -> None:
        """Update the readable queues of a topic, and rebalance if they changed."""
        if topic not in self.subscriptions:
            return
        queues = queues_to_read(topic, route)
        if self.readable.get(topic) != queues:
            self.readable[topic] = queues
            if self._has_joined:
                self.client.rebalance_soon()

    def consumer_data(self) -> ConsumerData:
        """Return the heartbeat data of the group."""
        return ConsumerData(
            self.group,
            self.consume_type,
            self.settings.message_model.value,
            self.settings.consume_from_where.value,
            [self.subscriptions[topic] for topic in sorted(self.subscriptions)],
            self.settings.unit_mode,
        )

    # Queue allocation

    async def rebalance(self) -> bool:
        """Reallocate all queues. Returns True if this member holds every queue it was allocated."""
        if self.is_paused or not self.is_running:
            return True
        balanced = True
        for topic in list(self.subscriptions):
            try:
                balanced = await self._rebalance_topic(topic) and balanced
            except ClientError as error:
                if self.is_running and not topic.startswith(RETRY_PREFIX):
                    log.warning("queues of %s cannot be shared: %s", topic, error)
                    self.report_failure(error)
                    balanced = False
            if not self.is_running:
                return True
        for queue in [queue for queue in self.held if queue.topic not in self.subscriptions]:
            self.held[queue].dropped = True
            await self._give_up(queue)
        self.puller.keep(self.held)
        return balanced

    async def _rebalance_topic(self, topic: str) -> bool:
        queues = self.readable.get(topic)
        if queues is None:
            return True
        if self.is_broadcasting:
            wanted: set[MessageQueue] | None = queues
        else:
            members = await self.client.calls.members(topic, self.group)
            wanted = share(self._strategy, self.group, self.client.client_id, queues, members)
        if wanted is None:
            return False
        if await self._take_over(topic, wanted):
            await self._division_changed(topic, queues, wanted)
        # A queue that was dropped but could not be released yet is retried soon.
        return wanted == {queue for queue in self.held if queue.topic == topic}

    async def _take_over(self, topic: str, wanted: set[MessageQueue]) -> bool:
        """Release and acquire queues. Returns True if anything changed."""
        drop, add = changes(topic, wanted, self.held, self.client.steady.now())
        changed = False
        for queue in drop:
            self.held[queue].dropped = True
        for queue in drop:
            changed = await self._give_up(queue) or changed
        add = [queue for queue in add if queue not in self.held]
        if self._wants_locks and not self.is_broadcasting and add:
            locked = await lock(self.client, self.group, add)
            if not locked.issuperset(add):
                log.info("queues of %s are locked by others still", topic)
                self.client.rebalance_soon(LOCK_RETRY_SECONDS)
            add = [queue for queue in add if queue in locked]
        for queue in add:
            if not self.is_running:
                break
            changed = await self._take(queue) or changed
        return changed

    async def _take(self, queue: MessageQueue) -> bool:
        """Acquire a queue. Returns True on success."""
        self.offsets.remove(queue)
        process = ProcessQueue(self.client.steady.now())
        try:
            offset = await self.where_to_begin(queue)
        except ClientError as error:
            if self.is_running:
                log.warning("the start offset of %s is unknown: %s", queue, error)
                self.report_failure(error)
            return False
        if not self.is_running or queue in self.held:
            return False
        if self._wants_locks:
            process.lock(self.client.steady.now())
        self.held[queue] = process
        log.info("%s consumes %s from %d on", self.group, queue, offset)
        self._begin(queue, process, offset)
        return True

    async def _give_up(self, queue: MessageQueue) -> bool:
        """Release a dropped queue. Returns False if it must be retried later."""
        await self._commit([queue])
        self.offsets.remove(queue)
        self.held.pop(queue, None)
        return True

    async def _division_changed(
        self, topic: str, queues: Collection[MessageQueue], ours: Collection[MessageQueue]
    ) -> None:
        """Notify the brokers, with a newer version of the subscription, and the program's callback."""
        known = self.subscriptions.get(topic)
        if known is not None:
            known.sub_version = self.client.steady.now()  # the newer version wins, so it must not decrease
        await self.client.heartbeat()
        if self._on_queues_changed is not None:
            try:
                self._on_queues_changed(without_namespace(self.settings.namespace, topic), queues, ours)
            except Exception:
                log.exception("the callback for changed queues of %s failed", topic)

    # Offsets

    async def where_to_begin(self, queue: MessageQueue) -> int:
        """Return a queue's start offset: committed, else as configured. Raises `ClientError`."""
        calls, where = self.client.calls, self.settings.consume_from_where
        stored = await self.stored_offset(queue)
        if stored > NONE:
            self.offsets.update(queue, stored)
            return stored
        is_retry = queue.topic.startswith(RETRY_PREFIX)
        if where is ConsumeFrom.FIRST_OFFSET or (where is ConsumeFrom.LAST_OFFSET and is_retry):
            return 0
        if where is ConsumeFrom.TIMESTAMP and not is_retry:
            return await calls.search_offset(queue, begin_time(self.settings, self._started_at))
        return await calls.max_offset(queue)

    async def stored_offset(self, queue: MessageQueue) -> int:
        """Return the committed offset of a queue, -1 if there is none."""
        if self._local is not None:
            return self._local.get(queue)
        return await self.client.calls.consumed_offset(self.group, queue)

    async def commit_offsets(self, *, wait: bool = False) -> None:
        """Commit consumed offsets to brokers or the file; with `wait`, wait for the brokers' answers."""
        await self._commit(list(self.held), wait=wait)
        if self._local is None:
            self.offsets.keep(self.held)

    async def _commit(self, queues: Collection[MessageQueue], *, wait: bool = False) -> None:
        known = {queue: offset for queue, offset in self.offsets.of().items() if queue in queues}
        if self._local is not None:
            self._local.save(known)
            return
        for queue, offset in known.items():
            try:
                await self.client.calls.commit_offset(self.group, queue, offset, wait=wait)
            except ClientError as error:
                log.warning("the offset of %s is not committed: %s", queue, error)

    async def reset_offsets(self, topic: str, offsets: dict[MessageQueue, int]) -> None:
        """Continue from new offsets: stop, let running listener calls end, commit the offsets, restart."""
        self.is_paused = True
        try:
            for queue, process in self.held.items():
                if queue.topic == topic and queue in offsets:
                    process.dropped = True
                    process.clear()
            await self.client.schedule.pause(RESET_PAUSE_SECONDS)
            for queue in [queue for queue in self.held if queue.topic == topic and queue in offsets]:
                self.offsets.update(queue, offsets[queue])
                await self._give_up(queue)
        finally:
            self.is_paused = False
            self.client.rebalance_soon()

    def consumed(self, topic: str | None) -> dict[MessageQueue, int]:
        """Return the consumed offsets, of one topic or of all."""
        return self.offsets.of(topic)

    # Administration

    async def running_info(self) -> ConsumerRunningInfo:
        """Return settings, subscriptions, queues and rates."""
        now = self.client.steady.now()
        properties = shown(self.settings) | self._own_properties()
        return ConsumerRunningInfo(
            properties=properties,
            subscription_set=list(self.subscriptions.values()),
            mq_table={queue: process.info(self.offsets.get(queue)) for queue, process in self.held.items()},
            status_table={topic: self.stats.status(topic, now) for topic in self.subscriptions},
        )

    def _own_properties(self) -> dict[str, str]:
        return {
            "consumerGroup": self.group,
            "PROP_NAMESERVER_ADDR": ";".join(self.client.name_servers.addresses),
            "PROP_CONSUME_TYPE": self.consume_type,
            "PROP_CLIENT_VERSION": f"V5_5_0 ({CURRENT_VERSION}), Python",
            "PROP_CONSUMEORDERLY": "true" if self._wants_locks else "false",
            "PROP_CONSUMER_START_TIMESTAMP": str(self._started_at),
        }

    def report_failure(self, error: ClientError) -> None:
        """Pass a failed request to the program's `on_failure` callback, if it has one."""
        if self._on_failure is not None:
            self._on_failure(error)

    def _check_running(self) -> None:
        if not self.is_running:
            remedy = "it was closed: make a new one" if self.is_closed else "call start(), or use `with`"
            raise NotRunning(f"the consumer {self.group} is not running: {remedy}")

    def restore_topics(self, messages: Iterable[ReceivedMessage]) -> None:
        """Restore the original topic of redelivered messages, without its namespace."""
        retry, namespace = RETRY_PREFIX + self.group, self.settings.namespace
        for message in messages:
            if message.topic == retry:
                message.topic = message.properties.get("RETRY_TOPIC", message.topic)
            if namespace:
                message.topic = without_namespace(namespace, message.topic)
