"""The face for programs that wait: every method blocks until it is done, and may be called from any thread.

    with Producer("group", "127.0.0.1:9876") as producer:
        print(producer.send(Message("topic", "hello")))

    consumer = PushConsumer("group", listener, "127.0.0.1:9876")
    consumer.subscribe("topic")
    with consumer:
        consumer.wait()

Listeners are called in threads of their own (`consume_thread_max` of them), so they may block, and may send.
What the methods do, give and raise is said at the core: `gateway.client.producer` and the consumers' modules.
Settings are keyword arguments: see `gateway.client.options`.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from typing import Any, Generic, Protocol, Self, TypeVar, Unpack

from mqgateway.engine.tables.groups import SubscriptionGroupConfig
from mqgateway.engine.tables.topics import TopicConfig
from mqgateway.gateway.client import admin, lite_pull, producer, pull, push, transactions
from mqgateway.gateway.client.admin_question import Question
from mqgateway.gateway.client.allocation import Strategy
from mqgateway.gateway.client.consumer import Failed, QueuesChanged
from mqgateway.gateway.client.errors import BadArgument
from mqgateway.gateway.client.listening import Context, Outcome
from mqgateway.gateway.client.loop import Loop, Pool
from mqgateway.gateway.client.message import (
    Message,
    PullResult,
    ReceivedMessage,
    SendResult,
    TransactionResult,
    TransactionState,
)
from mqgateway.gateway.client.options import PushOptions
from mqgateway.gateway.client.selectors import Selector
from mqgateway.gateway.client.settings import (
    ClientSettings,
    LitePullSettings,
    ProducerSettings,
    PullSettings,
    PushSettings,
)
from mqgateway.gateway.client.signals import Gate, on_sigterm
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
T = TypeVar("T")

Listener = Callable[[Sequence[ReceivedMessage], Context], Outcome]


class Face(Generic[C]):
    """What all faces of the core do: live in the loop, start, close."""

    def __init__(self, make: Callable[..., C], *, namesrv: str | None, settings: Mapping[str, Any]) -> None:
        if namesrv is not None:
            settings = {"namesrv_addr": namesrv, **settings}
        self._loop = Loop.shared()
        self._core: C = self._loop.do(lambda: make(**settings))

    @property
    def client_id(self) -> str:
        """What brokers call this client."""
        client_id: str = self._core.client.client_id
        return client_id

    def start(self) -> Self:
        """Begin; gives itself."""
        self._loop.call(self._core.start)
        return self

    def close(self) -> None:
        """End in good order; harmless when that has been done."""
        self._loop.call(self._core.close)

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.close()


class Producer(Face[producer.Producer]):
    """Sends messages."""

    def __init__(self, group: str, namesrv: str | None = None, **settings: Unpack[ProducerSettings]) -> None:
        super().__init__(
            lambda **given: producer.Producer(group, Loop.shared(), **given),
            namesrv=namesrv,
            settings=settings,
        )

    def send(
        self,
        message: Message,
        *,
        queue: MessageQueue | None = None,
        selector: Selector | None = None,
        argument: Any = None,
        timeout: float | None = None,
    ) -> SendResult:
        """Store a message; `timeout` in seconds for all tries."""
        return self._loop.call(
            self._core.send, message, queue=queue, selector=selector, argument=argument, timeout=timeout
        )

    def send_async(
        self,
        message: Message,
        *,
        queue: MessageQueue | None = None,
        selector: Selector | None = None,
        argument: Any = None,
        timeout: float | None = None,
    ) -> Future[SendResult]:
        """Begin to send and do not wait: the future is the result. Its callbacks must not block."""
        return self._loop.submit(
            self._core.send,
            message,
            queue=queue,
            selector=selector,
            argument=argument,
            timeout=timeout,
            tries=self._core.options.retry_times_when_send_async_failed,
        )

    def send_batch(
        self, messages: Sequence[Message], *, queue: MessageQueue | None = None, timeout: float | None = None
    ) -> list[SendResult]:
        """Store messages of one topic together."""
        return self._loop.call(self._core.send_batch, messages, queue=queue, timeout=timeout)

    def send_batch_async(
        self, messages: Sequence[Message], *, queue: MessageQueue | None = None, timeout: float | None = None
    ) -> Future[list[SendResult]]:
        """Begin to send a batch and do not wait: the future is the result. Its callbacks must not block."""
        return self._loop.submit(self._core.send_batch, messages, queue=queue, timeout=timeout)

    def send_oneway(
        self,
        message: Message,
        *,
        queue: MessageQueue | None = None,
        selector: Selector | None = None,
        argument: Any = None,
    ) -> None:
        """Send and do not learn whether it was stored."""
        self._loop.call(self._core.send_oneway, message, queue=queue, selector=selector, argument=argument)

    def recall(self, topic: str, handle: str) -> str:
        """Take back a message with a timer; its id."""
        return self._loop.call(self._core.recall, topic, handle)

    def request(
        self,
        message: Message,
        *,
        queue: MessageQueue | None = None,
        selector: Selector | None = None,
        argument: Any = None,
        timeout: float | None = None,
    ) -> ReceivedMessage:
        """Send a message and wait for the reply of who consumes it."""
        return self._loop.call(
            self._core.request, message, queue=queue, selector=selector, argument=argument, timeout=timeout
        )

    def queues(self, topic: str) -> list[MessageQueue]:
        """The queues that a topic can be sent to."""
        return self._loop.call(self._core.queues, topic)


class TransactionListener(Protocol):
    """What a producer of transactions must know; called in threads."""

    def execute(self, message: Message, argument: Any) -> TransactionState:
        """Do the local work that the message is about."""
        ...

    def check(self, message: ReceivedMessage) -> TransactionState:
        """Say what became of work that was done earlier."""
        ...


class _InThreads:
    """A listener of the core that lets another work in threads."""

    def __init__(self, listener: TransactionListener, pool: Pool) -> None:
        self.execute = pool.wrap(listener.execute)
        self.check = pool.wrap(listener.check)


TRANSACTION_THREADS = 8


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
        self._pool = Loop.shared().pool(TRANSACTION_THREADS, f"{group} transactions")
        inside = _InThreads(listener, self._pool)
        Face.__init__(
            self,
            lambda **given: transactions.TransactionProducer(group, Loop.shared(), inside, **given),
            namesrv=namesrv,
            settings=settings,
        )

    def send_in_transaction(self, message: Message, argument: Any = None) -> TransactionResult:
        """Store a half message, let the listener work, tell the broker what came of it."""
        return self._loop.call(self._core.send_in_transaction, message, argument)

    def close(self) -> None:
        """End in good order."""
        super().close()
        self._pool.stop()


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
        loop = Loop.shared()
        threads = settings.get("consume_thread_max", PushOptions().consume_thread_max)
        self._pool = loop.pool(threads, f"{group} listeners")
        self._listener = listener
        self._closed = Gate()
        super().__init__(
            lambda **given: push.PushConsumer(
                group,
                loop,
                self._pool.wrap(listener),
                is_ordered=is_ordered,
                strategy=strategy,
                on_queues_changed=on_queues_changed,
                on_failure=on_failure,
                **given,
            ),
            namesrv=namesrv,
            settings=settings,
        )

    def subscribe(self, topic: str, wanted: str | Sql = "*") -> None:
        """Want messages of a topic: all, by tags (`"a || b"`), or by an expression."""
        self._loop.call(self._core.subscribe, topic, wanted)

    def unsubscribe(self, topic: str) -> None:
        """Want no more of a topic."""
        self._loop.do(self._core.unsubscribe, topic)

    def suspend(self) -> None:
        """Pull nothing more until `resume`."""
        self._loop.do(self._core.suspend)

    def resume(self) -> None:
        """Go on."""
        self._loop.do(self._core.resume)

    def start(self) -> Self:
        """Begin; gives itself. Raises `BadArgument` for a coroutine function as listener."""
        if inspect.iscoroutinefunction(self._listener):
            name = getattr(self._listener, "__qualname__", repr(self._listener))
            raise BadArgument(f"{name} is a coroutine function: write `def`, or use gateway.client.aio")
        return super().start()

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until it is closed by another thread or a signal's handler; false when time was up.

        In the main thread SIGTERM ends it as well, if the program has nothing else to do then: what stands
        after it, as the end of `with`, closes the consumer in good order.
        """
        with on_sigterm(self._closed.open):
            return self._closed.wait(timeout)

    def close(self) -> None:
        """Stop and leave the group; listeners at work end."""
        super().close()
        self._pool.stop()
        self._closed.open()


class PullConsumer(Face[pull.PullConsumer]):
    """Pulls when it is told."""

    def __init__(self, group: str, namesrv: str | None = None, **settings: Unpack[PullSettings]) -> None:
        super().__init__(
            lambda **given: pull.PullConsumer(group, Loop.shared(), **given),
            namesrv=namesrv,
            settings=settings,
        )

    def queues(self, topic: str) -> list[MessageQueue]:
        """The queues of a topic that can be read."""
        return self._loop.call(self._core.queues, topic)

    def pull(
        self,
        queue: MessageQueue,
        offset: int,
        count: int = 32,
        wanted: str | Sql = "*",
        *,
        wait: bool = False,
    ) -> PullResult:
        """At most `count` messages from `offset` on; with `wait`, the broker waits for some."""
        return self._loop.call(self._core.pull, queue, offset, count, wanted, wait=wait)

    def max_offset(self, queue: MessageQueue) -> int:
        """The offset that the next message of a queue will have."""
        return self._loop.call(self._core.max_offset, queue)

    def min_offset(self, queue: MessageQueue) -> int:
        """The offset of the oldest message of a queue."""
        return self._loop.call(self._core.min_offset, queue)

    def search_offset(self, queue: MessageQueue, timestamp: int) -> int:
        """The offset of the first message stored at a time (ms since the epoch) or later."""
        return self._loop.call(self._core.search_offset, queue, timestamp)

    def committed(self, queue: MessageQueue) -> int:
        """How far the group has consumed a queue; -1 when it never has."""
        return self._loop.call(self._core.committed, queue)

    def commit(self, queue: MessageQueue, offset: int) -> None:
        """The group has consumed a queue up to here."""
        self._loop.call(self._core.commit, queue, offset)

    def view(self, topic: str, offset_message_id: str) -> ReceivedMessage:
        """The message that lies where its id says."""
        return self._loop.call(self._core.view, topic, offset_message_id)


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

    def subscribe(self, topic: str, wanted: str | Sql = "*") -> None:
        """Share the queues of a topic with the group."""
        self._loop.call(self._core.subscribe, topic, wanted)

    def unsubscribe(self, topic: str) -> None:
        """Want no more of a topic."""
        self._loop.do(self._core.unsubscribe, topic)

    def assign(self, queues: Iterable[MessageQueue], wanted: str | Sql = "*") -> None:
        """Read these queues and no others."""
        self._loop.do(self._core.assign, list(queues), wanted)

    def assignment(self) -> list[MessageQueue]:
        """The queues that are read."""
        return self._loop.do(self._core.assignment)

    def poll(self, timeout: float | None = None) -> list[ReceivedMessage]:
        """The next messages; none when there are none within `timeout` seconds."""
        return self._loop.call(self._core.poll, timeout)

    def messages(self) -> Iterator[ReceivedMessage]:
        """One message after the other, until it is closed."""
        while self._core.is_running:
            yield from self.poll()

    def pause(self, queues: Iterable[MessageQueue]) -> None:
        """Pull nothing more from these queues until `resume`."""
        self._loop.do(self._core.pause, list(queues))

    def resume(self, queues: Iterable[MessageQueue]) -> None:
        """Go on with them."""
        self._loop.do(self._core.resume, list(queues))

    def seek(self, queue: MessageQueue, offset: int) -> None:
        """Go on with a queue at an offset."""
        self._loop.call(self._core.seek, queue, offset)

    def seek_to_begin(self, queue: MessageQueue) -> None:
        """Go on with its oldest message."""
        self._loop.call(self._core.seek_to_begin, queue)

    def seek_to_end(self, queue: MessageQueue) -> None:
        """Go on with what will come."""
        self._loop.call(self._core.seek_to_end, queue)

    def commit(self, offsets: dict[MessageQueue, int] | None = None) -> None:
        """Commit what was polled, or these offsets."""
        self._loop.call(self._core.commit, offsets)

    def committed(self, queue: MessageQueue) -> int:
        """How far a queue was committed; -1 for never."""
        return self._loop.call(self._core.committed, queue)

    def queues(self, topic: str) -> list[MessageQueue]:
        """The queues of a topic that can be read."""
        return self._loop.call(self._core.queues, topic)

    def search_offset(self, queue: MessageQueue, timestamp: int) -> int:
        """The offset of the first message stored at a time (ms since the epoch) or later."""
        return self._loop.call(self._core.search_offset, queue, timestamp)


class Admin(Face[admin.Admin]):
    """Asks brokers and name servers what administrators ask: see `gateway.client.admin`."""

    def __init__(self, namesrv: str | None = None, **settings: Unpack[ClientSettings]) -> None:
        super().__init__(
            lambda **given: admin.Admin(Loop.shared(), **given), namesrv=namesrv, settings=settings
        )

    def ask(self, question: Question[T], broker: str, timeout: float | None = None) -> T:
        """Ask a broker, by its name or its `host:port`; `timeout` in seconds."""
        return self._loop.call(lambda: self._core.ask(question, broker, timeout))

    def ask_brokers(
        self, question: Question[T], cluster: str | None = None, timeout: float | None = None
    ) -> dict[str, T]:
        """Ask the master of every broker group, or of those in a cluster; by broker name."""
        return self._loop.call(lambda: self._core.ask_brokers(question, cluster, timeout))

    def ask_name_server(self, question: Question[T]) -> T:
        """Ask the name servers in turn until one answers."""
        return self._loop.call(lambda: self._core.ask_name_server(question))

    def ask_name_servers(self, question: Question[T], timeout: float | None = None) -> dict[str, T]:
        """Ask every name server; by address."""
        return self._loop.call(lambda: self._core.ask_name_servers(question, timeout))

    def brokers(self, cluster: str | None = None) -> dict[str, BrokerData]:
        """Every broker group, or those of a cluster, by name."""
        return self._loop.call(self._core.brokers, cluster)

    def create_topic(
        self, config: TopicConfig, *, cluster: str | None = None, brokers: Iterable[str] = ()
    ) -> None:
        """Create or change a topic on all brokers, on those of a cluster, or on these."""
        self._loop.call(self._core.create_topic, config, cluster=cluster, brokers=brokers)

    def delete_topic(self, topic: str, *, cluster: str | None = None) -> None:
        """Delete a topic on all brokers that have it, and let the name servers forget it."""
        self._loop.call(self._core.delete_topic, topic, cluster=cluster)

    def create_group(self, config: SubscriptionGroupConfig, *, cluster: str | None = None) -> None:
        """Create or change a consumer group on all brokers, or on those of a cluster."""
        self._loop.call(self._core.create_group, config, cluster=cluster)

    def delete_group(self, group: str, *, cluster: str | None = None, with_offsets: bool = False) -> None:
        """Delete a consumer group on all brokers, or on those of a cluster."""
        self._loop.call(self._core.delete_group, group, cluster=cluster, with_offsets=with_offsets)

    def queues(self, topic: str) -> list[MessageQueue]:
        """Every queue of a topic that can be read."""
        return self._loop.call(self._core.queues, topic)

    def reset_offsets(self, group: str, topic: str, timestamp: int) -> dict[MessageQueue, int]:
        """Let a group go on from a time in all queues of a topic; the new offsets."""
        return self._loop.call(self._core.reset_offsets, group, topic, timestamp)
