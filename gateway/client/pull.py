"""Pull consumer: the program chooses queues and offsets to read, and keeps track of the offsets.

It uses its group only to commit offsets. RocketMQ: `DefaultMQPullConsumer`.
"""

from __future__ import annotations

from datetime import datetime
from typing import Unpack

from mqgateway.gateway.client import arguments
from mqgateway.gateway.client.asking import as_deferred
from mqgateway.gateway.client.client import Client, Environment
from mqgateway.gateway.client.consumer import GroupConsumer
from mqgateway.gateway.client.errors import NoRoute
from mqgateway.gateway.client.message import PullResult, ReceivedMessage
from mqgateway.gateway.client.namespaces import with_namespace
from mqgateway.gateway.client.options import PullOptions, made
from mqgateway.gateway.client.process_queue import ProcessQueue
from mqgateway.gateway.client.routes import queues_to_read
from mqgateway.gateway.client.settings import PullSettings
from mqgateway.gateway.client.subscriptions import Sql, subscription
from mqgateway.gateway.codec.bodies import ConsumeMessageDirectlyResult, MessageQueue


class PullConsumer(GroupConsumer):
    """Consumer that pulls on request."""

    consume_type = "CONSUME_ACTIVELY"

    def __init__(
        self,
        group: str,
        environment: Environment,
        *,
        client: Client | None = None,
        **settings: Unpack[PullSettings],
    ) -> None:
        super().__init__(group, made(PullOptions, settings), environment, client=client)

    @as_deferred
    async def start(self) -> None:
        """Start. Raises `BadArgument`, `Unreachable`."""
        await self._join()

    @as_deferred
    async def close(self) -> None:
        """Commit the updated offsets and leave the group."""
        if self.is_running:
            await self._part()

    @as_deferred
    async def queues(self, topic: str) -> list[MessageQueue]:
        """Return the readable queues of a topic, sorted. Raises `NoRoute`, `Unreachable`."""
        self._check_running()
        full = with_namespace(self.settings.namespace, arguments.text("topic", topic))
        await self.client.update_route(full)
        route = self.client.routes.route(full)
        if route is None:
            raise NoRoute(topic)
        return sorted(
            MessageQueue(topic, one.broker_name, one.queue_id) for one in queues_to_read(full, route)
        )

    @as_deferred
    async def pull(
        self,
        queue: MessageQueue,
        offset: int,
        count: int = 32,
        wanted: str | Sql = "*",
        *,
        wait: bool = False,
    ) -> PullResult:
        """Pull at most `count` messages from `offset`; with `wait`, the broker waits if there are none.

        Raises `BadArgument`, `BrokerError`, `Unreachable`, `TimedOut`.
        """
        self._check_running()
        arguments.whole("offset", offset)
        arguments.whole("count", count, 1, arguments.INT_MAX)
        queue = self._full(queue)
        options, began = self.settings, self.client.clock.millis()
        timeout = (
            options.consumer_timeout_millis_when_suspend if wait else options.consumer_pull_timeout_millis
        )
        result = await self.puller.pull(
            queue,
            subscription(queue.topic, wanted, 0),
            offset,
            count=count,
            timeout=timeout / 1000,
            suspend_millis=options.broker_suspend_max_time_millis if wait else 0,
            sends_expression=True,
        )
        self.restore_topics(result.messages)
        if self.spans is not None:
            self.spans.received(result.messages, began)
        return result

    @as_deferred
    async def max_offset(self, queue: MessageQueue) -> int:
        """Return the maximum offset of a queue: that of its next message."""
        self._check_running()
        return await self.client.calls.max_offset(self._full(queue))

    @as_deferred
    async def min_offset(self, queue: MessageQueue) -> int:
        """Return the offset of the oldest message of a queue."""
        self._check_running()
        return await self.client.calls.min_offset(self._full(queue))

    @as_deferred
    async def search_offset(self, queue: MessageQueue, timestamp: int | datetime) -> int:
        """Return the offset of the first message stored at a time or later.

        `timestamp` is in ms since the epoch, or an aware datetime.
        """
        self._check_running()
        millis = arguments.search_millis("timestamp", timestamp)
        return await self.client.calls.search_offset(self._full(queue), millis)

    @as_deferred
    async def committed(self, queue: MessageQueue) -> int:
        """Return the group's committed offset of a queue; -1 if there is none."""
        self._check_running()
        return await self.stored_offset(self._full(queue))

    @as_deferred
    async def commit(self, queue: MessageQueue, offset: int) -> None:
        """Commit the group's offset of a queue and wait for the broker's answer."""
        self._check_running()
        queue = self._full(queue)
        arguments.whole("offset", offset)
        self.offsets.update(queue, offset)
        await self._commit([queue], wait=True)

    @as_deferred
    async def view(self, topic: str, offset_message_id: str) -> ReceivedMessage:
        """Return the message at the position encoded in its id."""
        self._check_running()
        message = await self.client.calls.view(
            with_namespace(self.settings.namespace, arguments.text("topic", topic)),
            arguments.text("offset_message_id", offset_message_id),
        )
        self.restore_topics([message])
        return message

    async def rebalance(self) -> bool:
        """Return True, because no queues are allocated to a pull consumer."""
        return True

    async def commit_offsets(self, *, wait: bool = False) -> None:
        """Do nothing, because `commit` stores offsets at once."""

    def _begin(self, queue: MessageQueue, process: ProcessQueue, offset: int) -> None:
        raise AssertionError("a pull consumer is given no queues")

    async def consume_directly(
        self, message: ReceivedMessage, broker_name: str
    ) -> ConsumeMessageDirectlyResult:
        """Return an empty result, because this consumer has no listener."""
        return ConsumeMessageDirectlyResult(consume_result="CR_RETURN_NULL", remark="it has no listener")

    def _full(self, queue: MessageQueue) -> MessageQueue:
        arguments.of_type("queue", queue, MessageQueue, "a MessageQueue")
        topic = with_namespace(self.settings.namespace, queue.topic)
        return MessageQueue(topic, queue.broker_name, queue.queue_id)
