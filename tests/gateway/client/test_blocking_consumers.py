"""The blocking faces of consumers: listening, pulling, polling, loops, receiving, SIGTERM."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from mqgateway.gateway.client.blocking import (
    LitePullConsumer,
    Producer,
    PullConsumer,
    PushConsumer,
    SimpleConsumer,
)
from mqgateway.gateway.client.errors import BadArgument, NotRunning
from mqgateway.gateway.client.listening import Context
from mqgateway.gateway.client.loop import Loop
from mqgateway.gateway.client.message import Message, ReceivedMessage
from tests.support.gateway.client.cluster import NAMESRV, bodies, queue_of
from tests.support.gateway.client.facing import faced, here

FIRST = "CONSUME_FROM_FIRST_OFFSET"


def test_listening_suspending_and_leaving(monkeypatch: pytest.MonkeyPatch) -> None:
    with faced(monkeypatch) as cluster:
        cluster.make_topic("T", queues=1)
        got: list[bytes] = []
        consumer = PushConsumer(
            "G",
            lambda messages, context: got.extend(one.body for one in messages),
            NAMESRV,
            **here(cluster),
            consume_from_where=FIRST,
        )
        consumer.subscribe("T")
        assert consumer.start() is consumer
        with Producer("P", NAMESRV, **here(cluster)) as producer:
            producer.send(Message("T", "a"))
            cluster.wait_for(lambda: got == [b"a"])
            consumer.suspend()
            consumer.resume()
            consumer.unsubscribe("T")
        assert not consumer.wait(0)
        consumer.close()
        assert consumer.wait(0) and Loop.shared().pools[0].stopped  # type: ignore[attr-defined]


def test_pulling(monkeypatch: pytest.MonkeyPatch) -> None:
    with faced(monkeypatch) as cluster:
        cluster.make_topic("T", queues=1)
        with Producer("P", NAMESRV, **here(cluster)) as producer:
            sent = producer.send(Message("T", "a"))
        with PullConsumer("G", NAMESRV, **here(cluster)) as consumer:
            (queue,) = consumer.queues("T")
            assert bodies(consumer.pull(queue, 0).messages) == [b"a"]
            assert (consumer.min_offset(queue), consumer.max_offset(queue)) == (0, 1)
            assert consumer.search_offset(queue, 0) == 0
            consumer.commit(queue, 1)
            assert consumer.committed(queue) == 1
            assert consumer.view("T", sent.offset_message_id).body == b"a"


def test_polling(monkeypatch: pytest.MonkeyPatch) -> None:
    with faced(monkeypatch) as cluster:
        cluster.make_topic("T", queues=1)
        with Producer("P", NAMESRV, **here(cluster)) as producer:
            producer.send_batch([Message("T", f"{number}") for number in range(5)])
        consumer = LitePullConsumer("G", NAMESRV, **here(cluster), consume_from_where=FIRST)
        consumer.subscribe("T")
        with consumer:
            assert len(consumer.poll(20)) == 5
            queue = queue_of("T")
            assert consumer.assignment() == [queue] == consumer.queues("T")
            consumer.pause([queue])
            consumer.resume([queue])
            consumer.seek(queue, 3)
            stream = consumer.messages()
            assert [next(stream).body for _ in range(2)] == [b"3", b"4"]
            consumer.seek_to_begin(queue)
            consumer.seek_to_end(queue)
            consumer.commit()
            assert consumer.committed(queue) == 5 and consumer.search_offset(queue, 0) == 0
            consumer.unsubscribe("T")
        assert list(consumer.messages()) == []
        chosen = LitePullConsumer("H", NAMESRV, **here(cluster), consume_from_where=FIRST)
        chosen.assign([queue])
        with chosen:
            assert len(chosen.poll(20)) == 5


def test_a_coroutine_function_cannot_listen_here(monkeypatch: pytest.MonkeyPatch) -> None:
    async def listener(messages: Sequence[ReceivedMessage], context: Context) -> None: ...

    error = r"listener is a coroutine function.*mqgateway\.aio"
    with faced(monkeypatch) as cluster, pytest.raises(BadArgument, match=error):
        PushConsumer("G", listener, NAMESRV, **here(cluster))  # type: ignore[arg-type]


def test_loop_commits_what_it_handled_and_not_what_failed(monkeypatch: pytest.MonkeyPatch) -> None:
    with faced(monkeypatch) as cluster:
        cluster.make_topic("T", queues=1)
        with Producer("P", NAMESRV, **here(cluster)) as producer:
            producer.send_batch([Message("T", f"{number}") for number in range(5)])

        def loop(last: bytes, fails: bool) -> list[bytes]:
            consumer = LitePullConsumer("G", NAMESRV, **here(cluster), consume_from_where=FIRST)
            consumer.subscribe(["T"])
            seen = []
            with consumer:
                for message in consumer:
                    seen.append(message.body)
                    if message.body == last:
                        if fails:
                            raise KeyError("it cannot be handled")
                        break
            return seen

        with pytest.raises(KeyError):
            loop(b"2", fails=True)
        assert loop(b"3", fails=False) == [b"2", b"3"]
        assert loop(b"4", fails=False) == [b"4"]


def test_simple_consumer_receives_and_settles(monkeypatch: pytest.MonkeyPatch) -> None:
    with faced(monkeypatch) as cluster:
        cluster.make_topic("T", queues=1)
        with Producer("P", NAMESRV, **here(cluster)) as producer:
            producer.send_batch([Message("T", f"{number}") for number in range(3)])
        consumer = SimpleConsumer("G", NAMESRV, **here(cluster), consume_from_where=FIRST)
        consumer.subscribe("T")
        with consumer:
            first, second, third = consumer.receive(timeout=3)
            consumer.ack(first)
            consumer.nack(second, 5)
            consumer.change_invisible_duration(third, 60)
            loop = iter(consumer)
            assert next(loop).body == second.body
            consumer.unsubscribe("T")


def test_loop_over_a_closed_consumer_is_empty(monkeypatch: pytest.MonkeyPatch) -> None:
    with faced(monkeypatch) as cluster:
        for kind in (LitePullConsumer, SimpleConsumer):
            consumer = kind("G", NAMESRV, **here(cluster))
            with pytest.raises(NotRunning):
                list(consumer)
            with consumer:
                pass
            assert list(consumer) == [] == list(consumer.messages())
