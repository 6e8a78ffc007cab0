"""Single calls of apache.rocketmq.v2.MessagingService, for requests that no official client sends.

Requests are written as protobuf's JSON. A response is returned as a line of text by which two servers can be
compared: names of codes, messages, and the details that matter in a case.
"""

from __future__ import annotations

import queue
import re
from collections.abc import Iterator
from typing import Any, Self

import grpc
from google.protobuf.json_format import ParseDict

from mqgateway.gateway.grpc import v2

SERVICE = "apache.rocketmq.v2.MessagingService"
CALL_SECONDS = 15.0
STREAMS = {"ReceiveMessage", "PullMessage"}

LANGUAGE = {"x-mq-language": "JAVA", "x-mq-client-version": "5.2.0", "x-mq-protocol": "v2"}

Shape = dict[str, Any]


class Probe:
    """A channel to a gRPC front end, and the clients that have sent it their settings."""

    def __init__(self, endpoints: str) -> None:
        self.endpoints = endpoints
        self._channel = grpc.insecure_channel(endpoints, [("grpc.max_receive_message_length", -1)])
        self._open: list[queue.Queue[Any]] = []

    def call(self, method: str, request: Shape, client: str, seconds: float = CALL_SECONDS) -> list[Any]:
        """Return the messages of a response. Raises ``grpc.RpcError`` if the call fails."""
        message = ParseDict(request, getattr(v2, f"{method}Request")())
        path, answers = f"/{SERVICE}/{method}", getattr(v2, f"{method}Response")
        make = self._channel.unary_stream if method in STREAMS else self._channel.unary_unary
        ask = make(path, lambda sent: sent.SerializeToString(), answers.FromString)
        answer = ask(message, timeout=seconds, metadata=headers_of(client))
        return list(answer) if method in STREAMS else [answer]

    def telemetry(self, settings: Shape, client: str, *, keep: bool = True) -> Any:
        """Send a client's settings; return the first response. With `keep`, the stream stays open."""
        waiting: queue.Queue[Any] = queue.Queue()

        def commands() -> Iterator[Any]:
            yield ParseDict({"settings": settings}, v2.TelemetryCommand())
            waiting.get()

        make = self._channel.stream_stream
        command = v2.TelemetryCommand
        ask = make(f"/{SERVICE}/Telemetry", lambda sent: sent.SerializeToString(), command.FromString)
        stream = ask(commands(), timeout=None if keep else CALL_SECONDS, metadata=headers_of(client))
        try:
            return next(stream)
        finally:
            if keep:
                self._open.append(waiting)
            else:
                waiting.put(None)

    def close(self) -> None:
        """End all streams and the channel."""
        for waiting in self._open:
            waiting.put(None)
        self._channel.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *failure: object) -> None:
        self.close()


def headers_of(client: str) -> list[tuple[str, str]]:
    """Return the headers of a client; ``""`` stands for a client without id."""
    return [*LANGUAGE.items(), *([("x-mq-client-id", client)] if client else [])]


def described(answers: list[Any]) -> str:
    """Return a response as one line of text."""
    return "; ".join(filter(None, (_described(answer) for answer in answers)))


def refusal(error: grpc.RpcError) -> str:
    """Return the status of a failed call as one line of text."""
    return normalised(f"gRPC {error.code().name} {error.details()}")


def normalised(text: str) -> str:
    """Return a text without parts that differ by run (lines of Java, addresses), long names shortened."""
    text = re.sub("n{100,}", "n...", text.replace("\n", " "))
    text = re.sub(r"\. [A-Za-z$]+Exception\. .*?\(\w+\.java:\d+\)", "", text)
    return re.sub(r"127\.0\.0\.1:\d+", "ADDRESS", text).strip()


def _described(answer: Any) -> str:
    kind = type(answer).DESCRIPTOR.name
    if kind == "ReceiveMessageResponse" and answer.WhichOneof("content") != "status":
        return "message" if answer.WhichOneof("content") == "message" else ""
    code = v2.Code.Name(answer.status.code)
    said = normalised(answer.status.message)
    if kind == "QueryRouteResponse":
        said += "".join(f" {_queue(one)}" for one in answer.message_queues)
    elif kind == "QueryAssignmentResponse":
        said += "".join(f" {_queue(one.message_queue)}" for one in answer.assignments)
    entries = getattr(answer, "entries", ())
    for entry in entries:
        said += f" [{v2.Code.Name(entry.status.code)} {normalised(entry.status.message)}]"
    return f"{code} {said}".strip()


def _queue(one: Any) -> str:
    types = "+".join(v2.MessageType.Name(kind) for kind in one.accept_message_types)
    endpoints = ",".join(f"{address.host}" for address in one.broker.endpoints.addresses)
    place = f"{one.topic.resource_namespace}/{one.topic.name}:{one.broker.name}.{one.broker.id}"
    return f"({place}.{one.id} {v2.Permission.Name(one.permission)} {types} at {endpoints})"
