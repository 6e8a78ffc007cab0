"""The blocking API where listeners answer calls that wait."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from mqgateway.gateway.client.blocking import Producer, PushConsumer, TransactionProducer
from mqgateway.gateway.client.listening import Context
from mqgateway.gateway.client.message import Message, ReceivedMessage, TransactionState
from tests.support.gateway.client.cluster import NAMESRV
from tests.support.gateway.client.facing import faced, here

FIRST = "CONSUME_FROM_FIRST_OFFSET"


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
