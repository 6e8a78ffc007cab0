"""Spans of message operations, made if the message's own trace context is sampled: a hook of the dispatcher.

The context is the `traceparent` of a message (W3C Trace Context), which OpenTelemetry's instrumentation of
clients writes. If its trace is sampled, these operations get a span each:

- its send, from the read of the request to the write of the answer, including the wait for disk and slaves
- each delivery to a consumer
- the end of its transaction
- its acknowledgement after a pop

A request about several such messages, such as a batch, has one span. It is a child of the first message's
context and links to the others. Other requests cost a look at their properties, answers with messages a
search for the word.

The requests that end a transaction and acknowledge do not carry the message. They find its context among the
last `REMEMBERED` messages of their kind. RocketMQ: none, it makes no spans.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from twisted.internet.defer import Deferred, succeed

from mqgateway.engine.errors import ConfigError, MessageIllegal
from mqgateway.engine.message import (
    PROPERTY_TRANSACTION_PREPARED,
    PROPERTY_UNIQ_KEY,
    StoredMessage,
    parse_properties,
)
from mqgateway.engine.options import BrokerOptions
from mqgateway.engine.pop.names import real_topic
from mqgateway.engine.store.client_elements import split_batch
from mqgateway.engine.store.record import decode
from mqgateway.gateway.codec.bodies.pop import BatchAckMessageRequestBody
from mqgateway.gateway.codec.codes import RequestCode, ResponseCode
from mqgateway.gateway.codec.errors import HeaderError, ProtocolError
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
CARRIED_BYTES = CARRIED.encode()
LOOKED_INTO_MAX = 256 * 1024
"""Maximum size, in bytes, of a body that is searched. A larger one would block the event loop."""
REMEMBERED = 10_000
STORED = frozenset(
    {
        ResponseCode.SUCCESS,
        ResponseCode.FLUSH_DISK_TIMEOUT,
        ResponseCode.FLUSH_SLAVE_TIMEOUT,
        ResponseCode.SLAVE_NOT_AVAILABLE,
    }
)
"""Response codes of a stored message. Other requests are answered SUCCESS if they succeed."""

ENDS = {"8": "commit", "12": "roll back"}
ACKNOWLEDGES = frozenset(map(int, (RequestCode.ACK_MESSAGE, RequestCode.BATCH_ACK_MESSAGE)))

Carrier = Mapping[str, str]
"""Properties of a message."""
Name = tuple[str, ...]
"""Key of a message: its transaction id, or topic, queue and offset."""


class Spelling(NamedTuple):
    """Wire names of the fields that spans need, for one kind of send request."""

    topic: str
    queue_id: str
    properties: str
    batch: str


def _spelled(header: type[Header]) -> Spelling:
    spelling = {field.name: field.wire_name for field in header.__fields__}
    return Spelling(*(spelling[name] for name in Spelling._fields))


SENDS = {
    int(RequestCode.SEND_MESSAGE): _spelled(SendMessageRequestHeader),
    int(RequestCode.SEND_MESSAGE_V2): _spelled(SendMessageRequestHeaderV2),
    int(RequestCode.SEND_BATCH_MESSAGE): _spelled(SendMessageRequestHeaderV2),
}
POPS = frozenset(map(int, (RequestCode.POP_MESSAGE, RequestCode.POP_LITE_MESSAGE)))
GETS = POPS | frozenset(map(int, (RequestCode.PULL_MESSAGE, RequestCode.LITE_PULL_MESSAGE)))


class About(NamedTuple):
    """Subject of a span: the messages with a context, by their properties, out of `messages` in total."""

    operation: str
    topic: str
    queue_id: str
    carriers: Sequence[Carrier]
    messages: int = 1
    group: str = ""


class SeenMessages:
    """The last messages that passed, by the key with which later requests name them."""

    def __init__(self) -> None:
        self._known: dict[Name, About] = {}

    def note(self, name: Name, about: About) -> None:
        """Add a message; evict the oldest if there are too many."""
        self._known[name] = about
        if len(self._known) > REMEMBERED:
            del self._known[next(iter(self._known))]

    def find(self, names: Iterable[Name]) -> list[About]:
        """Return the messages of these names that are remembered."""
        return [self._known[name] for name in names if name in self._known]


def sent(call: Call, spelled: Spelling) -> About | None:
    """Return the subject of a send request; None if no context is found in plain text."""
    fields = call.command.ext_fields
    carriers: list[Carrier] = []
    count = 1
    if fields.get(spelled.batch) == "true":
        if len(call.body) <= LOOKED_INTO_MAX and CARRIED_BYTES in call.body:
            elements = split_batch(call.body)
            count = len(elements)
            texts = [element[2][2:].decode("utf-8", "replace") for element in elements]
            carriers = [parse_properties(text) for text in texts if CARRIED in text]
    elif CARRIED in (text := fields.get(spelled.properties) or ""):
        carriers = [parse_properties(text)]
    if not carriers:
        return None
    return About("store", fields.get(spelled.topic, ""), fields.get(spelled.queue_id, ""), carriers, count)


def given(body: bytes) -> Iterator[StoredMessage]:
    """Yield the messages of an answer."""
    at = 0
    while at < len(body):
        message = decode(body, at)
        yield message
        at += message.size


def acknowledged(call: Call) -> tuple[str, list[Name]]:
    """Return the group and the names of the messages that a request acknowledges.

    Without names if the body is larger than `LOOKED_INTO_MAX`.
    """
    if call.command.code == RequestCode.ACK_MESSAGE:
        fields = call.command.ext_fields
        name = tuple(fields.get(part, "") for part in ("topic", "queueId", "offset"))
        return fields.get("consumerGroup", ""), [name]
    names: list[Name] = []
    group = ""
    if len(call.body) > LOOKED_INTO_MAX:
        return group, names
    for ack in BatchAckMessageRequestBody.decode(call.body).acks:
        group = ack.consumer_group
        topic = real_topic(ack.topic, group, ack.retry)
        names += ((topic, str(ack.queue_id), str(offset)) for offset in ack.offsets)
    return group, names


class MessageSpans:
    """Spans of one broker. There are none before `start`, which loads the SDK that makes and exports
    them."""

    def __init__(self, options: BrokerOptions) -> None:
        self._options = options
        self._provider: TracerProvider | None = None
        self._open: dict[int, Span] = {}
        self.halves = SeenMessages()
        self.popped = SeenMessages()

    @property
    def is_on(self) -> bool:
        """True if spans are made."""
        return self._provider is not None

    def start(self, processor: SpanProcessor | None = None) -> None:
        """Start to make spans; without a `processor` they go to the collector that the options name.

        Raises `ConfigError` if the SDK is not installed.
        """
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
        """Stop making spans; the Deferred fires once the pending ones are sent, or cannot be."""
        provider, self._provider = self._provider, None
        if provider is None:
            return succeed(None)
        over: Deferred[None] = Deferred()
        worker = ThreadWorker(reactor, name="spans")
        worker.run(provider.shutdown, lambda _: over.callback(None))
        return over.addCallback(lambda _: worker.stop())

    def before(self, call: Call) -> None:
        """Begin a span if the request is about messages whose contexts are sampled."""
        if not self.is_on:
            return
        try:
            about = self._about(call)
        except (
            ValueError,
            MessageIllegal,
            ProtocolError,
            HeaderError,
        ):  # the request's function will refuse it
            return
        span = None if about is None else self.begin(call.peer.address, about)
        if span is not None:
            self._open[id(call)] = span

    def after(self, call: Call, reply: Reply) -> None:
        """End the span with the answer. Messages that an answer delivers get a span of their own."""
        if call.command.code in GETS:
            is_short = len(reply.body) <= LOOKED_INTO_MAX
            if is_short and self.is_on and CARRIED_BYTES in reply.body:
                self._given(call, reply.body)
            return
        span = self._open.pop(id(call), None) if self._open else None
        if span is not None:
            self.end(span, "" if reply.code in STORED else str(int(reply.code)), reply.remark)

    def _about(self, call: Call) -> About | None:
        """Return the subject of a request's span; None if it gets no span."""
        code, fields = call.command.code, call.command.ext_fields
        if code in SENDS:
            about = sent(call, SENDS[code])
            if about is not None and about.carriers[0].get(PROPERTY_TRANSACTION_PREPARED) == "true":
                self.halves.note((about.carriers[0].get(PROPERTY_UNIQ_KEY, ""),), about)
            return about
        if code == RequestCode.END_TRANSACTION:
            operation = ENDS.get(fields.get("commitOrRollback", ""))
            halves = self.halves.find([(fields.get("transactionId", ""),)]) if operation else []
            return halves[0]._replace(operation=operation) if halves and operation else None
        if code in ACKNOWLEDGES:
            group, names = acknowledged(call)
            return self.acknowledged(names, group)
        return None

    def acknowledged(self, names: Sequence[Name], group: str) -> About | None:
        """Return the subject of the acknowledgement of these messages; None if none is remembered."""
        popped = self.popped.find(names)
        if not popped:
            return None
        carriers = [about.carriers[0] for about in popped]
        return About("acknowledge", *popped[0][1:3], carriers, len(names), group)

    def _given(self, call: Call, body: bytes) -> None:
        """Make the span of a delivery, and remember messages that were popped."""
        fields = call.command.ext_fields
        topic, group = fields.get("topic", ""), fields.get("consumerGroup", "")
        messages = list(given(body))
        carriers = []
        for message in messages:
            if "traceparent" in message.properties:
                carriers.append(message.properties)
                if call.command.code in POPS:
                    name = message.topic, str(message.queue_id), str(message.queue_offset)
                    self.popped.note(name, About("", *name[:2], [message.properties]))
        about = About("deliver", topic, fields.get("queueId", ""), carriers, len(messages), group)
        span = self.begin(call.peer.address, about)
        if span is not None:
            self.end(span)

    def end(self, span: Span, error: str = "", remark: str | None = None) -> None:
        """End the span, with an error if one is given."""
        if error:
            span.set_attribute("error.type", error)
            span.set_status(self._trace.StatusCode.ERROR, remark)
        span.end()

    def begin(self, address: str, about: About) -> Span | None:
        """Return a new span for a peer of this address; None if no trace of the messages is sampled."""
        contexts = [self._propagator.extract(carrier) for carrier in about.carriers]
        origins = [self._trace.get_current_span(context).get_span_context() for context in contexts]
        asking = [
            (context, origin)
            for context, origin in zip(contexts, origins, strict=True)
            if origin.trace_flags.sampled
        ]
        if not asking:
            return None
        attributes: dict[str, Any] = {
            "messaging.system": "rocketmq",
            "messaging.destination.name": about.topic,
            "network.peer.address": address,
            "server.address": self._options.broker_ip1,
        }
        if about.queue_id:
            attributes["messaging.destination.partition.id"] = about.queue_id
        if about.group:
            attributes["messaging.consumer.group.name"] = about.group
        if about.messages > 1:
            attributes["messaging.batch.message_count"] = about.messages
        links = [self._trace.Link(origin) for _, origin in asking[1:]]
        name, kind = f"{about.operation} {about.topic}", self._trace.SpanKind.SERVER
        return self._tracer.start_span(name, asking[0][0], kind, attributes, links)


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
