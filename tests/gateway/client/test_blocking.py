"""The blocking face: each method does what the core's does."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import Any

import pytest

from mqgateway.engine.tables.groups import SubscriptionGroupConfig
from mqgateway.engine.tables.topics import TopicConfig
from mqgateway.gateway.client import admin_groups, admin_names, admin_topics, blocking
from mqgateway.gateway.client.blocking import (
    Admin,
    Producer,
    PushConsumer,
    TransactionProducer,
)
from mqgateway.gateway.client.errors import BadArgument, NotRunning
from mqgateway.gateway.client.listening import Context
from mqgateway.gateway.client.message import Message, ReceivedMessage, TransactionState
from mqgateway.gateway.client.selectors import by_hash
from tests.support.gateway.client.cluster import NAMESRV, queue_of
from tests.support.gateway.client.facing import faced, here

FIRST = "CONSUME_FROM_FIRST_OFFSET"


def test_sending_in_every_way(monkeypatch: pytest.MonkeyPatch) -> None:
    with faced(monkeypatch, recall_message_enable=True) as cluster:
        cluster.make_topic("T", queues=2)
        with Producer("P", NAMESRV, **here(cluster)) as producer:
            assert producer.client_id.startswith("10.0.0.2@")
            assert producer.queues("T") == [queue_of("T", 0), queue_of("T", 1)]
            assert producer.send(Message("T", "a"), queue=queue_of("T", 1)).queue == queue_of("T", 1)
            producer.send(Message("T", "b"), selector=by_hash, argument="key", timeout=5)
            assert producer.send_async(Message("T", "c")).result().queue.topic == "T"
            assert len(producer.send_batch([Message("T", "d")])) == 1
            assert len(producer.send_batch_async([Message("T", "e")]).result()) == 1
            producer.send_oneway(Message("T", "f"))
            handle = producer.send(Message("T", "g", delay_millis=60_000)).recall_handle
            assert handle and producer.recall("T", handle)
            cluster.settle()
        assert sorted(cluster.everything("T", 2)) == [b"a", b"b", b"c", b"d", b"e", b"f"]
        with pytest.raises(NotRunning):
            producer.send(Message("T", "x"))


def test_a_request_gets_its_reply(monkeypatch: pytest.MonkeyPatch) -> None:
    with faced(monkeypatch) as cluster:
        cluster.make_topic("T", queues=1)
        replier = Producer("Repliers", NAMESRV, **here(cluster)).start()

        def answer(messages: Sequence[ReceivedMessage], context: Context) -> None:
            reply = messages[0].reply(b"re: " + messages[0].body)
            cluster.net.callLater(0, lambda: replier._core.send(reply))

        consumer = PushConsumer("G", answer, NAMESRV, **here(cluster), consume_from_where=FIRST)
        consumer.subscribe("T")
        with consumer, Producer("Askers", NAMESRV, **here(cluster)) as producer:
            reply = producer.request(Message("T", "hello"), timeout=20)
            assert reply.body == b"re: hello"
        replier.close()


def test_transactions(monkeypatch: pytest.MonkeyPatch) -> None:
    class Listener:
        def execute(self, message: Message, argument: Any) -> TransactionState:
            return TransactionState(argument)

        def check(self, message: ReceivedMessage) -> TransactionState:
            return TransactionState.COMMIT

    with faced(monkeypatch) as cluster:
        cluster.make_topic("T", queues=1)
        with TransactionProducer("P", Listener(), NAMESRV, **here(cluster)) as producer:
            result = producer.send_in_transaction(Message("T", "a"), TransactionState.COMMIT)
            assert result.state is TransactionState.COMMIT
            cluster.settle()
            assert cluster.stored("T") == [b"a"]


def test_wrong_settings_are_refused_when_it_is_made(monkeypatch: pytest.MonkeyPatch) -> None:
    with faced(monkeypatch), pytest.raises(BadArgument):
        Producer("P", NAMESRV, no_such_thing=1)


@pytest.mark.parametrize(
    "name", ["Producer", "PushConsumer", "PullConsumer", "LitePullConsumer", "SimpleConsumer"]
)
def test_the_face_has_what_the_core_has(name: str) -> None:
    from mqgateway.gateway.client import deferred

    core, face = getattr(deferred, name), getattr(blocking, name)
    inside = {
        # What a client wants of its members.
        *("check_transaction", "commit_offsets", "consume_directly", "consumed", "consumer_data", "lock"),
        *("rebalance", "report_failure", "reset_offsets", "restore_topics", "route_known", "running_info"),
        *("stored_offset", "topics", "where_to_begin"),
        # What loops are made of.
        *("end_iteration", "handled", "take"),
    }
    public = {
        method
        for method, _ in inspect.getmembers(core, inspect.isfunction)
        if not method.startswith("_") and method not in inside
    }
    assert public <= {method for method, _ in inspect.getmembers(face, inspect.isfunction)}


def test_administration(monkeypatch: pytest.MonkeyPatch) -> None:
    with faced(monkeypatch) as cluster, Admin(NAMESRV, **here(cluster)) as admin:
        admin.create_topic(TopicConfig("T", 1, 1))
        cluster.settle(1.0)
        admin.create_group(SubscriptionGroupConfig("G"))
        assert list(admin.brokers()) == ["broker-a"] and admin.queues("T") == [queue_of("T")]
        assert admin.ask(admin_topics.config("T"), "broker-a") == TopicConfig("T", 1, 1)
        assert "G" in admin.ask_brokers(admin_groups.all_configs())["broker-a"]
        assert admin.ask_name_server(admin_names.route("T")) is not None
        assert "T" in admin.ask_name_servers(admin_names.all_topics())[NAMESRV]
        assert admin.reset_offsets("G", "T", admin_groups.LATEST) == {queue_of("T"): 0}
        admin.delete_group("G")
        admin.delete_topic("T")
        assert admin.ask_name_server(admin_names.route("T")) is None


def test_delivery_is_reported_with_its_message(monkeypatch: pytest.MonkeyPatch) -> None:
    with faced(monkeypatch) as cluster, Producer("P", NAMESRV, **here(cluster)) as producer:
        cluster.make_topic("T", queues=1)
        told: list[Any] = []
        good, bad = Message("T", "good"), Message("T", "")
        producer.send_async(good, on_delivery=lambda *said: told.append(said))
        producer.send_async(bad, on_delivery=lambda *said: told.append(said))
        several = [Message("T", "a"), Message("T", "b")]
        producer.send_batch_async(several, on_delivery=lambda *said: told.append(said))
        assert told[0][0] is good and told[0][1].queue.topic == "T" and told[0][2] is None
        assert told[1][:2] == (bad, None) and isinstance(told[1][2], BadArgument)
        assert told[2][0] is several and len(told[2][1]) == 1 and told[2][2] is None
