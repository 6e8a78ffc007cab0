"""The asyncio faces of consumers: listening, pulling, polling, loops, receiving, SIGTERM."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest

from mqgateway.gateway.client.aio import (
    LitePullConsumer,
    Producer,
    PullConsumer,
    PushConsumer,
    SimpleConsumer,
)
from mqgateway.gateway.client.listening import Context
from mqgateway.gateway.client.message import Message, ReceivedMessage
from tests.support.gateway.client.cluster import NAMESRV, Cluster, bodies, queue_of
from tests.support.gateway.client.facing import here, run, until

FIRST = "CONSUME_FROM_FIRST_OFFSET"


def test_listeners_run_on_the_callers_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    async def work(cluster: Cluster) -> None:
        got: list[bytes] = []
        failures = [ValueError("not yet")]

        async def listener(messages: Sequence[ReceivedMessage], context: Context) -> None:
            assert asyncio.get_running_loop() is loop
            if failures:
                raise failures.pop()
            got.extend(one.body for one in messages)

        loop = asyncio.get_running_loop()
        consumer = PushConsumer("G", listener, NAMESRV, **here(cluster), consume_from_where=FIRST)
        await consumer.subscribe("T")
        async with consumer:
            async with Producer("P", NAMESRV, **here(cluster)) as producer:
                await producer.send(Message("T", "a"))
            await until(cluster, lambda: got == [b"a"])  # from the retry topic
            await consumer.suspend()
            await consumer.resume()
            await consumer.unsubscribe("T")
        await consumer.wait()
        assert "not yet" in cluster.watch.complaints.pop()

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


def test_pulling_and_polling(monkeypatch: pytest.MonkeyPatch) -> None:
    async def work(cluster: Cluster) -> None:
        async with Producer("P", NAMESRV, **here(cluster)) as producer:
            sent = await producer.send(Message("T", "a"))
        queue = queue_of("T")
        async with PullConsumer("G", NAMESRV, **here(cluster)) as pull:
            assert await pull.queues("T") == [queue]
            assert bodies((await pull.pull(queue, 0)).messages) == [b"a"]
            assert (await pull.min_offset(queue), await pull.max_offset(queue)) == (0, 1)
            assert await pull.search_offset(queue, 0) == 0
            await pull.commit(queue, 0)
            assert await pull.committed(queue) == 0
            assert (await pull.view("T", sent.offset_message_id)).body == b"a"
        lite = LitePullConsumer("G", NAMESRV, **here(cluster))
        await lite.subscribe("T")
        async with lite:
            async for message in lite.messages():
                assert message.body == b"a"
                break
            assert await lite.assignment() == [queue] == await lite.queues("T")
            await lite.pause([queue])
            await lite.resume([queue])
            await lite.seek_to_begin(queue)
            await lite.seek_to_end(queue)
            await lite.seek(queue, 0)
            assert bodies(await lite.poll(20)) == [b"a"]
            await lite.commit()
            assert await lite.committed(queue) == 1 and await lite.search_offset(queue, 0) == 0
            await lite.unsubscribe("T")
        chosen = LitePullConsumer("H", NAMESRV, **here(cluster), consume_from_where=FIRST)
        await chosen.assign([queue])
        async with chosen:
            assert bodies(await chosen.poll(20)) == [b"a"]

    run(monkeypatch, work)


def test_loops_and_acknowledgements(monkeypatch: pytest.MonkeyPatch) -> None:
    async def work(cluster: Cluster) -> None:
        async with Producer("P", NAMESRV, **here(cluster)) as producer:
            await producer.send_batch([Message("T", f"{number}") for number in range(4)])
        simple = SimpleConsumer("S", NAMESRV, **here(cluster), consume_from_where=FIRST)
        await simple.subscribe(["T"])
        async with simple:
            (first,) = await simple.receive(1, timeout=3)
            await simple.nack(first, 5)
            got = []
            async for message in simple:
                got.append(message.text())
                await simple.change_invisible_duration(message, 60)
                await simple.ack(message)
                if len(got) == 4:
                    break
            assert sorted(got) == ["0", "1", "2", "3"]
            await simple.unsubscribe(["T"])
        for expected in ([b"0", b"1"], [b"2", b"3"]):
            lite = LitePullConsumer("L", NAMESRV, **here(cluster), consume_from_where=FIRST)
            await lite.subscribe(["T"])
            seen = []
            async with lite:
                async for message in lite:
                    seen.append(message.body)
                    if len(seen) == 2:
                        break
            assert seen == expected

    run(monkeypatch, work)
