"""The bases of the blocking APIs: errors at the call, without our frames; waiting, sends that do not wait."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Sequence
from typing import Any

import pytest

import mqgateway
from mqgateway.gateway.client import admin_topics
from mqgateway.gateway.client.allocation import Averagely
from mqgateway.gateway.client.blocking import (
    Admin,
    LitePullConsumer,
    Producer,
    PullConsumer,
    PushConsumer,
    SimpleConsumer,
    TransactionProducer,
)
from mqgateway.gateway.client.errors import BadArgument, ClientError, NotRunning
from mqgateway.gateway.client.listening import Context
from mqgateway.gateway.client.loop import Loop
from mqgateway.gateway.client.message import Message, ReceivedMessage
from mqgateway.gateway.client.selectors import by_hash
from mqgateway.gateway.client.subscriptions import Sql
from tests.support.gateway.client.cluster import NAMESRV, queue_of
from tests.support.gateway.client.facing import faced, here

FRAMES_MAX = 5
"""Frames of the client below the program's: the method, and how it waits for the core."""

X: Any = Message("T", "x")


def listen(*_: object) -> None: ...


MADE: dict[str, tuple[Callable[..., Any], str]] = {
    "group": (lambda **more: Producer(5, NAMESRV, **more), "group=5: pass text"),
    "group blank": (lambda **more: Producer("", NAMESRV, **more), "group=''"),
    "name servers": (lambda **more: Producer("P", [NAMESRV], **more), "namesrv=.*pass text"),
    "url": (lambda **more: Producer("P", "http://a:1", **more), "namesrv_addr=http://a:1: pass host:port"),
    "no port": (lambda **more: Producer("P", "localhost", **more), "namesrv_addr=localhost"),
    "type": (lambda **more: Producer("P", NAMESRV, send_msg_timeout="5", **more), "send_msg_timeout='5'"),
    "setting": (lambda **more: Producer("P", NAMESRV, no_such_thing=1, **more), "no_such_thing"),
    "secret": (
        lambda **more: Producer("P", NAMESRV, secret_key=b"hidden", **more),
        r"secret_key=\*+: pass str",
    ),
    "half a pair": (lambda **more: Producer("P", NAMESRV, access_key="a", **more), "secret_key is missing"),
    "language": (lambda **more: Producer("P", NAMESRV, language="X", **more), "language=X: not one of"),
    "zlib": (lambda **more: Producer("P", NAMESRV, compress_level=10, **more), "compress_level=10"),
    "ssl context": (lambda **more: Producer("P", NAMESRV, ssl_context=1, **more), "ssl_context=1"),
    "listener": (lambda **more: PushConsumer("G", None, NAMESRV, **more), "listener=None: pass a function"),
    "transactions": (lambda **more: TransactionProducer("P", None, NAMESRV, **more), "listener=None"),
    "threads": (
        lambda **more: PushConsumer("G", listen, NAMESRV, consume_thread_min=5, consume_thread_max=4, **more),
        "consume_thread_min=5: is more than consume_thread_max=4",
    ),
    "strategy": (lambda **more: PushConsumer("G", listen, NAMESRV, strategy=Averagely, **more), "strategy="),
    "ordered": (lambda **more: PushConsumer("G", listen, NAMESRV, is_ordered=1, **more), "is_ordered=1"),
    "queues changed": (
        lambda **more: LitePullConsumer("G", NAMESRV, on_queues_changed=1, **more),
        "on_queues_changed=1",
    ),
}


@pytest.mark.parametrize(("make", "error"), MADE.values(), ids=MADE)
def test_wrong_constructor_argument_is_refused_at_once(
    monkeypatch: pytest.MonkeyPatch, make: Callable[..., Any], error: str
) -> None:
    with faced(monkeypatch) as cluster, pytest.raises(BadArgument, match=error) as refused:
        make(**here(cluster))
    assert type(refused.value) is mqgateway.BadArgument


CALLS: dict[str, tuple[str, Callable[[Any], Any], str]] = {
    "send text": ("producer", lambda p: p.send("x"), "message='x': pass a Message"),
    "send to a number": ("producer", lambda p: p.send(X, queue=0), "queue=0"),
    "selector": ("producer", lambda p: p.send(X, selector="hash"), "selector='hash'"),
    "selector's answer": ("producer", lambda p: p.send(X, selector=lambda *_: None), "returned None"),
    "argument alone": ("producer", lambda p: p.send(X, argument="k"), "argument='k': pass a selector"),
    "both": (
        "producer",
        lambda p: p.send(X, queue=queue_of("T"), selector=by_hash),
        "a queue is given already",
    ),
    "timeout": ("producer", lambda p: p.send(X, timeout="5"), "timeout='5': pass seconds"),
    "callback": ("producer", lambda p: p.send_async(X, on_delivery=5), "on_delivery=5"),
    "one for a batch": ("producer", lambda p: p.send_batch(X), "messages=.*pass a list of Messages"),
    "empty batch": ("producer", lambda p: p.send_batch([]), r"messages=\[\]"),
    "oneway": ("producer", lambda p: p.send_oneway(5), "message=5"),
    "request": ("producer", lambda p: p.request(5), "message=5"),
    "recall": ("producer", lambda p: p.recall("T", 5), "handle=5"),
    "queues": ("producer", lambda p: p.queues(5), "topic=5"),
    "pull": ("pull", lambda c: c.pull("T", 0), "queue='T': pass a MessageQueue"),
    "offset": ("pull", lambda c: c.pull(queue_of("T"), "0"), "offset='0'"),
    "count": ("pull", lambda c: c.pull(queue_of("T"), 0, 0), "count=0"),
    "time": ("pull", lambda c: c.search_offset(queue_of("T"), "now"), "timestamp='now'"),
    "commit": ("pull", lambda c: c.commit(queue_of("T"), -1), "offset=-1"),
    "view": ("pull", lambda c: c.view("T", 5), "offset_message_id=5"),
    "poll": ("lite", lambda c: c.poll(-1), "timeout=-1"),
    "pause one": ("lite", lambda c: c.pause(queue_of("T")), "queues=.*pass a list of MessageQueues"),
    "commit list": ("lite", lambda c: c.commit([queue_of("T")]), "offsets=.*pass offsets by queue"),
    "topics": ("lite", lambda c: c.subscribe(["T", 5]), "topic=5"),
    "no topics": ("lite", lambda c: c.subscribe([]), r"topic=\[\]"),
    "tags": ("lite", lambda c: c.subscribe("T", ["a"]), "wanted=.*pass"),
    "expression": ("lite", lambda c: c.subscribe("T", Sql(5)), "wanted=Sql"),  # type: ignore[arg-type]
    "ack": ("simple", lambda c: c.ack("x"), "message='x'"),
    "receive": ("simple", lambda c: c.receive(0), "max_messages=0"),
    "topic config": ("admin", lambda a: a.create_topic("T"), "config='T': pass a TopicConfig"),
    "group config": ("admin", lambda a: a.create_group("G"), "config='G': pass a SubscriptionGroupConfig"),
    "delete": ("admin", lambda a: a.delete_topic(5), "topic=5"),
    "question": ("admin", lambda a: a.ask("x", "broker-a"), "question='x'"),
    "broker": ("admin", lambda a: a.ask(admin_topics.stats("T"), 5), "broker=5"),
    "cluster": ("admin", lambda a: a.brokers(5), "cluster=5"),
}


@pytest.mark.parametrize(("kind", "call", "error"), CALLS.values(), ids=CALLS)
def test_wrong_method_argument_is_refused_at_the_call(
    monkeypatch: pytest.MonkeyPatch, kind: str, call: Callable[[Any], Any], error: str
) -> None:
    with faced(monkeypatch) as cluster:
        cluster.make_topic("T", queues=1)
        made: dict[str, Callable[..., Any]] = {
            "producer": lambda **more: Producer("P", NAMESRV, **more),
            "pull": lambda **more: PullConsumer("G", NAMESRV, **more),
            "lite": lambda **more: LitePullConsumer("G", NAMESRV, **more),
            "simple": lambda **more: SimpleConsumer("G", NAMESRV, **more),
            "admin": lambda **more: Admin(NAMESRV, **more),
        }
        client = made[kind](**here(cluster))
        if kind in ("lite", "simple"):
            client.subscribe("T")
        with client, pytest.raises(BadArgument, match=error) as refused:
            call(client)
    frames = traceback.extract_tb(refused.value.__traceback__)
    below = [frame for frame in frames if "/tests/" not in frame.filename]
    assert len(below) <= FRAMES_MAX, below


@pytest.mark.parametrize("kind", [Producer, PullConsumer, LitePullConsumer, SimpleConsumer, Admin])
def test_closed_client_raises_not_running(monkeypatch: pytest.MonkeyPatch, kind: Any) -> None:
    with faced(monkeypatch) as cluster:
        client = kind(NAMESRV, **here(cluster)) if kind is Admin else kind("G", NAMESRV, **here(cluster))
        with client:
            pass
        with pytest.raises(NotRunning, match="closed and cannot start again: make a new one"):
            client.start()
        client.close()


def test_push_consumer_that_was_closed_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    with faced(monkeypatch) as cluster:
        cluster.make_topic("T", queues=1)
        consumer = PushConsumer("G", listen, NAMESRV, **here(cluster))
        consumer.subscribe("T")
        with consumer:
            pass
        with pytest.raises(NotRunning, match="make a new one"):
            consumer.start()


def test_method_before_the_start_says_what_to_call(monkeypatch: pytest.MonkeyPatch) -> None:
    with faced(monkeypatch) as cluster:
        for client, call in (
            (Producer("P", NAMESRV, **here(cluster)), lambda one: one.send(X)),
            (PullConsumer("G", NAMESRV, **here(cluster)), lambda one: one.queues("T")),
        ):
            with pytest.raises(NotRunning, match=r"call start\(\), or use `with`"):
                call(client)


def test_cause_of_an_error_is_kept_without_our_frames(monkeypatch: pytest.MonkeyPatch) -> None:
    with faced(monkeypatch) as cluster, Producer("P", NAMESRV, **here(cluster)) as producer:
        cluster.cut(9876)
        with pytest.raises(ClientError) as failed:
            producer.send(Message("Nowhere", "x"))
        cluster.mend(9876)
    assert isinstance(failed.value.__cause__, ClientError) and failed.value.__cause__.__traceback__ is None


def test_coroutine_function_cannot_listen(monkeypatch: pytest.MonkeyPatch) -> None:
    async def listener(messages: Sequence[ReceivedMessage], context: Context) -> None: ...

    error = r"listener is a coroutine function.*mqgateway\.aio"
    with faced(monkeypatch) as cluster, pytest.raises(BadArgument, match=error):
        PushConsumer("G", listener, NAMESRV, **here(cluster))  # type: ignore[arg-type]


def test_wait_ends_when_the_consumer_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    with faced(monkeypatch) as cluster:
        consumer = PushConsumer("G", listen, NAMESRV, **here(cluster))
        consumer.subscribe("T")
        assert consumer.start() is consumer
        assert not consumer.wait(0)
        consumer.close()
        assert consumer.wait(0) and Loop.shared().pools[0].stopped  # type: ignore[attr-defined]


def test_sends_that_do_not_wait_have_futures(monkeypatch: pytest.MonkeyPatch) -> None:
    with faced(monkeypatch) as cluster, Producer("P", NAMESRV, **here(cluster)) as producer:
        cluster.make_topic("T", queues=1)
        assert producer.send_async(Message("T", "a")).result().queue.topic == "T"
        assert len(producer.send_batch_async([Message("T", "b")]).result()) == 1


def test_delivery_is_reported_with_its_message(monkeypatch: pytest.MonkeyPatch) -> None:
    with faced(monkeypatch) as cluster, Producer("P", NAMESRV, **here(cluster)) as producer:
        cluster.make_topic("T", queues=1)
        notified: list[Any] = []
        good, bad = Message("T", "good"), Message("T", "")
        producer.send_async(good, on_delivery=lambda *said: notified.append(said))
        producer.send_async(bad, on_delivery=lambda *said: notified.append(said))
        several = [Message("T", "a"), Message("T", "b")]
        producer.send_batch_async(several, on_delivery=lambda *said: notified.append(said))
        assert notified[0][0] is good and notified[0][1].queue.topic == "T" and notified[0][2] is None
        assert notified[1][:2] == (bad, None) and isinstance(notified[1][2], BadArgument)
        assert notified[2][0] is several and len(notified[2][1]) == 1 and notified[2][2] is None
