"""The bases of all blocking APIs of the core: live in the client's thread, start, close, wait for it.

Their other methods are in `blocking_classes`, which is generated.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import CancelledError, Future
from typing import Any, Generic, ParamSpec, Self, TypeVar

from twisted.internet.defer import Deferred, execute

from mqgateway.gateway.client import listening, producer, push
from mqgateway.gateway.client.arguments import refuse, with_name_servers
from mqgateway.gateway.client.errors import ClientError, trimmed
from mqgateway.gateway.client.listening import Context, Outcome
from mqgateway.gateway.client.loop import Loop
from mqgateway.gateway.client.message import Message, ReceivedMessage, SendResult
from mqgateway.gateway.client.selectors import Selector
from mqgateway.gateway.client.signals import OneTimeEvent, on_sigterm
from mqgateway.gateway.codec.bodies import MessageQueue

C = TypeVar("C", bound=Any)
P = ParamSpec("P")
ProducerCore = TypeVar("ProducerCore", bound=producer.Producer)
PushCore = TypeVar("PushCore", bound=push.PushConsumer)
S = TypeVar("S")
T = TypeVar("T")

Listener = Callable[[Sequence[ReceivedMessage], Context], Outcome]


class Facade(Generic[C]):
    """Base of the blocking APIs: lives in the loop, starts, closes."""

    def __init__(self, make: Callable[..., C], *, namesrv: str | None, settings: Mapping[str, Any]) -> None:
        settings = with_name_servers(namesrv, settings)
        self._loop = Loop.shared()
        self._core: C = self._do(lambda: make(**settings))

    @property
    def client_id(self) -> str:
        """The client id that brokers see."""
        client_id: str = self._core.client.client_id
        return client_id

    def start(self) -> Self:
        """Begin; gives itself."""
        self._call(self._core.start)
        return self

    def close(self) -> None:
        """Close cleanly; repeated calls do nothing."""
        self._call(self._core.close)

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self.close()

    def _call(self, function: Callable[P, Deferred[T]], *args: P.args, **kwargs: P.kwargs) -> T:
        """Call a function in the client's thread and wait. An error that the client raises on purpose has no
        frames below this one."""
        try:
            return self._loop.call(function, *args, **kwargs)
        except ClientError as error:
            raise trimmed(error)  # noqa: B904

    def _do(self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Call a function of the core that returns its result at once."""
        return self._call(lambda: execute(function, *args, **kwargs))


class Sending(Facade[ProducerCore]):
    """A producer that also sends without waiting."""

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


def _check_callback(on_delivery: object) -> None:
    if on_delivery is not None and not callable(on_delivery):
        refuse("on_delivery", on_delivery, "pass a function of message, result and error")


def _delivering(
    sent: Future[T], what: S, on_delivery: Callable[[S, T | None, Exception | None], object] | None
) -> Future[T]:
    """Return the future, which now calls a function with its outcome."""
    if on_delivery is not None:

        def delivered(done: Future[T]) -> None:
            if done.cancelled():
                on_delivery(what, None, CancelledError())
                return
            error = done.exception()
            on_delivery(what, None if error else done.result(), error)  # type: ignore[arg-type]

        sent.add_done_callback(delivered)
    return sent


class Listening(Facade[PushCore]):
    """A consumer whose listener is called in threads of its own, and that can be waited for."""

    _listener: Listener

    def __init__(
        self, make: Callable[..., PushCore], *, namesrv: str | None, settings: Mapping[str, Any]
    ) -> None:
        self._closed = OneTimeEvent()
        super().__init__(make, namesrv=namesrv, settings=settings)
        self._pool = self._loop.pool(self._core.listeners_max, f"{self._core.group} listeners")
        self._listened = self._pool.wrap(self._listener)

    def _for_core(self, listener: Listener) -> listening.Listener:
        """Return the listener as the core calls it; one that cannot be called is refused there."""
        if inspect.iscoroutinefunction(listener):
            name = getattr(listener, "__qualname__", repr(listener))
            refuse("listener", listener, f"{name} is a coroutine function: write `def`, or use mqgateway.aio")
        self._listener = listener
        return (lambda *given: self._listened(*given)) if callable(listener) else listener

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until it is closed by another thread or a signal's handler; false when time was up.

        In the main thread SIGTERM ends it as well, if the program has nothing else to do then: what stands
        after it, as the end of `with`, closes the consumer cleanly.
        """
        with on_sigterm(self._closed.open):
            return self._closed.wait(timeout)

    def close(self) -> None:
        """Stop and leave the group; listeners at work end."""
        super().close()
        self._pool.stop()
        self._closed.open()


class Iterated(Facade[C]):
    """A consumer that is gone through one message after the other, as `for message in consumer`.

    The loop ends when the consumer is closed, or after the message that it is at when SIGTERM comes to a
    program that has nothing else to do then; what stands after it, as the end of `with`, closes the consumer.
    A message counts as handled when the loop asks for the next one, or ends without an exception.
    """

    def __iter__(self) -> Iterator[ReceivedMessage]:
        with on_sigterm(self._end):
            while (hand := self._call(self._core.take)) is not None:
                yield from hand

    def messages(self) -> Iterator[ReceivedMessage]:
        """Return this consumer as an iterator."""
        return iter(self)

    def _end(self) -> None:
        self._loop.post(self._core.end_iteration)

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is None:
            self._do(self._core.handled)
        self.close()
