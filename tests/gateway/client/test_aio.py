"""The asyncio face: the same names as the blocking one, awaited; listeners on the caller's loop."""

from __future__ import annotations

import asyncio
import inspect
from typing import Any

import pytest

from mqgateway.engine.tables.groups import SubscriptionGroupConfig
from mqgateway.engine.tables.topics import TopicConfig
from mqgateway.gateway.client import admin_groups, admin_names, admin_topics, aio, blocking
from mqgateway.gateway.client.aio import (
    Admin,
    Producer,
    TransactionProducer,
)
from mqgateway.gateway.client.errors import NotRunning
from mqgateway.gateway.client.message import Message, ReceivedMessage, TransactionState
from tests.support.gateway.client.cluster import NAMESRV, Cluster, queue_of
from tests.support.gateway.client.facing import here, run, until

FIRST = "CONSUME_FROM_FIRST_OFFSET"


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


@pytest.mark.parametrize(
    "name",
    ["Producer", "TransactionProducer", "PushConsumer", "PullConsumer", "LitePullConsumer", "SimpleConsumer"],
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
