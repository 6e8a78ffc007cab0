"""Consumers of the blocking and the asyncio API: listening, pulling, polling, loops, receiving."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest

from mqgateway.gateway.client.errors import NotRunning
from mqgateway.gateway.client.listening import Context
from mqgateway.gateway.client.message import Message, ReceivedMessage
from tests.support.gateway.client.apis import Api, each_api
from tests.support.gateway.client.cluster import NAMESRV, Cluster, bodies, queue_of
from tests.support.gateway.client.facing import here, run, until

FIRST = "CONSUME_FROM_FIRST_OFFSET"


async def send(api: Api, cluster: Cluster, count: int) -> str:
    """Send messages `0`, `1` and so on; the id of the first by its offset."""
    async with api.Producer("P", NAMESRV, **here(cluster)) as producer:
        sent = await producer.send_batch([Message("T", f"{number}") for number in range(count)])
    first: str = sent[0].offset_message_id.partition(",")[0]
    return first


@each_api
def test_listening_suspending_and_leaving(monkeypatch: pytest.MonkeyPatch, api: Api) -> None:
    async def work(cluster: Cluster) -> None:
        got: list[bytes] = []
        failures = [ValueError("not yet")]
        loop = asyncio.get_running_loop()

        def listen(messages: Sequence[ReceivedMessage], context: Context) -> None:
            assert asyncio.get_running_loop() is loop
            if failures:
                raise failures.pop()
            got.extend(bodies(messages))

        settings = {**here(cluster), "consume_from_where": FIRST}
        consumer = api.PushConsumer("G", api.listener(listen), NAMESRV, **settings)
        await consumer.subscribe("T")
        async with consumer:
            await send(api, cluster, 1)
            await until(cluster, lambda: got == [b"0"])  # from the retry topic
            await consumer.suspend()
            await consumer.resume()
            await consumer.unsubscribe("T")
        await consumer.wait()
        assert "not yet" in cluster.watch.complaints.pop()

    run(monkeypatch, work)


@each_api
def test_pulling(monkeypatch: pytest.MonkeyPatch, api: Api) -> None:
    async def work(cluster: Cluster) -> None:
        message_id = await send(api, cluster, 1)
        async with api.PullConsumer("G", NAMESRV, **here(cluster)) as consumer:
            (queue,) = await consumer.queues("T")
            assert bodies((await consumer.pull(queue, 0)).messages) == [b"0"]
            assert (await consumer.min_offset(queue), await consumer.max_offset(queue)) == (0, 1)
            assert await consumer.search_offset(queue, 0) == 0
            await consumer.commit(queue, 1)
            assert await consumer.committed(queue) == 1
            assert (await consumer.view("T", message_id)).body == b"0"

    run(monkeypatch, work)


@each_api
def test_polling(monkeypatch: pytest.MonkeyPatch, api: Api) -> None:
    async def work(cluster: Cluster) -> None:
        await send(api, cluster, 5)
        queue = queue_of("T")
        settings = {**here(cluster), "consume_from_where": FIRST}
        consumer = api.LitePullConsumer("G", NAMESRV, **settings)
        await consumer.subscribe("T")
        async with consumer:
            assert len(await consumer.poll(20)) == 5
            assert await consumer.assignment() == [queue] == await consumer.queues("T")
            await consumer.pause([queue])
            await consumer.resume([queue])
            await consumer.seek(queue, 3)
            stream = aiter(consumer.messages())
            assert [(await anext(stream)).body for _ in range(2)] == [b"3", b"4"]
            await consumer.seek_to_begin(queue)
            await consumer.seek_to_end(queue)
            await consumer.commit()
            assert await consumer.committed(queue) == 5 and await consumer.search_offset(queue, 0) == 0
            await consumer.unsubscribe("T")
        chosen = api.LitePullConsumer("H", NAMESRV, **settings)
        await chosen.assign([queue])
        async with chosen:
            assert len(await chosen.poll(20)) == 5

    run(monkeypatch, work)


@each_api
def test_loop_commits_what_it_handled_and_not_what_failed(monkeypatch: pytest.MonkeyPatch, api: Api) -> None:
    async def loop(cluster: Cluster, last: bytes, fails: bool) -> list[bytes]:
        settings = {**here(cluster), "consume_from_where": FIRST}
        consumer = api.LitePullConsumer("G", NAMESRV, **settings)
        await consumer.subscribe(["T"])
        seen = []
        async with consumer:
            async for message in consumer:
                seen.append(message.body)
                if message.body == last:
                    if fails:
                        raise KeyError("it cannot be handled")
                    break
        return seen

    async def work(cluster: Cluster) -> None:
        await send(api, cluster, 5)
        with pytest.raises(KeyError):
            await loop(cluster, b"2", fails=True)
        assert await loop(cluster, b"3", fails=False) == [b"2", b"3"]
        assert await loop(cluster, b"4", fails=False) == [b"4"]

    run(monkeypatch, work)


@each_api
def test_simple_consumer_receives_and_settles(monkeypatch: pytest.MonkeyPatch, api: Api) -> None:
    async def work(cluster: Cluster) -> None:
        await send(api, cluster, 3)
        settings = {**here(cluster), "consume_from_where": FIRST}
        consumer = api.SimpleConsumer("G", NAMESRV, **settings)
        await consumer.subscribe("T")
        async with consumer:
            first, second, third = await consumer.receive(timeout=3)
            await consumer.ack(first)
            await consumer.nack(second, 5)
            await consumer.change_invisible_duration(third, 60)
            loop = aiter(consumer)
            for expected in (second, third):
                message = await anext(loop)
                assert message.body == expected.body
                await consumer.ack(message)
            await consumer.unsubscribe("T")

    run(monkeypatch, work)


@each_api
@pytest.mark.parametrize("kind", ["LitePullConsumer", "SimpleConsumer"])
def test_loop_over_a_closed_consumer_is_empty(monkeypatch: pytest.MonkeyPatch, api: Api, kind: str) -> None:
    async def work(cluster: Cluster) -> None:
        consumer = getattr(api, kind)("G", NAMESRV, **here(cluster))
        with pytest.raises(NotRunning):
            await anext(aiter(consumer))
        async with consumer:
            pass
        assert [one async for one in consumer] == [] == [one async for one in consumer.messages()]

    run(monkeypatch, work)
