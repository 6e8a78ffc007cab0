"""OpenTelemetry spans of sends, receives and processing: an extra (`mqgateway[otel]`).

| span    | covers                               | kind     | links                    |
| ------- | ------------------------------------ | -------- | ------------------------ |
| send    | a send with all its attempts         | PRODUCER |                          |
| create  | each message of a batch              | PRODUCER |                          |
| send    | the batch                            | CLIENT   | contexts of its messages |
| receive | a pull or a poll with messages       | CLIENT   | contexts of the messages |
| process | a call of a push consumer's listener | CONSUMER | contexts of its messages |

A message carries the context of its creation in its properties, as the propagator writes it: usually
`traceparent`, `tracestate` and `baggage`. A listener called with a single message works in its trace.

Attributes and names follow the conventions up to 1.26 (in which receive is CONSUMER), those since 1.27, or
both. OTEL_SEMCONV_STABILITY_OPT_IN selects them: empty, `messaging`, `messaging/dup`. The model is
OpenTelemetry's Java agent applied to Java's client.
"""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from mqgateway.engine.message import PROPERTY_SHARDING_KEY, PROPERTY_TIMER_DELIVER_MS, message_type
from mqgateway.gateway.client.errors import BadArgument, BrokerError, SendFailed
from mqgateway.gateway.client.listening import Consumed
from mqgateway.gateway.client.message import Message, ReceivedMessage, SendResult
from mqgateway.gateway.client.options import ClientOptions

if TYPE_CHECKING:
    from opentelemetry.trace import Link, Span, SpanKind, Tracer, TracerProvider

T = TypeVar("T")

NEEDED = "enable_opentelemetry needs OpenTelemetry's API: pip install mqgateway[otel]"
OPT_IN = "OTEL_SEMCONV_STABILITY_OPT_IN"
NANOS_A_MILLI = 1_000_000
SCHEMA = "https://opentelemetry.io/schemas/1.27.0"
_OLD_OPERATIONS = {"send": "publish", "create": "create", "receive": "receive", "process": "process"}
_NAMESPACE = "messaging.rocketmq.namespace"


class Conventions:
    """Semantic conventions in use: those up to 1.26, those since 1.27, or both."""

    def __init__(self, opt_in: str) -> None:
        chosen = {part.strip() for part in opt_in.split(",")}
        is_both = "messaging/dup" in chosen
        self.new = is_both or "messaging" in chosen
        self.old = is_both or not self.new

    def name(self, operation: str, topic: str) -> str:
        """Return the name of a span. With both conventions it is the new name."""
        return f"{operation} {topic}" if self.new else f"{topic} {_OLD_OPERATIONS[operation]}"

    def attributes(
        self, operation: str, topic: str, group: str, client_id: str, namespace: str
    ) -> dict[str, Any]:
        """Return the attributes common to all spans. Since 1.27 a producer group has no attribute."""
        found: dict[str, Any] = {
            "messaging.system": "rocketmq",
            "messaging.destination.name": topic,
            "messaging.client.id": client_id,
        }
        if namespace:
            found[_NAMESPACE] = namespace
        if self.old:
            found["messaging.operation"] = _OLD_OPERATIONS[operation]
            found["messaging.client_id"] = client_id
            found["messaging.rocketmq.client_group"] = group
        if self.new:
            found["messaging.operation.name"] = found["messaging.operation.type"] = operation
            if operation in ("receive", "process"):
                found["messaging.consumer.group.name"] = group
        return found


class Spans:
    """Factory of the spans of a producer or consumer group.

    Uses the process's tracer provider unless one is given. The environment is read once, on construction.
    Raises `BadArgument` if OpenTelemetry's API is not installed.
    """

    def __init__(
        self,
        group: str,
        client_id: str,
        options: ClientOptions,
        *,
        is_broadcasting: bool | None = None,
        provider: TracerProvider | None = None,
    ) -> None:
        try:
            from opentelemetry import context, propagate, trace
        except ImportError:
            raise BadArgument(NEEDED) from None
        self._trace, self._context, self._propagate = trace, context, propagate
        self._conventions = conventions = Conventions(os.environ.get(OPT_IN, ""))
        self._group = group
        self._client_id = client_id
        self._namespace = options.namespace_v2 or options.namespace
        self._model: dict[str, Any] = {}
        if is_broadcasting is not None:
            model = "broadcasting" if is_broadcasting else "clustering"
            self._model = {"messaging.rocketmq.consumption_model": model}
        self._tracer: Tracer = trace.get_tracer(
            "mqgateway", tracer_provider=provider, schema_url=SCHEMA if conventions.new else None
        )

    # Sending

    async def sent(self, message: Message, work: Callable[[], Awaitable[T]]) -> T:
        """Run `work`, which sends the message, in a span and return its result.

        The message gets the span's context before.
        """
        kind = self._trace.SpanKind.PRODUCER
        span = self._span("send", message.topic, kind, described(message))
        self._give(span, message)
        return await self._followed(span, work)

    async def sent_together(self, messages: Sequence[Message], work: Callable[[], Awaitable[T]]) -> T:
        """Run `work`, which sends a batch, in a span and return its result.

        Each message gets a span of its own.
        """
        kinds = self._trace.SpanKind
        for message in messages:
            created = self._span("create", message.topic, kinds.PRODUCER, described(message))
            self._give(created, message)
            created.end()
        topic = messages[0].topic if messages else ""
        batch = {"messaging.batch.message_count": len(messages)}
        span = self._span("send", topic, kinds.CLIENT, batch, self._links(messages))
        return await self._followed(span, work)

    def _give(self, span: Span, message: Message) -> None:
        carrier: dict[str, str] = {}
        self._propagate.inject(carrier, self._trace.set_span_in_context(span))
        for name, value in carrier.items():
            if value:
                message.put(name, value)

    async def _followed(self, span: Span, work: Callable[[], Awaitable[T]]) -> T:
        try:
            outcome = await work()
        except Exception as error:
            self._failed(span, error)
            raise
        else:
            results = outcome if isinstance(outcome, list) else [outcome]
            span.set_attributes(self._stored([one for one in results if isinstance(one, SendResult)]))
            return outcome
        finally:
            span.end()

    def _stored(self, results: Sequence[SendResult]) -> dict[str, Any]:
        """Return the attributes of a stored message."""
        if len(results) != 1:
            return {}
        (result,) = results
        found: dict[str, Any] = {}
        if "," not in result.message_id:
            found["messaging.message.id"] = result.message_id
        if self._conventions.new:
            found["messaging.destination.partition.id"] = str(result.queue.queue_id)
        return found

    # Consuming

    def received(self, messages: Sequence[ReceivedMessage], began: int) -> None:
        """Record a pull or poll that began at `began` (wall time in ms) and returned messages of one queue.

        Without messages there is no span.
        """
        if not messages:
            return
        topic, kinds = messages[0].topic, self._trace.SpanKind
        kind = kinds.CLIENT if self._conventions.new else kinds.CONSUMER
        attributes: dict[str, Any] = {"messaging.batch.message_count": len(messages), **self._model}
        if self._conventions.new:
            attributes["messaging.destination.partition.id"] = str(messages[0].queue.queue_id)
        self._span("receive", topic, kind, attributes, self._links(messages), began=began).end()

    async def processed(
        self, messages: Sequence[ReceivedMessage], work: Callable[[], Coroutine[Any, Any, Consumed]]
    ) -> Consumed:
        """Run `work`, which calls a listener with the messages, in a span that is current meanwhile."""
        first, attributes, parent = messages[0], dict(self._model), None
        if len(messages) == 1:
            attributes |= described(first) | {"messaging.message.id": first.message_id}
            if self._conventions.new:
                attributes["messaging.destination.partition.id"] = str(first.queue.queue_id)
            parent = self._propagate.extract(first.properties)
        else:
            attributes["messaging.batch.message_count"] = len(messages)
        kind, links = self._trace.SpanKind.CONSUMER, self._links(messages)
        span = self._span("process", first.topic, kind, attributes, links, parent)
        with self._trace.use_span(span, True, record_exception=False, set_status_on_exception=False):
            try:
                outcome = await work()
            except Exception as error:
                self._failed(span, error)
                raise
            if outcome in (Consumed.LATER, Consumed.ROLLBACK):
                span.set_attribute("error.type", outcome.value)
                span.set_status(self._trace.StatusCode.ERROR, outcome.value)
            return outcome

    # Spans

    def _span(
        self,
        operation: str,
        topic: str,
        kind: SpanKind,
        attributes: Mapping[str, Any],
        links: Sequence[Link] = (),
        parent: Any = None,
        began: int | None = None,
    ) -> Span:
        conventions = self._conventions
        common = conventions.attributes(operation, topic, self._group, self._client_id, self._namespace)
        return self._tracer.start_span(
            conventions.name(operation, topic),
            parent,
            kind,
            common | dict(attributes),
            links,
            None if began is None else began * NANOS_A_MILLI,
            record_exception=False,
        )

    def _links(self, messages: Sequence[Message]) -> list[Link]:
        """Return links to the contexts of messages."""
        links = []
        for message in messages:
            carried = self._propagate.extract(message.properties, self._context.Context())
            context = self._trace.get_current_span(carried).get_span_context()
            if context.is_valid:
                links.append(self._trace.Link(context))
        return links

    def _failed(self, span: Span, error: BaseException) -> None:
        cause = error.__cause__ if isinstance(error, SendFailed) else error
        kind = str(int(cause.code)) if isinstance(cause, BrokerError) else type(error).__name__
        span.set_attribute("error.type", kind)
        span.set_status(self._trace.StatusCode.ERROR, str(error))


def described(message: Message) -> dict[str, Any]:
    """Return the attributes of a message; the same in all versions of the conventions."""
    found: dict[str, Any] = {
        "messaging.message.body.size": len(message.body),
        "messaging.rocketmq.message.type": message_type(message.properties),
    }
    if message.unique_key:
        found["messaging.message.id"] = message.unique_key
    if message.tags:
        found["messaging.rocketmq.message.tag"] = message.tags
    if message.keys:
        found["messaging.rocketmq.message.keys"] = message.keys
    if message.delay_level:
        found["messaging.rocketmq.message.delay_time_level"] = message.delay_level
    due = message.properties.get(PROPERTY_TIMER_DELIVER_MS, "")
    if due.isascii() and due.isdigit():
        found["messaging.rocketmq.message.delivery_timestamp"] = int(due)
    if PROPERTY_SHARDING_KEY in message.properties:
        found["messaging.rocketmq.message.group"] = message.properties[PROPERTY_SHARDING_KEY]
    return found
