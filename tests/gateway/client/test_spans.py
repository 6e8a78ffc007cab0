"""Spans: their kinds and attributes, and traces from producers to consumers."""

from __future__ import annotations

import subprocess
import sys
import threading
from typing import Any

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind, StatusCode

from mqgateway.gateway.client import blocking
from mqgateway.gateway.client.errors import BadArgument, BrokerError
from mqgateway.gateway.client.lite_pull import LitePullConsumer
from mqgateway.gateway.client.message import Message
from mqgateway.gateway.client.pull import PullConsumer
from mqgateway.gateway.client.spans import Conventions
from mqgateway.gateway.testing import Server
from tests.gateway.client.test_push import Inbox, begin
from tests.support.gateway.client.cluster import Cluster, queue_of

OPT_IN = "OTEL_SEMCONV_STABILITY_OPT_IN"


class Seen:
    """The spans that came to their end."""

    def __init__(self) -> None:
        self.exporter = InMemorySpanExporter()
        self.provider = TracerProvider()
        self.provider.add_span_processor(SimpleSpanProcessor(self.exporter))

    def named(self, name: str) -> list[ReadableSpan]:
        return [span for span in self.exporter.get_finished_spans() if span.name == name]

    def one(self, name: str) -> ReadableSpan:
        (span,) = self.named(name)
        return span


@pytest.fixture
def seen(monkeypatch: pytest.MonkeyPatch) -> Seen:
    """Spans recorded by the process's tracer provider, for a test."""
    found = Seen()
    monkeypatch.setattr(trace, "get_tracer_provider", lambda: found.provider)
    monkeypatch.delenv(OPT_IN, raising=False)
    return found


def attributes(span: ReadableSpan) -> dict[str, Any]:
    return dict(span.attributes or {})


def trace_of(span: ReadableSpan) -> int:
    assert span.context is not None
    return span.context.trace_id


def links_to(span: ReadableSpan) -> list[int]:
    return [link.context.span_id for link in span.links]


def span_id(span: ReadableSpan) -> int:
    assert span.context is not None
    return span.context.span_id


def test_trace_continues_from_producer_to_consumer(seen: Seen) -> None:
    with Cluster() as cluster:
        cluster.make_topic("T", queues=1)
        producer = cluster.producer(enable_opentelemetry=True)
        message = Message("T", "hello", tags="A", keys=["k1", "k2"])
        with trace.get_tracer("app").start_as_current_span("order"):
            sent = cluster.run(producer.send(message))
        inbox = Inbox()
        begin(cluster, inbox, enable_opentelemetry=True)
        cluster.wait_for(lambda: inbox.got)
        order, send, process = (seen.one(name) for name in ("order", "T publish", "T process"))
        assert trace_of(order) == trace_of(send) == trace_of(process)
        assert send.parent is not None and send.parent.span_id == span_id(order)
        assert process.parent is not None and process.parent.span_id == span_id(send)
        assert links_to(process) == [span_id(send)]
        assert (send.kind, process.kind) == (SpanKind.PRODUCER, SpanKind.CONSUMER)
        assert inbox.got[0].properties["traceparent"].split("-")[1:3] == [
            f"{trace_of(send):032x}",
            f"{span_id(send):016x}",
        ]
        assert attributes(send) == {
            "messaging.system": "rocketmq",
            "messaging.destination.name": "T",
            "messaging.operation": "publish",
            "messaging.client.id": producer.client.client_id,
            "messaging.client_id": producer.client.client_id,
            "messaging.rocketmq.client_group": "Producers",
            "messaging.message.id": sent.message_id,
            "messaging.message.body.size": 5,
            "messaging.rocketmq.message.type": "normal",
            "messaging.rocketmq.message.tag": "A",
            "messaging.rocketmq.message.keys": ("k1", "k2"),
        }
        values = attributes(process)
        assert (
            values["messaging.operation"] == "process" and values["messaging.message.id"] == sent.message_id
        )
        assert values["messaging.rocketmq.consumption_model"] == "clustering"
        assert values["messaging.rocketmq.client_group"] == "G"


def test_the_newer_conventions(seen: Seen, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(OPT_IN, "http,messaging")
    with Cluster() as cluster:
        cluster.make_topic("T", queues=1)
        producer = cluster.producer(enable_opentelemetry=True)
        cluster.run(producer.send(Message("T", "x", sharding_key="o1")))
        inbox = Inbox()
        begin(cluster, inbox, enable_opentelemetry=True)
        cluster.wait_for(lambda: inbox.got)
    send, process = attributes(seen.one("send T")), attributes(seen.one("process T"))
    assert send["messaging.operation.name"] == send["messaging.operation.type"] == "send"
    assert send["messaging.destination.partition.id"] == "0"
    assert send["messaging.rocketmq.message.type"] == "fifo"
    assert send["messaging.rocketmq.message.group"] == "o1"
    assert process["messaging.operation.type"] == "process"
    assert process["messaging.consumer.group.name"] == "G"
    for values in (send, process):
        assert not values.keys() & {
            "messaging.operation",
            "messaging.client_id",
            "messaging.rocketmq.client_group",
        }
    assert "messaging.consumer.group.name" not in send


@pytest.mark.parametrize(
    ("opt_in", "old", "new"),
    [
        ("", True, False),
        ("http", True, False),
        ("messaging", False, True),
        ("http, messaging/dup", True, True),
        ("messaging,messaging/dup", True, True),
    ],
)
def test_opt_in_selects_conventions(opt_in: str, old: bool, new: bool) -> None:
    conventions = Conventions(opt_in)
    values = conventions.attributes("receive", "T", "G", "c", "ns")
    assert ("messaging.operation" in values, "messaging.operation.name" in values) == (old, new)
    assert conventions.name("receive", "T") == ("receive T" if new else "T receive")
    assert values["messaging.rocketmq.namespace"] == "ns"


def test_a_batch_has_a_span_a_message(seen: Seen) -> None:
    with Cluster() as cluster:
        cluster.make_topic("T", queues=1)
        producer = cluster.producer(enable_opentelemetry=True)
        cluster.run(producer.send_batch([Message("T", "a"), Message("T", "b")]))
        inbox = Inbox()
        begin(cluster, inbox, enable_opentelemetry=True, consume_message_batch_max_size=2)
        cluster.wait_for(lambda: len(inbox.got) == 2)
    created, send, process = seen.named("T create"), seen.one("T publish"), seen.one("T process")
    assert [span.kind for span in created] == [SpanKind.PRODUCER] * 2 and send.kind is SpanKind.CLIENT
    assert links_to(send) == links_to(process) == [span_id(span) for span in created]
    assert process.parent is None
    assert attributes(send)["messaging.batch.message_count"] == 2
    assert attributes(process)["messaging.batch.message_count"] == 2


def test_pulls_and_polls_have_receive_spans(seen: Seen) -> None:
    with Cluster() as cluster:
        cluster.make_topic("T", queues=1)
        producer = cluster.producer(enable_opentelemetry=True)
        cluster.run(producer.send_oneway(Message("T", "a")))
        cluster.settle(0.5)
        given = cluster.settings({"enable_opentelemetry": True})
        puller = PullConsumer("P", cluster.around, **given)
        cluster.begin(puller)
        cluster.run(puller.pull(queue_of("T"), 0))
        cluster.run(puller.pull(queue_of("T"), 1))
        poller = LitePullConsumer("L", cluster.around, **given)
        poller.assign([queue_of("T")])
        cluster.begin(poller)
        cluster.run(poller.seek(queue_of("T"), 0))
        assert len(cluster.run(poller.poll(5.0))) == 1
    send, received = seen.one("T publish"), seen.named("T receive")
    assert [span.kind for span in received] == [SpanKind.CONSUMER] * 2  # nothing for what was not found
    assert [attributes(span)["messaging.rocketmq.client_group"] for span in received] == ["P", "L"]
    assert all(links_to(span) == [span_id(send)] and span.parent is None for span in received)


def test_failures_are_recorded(seen: Seen) -> None:
    with Cluster() as cluster:
        cluster.make_topic("T", queues=1)
        producer = cluster.producer(enable_opentelemetry=True)
        with pytest.raises(BrokerError):
            cluster.run(producer.send(Message("T", "x"), queue=queue_of("T", 9)))
        refused = seen.one("T publish")
        assert refused.status.status_code is StatusCode.ERROR
        assert attributes(refused)["error.type"] == "29"
        cluster.run(producer.send(Message("T", "x")))
        inbox = Inbox(ValueError("not yet"), False)
        begin(cluster, inbox, enable_opentelemetry=True)
        cluster.wait_for(lambda: len(inbox.got) == 3)
        kinds = [attributes(span).get("error.type") for span in seen.named("T process")]
        assert kinds == ["ValueError", "LATER", None]
        cluster.watch.complaints.clear()


def test_the_context_of_other_threads_goes_along(seen: Seen) -> None:
    inside: list[int] = []
    has_come = threading.Event()

    def listener(messages: Any, context: Any) -> None:
        inside.append(trace.get_current_span().get_span_context().trace_id)
        has_come.set()

    with Server() as server, trace.get_tracer("app").start_as_current_span("order") as order:
        topic = server.create_topic()
        with blocking.Producer("P", server.namesrv, enable_opentelemetry=True) as producer:
            producer.send(Message(topic, "x"))
        settings: Any = {"consume_from_where": "CONSUME_FROM_FIRST_OFFSET", "enable_opentelemetry": True}
        consumer = blocking.PushConsumer("G", listener, server.namesrv, **settings)
        consumer.subscribe(topic)
        with consumer:
            assert has_come.wait(30)
    assert inside == [order.get_span_context().trace_id]


def test_tracing_is_loaded_only_if_enabled(monkeypatch: pytest.MonkeyPatch) -> None:
    loaded = (
        "import sys, mqgateway; mqgateway.Producer; print([m for m in sys.modules if 'opentelemetry' in m])"
    )
    done = subprocess.run([sys.executable, "-c", loaded], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
    monkeypatch.setitem(sys.modules, "opentelemetry", None)
    with Cluster() as cluster, pytest.raises(BadArgument, match=r"pip install mqgateway\[otel\]"):
        cluster.producer(enable_opentelemetry=True)
