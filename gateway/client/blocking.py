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

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import CancelledError, Future
from datetime import datetime
from typing import Any, Protocol, TypeVar, Unpack

from mqgateway.engine.tables.groups import SubscriptionGroupConfig
from mqgateway.engine.tables.topics import TopicConfig
from mqgateway.gateway.client import admin, producer, transactions
from mqgateway.gateway.client.admin_question import Question
from mqgateway.gateway.client.arguments import refuse
from mqgateway.gateway.client.blocking_consumers import (
    LitePullConsumer,
    PullConsumer,
    PushConsumer,
    SimpleConsumer,
)
from mqgateway.gateway.client.blocking_face import Face
from mqgateway.gateway.client.loop import Loop, Pool
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

S = TypeVar("S")
T = TypeVar("T")


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
        return self._call(
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
        on_delivery: Callable[[Message, SendResult | None, Exception | None], object] | None = None,
    ) -> Future[SendResult]:
        """Begin to send and do not wait: the future is the result.

        `on_delivery(message, result, error)` is called when it is known, with None for the result or for the
        error. It runs in the client's thread, as callbacks of the future do, and must not block.
        """
        _check_callback(on_delivery)
        sent = self._loop.submit(
            self._core.send,
            message,
            queue=queue,
            selector=selector,
            argument=argument,
            timeout=timeout,
            tries=self._core.options.retry_times_when_send_async_failed,
        )
        return _delivering(sent, message, on_delivery)

    def send_batch(
        self, messages: Sequence[Message], *, queue: MessageQueue | None = None, timeout: float | None = None
    ) -> list[SendResult]:
        """Store messages of one topic together."""
        return self._call(self._core.send_batch, messages, queue=queue, timeout=timeout)

    def send_batch_async(
        self,
        messages: Sequence[Message],
        *,
        queue: MessageQueue | None = None,
        timeout: float | None = None,
        on_delivery: Callable[[Sequence[Message], list[SendResult] | None, Exception | None], object]
        | None = None,
    ) -> Future[list[SendResult]]:
        """Begin to send a batch and do not wait: the future is the result.

        `on_delivery(messages, results, error)` is called as with `send_async`.
        """
        _check_callback(on_delivery)
        sent = self._loop.submit(self._core.send_batch, messages, queue=queue, timeout=timeout)
        return _delivering(sent, messages, on_delivery)

    def send_oneway(
        self,
        message: Message,
        *,
        queue: MessageQueue | None = None,
        selector: Selector | None = None,
        argument: Any = None,
    ) -> None:
        """Send and do not learn whether it was stored."""
        self._call(self._core.send_oneway, message, queue=queue, selector=selector, argument=argument)

    def recall(self, topic: str, handle: str) -> str:
        """Take back a message with a timer; its id."""
        return self._call(self._core.recall, topic, handle)

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
        return self._call(
            self._core.request, message, queue=queue, selector=selector, argument=argument, timeout=timeout
        )

    def queues(self, topic: str) -> list[MessageQueue]:
        """The queues that a topic can be sent to."""
        return self._call(self._core.queues, topic)


def _check_callback(on_delivery: object) -> None:
    if on_delivery is not None and not callable(on_delivery):
        refuse("on_delivery", on_delivery, "pass a function of message, result and error")


def _delivering(
    sent: Future[T], what: S, on_delivery: Callable[[S, T | None, Exception | None], object] | None
) -> Future[T]:
    """The same future, which calls a function with what comes of it."""
    if on_delivery is not None:

        def delivered(done: Future[T]) -> None:
            if done.cancelled():
                on_delivery(what, None, CancelledError())
                return
            error = done.exception()
            on_delivery(what, None if error else done.result(), error)  # type: ignore[arg-type]

        sent.add_done_callback(delivered)
    return sent


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
        for name in ("execute", "check"):
            if not callable(getattr(listener, name, None)):
                refuse(
                    "listener",
                    listener,
                    f"pass an object with the methods execute and check, not without {name}",
                )
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
        return self._call(self._core.send_in_transaction, message, argument)

    def close(self) -> None:
        """End in good order."""
        super().close()
        self._pool.stop()


class Admin(Face[admin.Admin]):
    """Asks brokers and name servers what administrators ask: see `gateway.client.admin`."""

    def __init__(self, namesrv: str | None = None, **settings: Unpack[ClientSettings]) -> None:
        super().__init__(
            lambda **given: admin.Admin(Loop.shared(), **given), namesrv=namesrv, settings=settings
        )

    def ask(self, question: Question[T], broker: str, timeout: float | None = None) -> T:
        """Ask a broker, by its name or its `host:port`; `timeout` in seconds."""
        return self._call(lambda: self._core.ask(question, broker, timeout))

    def ask_brokers(
        self, question: Question[T], cluster: str | None = None, timeout: float | None = None
    ) -> dict[str, T]:
        """Ask the master of every broker group, or of those in a cluster; by broker name."""
        return self._call(lambda: self._core.ask_brokers(question, cluster, timeout))

    def ask_name_server(self, question: Question[T]) -> T:
        """Ask the name servers in turn until one answers."""
        return self._call(lambda: self._core.ask_name_server(question))

    def ask_name_servers(self, question: Question[T], timeout: float | None = None) -> dict[str, T]:
        """Ask every name server; by address."""
        return self._call(lambda: self._core.ask_name_servers(question, timeout))

    def brokers(self, cluster: str | None = None) -> dict[str, BrokerData]:
        """Every broker group, or those of a cluster, by name."""
        return self._call(self._core.brokers, cluster)

    def create_topic(
        self, config: TopicConfig, *, cluster: str | None = None, brokers: Iterable[str] = ()
    ) -> None:
        """Create or change a topic on all brokers, on those of a cluster, or on these."""
        self._call(self._core.create_topic, config, cluster=cluster, brokers=brokers)

    def delete_topic(self, topic: str, *, cluster: str | None = None) -> None:
        """Delete a topic on all brokers that have it, and let the name servers forget it."""
        self._call(self._core.delete_topic, topic, cluster=cluster)

    def create_group(self, config: SubscriptionGroupConfig, *, cluster: str | None = None) -> None:
        """Create or change a consumer group on all brokers, or on those of a cluster."""
        self._call(self._core.create_group, config, cluster=cluster)

    def delete_group(self, group: str, *, cluster: str | None = None, with_offsets: bool = False) -> None:
        """Delete a consumer group on all brokers, or on those of a cluster."""
        self._call(self._core.delete_group, group, cluster=cluster, with_offsets=with_offsets)

    def queues(self, topic: str) -> list[MessageQueue]:
        """Every queue of a topic that can be read."""
        return self._call(self._core.queues, topic)

    def reset_offsets(self, group: str, topic: str, timestamp: int | datetime) -> dict[MessageQueue, int]:
        """Let a group go on from a time in all queues of a topic; the new offsets."""
        return self._call(self._core.reset_offsets, group, topic, timestamp)
