"""The base of the asyncio APIs: coroutine functions as listeners, what was never awaited, errors."""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Sequence
from typing import Any

import pytest

from mqgateway.gateway.client.aio import (
    LitePullConsumer,
    Producer,
    PushConsumer,
    TransactionProducer,
)
from mqgateway.gateway.client.errors import BadArgument, NotRunning
from mqgateway.gateway.client.listening import Context
from mqgateway.gateway.client.message import Message, ReceivedMessage, TransactionState
from tests.support.gateway.client.cluster import NAMESRV, Cluster, queue_of
from tests.support.gateway.client.facing import here, run, until

FIRST = "CONSUME_FROM_FIRST_OFFSET"


async def coroutine_listener(messages: Sequence[ReceivedMessage], context: Context) -> None: ...


def plain_listener(messages: Sequence[ReceivedMessage], context: Context) -> None: ...


class CallableListener:
    async def __call__(self, messages: Sequence[ReceivedMessage], context: Context) -> None: ...


def test_only_coroutine_functions_can_listen(monkeypatch: pytest.MonkeyPatch) -> None:
    class Plain:
        def execute(self, message: Message, argument: Any) -> TransactionState:
            return TransactionState.COMMIT

        async def check(self, message: ReceivedMessage) -> TransactionState:
            return TransactionState.COMMIT

    async def work(cluster: Cluster) -> None:
        with pytest.raises(BadArgument, match="plain_listener is not a coroutine function"):
            PushConsumer("G", plain_listener, NAMESRV, **here(cluster))  # type: ignore[arg-type]
        with pytest.raises(BadArgument, match="execute is not a coroutine function"):
            TransactionProducer("P", Plain(), NAMESRV, **here(cluster))  # type: ignore[arg-type]
        for listener in (CallableListener(), functools.partial(coroutine_listener)):
            consumer = PushConsumer("G", listener, NAMESRV, **here(cluster))
            await consumer.subscribe("T")
            async with consumer:
                pass

    run(monkeypatch, work)


@pytest.mark.filterwarnings("error::RuntimeWarning", "error::pytest.PytestUnraisableExceptionWarning")
def test_unawaited_call_is_an_error_at_the_start(monkeypatch: pytest.MonkeyPatch) -> None:
    async def work(cluster: Cluster) -> None:
        push = PushConsumer("G", coroutine_listener, NAMESRV, **here(cluster))
        await push.subscribe("T")
        push.subscribe("U")  # type: ignore[unused-coroutine]
        with pytest.raises(BadArgument, match=r"subscribe\('U'\) was not awaited"):
            await push.start()
        lite = LitePullConsumer("G", NAMESRV, **here(cluster))
        lite.assign([queue_of("T")])  # type: ignore[unused-coroutine]
        with pytest.raises(BadArgument, match=r"assign.* was not awaited"):
            await lite.start()
        tasks = PushConsumer("G", coroutine_listener, NAMESRV, **here(cluster))
        await asyncio.gather(tasks.subscribe("T"), asyncio.create_task(tasks.subscribe("U")))
        async with tasks:
            await tasks.subscribe("V")
        with pytest.raises(BadArgument, match="no subscription"):
            await PushConsumer("G", coroutine_listener, NAMESRV, **here(cluster)).start()

    run(monkeypatch, work)


def test_a_listener_needs_a_start(monkeypatch: pytest.MonkeyPatch) -> None:
    async def work(cluster: Cluster) -> None:
        async def listener(*_: object) -> None: ...

        consumer = PushConsumer("G", listener, NAMESRV, **here(cluster))
        with pytest.raises(NotRunning):
            consumer._on_callers_loop(listener)()

    run(monkeypatch, work)


def test_a_listener_that_is_cancelled_is_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    async def work(cluster: Cluster) -> None:
        got: list[int] = []

        async def listener(messages: Sequence[ReceivedMessage], context: Context) -> None:
            got.append(messages[0].reconsume_times)
            if len(got) == 1:
                raise asyncio.CancelledError

        consumer = PushConsumer("G", listener, NAMESRV, **here(cluster), consume_from_where=FIRST)
        await consumer.subscribe("T")
        async with consumer, Producer("P", NAMESRV, **here(cluster)) as producer:
            await producer.send(Message("T", "a"))
            await until(cluster, lambda: got == [0, 1])
        cluster.watch.complaints.clear()

    run(monkeypatch, work)
