"""Spans of messages sent and received by gRPC, created by `metrics.spans`; they wrap the methods.

The broker chooses the queue of a sent message, so its span does not name it. Requests that end transactions
or acknowledge name messages by their ids.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import TYPE_CHECKING, Any

from twisted.python.failure import Failure

from mqgateway.gateway.grpc import v2
from mqgateway.gateway.grpc.call import GrpcCall, Method, Methods, ServerStream, Unary
from mqgateway.gateway.metrics.spans import About, MessageSpans
from mqgateway.gateway.runtime.outcomes import then

if TYPE_CHECKING:
    from opentelemetry.trace import Span

CONTEXT = "traceparent"
STORED = frozenset(
    {
        v2.Code.OK,
        v2.Code.MASTER_PERSISTENCE_TIMEOUT,
        v2.Code.SLAVE_PERSISTENCE_TIMEOUT,
        v2.Code.HA_NOT_AVAILABLE,
    }
)
"""Statuses of stored messages; other methods use the first of them for success."""
ENDS = {v2.TransactionResolution.COMMIT: "commit", v2.TransactionResolution.ROLLBACK: "roll back"}


class GrpcSpans:
    """gRPC spans of one broker, whose other spans are created by `spans`."""

    def __init__(self, spans: MessageSpans) -> None:
        self._spans = spans

    def before(self, methods: Methods) -> Methods:
        """Wrap the methods so that their calls get spans."""
        return {path: self._watched(path.rpartition("/")[2], method) for path, method in methods.items()}

    def _watched(self, name: str, method: Method) -> Method:
        about: dict[str, Callable[[Any], About | None]] = {
            "SendMessage": self._sent,
            "EndTransaction": self._ended,
            "AckMessage": self._acknowledged,
        }
        if isinstance(method, Unary) and name in about:
            return self._asking(method, about[name])
        if isinstance(method, ServerStream) and name in ("ReceiveMessage", "PullMessage"):
            return self._giving(method)
        return method

    def _asking(self, method: Unary, about: Callable[[Any], About | None]) -> Unary:
        """Wrap a method so that each of its calls may have a span."""

        def answer(request: Any, call: GrpcCall) -> Any:
            what = about(request) if self._spans.is_on else None
            span = None if what is None else self._spans.begin(call.peer.address, what)
            if span is None:
                return method.answer(request, call)
            try:
                outcome = method.answer(request, call)
            except Exception as error:
                self._spans.end(span, type(error).__name__, str(error))
                raise
            over = partial(self._over, span=span)
            return then(outcome, over, over)

        return Unary(method.request, answer)

    def _over(self, outcome: Any, span: Span) -> Any:
        if isinstance(outcome, Failure):
            self._spans.end(span, type(outcome.value).__name__, outcome.getErrorMessage())
        else:
            why = outcome.status
            self._spans.end(span, "" if why.code in STORED else v2.Code.Name(why.code), why.message)
        return outcome

    def _giving(self, method: ServerStream) -> ServerStream:
        """Wrap a method whose answers contain messages."""

        def answer(request: Any, call: GrpcCall) -> Any:
            if not self._spans.is_on:
                return method.answer(request, call)
            group = request.group.name

            def given(answers: Iterable[Any]) -> None:
                self._given(
                    call.peer.address, group, [one.message for one in answers if one.HasField("message")]
                )

            listened: Any = _Listened(call, given)
            return method.answer(request, listened)

        return ServerStream(method.request, answer)

    def _sent(self, request: v2.SendMessageRequest) -> About | None:
        carriers = [dict(one.user_properties) for one in request.messages if CONTEXT in one.user_properties]
        if not carriers:
            return None
        first = request.messages[0]
        about = About("store", first.topic.name, "", carriers, len(request.messages))
        if first.system_properties.message_type == v2.MessageType.TRANSACTION:
            self._spans.halves.note((first.system_properties.message_id,), about)
        return about

    def _ended(self, request: v2.EndTransactionRequest) -> About | None:
        operation = ENDS.get(request.resolution)
        halves = self._spans.halves.find([(request.transaction_id,)])
        return halves[0]._replace(operation=operation) if halves and operation else None

    def _acknowledged(self, request: v2.AckMessageRequest) -> About | None:
        names = [(entry.message_id,) for entry in request.entries]
        return self._spans.acknowledged(names, request.group.name)

    def _given(self, address: str, group: str, messages: list[v2.Message]) -> None:
        """Record the delivery of messages to a consumer."""
        carriers = []
        for message in messages:
            if CONTEXT in message.user_properties:
                carriers.append(dict(message.user_properties))
                system = message.system_properties
                about = About("", message.topic.name, str(system.queue_id), carriers[-1:])
                self._spans.popped.note((system.message_id,), about)
        if carriers:
            about = About("deliver", messages[0].topic.name, "", carriers, len(messages), group)
            span = self._spans.begin(address, about)
            if span is not None:
                self._spans.end(span)


class _Listened:
    """Call whose answers are observed."""

    def __init__(self, call: GrpcCall, on_messages: Callable[[Iterable[Any]], None]) -> None:
        self._call = call
        self._on_messages = on_messages

    def __getattr__(self, name: str) -> Any:
        return getattr(self._call, name)

    def send(self, *messages: Any) -> None:
        """See `GrpcCall`."""
        self._on_messages(messages)
        self._call.send(*messages)
