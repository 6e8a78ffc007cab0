"""The API for programs that wait: every method blocks until it is done, and may be called from any thread.

    with Producer("group", "127.0.0.1:9876") as producer:
        print(producer.send(Message("topic", "hello")))

    consumer = PushConsumer("group", listener, "127.0.0.1:9876")
    consumer.subscribe("topic")
    with consumer:
        consumer.wait()

Listeners are called in threads of their own (`consume_thread_max` of them), so they may block, and may send.
Settings are keyword arguments: see `gateway.client.options`. Classes without transactions are generated from
the core's, in `blocking_classes`.
"""

from __future__ import annotations

from typing import Any, Protocol, Unpack

from mqgateway.gateway.client import transactions
from mqgateway.gateway.client.arguments import with_methods
from mqgateway.gateway.client.blocking_classes import (
    Admin,
    LitePullConsumer,
    Producer,
    PullConsumer,
    PushConsumer,
    SimpleConsumer,
)
from mqgateway.gateway.client.blocking_facade import Facade
from mqgateway.gateway.client.loop import Loop, Pool
from mqgateway.gateway.client.message import (
    Message,
    ReceivedMessage,
    TransactionResult,
    TransactionState,
)
from mqgateway.gateway.client.settings import ProducerSettings

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


class TransactionListener(Protocol):
    """The callbacks of a producer of transactions, which are called in threads."""

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
        with_methods("listener", listener, "execute", "check")
        self._pool = Loop.shared().pool(TRANSACTION_THREADS, f"{group} transactions")
        inside = _InThreads(listener, self._pool)
        Facade.__init__(
            self,
            lambda **given: transactions.TransactionProducer(group, Loop.shared(), inside, **given),
            namesrv=namesrv,
            settings=settings,
        )

    def send_in_transaction(self, message: Message, argument: Any = None) -> TransactionResult:
        """Store a half message, let the listener work, tell the broker what came of it."""
        return self._call(self._core.send_in_transaction, message, argument)

    def close(self) -> None:
        """Close cleanly; repeated calls do nothing."""
        super().close()
        self._pool.stop()
