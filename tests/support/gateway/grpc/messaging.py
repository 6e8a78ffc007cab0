"""Messaging service over an in-memory broker, and calls of it without a connection."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from twisted.internet.defer import Deferred
from twisted.internet.task import Clock

from mqgateway.engine.tables.groups import SubscriptionGroupConfig
from mqgateway.gateway.access.callers import CallerAccess
from mqgateway.gateway.broker.operations import Operations
from mqgateway.gateway.grpc import v2
from mqgateway.gateway.grpc.call import (
    Bidirectional,
    CallFailed,
    Incoming,
    RpcPeer,
    ServerStream,
    Status,
    Unary,
)
from mqgateway.gateway.grpc.service.messaging import SERVICE, Messaging
from mqgateway.gateway.remoting.long_work import LongWork
from tests.support.gateway.broker.pop import PopBroker

PORT = 8081
OPTIONS = {"recall_message_enable": True}
LITE_STORE = {"enable_lmq": True, "enable_multi_dispatch": True}
ID = "0102FC0000000139F10B14BF1200000000"


class FakeCall:
    """`Call` that keeps its answers and can be cancelled by its client."""

    def __init__(self, method: str, client_id: str = "c1", **headers: str) -> None:
        self.path = f"/{SERVICE}/{method}"
        given = {name.replace("_", "-"): value for name, value in headers.items()}
        self.metadata = {"x-mq-language": "JAVA", "x-mq-client-version": "5.2.0"} | given
        if client_id:
            self.metadata["x-mq-client-id"] = client_id
        self.authority = "127.0.0.1:18081"
        self.peer = RpcPeer("10.0.0.9", 5000, "10.0.0.1", PORT, False)
        self.encoded = b""
        self.left: float | None = 30.0
        self.sent: list[Any] = []
        self.ended: tuple[Status, str] | None = None
        self._on_end: list[Callable[[bool], None]] = []

    def remaining(self) -> float | None:
        """Return the seconds until the deadline."""
        return self.left

    def send(self, *messages: Any) -> None:
        """Keep an answer as the client would read it."""
        if self.ended is None:
            self.sent += [type(one).FromString(one.SerializeToString()) for one in messages]

    def finish(self, status: Status = Status.OK, message: str = "") -> None:
        """End the call."""
        if self.ended is None:
            self.ended = status, message
            self._report(False)

    def on_end(self, ended: Callable[[bool], None]) -> None:
        """Register a callback, called once as by a real call."""
        self._on_end.append(ended)

    def leave(self) -> None:
        """Cancel the call by the client."""
        if self.ended is None:
            self.ended = Status.CANCELLED, ""
            self._report(True)

    def _report(self, is_left: bool) -> None:
        callbacks, self._on_end = self._on_end, []
        for callback in callbacks:
            callback(is_left)


class Stream:
    """Client side of a Telemetry stream."""

    def __init__(self, call: FakeCall, incoming: Incoming, broker: PopBroker) -> None:
        self.call = call
        self._incoming = incoming
        self._broker = broker

    def say(self, **command: Any) -> None:
        """Send a message; a failure ends the call."""
        try:
            self._incoming.received(v2.TelemetryCommand(**command))
        except CallFailed as failure:
            self.call.finish(failure.status, failure.message)
        self._broker.broker.store.dispatch()

    def half_close(self) -> None:
        """End the client's messages."""
        self._incoming.half_closed()

    @property
    def heard(self) -> list[v2.TelemetryCommand]:
        """Return all messages received by the client."""
        return self.call.sent


class Service:
    """Service, its broker with topic T, and a manual clock."""

    def __init__(self, admission: CallerAccess | None = None, **given: Any) -> None:
        given["options"] = OPTIONS | given.get("options", {})
        self.memory = PopBroker(**given)
        self.memory.chance = 0
        self.broker = self.memory.broker
        self.loop = Clock()
        self.service = Messaging(
            Operations(self.broker, LongWork(self.loop), admission=admission),
            lambda: PORT,
        )
        self.methods = self.service.methods()

    def begin(self, request: Any, client_id: str = "c1", **headers: str) -> tuple[FakeCall, list[Any]]:
        """Start a call, which may continue: its answers will be in the list, or in the call's."""
        name = type(request).DESCRIPTOR.name.removesuffix("Request")
        call, answers = FakeCall(name, client_id, **headers), list[Any]()
        method = self.methods[call.path]
        assert isinstance(method, Unary | ServerStream) and method.request is type(request)
        outcome = method.answer(request, call)
        self.broker.store.dispatch()
        if isinstance(outcome, Deferred):
            outcome.addCallback(answers.append)
        elif isinstance(method, Unary):
            answers.append(outcome)
        return call, call.sent if isinstance(method, ServerStream) else answers

    def ask(self, request: Any, client_id: str = "c1", **headers: str) -> Any:
        """Make a call that is answered at once; return the list of answers for a stream."""
        call, answers = self.begin(request, client_id, **headers)
        if isinstance(self.methods[call.path], ServerStream):
            assert call.ended is not None, "it waits"
            return answers
        assert answers, "it waits"
        return answers[0]

    def telemetry(self, client_id: str = "c1", **headers: str) -> Stream:
        """Open a Telemetry stream without messages."""
        call = FakeCall("Telemetry", client_id, **headers)
        method = self.methods[call.path]
        assert isinstance(method, Bidirectional)
        return Stream(call, method.begin(call), self.memory)

    def producer(self, *topics: str, client_id: str = "c1") -> Stream:
        """Open a producer that has sent its settings."""
        stream = self.telemetry(client_id)
        named = [v2.Resource(name=topic) for topic in topics or ("T",)]
        settings = v2.Settings(client_type=v2.ClientType.PRODUCER, publishing=v2.Publishing(topics=named))
        stream.say(settings=settings)
        return stream

    def consumer(
        self,
        group: str = "G",
        topic: str = "T",
        kind: v2.ClientType = v2.ClientType.SIMPLE_CONSUMER,
        client_id: str = "c1",
    ) -> Stream:
        """Open a consumer that has sent its settings."""
        stream = self.telemetry(client_id)
        entry = v2.SubscriptionEntry(topic=v2.Resource(name=topic))
        subscription = v2.Subscription(group=v2.Resource(name=group), subscriptions=[entry])
        stream.say(settings=v2.Settings(client_type=kind, subscription=subscription))
        return stream

    def topic(self, name: str, kind: str = "NORMAL", **other: Any) -> None:
        """Create a topic of a type."""
        self.memory.add_topic(name, attributes={"message.type": kind}, **other)

    def group(self, name: str = "G", **settings: Any) -> None:
        """Create a group."""
        self.broker.tables.groups.put(SubscriptionGroupConfig(name, **settings))

    def send(self, body: bytes = b"hello", topic: str = "T", **system: Any) -> v2.SendResultEntry:
        """Send one message, which must be accepted."""
        answer = self.ask(v2.SendMessageRequest(messages=[message(body, topic, **system)]))
        assert answer.status.code == v2.Code.OK, answer.status
        return answer.entries[0]

    def receive(self, group: str = "G", topic: str = "T", **fields: Any) -> list[v2.Message]:
        """Return the messages of a receive, which must have some."""
        request = receiving(group, topic, **fields)
        return messages_in(self.ask(request))

    def turn(self) -> None:
        """Run one turn of the event loop, without the calls that it schedules."""
        for one in self.loop.getDelayedCalls():
            work, arguments, named = one.func, one.args, one.kw
            one.cancel()
            work(*arguments, **named)
        self.broker.store.dispatch()

    def pass_time(self, millis: int, step: int = 500) -> None:
        """Advance the time in steps, for the broker and the service."""
        while millis > 0:
            self.memory.wait(min(step, millis))
            self.service.tick()
            self.broker.store.dispatch()
            millis -= step


def message(body: bytes = b"hello", topic: str = "T", **system: Any) -> v2.Message:
    """Return a message to send; `user` are its properties."""
    user = system.pop("user", {})
    properties = v2.SystemProperties(**{"message_id": ID, "born_timestamp": v2.Timestamp(seconds=1)} | system)
    return v2.Message(
        topic=v2.Resource(name=topic), body=body, user_properties=user, system_properties=properties
    )


def receiving(group: str = "G", topic: str = "T", **fields: Any) -> v2.ReceiveMessageRequest:
    """Return a receive request for up to 32 messages, invisible for 20 s, that waits 5 s."""
    usual: dict[str, Any] = {
        "group": v2.Resource(name=group),
        "message_queue": v2.MessageQueue(topic=v2.Resource(name=topic)),
        "batch_size": 32,
        "invisible_duration": v2.Duration(seconds=20),
        "long_polling_timeout": v2.Duration(seconds=5),
    }
    return v2.ReceiveMessageRequest(**usual | fields)


def messages_in(answers: list[v2.ReceiveMessageResponse]) -> list[v2.Message]:
    """Return the messages of an answer, whose shape is checked."""
    kinds = [answer.WhichOneof("content") for answer in answers]
    assert kinds[0] == "status" and kinds[-1] == "delivery_timestamp", kinds
    assert answers[0].status.code == v2.Code.OK, answers[0].status
    return [answer.message for answer in answers[1:-1]]


def handles_of(messages: list[v2.Message]) -> Iterator[str]:
    """Return the receipt handles of messages."""
    return (one.system_properties.receipt_handle for one in messages)


def acking(messages: list[v2.Message], group: str = "G", topic: str = "T") -> v2.AckMessageRequest:
    """Return an acknowledgement of messages."""
    entries = [
        v2.AckMessageEntry(
            message_id=one.system_properties.message_id,
            receipt_handle=one.system_properties.receipt_handle,
            lite_topic=one.system_properties.lite_topic or None,
        )
        for one in messages
    ]
    return v2.AckMessageRequest(group=v2.Resource(name=group), topic=v2.Resource(name=topic), entries=entries)
