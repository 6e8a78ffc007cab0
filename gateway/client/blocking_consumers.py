"""The blocking faces of consumers; see `mqgateway.gateway.client.blocking`."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, TypeVar, Unpack

from mqgateway.gateway.client import lite_pull, pull, push, simple
from mqgateway.gateway.client.allocation import Strategy
from mqgateway.gateway.client.arguments import refuse
from mqgateway.gateway.client.blocking_face import Face
from mqgateway.gateway.client.consumer import Failed, QueuesChanged
from mqgateway.gateway.client.listening import Context, Outcome
from mqgateway.gateway.client.loop import Loop
from mqgateway.gateway.client.message import PullResult, ReceivedMessage
from mqgateway.gateway.client.settings import LitePullSettings, PullSettings, PushSettings, SimpleSettings
from mqgateway.gateway.client.signals import Gate, on_sigterm
from mqgateway.gateway.client.simple import Duration
from mqgateway.gateway.client.subscriptions import Sql, Topics
from mqgateway.gateway.codec.bodies import MessageQueue

C = TypeVar("C", bound=Any)

Listener = Callable[[Sequence[ReceivedMessage], Context], Outcome]


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
        if inspect.iscoroutinefunction(listener):
            name = getattr(listener, "__qualname__", repr(listener))
            refuse("listener", listener, f"{name} is a coroutine function: write `def`, or use mqgateway.aio")
        loop = Loop.shared()
        self._closed = Gate()
        super().__init__(
            lambda **given: push.PushConsumer(
                group,
                loop,
                listener if not callable(listener) else lambda *given: self._listened(*given),
                is_ordered=is_ordered,
                strategy=strategy,
                on_queues_changed=on_queues_changed,
                on_failure=on_failure,
                **given,
            ),
            namesrv=namesrv,
            settings=settings,
        )
        self._pool = loop.pool(self._core.listeners_max, f"{group} listeners")
        self._listened = self._pool.wrap(listener)

    def subscribe(self, topic: Topics, wanted: str | Sql = "*") -> None:
        """Want messages of a topic, or of several: all, by tags (`"a || b"`), or by an expression."""
        self._call(self._core.subscribe, topic, wanted)

    def unsubscribe(self, topic: Topics) -> None:
        """Want no more of a topic, or of several."""
        self._do(self._core.unsubscribe, topic)

    def suspend(self) -> None:
        """Pull nothing more until `resume`."""
        self._do(self._core.suspend)

    def resume(self) -> None:
        """Continue to pull."""
        self._do(self._core.resume)

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


class PullConsumer(Face[pull.PullConsumer]):
    """Pulls on request."""

    def __init__(self, group: str, namesrv: str | None = None, **settings: Unpack[PullSettings]) -> None:
        super().__init__(
            lambda **given: pull.PullConsumer(group, Loop.shared(), **given),
            namesrv=namesrv,
            settings=settings,
        )

    def queues(self, topic: str) -> list[MessageQueue]:
        """The queues of a topic that can be read."""
        return self._call(self._core.queues, topic)

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
        return self._call(self._core.pull, queue, offset, count, wanted, wait=wait)

    def max_offset(self, queue: MessageQueue) -> int:
        """The offset that the next message of a queue will have."""
        return self._call(self._core.max_offset, queue)

    def min_offset(self, queue: MessageQueue) -> int:
        """The offset of the oldest message of a queue."""
        return self._call(self._core.min_offset, queue)

    def search_offset(self, queue: MessageQueue, timestamp: int | datetime) -> int:
        """The offset of the first message stored at a time or later: milliseconds since the
        epoch, or an aware datetime."""
        return self._call(self._core.search_offset, queue, timestamp)

    def committed(self, queue: MessageQueue) -> int:
        """Return the group's committed offset of a queue; -1 if there is none."""
        return self._call(self._core.committed, queue)

    def commit(self, queue: MessageQueue, offset: int) -> None:
        """The group has consumed a queue up to here."""
        self._call(self._core.commit, queue, offset)

    def view(self, topic: str, offset_message_id: str) -> ReceivedMessage:
        """The message that lies where its id says."""
        return self._call(self._core.view, topic, offset_message_id)


class Iterated(Face[C]):
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

    def subscribe(self, topic: Topics, wanted: str | Sql = "*") -> None:
        """Share the queues of a topic, or of several, with the group."""
        self._call(self._core.subscribe, topic, wanted)

    def unsubscribe(self, topic: Topics) -> None:
        """Want no more of a topic, or of several."""
        self._do(self._core.unsubscribe, topic)

    def assign(self, queues: Iterable[MessageQueue], wanted: str | Sql = "*") -> None:
        """Read these queues and no others."""
        self._do(self._core.assign, queues, wanted)

    def assignment(self) -> list[MessageQueue]:
        """The queues that are read."""
        return self._do(self._core.assignment)

    def poll(self, timeout: float | None = None) -> list[ReceivedMessage]:
        """The next messages; none when there are none within `timeout` seconds."""
        return self._call(self._core.poll, timeout)

    def pause(self, queues: Iterable[MessageQueue]) -> None:
        """Pull nothing more from these queues until `resume`."""
        self._do(self._core.pause, queues)

    def resume(self, queues: Iterable[MessageQueue]) -> None:
        """Continue to pull from them."""
        self._do(self._core.resume, queues)

    def seek(self, queue: MessageQueue, offset: int) -> None:
        """Continue with a queue at an offset."""
        self._call(self._core.seek, queue, offset)

    def seek_to_begin(self, queue: MessageQueue) -> None:
        """Continue with its oldest message."""
        self._call(self._core.seek_to_begin, queue)

    def seek_to_end(self, queue: MessageQueue) -> None:
        """Continue with new messages."""
        self._call(self._core.seek_to_end, queue)

    def commit(self, offsets: Mapping[MessageQueue, int] | None = None) -> None:
        """Commit what was polled, or these offsets."""
        self._call(self._core.commit, offsets)

    def committed(self, queue: MessageQueue) -> int:
        """Return the committed offset of a queue; -1 if there is none."""
        return self._call(self._core.committed, queue)

    def queues(self, topic: str) -> list[MessageQueue]:
        """The queues of a topic that can be read."""
        return self._call(self._core.queues, topic)

    def search_offset(self, queue: MessageQueue, timestamp: int | datetime) -> int:
        """The offset of the first message stored at a time or later: milliseconds since the
        epoch, or an aware datetime."""
        return self._call(self._core.search_offset, queue, timestamp)


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

    def subscribe(self, topic: Topics, wanted: str | Sql = "*") -> None:
        """Receive messages of a topic, or of several: all, by tags (`"a || b"`), or by an expression."""
        self._call(self._core.subscribe, topic, wanted)

    def unsubscribe(self, topic: Topics) -> None:
        """Receive no more of a topic, or of several."""
        self._do(self._core.unsubscribe, topic)

    def receive(
        self,
        max_messages: int = simple.MESSAGES_MAX,
        *,
        invisible_duration: Duration | None = None,
        timeout: Duration | None = None,
    ) -> list[ReceivedMessage]:
        """The next messages, hidden from others for `invisible_duration` seconds; none when there are none
        within `timeout` seconds."""
        return self._call(
            self._core.receive, max_messages, invisible_duration=invisible_duration, timeout=timeout
        )

    def ack(self, message: ReceivedMessage) -> None:
        """The message is done with."""
        self._call(self._core.ack, message)

    def nack(self, message: ReceivedMessage, delay: Duration | None = None) -> None:
        """The message comes again, after `delay` seconds, or a time that grows."""
        self._call(self._core.nack, message, delay)

    def change_invisible_duration(self, message: ReceivedMessage, duration: Duration) -> None:
        """Hide a message for so many seconds from now on."""
        self._call(self._core.change_invisible_duration, message, duration)
