"""The asyncio faces of consumers; see `mqgateway.gateway.client.aio`."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, TypeVar, Unpack

from mqgateway.gateway.client import lite_pull, pull, push, simple
from mqgateway.gateway.client.aio_face import Face, check_coroutine_function
from mqgateway.gateway.client.allocation import Strategy
from mqgateway.gateway.client.consumer import Failed, QueuesChanged
from mqgateway.gateway.client.listening import Context, Outcome
from mqgateway.gateway.client.loop import Loop
from mqgateway.gateway.client.message import PullResult, ReceivedMessage
from mqgateway.gateway.client.settings import LitePullSettings, PullSettings, PushSettings, SimpleSettings
from mqgateway.gateway.client.signals import on_sigterm
from mqgateway.gateway.client.simple import Duration
from mqgateway.gateway.client.subscriptions import Sql, Topics
from mqgateway.gateway.codec.bodies import MessageQueue

C = TypeVar("C", bound=Any)

Listener = Callable[[Sequence[ReceivedMessage], Context], Coroutine[Any, Any, Outcome]]


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
        if callable(listener):
            check_coroutine_function(listener)
        self._closed = asyncio.Event()
        super().__init__(
            lambda **given: push.PushConsumer(
                group,
                Loop.shared(),
                self._on_callers_loop(listener) if callable(listener) else listener,
                is_ordered=is_ordered,
                strategy=strategy,
                on_queues_changed=on_queues_changed,
                on_failure=on_failure,
                **given,
            ),
            namesrv=namesrv,
            settings=settings,
        )

    def subscribe(self, topic: Topics, wanted: str | Sql = "*") -> Coroutine[Any, Any, None]:
        """Want messages of a topic, or of several: all, by tags (`"a || b"`), or by an expression."""
        work = self._call(self._core.subscribe, topic, wanted)
        return self._to_await(f"subscribe({topic!r})", work)

    async def unsubscribe(self, topic: Topics) -> None:
        """Want no more of a topic, or of several."""
        await self._do(self._core.unsubscribe, topic)

    async def suspend(self) -> None:
        """Pull nothing more until `resume`."""
        await self._do(self._core.suspend)

    async def resume(self) -> None:
        """Continue to pull."""
        await self._do(self._core.resume)

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


class PullConsumer(Face[pull.PullConsumer]):
    """Pulls on request."""

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

    async def search_offset(self, queue: MessageQueue, timestamp: int | datetime) -> int:
        """The offset of the first message stored at a time or later: milliseconds since the
        epoch, or an aware datetime."""
        return await self._call(self._core.search_offset, queue, timestamp)

    async def committed(self, queue: MessageQueue) -> int:
        """Return the group's committed offset of a queue; -1 if there is none."""
        return await self._call(self._core.committed, queue)

    async def commit(self, queue: MessageQueue, offset: int) -> None:
        """The group has consumed a queue up to here."""
        await self._call(self._core.commit, queue, offset)

    async def view(self, topic: str, offset_message_id: str) -> ReceivedMessage:
        """The message that lies where its id says."""
        return await self._call(self._core.view, topic, offset_message_id)


class Iterated(Face[C]):
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


class LitePullConsumer(Iterated[lite_pull.LitePullConsumer]):
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

    def subscribe(self, topic: Topics, wanted: str | Sql = "*") -> Coroutine[Any, Any, None]:
        """Share the queues of a topic, or of several, with the group."""
        work = self._call(self._core.subscribe, topic, wanted)
        return self._to_await(f"subscribe({topic!r})", work)

    async def unsubscribe(self, topic: Topics) -> None:
        """Want no more of a topic, or of several."""
        await self._do(self._core.unsubscribe, topic)

    def assign(self, queues: Iterable[MessageQueue], wanted: str | Sql = "*") -> Coroutine[Any, Any, None]:
        """Read these queues and no others."""
        return self._to_await("assign(...)", self._do(self._core.assign, queues, wanted))

    async def assignment(self) -> list[MessageQueue]:
        """The queues that are read."""
        return await self._do(self._core.assignment)

    async def poll(self, timeout: float | None = None) -> list[ReceivedMessage]:
        """The next messages; none when there are none within `timeout` seconds."""
        return await self._call(self._core.poll, timeout)

    async def pause(self, queues: Iterable[MessageQueue]) -> None:
        """Pull nothing more from these queues until `resume`."""
        await self._do(self._core.pause, queues)

    async def resume(self, queues: Iterable[MessageQueue]) -> None:
        """Continue to pull from them."""
        await self._do(self._core.resume, queues)

    async def seek(self, queue: MessageQueue, offset: int) -> None:
        """Continue with a queue at an offset."""
        await self._call(self._core.seek, queue, offset)

    async def seek_to_begin(self, queue: MessageQueue) -> None:
        """Continue with its oldest message."""
        await self._call(self._core.seek_to_begin, queue)

    async def seek_to_end(self, queue: MessageQueue) -> None:
        """Continue with new messages."""
        await self._call(self._core.seek_to_end, queue)

    async def commit(self, offsets: Mapping[MessageQueue, int] | None = None) -> None:
        """Commit what was polled, or these offsets."""
        await self._call(self._core.commit, offsets)

    async def committed(self, queue: MessageQueue) -> int:
        """Return the committed offset of a queue; -1 if there is none."""
        return await self._call(self._core.committed, queue)

    async def queues(self, topic: str) -> list[MessageQueue]:
        """The queues of a topic that can be read."""
        return await self._call(self._core.queues, topic)

    async def search_offset(self, queue: MessageQueue, timestamp: int | datetime) -> int:
        """The offset of the first message stored at a time or later: milliseconds since the
        epoch, or an aware datetime."""
        return await self._call(self._core.search_offset, queue, timestamp)


class SimpleConsumer(Iterated[simple.SimpleConsumer]):
    """Receives messages, and acknowledges each."""

    def __init__(
        self,
        group: str,
        namesrv: str | None = None,
        *,
        is_ordered: bool = False,
        **settings: Unpack[SimpleSettings],
    ) -> None:
        super().__init__(
            lambda **given: simple.SimpleConsumer(group, Loop.shared(), is_ordered=is_ordered, **given),
            namesrv=namesrv,
            settings=settings,
        )

    def subscribe(self, topic: Topics, wanted: str | Sql = "*") -> Coroutine[Any, Any, None]:
        """Receive messages of a topic, or of several: all, by tags (`"a || b"`), or by an expression."""
        work = self._call(self._core.subscribe, topic, wanted)
        return self._to_await(f"subscribe({topic!r})", work)

    async def unsubscribe(self, topic: Topics) -> None:
        """Receive no more of a topic, or of several."""
        await self._do(self._core.unsubscribe, topic)

    async def receive(
        self,
        max_messages: int = simple.MESSAGES_MAX,
        *,
        invisible_duration: Duration | None = None,
        timeout: Duration | None = None,
    ) -> list[ReceivedMessage]:
        """The next messages, hidden from others for `invisible_duration` seconds; none when there are none
        within `timeout` seconds."""
        return await self._call(
            self._core.receive, max_messages, invisible_duration=invisible_duration, timeout=timeout
        )

    async def ack(self, message: ReceivedMessage) -> None:
        """The message is done with."""
        await self._call(self._core.ack, message)

    async def nack(self, message: ReceivedMessage, delay: Duration | None = None) -> None:
        """The message comes again, after `delay` seconds, or a time that grows."""
        await self._call(self._core.nack, message, delay)

    async def change_invisible_duration(self, message: ReceivedMessage, duration: Duration) -> None:
        """Hide a message for so many seconds from now on."""
        await self._call(self._core.change_invisible_duration, message, duration)
