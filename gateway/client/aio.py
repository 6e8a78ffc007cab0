"""The face for asyncio programs: every method is awaited, on whatever loop the caller has.

    async with Producer("group", "127.0.0.1:9876") as producer:
        print(await producer.send(Message("topic", "hello")))

    async def listener(messages, context):
        ...

    consumer = PushConsumer("group", listener, "127.0.0.1:9876")
    await consumer.subscribe("topic")
    async with consumer:
        await consumer.wait()

The client works in a thread of its own, whatever the loop does. Listeners are coroutine functions and run on
the loop that `start` was awaited on. What the methods do, give and raise is said at the core:
`gateway.client.producer` and the consumers' modules. Settings are keyword arguments: see
`gateway.client.options`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any, Protocol, TypeVar, Unpack

from mqgateway.engine.tables.groups import SubscriptionGroupConfig
from mqgateway.engine.tables.topics import TopicConfig
from mqgateway.gateway.client import admin, producer, transactions
from mqgateway.gateway.client.admin_question import Question
from mqgateway.gateway.client.aio_consumers import (
    LitePullConsumer,
    PullConsumer,
    PushConsumer,
    SimpleConsumer,
)
from mqgateway.gateway.client.aio_face import Face, check_coroutine_function
from mqgateway.gateway.client.arguments import refuse
from mqgateway.gateway.client.loop import Loop
from mqgateway.gateway.client.message import (
    Message,
    ReceivedMessage,
    SendResult,
    TransactionResult,
    TransactionState,
)
from mqgateway.gateway.client.selectors import Selector
from mqgateway.gateway.client.settings import ClientSettings, ProducerSettings
from mqgateway.gateway.codec.bodies import BrokerData, MessageQueue

__all__ = [
    "Admin",
    "LitePullConsumer",
    "Message",
    "Producer",
    "PullConsumer",
    "PushConsumer",
    "SimpleConsumer",
    "TransactionListener",
    "TransactionProducer",
]

T = TypeVar("T")


class Producer(Face[producer.Producer]):
    """Sends messages."""

    def __init__(self, group: str, namesrv: str | None = None, **settings: Unpack[ProducerSettings]) -> None:
        super().__init__(
            lambda **given: producer.Producer(group, Loop.shared(), **given),
            namesrv=namesrv,
            settings=settings,
        )

    async def send(
        self,
        message: Message,
        *,
        queue: MessageQueue | None = None,
        selector: Selector | None = None,
        argument: Any = None,
        timeout: float | None = None,
    ) -> SendResult:
        """Store a message; `timeout` in seconds for all tries."""
        return await self._call(
            self._core.send, message, queue=queue, selector=selector, argument=argument, timeout=timeout
        )

    async def send_batch(
        self, messages: Sequence[Message], *, queue: MessageQueue | None = None, timeout: float | None = None
    ) -> list[SendResult]:
        """Store messages of one topic together."""
        return await self._call(self._core.send_batch, messages, queue=queue, timeout=timeout)

    async def send_oneway(
        self,
        message: Message,
        *,
        queue: MessageQueue | None = None,
        selector: Selector | None = None,
        argument: Any = None,
    ) -> None:
        """Send and do not learn whether it was stored."""
        await self._call(self._core.send_oneway, message, queue=queue, selector=selector, argument=argument)

    async def recall(self, topic: str, handle: str) -> str:
        """Take back a message with a timer; its id."""
        return await self._call(self._core.recall, topic, handle)

    async def request(
        self,
        message: Message,
        *,
        queue: MessageQueue | None = None,
        selector: Selector | None = None,
        argument: Any = None,
        timeout: float | None = None,
    ) -> ReceivedMessage:
        """Send a message and wait for the reply of who consumes it."""
        return await self._call(
            self._core.request, message, queue=queue, selector=selector, argument=argument, timeout=timeout
        )

    async def queues(self, topic: str) -> list[MessageQueue]:
        """The queues that a topic can be sent to."""
        return await self._call(self._core.queues, topic)


class TransactionListener(Protocol):
    """What a producer of transactions must know; both run on the caller's loop."""

    async def execute(self, message: Message, argument: Any) -> TransactionState:
        """Do the local work that the message is about."""
        ...

    async def check(self, message: ReceivedMessage) -> TransactionState:
        """Say what became of work that was done earlier."""
        ...


class _OnLoop:
    """A listener of the core that lets another work on the caller's loop."""

    def __init__(self, listener: TransactionListener, face: Face[Any]) -> None:
        self.execute = face._on_callers_loop(listener.execute)
        self.check = face._on_callers_loop(listener.check)


class TransactionProducer(Producer):
    """Sends messages that wait for a transaction."""

    _core: transactions.TransactionProducer

    def __init__(
        self,
        group: str,
        listener: TransactionListener,
        namesrv: str | None = None,
        **settings: Unpack[ProducerSettings],
    ) -> None:
        for name in ("execute", "check"):
            if not callable(getattr(listener, name, None)):
                refuse(
                    "listener",
                    listener,
                    f"pass an object with the methods execute and check, not without {name}",
                )
            check_coroutine_function(getattr(listener, name))
        inside = _OnLoop(listener, self)
        Face.__init__(
            self,
            lambda **given: transactions.TransactionProducer(group, Loop.shared(), inside, **given),
            namesrv=namesrv,
            settings=settings,
        )

    async def send_in_transaction(self, message: Message, argument: Any = None) -> TransactionResult:
        """Store a half message, let the listener work, tell the broker what came of it."""
        return await self._call(self._core.send_in_transaction, message, argument)


class Admin(Face[admin.Admin]):
    """Asks brokers and name servers what administrators ask: see `gateway.client.admin`."""

    def __init__(self, namesrv: str | None = None, **settings: Unpack[ClientSettings]) -> None:
        super().__init__(
            lambda **given: admin.Admin(Loop.shared(), **given), namesrv=namesrv, settings=settings
        )

    async def ask(self, question: Question[T], broker: str, timeout: float | None = None) -> T:
        """Ask a broker, by its name or its `host:port`; `timeout` in seconds."""
        return await self._call(lambda: self._core.ask(question, broker, timeout))

    async def ask_brokers(
        self, question: Question[T], cluster: str | None = None, timeout: float | None = None
    ) -> dict[str, T]:
        """Ask the master of every broker group, or of those in a cluster; by broker name."""
        return await self._call(lambda: self._core.ask_brokers(question, cluster, timeout))

    async def ask_name_server(self, question: Question[T]) -> T:
        """Ask the name servers in turn until one answers."""
        return await self._call(lambda: self._core.ask_name_server(question))

    async def ask_name_servers(self, question: Question[T], timeout: float | None = None) -> dict[str, T]:
        """Ask every name server; by address."""
        return await self._call(lambda: self._core.ask_name_servers(question, timeout))

    async def brokers(self, cluster: str | None = None) -> dict[str, BrokerData]:
        """Every broker group, or those of a cluster, by name."""
        return await self._call(self._core.brokers, cluster)

    async def create_topic(
        self, config: TopicConfig, *, cluster: str | None = None, brokers: Iterable[str] = ()
    ) -> None:
        """Create or change a topic on all brokers, on those of a cluster, or on these."""
        await self._call(self._core.create_topic, config, cluster=cluster, brokers=brokers)

    async def delete_topic(self, topic: str, *, cluster: str | None = None) -> None:
        """Delete a topic on all brokers that have it, and let the name servers forget it."""
        await self._call(self._core.delete_topic, topic, cluster=cluster)

    async def create_group(self, config: SubscriptionGroupConfig, *, cluster: str | None = None) -> None:
        """Create or change a consumer group on all brokers, or on those of a cluster."""
        await self._call(self._core.create_group, config, cluster=cluster)

    async def delete_group(
        self, group: str, *, cluster: str | None = None, with_offsets: bool = False
    ) -> None:
        """Delete a consumer group on all brokers, or on those of a cluster."""
        await self._call(self._core.delete_group, group, cluster=cluster, with_offsets=with_offsets)

    async def queues(self, topic: str) -> list[MessageQueue]:
        """Every queue of a topic that can be read."""
        return await self._call(self._core.queues, topic)

    async def reset_offsets(
        self, group: str, topic: str, timestamp: int | datetime
    ) -> dict[MessageQueue, int]:
        """Let a group go on from a time in all queues of a topic; the new offsets."""
        return await self._call(self._core.reset_offsets, group, topic, timestamp)
