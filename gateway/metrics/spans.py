"""Spans of sends, where the message's own context asks for them: a hook of the dispatcher.

A message with a `traceparent` (W3C Trace Context, which OpenTelemetry's instrumentation of clients writes)
whose trace is sampled gets a span here, a child of the sender's: from when the request was read to when its
answer is written, so with what it waited for disk and slaves. Other sends cost a look at their properties. A
batch has its contexts inside its body, which is not looked into. Standard: none, Apache's makes no spans.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from twisted.internet.defer import Deferred, succeed

from mqgateway.engine.errors import ConfigError
from mqgateway.engine.message import parse_properties
from mqgateway.engine.options import BrokerOptions
from mqgateway.gateway.codec.codes import RequestCode, ResponseCode
from mqgateway.gateway.codec.fields import Header
from mqgateway.gateway.codec.headers import SendMessageRequestHeader, SendMessageRequestHeaderV2
from mqgateway.gateway.metrics.metric import common_labels
from mqgateway.gateway.remoting.call import Call, Reply
from mqgateway.gateway.runtime.threads import ThreadedLoop, ThreadWorker

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import SpanProcessor, TracerProvider
    from opentelemetry.trace import Span

NEEDED = "tracesGrpcExporterTarget needs OpenTelemetry's SDK: pip install mqgateway[otel]"
CARRIED = "traceparent\x01"
STORED = frozenset(
    {
        ResponseCode.SUCCESS,
        ResponseCode.FLUSH_DISK_TIMEOUT,
        ResponseCode.FLUSH_SLAVE_TIMEOUT,
        ResponseCode.SLAVE_NOT_AVAILABLE,
    }
)
"""Answers with which a message is stored."""


def _spelled(header: type[Header]) -> tuple[str, str, str]:
    """How a request spells topic, queue and properties."""
    spelling = {field.name: field.wire_name for field in header.__fields__}
    return spelling["topic"], spelling["queue_id"], spelling["properties"]


SENDS = {
    int(RequestCode.SEND_MESSAGE): _spelled(SendMessageRequestHeader),
    int(RequestCode.SEND_MESSAGE_V2): _spelled(SendMessageRequestHeaderV2),
}


class SendSpans:
    """The spans of one broker. There are none before `start`, which loads what makes and exports them."""

    def __init__(self, options: BrokerOptions) -> None:
        self._options = options
        self._provider: TracerProvider | None = None
        self._open: dict[int, Span] = {}

    def start(self, processor: SpanProcessor | None = None) -> None:
        """Begin; without a `processor` spans go to the collector that the options name. Raises `ConfigError`
        where the SDK is not installed."""
        try:
            from opentelemetry import trace
            from opentelemetry.sdk.resources import Resource
            from opentelemetry.sdk.trace import TracerProvider, sampling
            from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator
        except ImportError as error:
            raise ConfigError(f"{NEEDED} ({error})") from None
        options = self._options
        about = {
            "service.name": "mqgateway",
            "service.namespace": options.broker_cluster_name,
            "service.instance.id": options.broker_name,
        }
        provider = TracerProvider(sampling.ParentBased(sampling.ALWAYS_OFF), Resource.create(about))
        provider.add_span_processor(processor or _to_collector(options))
        self._trace, self._propagator = trace, TraceContextTextMapPropagator()
        self._tracer = provider.get_tracer("mqgateway")
        self._provider = provider

    def stop(self, reactor: ThreadedLoop) -> Deferred[None]:
        """Make no more; fires when those that wait are sent, or cannot be."""
        provider, self._provider = self._provider, None
        if provider is None:
            return succeed(None)
        over: Deferred[None] = Deferred()
        worker = ThreadWorker(reactor, name="spans")
        worker.run(provider.shutdown, lambda _: over.callback(None))
        return over.addCallback(lambda _: worker.stop())

    def before(self, call: Call) -> None:
        """A span begins, if the request is a send whose context asks for it."""
        spelled = SENDS.get(call.command.code)
        if spelled is None or self._provider is None:
            return
        fields = call.command.ext_fields
        topic, queue_id, properties = spelled
        text = fields.get(properties) or ""
        if CARRIED not in text:
            return
        context = self._propagator.extract(parse_properties(text))
        if not self._trace.get_current_span(context).get_span_context().trace_flags.sampled:
            return
        about: dict[str, Any] = {
            "messaging.system": "rocketmq",
            "messaging.destination.name": fields.get(topic, ""),
            "messaging.destination.partition.id": fields.get(queue_id, ""),
            "network.peer.address": call.peer.address,
            "server.address": self._options.broker_ip1,
        }
        name, kind = f"store {fields.get(topic, '')}", self._trace.SpanKind.SERVER
        self._open[id(call)] = self._tracer.start_span(name, context, kind, about)

    def after(self, call: Call, reply: Reply) -> None:
        """It ends with the answer."""
        span = self._open.pop(id(call), None) if self._open else None
        if span is None:
            return
        if reply.code not in STORED:
            span.set_attribute("error.type", str(int(reply.code)))
            span.set_status(self._trace.StatusCode.ERROR, reply.remark)
        span.end()


def _to_collector(options: BrokerOptions) -> SpanProcessor:
    try:
        from grpc import Compression
        from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk.trace.export import BatchSpanProcessor
    except ImportError as error:
        raise ConfigError(f"{NEEDED} ({error})") from None
    target = options.traces_grpc_exporter_target.strip()
    endpoint = target if target.startswith("http") else f"https://{target}"
    headers = common_labels(options.traces_grpc_exporter_header)
    exporter = OTLPSpanExporter(
        endpoint=endpoint,
        insecure=endpoint.startswith("http://"),
        headers=tuple((name.lower(), value) for name, value in headers.items()),
        timeout=options.metric_grpc_exporter_time_out_in_mills / 1000,
        compression=Compression.Gzip,
    )
    return BatchSpanProcessor(exporter)
