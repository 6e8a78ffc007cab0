"""Spans of a broker: the requests that have one, and its attributes, parent and links."""

from __future__ import annotations

import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from queue import SimpleQueue
from typing import Any

import grpc
import pytest
from opentelemetry.proto.collector.trace.v1 import trace_service_pb2, trace_service_pb2_grpc
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind, StatusCode
from twisted.internet.defer import Deferred

from mqgateway.engine.errors import ConfigError
from mqgateway.engine.options import BrokerOptions
from mqgateway.gateway.client.errors import BrokerError
from mqgateway.gateway.client.message import Message, ReceivedMessage, TransactionState
from mqgateway.gateway.client.pop_consumption import FROM_MIN, Popper, PopRequest
from mqgateway.gateway.client.transactions import TransactionProducer
from mqgateway.gateway.codec.bodies import SubscriptionData
from mqgateway.gateway.codec.bodies.pop import BatchAck, BatchAckMessageRequestBody, bit_set
from mqgateway.gateway.codec.codes import RequestCode
from mqgateway.gateway.codec.command import RemotingCommand
from mqgateway.gateway.metrics.spans import About, MessageSpans, SeenMessages, acknowledged
from mqgateway.gateway.remoting.call import Call
from tests.support.gateway.broker.helpers import FakePeer
from tests.support.gateway.client.cluster import Cluster, queue_of

TRACE, PARENT = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
OTHER = "4bf92f3577b34da6a3ce929d0e0e4736"


def carrying(sampled: int = 1, body: str = "x") -> Message:
    return Message("T", body, properties={"traceparent": f"00-{TRACE}-{PARENT}-{sampled:02x}"})


def watched(cluster: Cluster) -> InMemorySpanExporter:
    """Return an exporter that records the spans of the cluster's broker."""
    exporter, spans = InMemorySpanExporter(), MessageSpans(BrokerOptions(broker_ip1="10.0.0.1"))
    for dispatcher in (cluster.service.dispatcher, cluster.service.fast_dispatcher):
        dispatcher.watch_with([*dispatcher.hooks, spans])
    spans.start(SimpleSpanProcessor(exporter))
    return exporter


def test_send_with_a_sampled_context_has_a_span() -> None:
    with Cluster() as cluster:
        cluster.make_topic("T", queues=1)
        exporter, producer = watched(cluster), cluster.producer()
        cluster.run(producer.send(carrying()))
        (span,) = exporter.get_finished_spans()
    assert span.context is not None and span.parent is not None
    assert f"{span.context.trace_id:032x}" == TRACE and f"{span.parent.span_id:016x}" == PARENT
    assert (span.name, span.kind) == ("store T", SpanKind.SERVER)
    attributes = dict(span.attributes or {})
    assert attributes.pop("network.peer.address", "").startswith("10.0.0.2:")
    assert attributes == {
        "messaging.system": "rocketmq",
        "messaging.destination.name": "T",
        "messaging.destination.partition.id": "0",
        "server.address": "10.0.0.1",
    }
    assert span.resource.attributes["service.name"] == "mqgateway"


def test_sends_without_a_sampled_context_have_no_span() -> None:
    with Cluster() as cluster:
        cluster.make_topic("T", queues=1)
        exporter, producer = watched(cluster), cluster.producer()
        cluster.run(producer.send(Message("T", "no context")))
        cluster.run(producer.send(carrying(sampled=0)))
        cluster.run(producer.send(Message("T", "x", properties={"traceparent": "nonsense"})))
        cluster.run(producer.send_batch([carrying(sampled=0), Message("T", "no context")]))
        assert not exporter.get_finished_spans()


def test_span_of_a_refused_send_has_the_error() -> None:
    with Cluster() as cluster:
        cluster.make_topic("T", queues=1)
        exporter, producer = watched(cluster), cluster.producer()
        with pytest.raises(BrokerError):
            cluster.run(producer.send(carrying(), queue=queue_of("T", 9)))
        (span,) = exporter.get_finished_spans()
    assert span.status.status_code is StatusCode.ERROR
    assert dict(span.attributes or {})["error.type"] == "29"


def shown(exporter: InMemorySpanExporter) -> list[tuple[str, str, list[str]]]:
    """Return names, parent traces and linked traces of the spans, and clear them."""
    found = []
    for span in exporter.get_finished_spans():
        assert span.parent is not None
        links = [f"{link.context.trace_id:032x}" for link in span.links]
        found.append((span.name, f"{span.parent.trace_id:032x}", links))
    exporter.clear()
    return found


def of(trace: str) -> Message:
    return Message("T", "x", properties={"traceparent": f"00-{trace}-{PARENT}-01"})


def test_a_batch_has_one_span_with_links() -> None:
    with Cluster() as cluster:
        cluster.make_topic("T", queues=1)
        exporter, producer = watched(cluster), cluster.producer()
        plain = Message("T", "x")
        cluster.run(producer.send_batch([plain, of(TRACE), carrying(sampled=0), of(OTHER)]))
        (span,) = exporter.get_finished_spans()
        assert dict(span.attributes or {})["messaging.batch.message_count"] == 4
        assert shown(exporter) == [("store T", TRACE, [OTHER])]


def test_delivery_and_acknowledgement_have_spans() -> None:
    with Cluster() as cluster:
        cluster.make_topic("T", queues=1)
        exporter, producer = watched(cluster), cluster.producer()
        for message in (of(TRACE), Message("T", "x"), of(OTHER)):
            cluster.run(producer.send(message))
        exporter.clear()
        popper, queue = Popper(cluster.client(), "G"), queue_of("T", 0)
        subscribed = SubscriptionData(topic="T", sub_string="*")
        request = PopRequest(32, 60_000, 1000, FROM_MIN)
        pop = Deferred.fromCoroutine(popper.pop(queue, subscribed, request))
        _, messages = cluster.run(pop)
        assert shown(exporter) == [("deliver T", TRACE, [OTHER])]
        for message in messages:
            cluster.run(Deferred.fromCoroutine(popper.acknowledge(message, "T")))
        spans = exporter.get_finished_spans()
        assert {dict(span.attributes or {})["messaging.consumer.group.name"] for span in spans} == {"G"}
        assert shown(exporter) == [("acknowledge T", TRACE, []), ("acknowledge T", OTHER, [])]


class Deciding:
    """Transaction listener that returns its argument; a check leaves the transaction unknown."""

    def execute(self, message: Message, argument: TransactionState) -> TransactionState:
        return argument

    def check(self, message: ReceivedMessage) -> TransactionState:
        return TransactionState.UNKNOWN


@pytest.mark.parametrize(
    ("state", "ended"),
    [
        (TransactionState.COMMIT, [("commit T", TRACE, [])]),
        (TransactionState.ROLLBACK, [("roll back T", TRACE, [])]),
        (TransactionState.UNKNOWN, []),
    ],
)
def test_the_end_of_a_transaction_has_a_span(
    state: TransactionState, ended: list[tuple[str, str, list[str]]]
) -> None:
    with Cluster() as cluster:
        cluster.make_topic("T", queues=1)
        exporter = watched(cluster)
        producer = TransactionProducer("Deciders", cluster.around, Deciding(), **cluster.settings({}))
        cluster.begin(producer)
        cluster.run(producer.send_in_transaction(of(TRACE), state))
        cluster.settle(1)
        assert shown(exporter) == [("store T", TRACE, []), *ended]


def test_a_batch_of_acknowledgements_names_each_message() -> None:
    said = {"start_offset": 40, "revive_queue_id": 0, "pop_time": 1, "invisible_time": 2}
    acks = [
        BatchAck("G", "T", "0", queue_id=3, bit_set=bit_set([0, 2]), **said),
        BatchAck("G", "T", "1", queue_id=0, bit_set=bit_set([1]), **said),
    ]
    command = RemotingCommand(RequestCode.BATCH_ACK_MESSAGE)
    body = BatchAckMessageRequestBody(acks=acks).encode()
    group, names = acknowledged(Call(command, None, body, FakePeer(), 0))
    assert group == "G"
    assert names == [("T", "3", "40"), ("T", "3", "42"), ("%RETRY%G_T", "0", "41")]


def test_oldest_message_is_forgotten_beyond_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mqgateway.gateway.metrics.spans.REMEMBERED", 2)
    seen, about = SeenMessages(), About("store", "T", "0", [])
    for name in ("a", "b", "c"):
        seen.note((name,), about)
    assert [bool(seen.find([(name,)])) for name in ("a", "b", "c")] == [False, True, True]


class Collector(trace_service_pb2_grpc.TraceServiceServicer):  # type: ignore[misc]
    """Trace collector that records its requests and their metadata."""

    def __init__(self) -> None:
        self.requests: list[Any] = []
        self.headers: list[dict[str, str]] = []

    def Export(self, request: Any, context: Any) -> Any:
        self.requests.append(request)
        self.headers.append(dict(context.invocation_metadata()))
        return trace_service_pb2.ExportTraceServiceResponse()


class Loop:
    """Event loop that queues the calls of other threads."""

    def __init__(self) -> None:
        self.calls: SimpleQueue[Callable[[], object]] = SimpleQueue()

    def callFromThread(self, callable: Callable[..., object], /, *args: Any, **kw: Any) -> None:
        self.calls.put(partial(callable, *args, **kw))


def test_stop_exports_the_spans_to_the_collector() -> None:
    stub = Collector()
    server = grpc.server(ThreadPoolExecutor(1))
    trace_service_pb2_grpc.add_TraceServiceServicer_to_server(stub, server)
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    options = BrokerOptions(
        traces_grpc_exporter_target=f"http://127.0.0.1:{port}", traces_grpc_exporter_header="Api-Key:x"
    )
    spans = MessageSpans(options)
    with Cluster() as cluster:
        cluster.make_topic("T", queues=1)
        cluster.service.dispatcher.watch_with([spans])
        producer = cluster.producer()
        cluster.run(producer.send(carrying(body="before")))  # there are no spans before the start
        spans.start()
        cluster.run(producer.send(carrying()))
        loop = Loop()
        over = spans.stop(loop)
        loop.calls.get(timeout=10)()
        assert over.called
        cluster.run(producer.send(carrying(body="after")))
    server.stop(None)
    ((resource,),) = [request.resource_spans for request in stub.requests]
    assert [span.name for span in resource.scope_spans[0].spans] == ["store T"]
    assert stub.headers[0]["api-key"] == "x"


def test_missing_sdk_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "opentelemetry.sdk.trace", None)
    with pytest.raises(ConfigError, match=r"pip install mqgateway\[otel\]"):
        MessageSpans(BrokerOptions()).start()
