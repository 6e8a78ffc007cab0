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

import asyncio
import inspect
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable, Mapping, Sequence
from concurrent.futures import Future
from typing import Any, Generic, ParamSpec, Protocol, Self, TypeVar, Unpack

from twisted.internet.defer import Deferred, execute

from mqgateway.engine.tables.groups import SubscriptionGroupConfig
from mqgateway.engine.tables.topics import TopicConfig
from mqgateway.gateway.client import admin, lite_pull, producer, pull, push, transactions
from mqgateway.gateway.client.admin_question import Question
from mqgateway.gateway.client.allocation import Strategy
from mqgateway.gateway.client.consumer import Failed, QueuesChanged
from mqgateway.gateway.client.errors import BadArgument, NotRunning
from mqgateway.gateway.client.listening import Context, Outcome
from mqgateway.gateway.client.loop import Loop
from mqgateway.gateway.client.message import (
    Message,
    PullResult,
    ReceivedMessage,
    SendResult,
    TransactionResult,
    TransactionState,
)
from mqgateway.gateway.client.selectors import Selector
from mqgateway.gateway.client.settings import (
    ClientSettings,
    LitePullSettings,
    ProducerSettings,
    PullSettings,
    PushSettings,
)
from mqgateway.gateway.client.signals import on_sigterm
from mqgateway.gateway.client.subscriptions import Sql
from mqgateway.gateway.codec.bodies import BrokerData, MessageQueue

__all__ = [
    "Admin",
    "LitePullConsumer",
    "Message",
    "Producer",
    "PullConsumer",
    "PushConsumer",
    "TransactionListener",
    "TransactionProducer",
]

C = TypeVar("C", bound=Any)
P = ParamSpec("P")
T = TypeVar("T")

Listener = Callable[[Sequence[ReceivedMessage], Context], Coroutine[Any, Any, Outcome]]


class Face(Generic[C]):
    """What all faces of the core do: live in the client's loop, start, close."""

    _listeners: Sequence[Callable[..., Any]] = ()
    """What is called on the caller's loop, where only coroutine functions can be."""

    def __init__(self, make: Callable[..., C], *, namesrv: str | None, settings: Mapping[str, Any]) -> None:
        if namesrv is not None:
            settings = {"namesrv_addr": namesrv, **settings}
        self._loop = Loop.shared()
        self._core: C = self._loop.do(lambda: make(**settings))
        self._callers: asyncio.AbstractEventLoop | None = None
        self._begun: dict[str, Coroutine[Any, Any, Any]] = {}

    @property
    def client_id(self) -> str:
        """What brokers call this client."""
        client_id: str = self._core.client.client_id
        return client_id

    async def start(self) -> Self:
        """Begin; gives itself. Raises `BadArgument` for a listener that is no coroutine function, and for
        what was called before and never awaited, as `subscribe`."""
        for listener in self._listeners:
            check_coroutine_function(listener)
        self._check_awaited()
        self._callers = asyncio.get_running_loop()
        await self._call(self._core.start)
        return self

    async def close(self) -> None:
        """End in good order; harmless when that has been done."""
        await self._call(self._core.close)

    async def __aenter__(self) -> Self:
        return await self.start()

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    def _to_await(self, what: str, work: Coroutine[Any, Any, T]) -> Coroutine[Any, Any, T]:
        """The same work, which must have been awaited when this is started."""
        if self._callers is None:
            self._begun[what] = work
        return work

    def _check_awaited(self) -> None:
        forgotten = {
            what: work
            for what, work in self._begun.items()
            if inspect.getcoroutinestate(work) == inspect.CORO_CREATED
        }
        self._begun = {}
        for work in forgotten.values():
            work.close()
        if forgotten:
            raise BadArgument("; ".join(f"{what} was not awaited: write `await ...`" for what in forgotten))

    async def _call(self, function: Callable[P, Deferred[T]], *args: P.args, **kwargs: P.kwargs) -> T:
        return await asyncio.wrap_future(self._loop.submit(function, *args, **kwargs))

    async def _do(self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        return await self._call(lambda: execute(function, *args, **kwargs))

    def _on_callers_loop(self, function: Callable[..., Coroutine[Any, Any, T]]) -> Callable[..., Deferred[T]]:
        """A coroutine function as one for the core: it runs on the caller's loop, and gives a Deferred."""

        def call(*args: Any) -> Deferred[T]:
            if self._callers is None:
                raise NotRunning("it was not started")
            outcome: Deferred[T] = Deferred()
            running = asyncio.run_coroutine_threadsafe(function(*args), self._callers)

            def done(future: Future[T]) -> None:
                reactor: Any = self._loop.reactor
                reactor.callFromThread(_settle, outcome, future)

            running.add_done_callback(done)
            return outcome

        return call


def check_coroutine_function(listener: Callable[..., Any]) -> None:
    """Raises `BadArgument` for a function that would not run on a loop."""
    called = getattr(listener, "__call__", None)  # noqa: B004
    if not (inspect.iscoroutinefunction(listener) or inspect.iscoroutinefunction(called)):
        name = getattr(listener, "__qualname__", repr(listener))
        raise BadArgument(f"{name} is no coroutine function: write `async def`, or use gateway.client")


def _settle(outcome: Deferred[T], future: Future[T]) -> None:
    if future.cancelled():
        outcome.errback(NotRunning("the listener was cancelled"))
        return
    error = future.exception()
    if error is None:
        outcome.callback(future.result())
    else:
        outcome.errback(error)


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
        self._listeners = (listener.execute, listener.check)
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


class PushConsumer(Face[push.PushConsumer]):
    """Gives messages to a listener."""

    def __init__(
        self,
        group: str,
        listener: Listener,
        namesrv: str | None = None,
        *,
        is_ordered: bool = False,
        strategy: Strategy | None = None,
        on_queues_changed: QueuesChanged | None = None,
        on_failure: Failed | None = None,
        **settings: Unpack[PushSettings],
    ) -> None:
        self._closed = asyncio.Event()
        self._listeners = (listener,)
        super().__init__(
            lambda **given: push.PushConsumer(
                group,
                Loop.shared(),
                self._on_callers_loop(listener),
                is_ordered=is_ordered,
                strategy=strategy,
                on_queues_changed=on_queues_changed,
                on_failure=on_failure,
                **given,
            ),
            namesrv=namesrv,
            settings=settings,
        )

    def subscribe(self, topic: str, wanted: str | Sql = "*") -> Coroutine[Any, Any, None]:
        """Want messages of a topic: all, by tags (`"a || b"`), or by an expression."""
        work = self._call(self._core.subscribe, topic, wanted)
        return self._to_await(f"subscribe({topic!r})", work)

    async def unsubscribe(self, topic: str) -> None:
        """Want no more of a topic."""
        await self._do(self._core.unsubscribe, topic)

    async def suspend(self) -> None:
        """Pull nothing more until `resume`."""
        await self._do(self._core.suspend)

    async def resume(self) -> None:
        """Go on."""
        await self._do(self._core.resume)

    async def wait(self) -> None:
        """Wait until it is closed by another task, or SIGTERM comes to a program that has nothing else to do
        then; what stands after it, as the end of `async with`, closes the consumer in good order."""
        loop = asyncio.get_running_loop()
        with on_sigterm(lambda: loop.call_soon_threadsafe(self._closed.set)):
            await self._closed.wait()

    async def close(self) -> None:
        """Stop and leave the group."""
        await super().close()
        self._closed.set()


class PullConsumer(Face[pull.PullConsumer]):
    """Pulls when it is told."""

    def __init__(self, group: str, namesrv: str | None = None, **settings: Unpack[PullSettings]) -> None:
        super().__init__(
            lambda **given: pull.PullConsumer(group, Loop.shared(), **given),
            namesrv=namesrv,
            settings=settings,
        )

    async def queues(self, topic: str) -> list[MessageQueue]:
        """The queues of a topic that can be read."""
        return await self._call(self._core.queues, topic)

    async def pull(
        self,
        queue: MessageQueue,
        offset: int,
        count: int = 32,
        wanted: str | Sql = "*",
        *,
        wait: bool = False,
    ) -> PullResult:
        """At most `count` messages from `offset` on; with `wait`, the broker waits for some."""
        return await self._call(self._core.pull, queue, offset, count, wanted, wait=wait)

    async def max_offset(self, queue: MessageQueue) -> int:
        """The offset that the next message of a queue will have."""
        return await self._call(self._core.max_offset, queue)

    async def min_offset(self, queue: MessageQueue) -> int:
        """The offset of the oldest message of a queue."""
        return await self._call(self._core.min_offset, queue)

    async def search_offset(self, queue: MessageQueue, timestamp: int) -> int:
        """The offset of the first message stored at a time (ms since the epoch) or later."""
        return await self._call(self._core.search_offset, queue, timestamp)

    async def committed(self, queue: MessageQueue) -> int:
        """How far the group has consumed a queue; -1 when it never has."""
        return await self._call(self._core.committed, queue)

    async def commit(self, queue: MessageQueue, offset: int) -> None:
        """The group has consumed a queue up to here."""
        await self._call(self._core.commit, queue, offset)

    async def view(self, topic: str, offset_message_id: str) -> ReceivedMessage:
        """The message that lies where its id says."""
        return await self._call(self._core.view, topic, offset_message_id)


class LitePullConsumer(Face[lite_pull.LitePullConsumer]):
    """Pulls ahead, and is polled."""

    def __init__(
        self,
        group: str,
        namesrv: str | None = None,
        *,
        strategy: Strategy | None = None,
        on_queues_changed: QueuesChanged | None = None,
        **settings: Unpack[LitePullSettings],
    ) -> None:
        super().__init__(
            lambda **given: lite_pull.LitePullConsumer(
                group, Loop.shared(), strategy=strategy, on_queues_changed=on_queues_changed, **given
            ),
            namesrv=namesrv,
            settings=settings,
        )

    def subscribe(self, topic: str, wanted: str | Sql = "*") -> Coroutine[Any, Any, None]:
        """Share the queues of a topic with the group."""
        work = self._call(self._core.subscribe, topic, wanted)
        return self._to_await(f"subscribe({topic!r})", work)

    async def unsubscribe(self, topic: str) -> None:
        """Want no more of a topic."""
        await self._do(self._core.unsubscribe, topic)

    def assign(self, queues: Iterable[MessageQueue], wanted: str | Sql = "*") -> Coroutine[Any, Any, None]:
        """Read these queues and no others."""
        return self._to_await("assign(...)", self._do(self._core.assign, list(queues), wanted))

    async def assignment(self) -> list[MessageQueue]:
        """The queues that are read."""
        return await self._do(self._core.assignment)

    async def poll(self, timeout: float | None = None) -> list[ReceivedMessage]:
        """The next messages; none when there are none within `timeout` seconds."""
        return await self._call(self._core.poll, timeout)

    async def messages(self) -> AsyncIterator[ReceivedMessage]:
        """One message after the other, until it is closed."""
        while self._core.is_running:
            for message in await self.poll():
                yield message

    async def pause(self, queues: Iterable[MessageQueue]) -> None:
        """Pull nothing more from these queues until `resume`."""
        await self._do(self._core.pause, list(queues))

    async def resume(self, queues: Iterable[MessageQueue]) -> None:
        """Go on with them."""
        await self._do(self._core.resume, list(queues))

    async def seek(self, queue: MessageQueue, offset: int) -> None:
        """Go on with a queue at an offset."""
        await self._call(self._core.seek, queue, offset)

    async def seek_to_begin(self, queue: MessageQueue) -> None:
        """Go on with its oldest message."""
        await self._call(self._core.seek_to_begin, queue)

    async def seek_to_end(self, queue: MessageQueue) -> None:
        """Go on with what will come."""
        await self._call(self._core.seek_to_end, queue)

    async def commit(self, offsets: dict[MessageQueue, int] | None = None) -> None:
        """Commit what was polled, or these offsets."""
        await self._call(self._core.commit, offsets)

    async def committed(self, queue: MessageQueue) -> int:
        """How far a queue was committed; -1 for never."""
        return await self._call(self._core.committed, queue)

    async def queues(self, topic: str) -> list[MessageQueue]:
        """The queues of a topic that can be read."""
        return await self._call(self._core.queues, topic)

    async def search_offset(self, queue: MessageQueue, timestamp: int) -> int:
        """The offset of the first message stored at a time (ms since the epoch) or later."""
        return await self._call(self._core.search_offset, queue, timestamp)


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

    async def reset_offsets(self, group: str, topic: str, timestamp: int) -> dict[MessageQueue, int]:
        """Let a group go on from a time in all queues of a topic; the new offsets."""
        return await self._call(self._core.reset_offsets, group, topic, timestamp)
