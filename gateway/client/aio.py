"""The API for asyncio programs: every method is awaited, on whatever loop the caller has.

    async with Producer("group", "127.0.0.1:9876") as producer:
        print(await producer.send(Message("topic", "hello")))

    async def listener(messages, context):
        ...

    consumer = PushConsumer("group", listener, "127.0.0.1:9876")
    await consumer.subscribe("topic")
    async with consumer:
        await consumer.wait()

The client works in a thread of its own, whatever the loop does. Listeners are coroutine functions and run on
the loop that `start` was awaited on. Settings are keyword arguments: see `gateway.client.options`. Classes
without transactions are generated from the core's, in `aio_classes`.
"""

from __future__ import annotations

from typing import Any, Protocol, Unpack

from mqgateway.gateway.client import transactions
from mqgateway.gateway.client.aio_classes import (
    Admin,
    LitePullConsumer,
    Producer,
    PullConsumer,
    PushConsumer,
    SimpleConsumer,
)
from mqgateway.gateway.client.aio_facade import Facade, check_coroutine_function
from mqgateway.gateway.client.arguments import with_methods
from mqgateway.gateway.client.loop import Loop
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
    """The callbacks of a producer of transactions, which run on the caller's loop."""

    async def execute(self, message: Message, argument: Any) -> TransactionState:
        """Do the local work that the message is about."""
        ...

    async def check(self, message: ReceivedMessage) -> TransactionState:
        """Say what became of work that was done earlier."""
        ...


class _OnLoop:
    """A listener of the core that lets another work on the caller's loop."""

    def __init__(self, listener: TransactionListener, facade: Facade[Any]) -> None:
        self.execute = facade._on_callers_loop(listener.execute)
        self.check = facade._on_callers_loop(listener.check)


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
        check_coroutine_function(listener.execute)
        check_coroutine_function(listener.check)
        inside = _OnLoop(listener, self)
        Facade.__init__(
            self,
            lambda **given: transactions.TransactionProducer(group, Loop.shared(), inside, **given),
            namesrv=namesrv,
            settings=settings,
        )

    async def send_in_transaction(self, message: Message, argument: Any = None) -> TransactionResult:
        """Store a half message, let the listener work, tell the broker what came of it."""
        return await self._call(self._core.send_in_transaction, message, argument)
