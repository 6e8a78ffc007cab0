"""The asyncio face: the same names as the blocking one, awaited; listeners on the caller's loop."""

from __future__ import annotations

import asyncio
import functools
import inspect
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import pytest

from mqgateway.engine.tables.groups import SubscriptionGroupConfig
from mqgateway.engine.tables.topics import TopicConfig
from mqgateway.gateway.client import admin_groups, admin_names, admin_topics, aio, blocking
from mqgateway.gateway.client.aio import (
    Admin,
    LitePullConsumer,
    Producer,
    PullConsumer,
    PushConsumer,
    TransactionProducer,
)
from mqgateway.gateway.client.errors import BadArgument, NotRunning
from mqgateway.gateway.client.listening import Context
from mqgateway.gateway.client.message import Message, ReceivedMessage, TransactionState
from tests.support.gateway.client.cluster import NAMESRV, Cluster, bodies, queue_of
from tests.support.gateway.client.facing import faced, here

FIRST = "CONSUME_FROM_FIRST_OFFSET"


def run(monkeypatch: pytest.MonkeyPatch, work: Callable[[Cluster], Awaitable[None]], **chosen: Any) -> None:
    """Run a coroutine function on an asyncio loop of its own, with a cluster beside it."""

    async def main() -> None:
        with faced(monkeypatch, **chosen) as cluster:
            cluster.make_topic("T", queues=1)
            await work(cluster)

    asyncio.run(main())


async def until(cluster: Cluster, condition: Callable[[], object]) -> None:
    """Let both kinds of time pass until something holds."""
    for _ in range(200):
        if condition():
            return
        cluster.settle(0.5)
        await asyncio.sleep(0)
    raise AssertionError("it did not come about")


def test_sending_in_every_way(monkeypatch: pytest.MonkeyPatch) -> None:
    async def work(cluster: Cluster) -> None:
        async with Producer("P", NAMESRV, **here(cluster)) as producer:
            assert producer.client_id.startswith("10.0.0.2@")
            assert await producer.queues("T") == [queue_of("T")]
            assert (await producer.send(Message("T", "a"))).queue_offset == 0
            await asyncio.gather(*(producer.send(Message("T", "b")) for _ in range(3)))
            assert len(await producer.send_batch([Message("T", "c")])) == 1
            await producer.send_oneway(Message("T", "d"))
            handle = (await producer.send(Message("T", "e", delay_millis=60_000))).recall_handle
            assert handle and await producer.recall("T", handle)
        assert cluster.stored("T") == [b"a", b"b", b"b", b"b", b"c", b"d"]
        with pytest.raises(NotRunning):
            await producer.send(Message("T", "x"))

    run(monkeypatch, work, recall_message_enable=True)


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


def test_transactions_ask_on_the_callers_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    class Listener:
        def __init__(self) -> None:
            self.checked = 0

        async def execute(self, message: Message, argument: Any) -> TransactionState:
            return TransactionState.UNKNOWN

        async def check(self, message: ReceivedMessage) -> TransactionState:
            self.checked += 1
            return TransactionState.COMMIT

    async def work(cluster: Cluster) -> None:
        listener = Listener()
        producer = TransactionProducer("P", listener, NAMESRV, **here(cluster))
        await producer.start()
        core = producer._core.send_in_transaction(Message("T", "a"))
        await until(cluster, lambda: core.called)
        await until(cluster, lambda: cluster.stored("T") == [b"a"])
        assert listener.checked == 1
        await producer.close()

    run(monkeypatch, work, transaction_time_out=2000, transaction_check_interval=2000)


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
        consumer = PushConsumer("G", plain_listener, NAMESRV, **here(cluster))  # type: ignore[arg-type]
        await consumer.subscribe("T")
        with pytest.raises(BadArgument, match="plain_listener is no coroutine function"):
            await consumer.start()
        producer = TransactionProducer("P", Plain(), NAMESRV, **here(cluster))  # type: ignore[arg-type]
        with pytest.raises(BadArgument, match="execute is no coroutine function"):
            await producer.start()
        for listener in (CallableListener(), functools.partial(coroutine_listener)):
            consumer = PushConsumer("G", listener, NAMESRV, **here(cluster))
            await consumer.subscribe("T")
            async with consumer:
                pass

    run(monkeypatch, work)


@pytest.mark.filterwarnings("error::RuntimeWarning", "error::pytest.PytestUnraisableExceptionWarning")
def test_what_was_never_awaited_is_an_error_at_the_start(monkeypatch: pytest.MonkeyPatch) -> None:
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


@pytest.mark.parametrize(
    "name", ["Producer", "TransactionProducer", "PushConsumer", "PullConsumer", "LitePullConsumer"]
)
def test_both_faces_have_the_same_methods(name: str) -> None:
    only_blocking = {"send_async", "send_batch_async"}  # awaiting is how it is done here
    faces = [getattr(module, name) for module in (blocking, aio)]
    public = [
        {
            method: list(inspect.signature(function).parameters)
            for method, function in inspect.getmembers(face, inspect.isfunction)
            if not method.startswith("_") and method not in only_blocking and method != "wait"
        }
        for face in faces
    ]
    assert public[0] == public[1]


def test_administration(monkeypatch: pytest.MonkeyPatch) -> None:
    async def work(cluster: Cluster) -> None:
        async with Admin(NAMESRV, **here(cluster)) as admin:
            await admin.create_topic(TopicConfig("U", 1, 1))
            cluster.settle(1.0)
            await admin.create_group(SubscriptionGroupConfig("G"))
            assert list(await admin.brokers()) == ["broker-a"]
            assert await admin.queues("U") == [queue_of("U")]
            assert await admin.ask(admin_topics.config("U"), "broker-a") == TopicConfig("U", 1, 1)
            assert "G" in (await admin.ask_brokers(admin_groups.all_configs()))["broker-a"]
            assert await admin.ask_name_server(admin_names.route("U")) is not None
            assert "U" in (await admin.ask_name_servers(admin_names.all_topics()))[NAMESRV]
            assert await admin.reset_offsets("G", "U", admin_groups.LATEST) == {queue_of("U"): 0}
            await admin.delete_group("G")
            await admin.delete_topic("U")
            assert await admin.ask_name_server(admin_names.route("U")) is None

    run(monkeypatch, work)
