"""The bases of all asyncio APIs of the core: live in the client's thread, start, close, await it.

Their other methods are in `aio_classes`, which is generated.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping, Sequence
from concurrent.futures import Future
from typing import Any, Generic, ParamSpec, Self, TypeVar

from twisted.internet.defer import Deferred, execute

from mqgateway.gateway.client import listening, push
from mqgateway.gateway.client.arguments import with_name_servers
from mqgateway.gateway.client.errors import BadArgument, ClientError, NotRunning, trimmed
from mqgateway.gateway.client.listening import Context, Outcome
from mqgateway.gateway.client.loop import Loop
from mqgateway.gateway.client.message import ReceivedMessage
from mqgateway.gateway.client.signals import on_sigterm

C = TypeVar("C", bound=Any)
P = ParamSpec("P")
PushCore = TypeVar("PushCore", bound=push.PushConsumer)
T = TypeVar("T")

Listener = Callable[[Sequence[ReceivedMessage], Context], Coroutine[Any, Any, Outcome]]


class Facade(Generic[C]):
    """Base of the asyncio APIs: lives in the client's loop, starts, closes."""

    def __init__(self, make: Callable[..., C], *, namesrv: str | None, settings: Mapping[str, Any]) -> None:
        settings = with_name_servers(namesrv, settings)
        self._loop = Loop.shared()
        try:
            self._core: C = self._loop.do(lambda: make(**settings))
        except ClientError as error:
            raise trimmed(error)  # noqa: B904
        self._callers: asyncio.AbstractEventLoop | None = None
        self._begun: dict[str, Coroutine[Any, Any, Any]] = {}

    @property
    def client_id(self) -> str:
        """The client id that brokers see."""
        client_id: str = self._core.client.client_id
        return client_id

    async def start(self) -> Self:
        """Begin; gives itself. Raises `BadArgument` for what was called before and never awaited, as
        `subscribe`."""
        self._check_awaited()
        self._callers = asyncio.get_running_loop()
        await self._call(self._core.start)
        return self

    async def close(self) -> None:
        """Close cleanly; repeated calls do nothing."""
        await self._call(self._core.close)

    async def __aenter__(self) -> Self:
        return await self.start()

    async def __aexit__(self, kind: type[BaseException] | None, *_: object) -> None:
        await self.close()

    def _to_await(self, what: str, work: Coroutine[Any, Any, T]) -> Coroutine[Any, Any, T]:
        """Return the work, which must have been awaited when this is started."""
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
        """Call a function of the core. An error that the client raises on purpose has no frames
        below this one."""
        try:
            return await asyncio.wrap_future(self._loop.submit(function, *args, **kwargs))
        except ClientError as error:
            raise trimmed(error)  # noqa: B904

    async def _do(self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        return await self._call(lambda: execute(function, *args, **kwargs))

    def _on_callers_loop(self, function: Callable[..., Coroutine[Any, Any, T]]) -> Callable[..., Deferred[T]]:
        """Return a coroutine function as one for the core: it runs on the caller's loop, and gives a
        Deferred."""

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


class Listening(Facade[PushCore]):
    """A consumer whose listener runs on the caller's loop, and that can be waited for."""

    def __init__(
        self, make: Callable[..., PushCore], *, namesrv: str | None, settings: Mapping[str, Any]
    ) -> None:
        self._closed = asyncio.Event()
        super().__init__(make, namesrv=namesrv, settings=settings)

    def _for_core(self, listener: Listener) -> listening.Listener:
        """Return the listener as the core calls it; one that cannot be called is refused there."""
        if not callable(listener):
            return listener
        check_coroutine_function(listener)
        return self._on_callers_loop(listener)

    async def wait(self) -> None:
        """Wait until it is closed by another task, or SIGTERM comes to a program that has nothing else to do
        then; what stands after it, as the end of `async with`, closes the consumer cleanly."""
        loop = asyncio.get_running_loop()
        with on_sigterm(lambda: loop.call_soon_threadsafe(self._closed.set)):
            await self._closed.wait()

    async def close(self) -> None:
        """Stop and leave the group."""
        await super().close()
        self._closed.set()


class Iterated(Facade[C]):
    """A consumer that is gone through one message after the other, as `async for message in consumer`.

    The loop ends when the consumer is closed, or after the message that it is at when SIGTERM comes to a
    program that has nothing else to do then; what stands after it, as the end of `async with`, closes the
    consumer. A message counts as handled when the loop asks for the next one, or ends without an exception.
    """

    def __aiter__(self) -> AsyncIterator[ReceivedMessage]:
        return self.messages()

    async def messages(self) -> AsyncIterator[ReceivedMessage]:
        """Return this consumer as an iterator."""
        with on_sigterm(self._end):
            while (hand := await self._call(self._core.take)) is not None:
                for message in hand:
                    yield message

    def _end(self) -> None:
        self._loop.post(self._core.end_iteration)

    async def __aexit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is None:
            await self._do(self._core.handled)
        await self.close()


def check_coroutine_function(listener: Callable[..., Any]) -> None:
    """Raises `BadArgument` for a function that would not run on a loop."""
    called = getattr(listener, "__call__", None)  # noqa: B004
    if not (inspect.iscoroutinefunction(listener) or inspect.iscoroutinefunction(called)):
        name = getattr(listener, "__qualname__", repr(listener))
        raise BadArgument(f"{name} is not a coroutine function: write `async def`, or use mqgateway")


def _settle(outcome: Deferred[T], future: Future[T]) -> None:
    if future.cancelled():
        outcome.errback(NotRunning("the listener was cancelled"))
        return
    error = future.exception()
    if error is None:
        outcome.callback(future.result())
    else:
        outcome.errback(error)
