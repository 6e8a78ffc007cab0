"""Producers and administration of the blocking and the asyncio API: each method does what the core's does."""

from __future__ import annotations

import asyncio
import inspect
from types import SimpleNamespace
from typing import Any

import pytest

from mqgateway.engine.tables.groups import SubscriptionGroupConfig
from mqgateway.engine.tables.topics import TopicConfig
from mqgateway.gateway.client import admin_groups, admin_names, admin_topics, aio, blocking, deferred
from mqgateway.gateway.client.errors import NotRunning
from mqgateway.gateway.client.message import Message, ReceivedMessage, TransactionState
from mqgateway.gateway.client.selectors import by_hash
from tests.support.gateway.client.apis import Api, each_api
from tests.support.gateway.client.cluster import NAMESRV, Cluster, queue_of
from tests.support.gateway.client.facing import here, run, until

INSIDE = {
    # Methods that the client calls.
    *("check_transaction", "commit_offsets", "consume_directly", "consumed", "consumer_data", "lock"),
    *("rebalance", "report_failure", "reset_offsets", "restore_topics", "route_known", "running_info"),
    *("stored_offset", "topics", "where_to_begin"),
    # Methods that loops are made of.
    *("end_iteration", "handled", "take"),
}


@each_api
def test_sending_in_every_way(monkeypatch: pytest.MonkeyPatch, api: Api) -> None:
    async def work(cluster: Cluster) -> None:
        cluster.make_topic("Two", queues=2)
        first, second = queue_of("Two", 0), queue_of("Two", 1)
        async with api.Producer("P", NAMESRV, **here(cluster)) as producer:
            assert producer.client_id.startswith("10.0.0.2@")
            assert await producer.queues("Two") == [first, second]
            assert (await producer.send(Message("Two", "a"), queue=second)).queue == second
            await producer.send(Message("Two", "b"), selector=by_hash, argument="key", timeout=5)
            assert (await producer.send(Message("T", "c"))).queue_offset == 0
            await asyncio.gather(*(producer.send(Message("T", "d")) for _ in range(3)))
            assert len(await producer.send_batch([Message("T", "e")])) == 1
            await producer.send_oneway(Message("T", "f"))
            handle = (await producer.send(Message("T", "g", delay_millis=60_000))).recall_handle
            assert handle and await producer.recall("T", handle)
        assert sorted(cluster.everything("Two", 2)) == [b"a", b"b"]
        assert cluster.stored("T") == [b"c", b"d", b"d", b"d", b"e", b"f"]
        with pytest.raises(NotRunning):
            await producer.send(Message("T", "x"))

    run(monkeypatch, work, recall_message_enable=True)


@each_api
def test_transaction_is_checked_by_its_listener(monkeypatch: pytest.MonkeyPatch, api: Api) -> None:
    checked: list[bytes] = []

    def execute(message: Message, argument: Any) -> TransactionState:
        return TransactionState.UNKNOWN

    def check(message: ReceivedMessage) -> TransactionState:
        checked.append(message.body)
        return TransactionState.COMMIT

    async def work(cluster: Cluster) -> None:
        listener = SimpleNamespace(execute=api.listener(execute), check=api.listener(check))
        async with api.TransactionProducer("P", listener, NAMESRV, **here(cluster)) as producer:
            sent = producer._core.send_in_transaction(Message("T", "a"))
            await until(cluster, lambda: sent.called)
            await until(cluster, lambda: cluster.stored("T") == [b"a"])
        assert checked == [b"a"]

    run(monkeypatch, work, transaction_time_out=2000, transaction_check_interval=2000)


@each_api
def test_administration(monkeypatch: pytest.MonkeyPatch, api: Api) -> None:
    async def work(cluster: Cluster) -> None:
        async with api.Admin(NAMESRV, **here(cluster)) as admin:
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


def public(kind: type) -> dict[str, list[str]]:
    """The parameters of the methods that programs call."""
    return {
        name: list(inspect.signature(function).parameters)
        for name, function in inspect.getmembers(kind, inspect.isfunction)
        if not name.startswith("_")
    }


@pytest.mark.parametrize("name", sorted(set(deferred.__all__) & set(blocking.__all__) - {"Message"}))
def test_apis_have_the_methods_of_the_core(name: str) -> None:
    core, waiting, awaiting = (public(getattr(module, name)) for module in (deferred, blocking, aio))
    assert set(core) - INSIDE <= set(waiting)
    only_blocking = {"send_async", "send_batch_async"}  # asyncio has tasks for that
    for method in (set(waiting) | set(awaiting)) - only_blocking - {"wait"}:
        assert waiting[method] == awaiting[method], method
