"""Spans of messages sent and received by gRPC: the same as by remoting."""

from __future__ import annotations

from typing import Any

import pytest
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind, StatusCode
from twisted.internet.defer import Deferred, fail

from mqgateway.engine.options import BrokerOptions
from mqgateway.gateway.grpc import v2
from mqgateway.gateway.grpc.call import CallFailed, Status, Unary
from mqgateway.gateway.grpc.spans import GrpcSpans
from mqgateway.gateway.metrics.spans import MessageSpans
from tests.gateway.metrics.test_spans import OTHER, PARENT, TRACE, shown
from tests.support.gateway.grpc.messaging import ID, FakeCall, Service, acking, message

COMMIT, ROLLBACK = v2.TransactionResolution.COMMIT, v2.TransactionResolution.ROLLBACK


def spans_and_exporter() -> tuple[MessageSpans, InMemorySpanExporter]:
    exporter, spans = InMemorySpanExporter(), MessageSpans(BrokerOptions(broker_ip1="10.0.0.1"))
    spans.start(SimpleSpanProcessor(exporter))
    return spans, exporter


def watched(service: Service) -> InMemorySpanExporter:
    """Return the exporter of a service with spans and a consumer of T."""
    spans, exporter = spans_and_exporter()
    service.methods = GrpcSpans(spans).before(service.methods)
    return exporter


def of(trace: str, number: int = 0, body: bytes = b"x", topic: str = "T", **system: Any) -> v2.Message:
    user = {"traceparent": f"00-{trace}-{PARENT}-01"}
    return message(body, topic, user=user, message_id=ID[:-1] + str(number), **system)


def send(service: Service, *messages: v2.Message) -> v2.Code:
    answer = service.ask(v2.SendMessageRequest(messages=messages))
    code: v2.Code = answer.status.code
    return code


def test_send_with_sampled_context_has_span() -> None:
    service = Service()
    exporter = watched(service)
    assert send(service, of(TRACE)) == v2.Code.OK
    (span,) = exporter.get_finished_spans()
    assert (span.name, span.kind) == ("store T", SpanKind.SERVER)
    assert dict(span.attributes or {}) == {
        "messaging.system": "rocketmq",
        "messaging.destination.name": "T",
        "network.peer.address": "10.0.0.9:5000",
        "server.address": "10.0.0.1",
    }
    assert shown(exporter) == [("store T", TRACE, [])]


def test_send_without_sampled_context_has_no_span() -> None:
    service = Service()
    exporter = watched(service)
    send(service, message())
    send(service, message(user={"traceparent": f"00-{TRACE}-{PARENT}-00"}))
    send(service, message(user={"traceparent": "nonsense"}))
    assert not exporter.get_finished_spans()


def test_batch_has_one_span_with_links() -> None:
    service = Service()
    exporter = watched(service)
    assert send(service, message(), of(TRACE, 1), of(OTHER, 2)) == v2.Code.OK
    (span,) = exporter.get_finished_spans()
    assert dict(span.attributes or {})["messaging.batch.message_count"] == 3
    assert shown(exporter) == [("store T", TRACE, [OTHER])]


def test_refused_send_has_failed_span() -> None:
    service = Service()
    exporter = watched(service)
    assert send(service, of(TRACE, body=b"")) == v2.Code.MESSAGE_BODY_EMPTY
    (span,) = exporter.get_finished_spans()
    assert span.status.status_code is StatusCode.ERROR
    assert span.status.description == "message body cannot be empty"
    assert dict(span.attributes or {})["error.type"] == "MESSAGE_BODY_EMPTY"


def test_delivery_and_acknowledgement_have_spans() -> None:
    service = Service()
    service.consumer()
    exporter = watched(service)
    for one in (of(TRACE, 1), message(message_id=ID[:-1] + "5"), of(OTHER, 2)):
        send(service, one)
    exporter.clear()
    messages = service.receive(message_queue=v2.MessageQueue(topic=v2.Resource(name="T"), id=-1))
    given = exporter.get_finished_spans()
    attributes = [dict(span.attributes or {}) for span in given]
    assert {one["messaging.consumer.group.name"] for one in attributes} == {"G"}
    assert (
        sum(int(str(one.get("messaging.batch.message_count", 1))) for one in attributes) <= len(messages) == 3
    )
    links = shown(exporter)
    assert {name for name, _, _ in links} == {"deliver T"}
    assert {trace for _, parent, others in links for trace in (parent, *others)} == {TRACE, OTHER}
    service.ask(acking(messages))
    (span,) = exporter.get_finished_spans()
    assert (span.name, len(span.links)) == ("acknowledge T", 1)


@pytest.mark.parametrize(
    ("resolution", "ended"),
    [(COMMIT, [("commit X", TRACE, [])]), (ROLLBACK, [("roll back X", TRACE, [])]), (0, [])],
)
def test_transaction_end_has_span(
    resolution: v2.TransactionResolution, ended: list[tuple[str, str, list[str]]]
) -> None:
    service = Service()
    service.broker.transactions.load()
    service.topic("X", "TRANSACTION", queues=1)
    service.producer("X")
    exporter = watched(service)
    half = of(TRACE, topic="X", message_type=v2.MessageType.TRANSACTION)
    send(service, half)
    key = half.system_properties.message_id
    request = v2.EndTransactionRequest(
        topic=v2.Resource(name="X"), transaction_id=key, message_id=key, resolution=resolution
    )
    assert service.ask(request).status.code == v2.Code.OK
    assert shown(exporter) == [("store X", TRACE, []), *ended]


def test_failed_or_cancelled_call_ends_its_span() -> None:
    spans, exporter = spans_and_exporter()
    request = v2.SendMessageRequest(messages=[of(TRACE)])
    call: Any = FakeCall("SendMessage")

    def serving(answer: Any) -> Any:
        methods = GrpcSpans(spans).before({call.path: Unary(v2.SendMessageRequest, answer)})
        method = methods[call.path]
        assert isinstance(method, Unary)
        return method.answer(request, call)

    def refuse(request: Any, call: Any) -> Any:
        raise CallFailed(Status.UNAUTHENTICATED, "who?")

    with pytest.raises(CallFailed):
        serving(refuse)
    left = serving(lambda request, call: Deferred[Any]())
    assert len(exporter.get_finished_spans()) == 1
    left.addErrback(lambda _: None).cancel()
    serving(lambda request, call: fail(ValueError("no"))).addErrback(lambda _: None)
    kinds = [dict(span.attributes or {})["error.type"] for span in exporter.get_finished_spans()]
    assert kinds == ["CallFailed", "CancelledError", "ValueError"]


def test_no_spans_before_start() -> None:
    service = Service()
    service.methods = GrpcSpans(MessageSpans(BrokerOptions())).before(service.methods)
    service.consumer()
    assert send(service, of(TRACE)) == v2.Code.OK
    assert len(service.receive()) == 1
