"""The cost of a send and a receive over gRPC in this process, from bytes to bytes; see `bench.micro`.

The client's bytes are those of the official Java client: its messages and its header lists. Most fields of a
header list are in the HPACK table, and each call adds two.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from hpack import Encoder

from bench.in_process import Server
from bench.requests import BODY, TOGETHER, TOPIC
from bench.steps import Work
from mqgateway.engine.tables.topics import TopicConfig
from mqgateway.gateway.grpc import v2
from mqgateway.gateway.grpc.frames import (
    DATA,
    DEFAULT_WINDOW,
    END_HEADERS,
    END_STREAM,
    FRAME_HEAD,
    HEADERS,
    PREFACE,
    SETTINGS,
    WINDOW_MAX,
    WINDOW_UPDATE,
)
from mqgateway.gateway.grpc.listener import GrpcListener
from mqgateway.gateway.grpc.wire import MessageCutter

GRPC_PORT = 8081
GROUP = "bench_group"
SERVICE = "/apache.rocketmq.v2.MessagingService/"


class GrpcClient:
    """One connection of gRPC to a server in this process."""

    def __init__(self, server: Server) -> None:
        service = server.service
        GrpcListener(service.operations, service.server, reactor=server.reactor).start("127.0.0.1", GRPC_PORT)
        self._connection, self._transport = server.connect(GRPC_PORT)
        self._encoder = Encoder()
        self._stream = -1
        window = (WINDOW_MAX - DEFAULT_WINDOW).to_bytes(4, "big")
        self.say(PREFACE + _frame(SETTINGS, 0, 0, b"") + _frame(WINDOW_UPDATE, 0, 0, window))

    def say(self, data: bytes) -> None:
        """Deliver `data` to the server as one read."""
        self._transport.clear()
        self._connection.dataReceived(data)

    def call(self, method: str, request: Any) -> bytes:
        """Return the bytes of a call on a new stream."""
        self._stream += 2
        fields = {
            ":authority": "127.0.0.1:8081",
            ":path": SERVICE + method,
            ":method": "POST",
            ":scheme": "http",
            "content-type": "application/grpc",
            "te": "trailers",
            "user-agent": "grpc-java-netty/1.50.0",
            "x-mq-language": "JAVA",
            "x-mq-protocol": "v2",
            "x-mq-client-version": "5.2.0",
            "x-mq-date-time": "20261125T025037Z",
            "x-mq-request-id": f"f1acc735-98ad-4169-bf31-{self._stream:012x}",
            "x-mq-client-id": "vm@27229@0@55jmyy8qp",
            "x-mq-namespace": "",
            "grpc-accept-encoding": "gzip",
            "grpc-timeout": f"{9_990_000 + self._stream % 10_000}u",
        }
        block = self._encoder.encode(fields.items(), huffman=False)
        message = request.SerializeToString()
        data = b"\0" + len(message).to_bytes(4, "big") + message
        return _frame(HEADERS, END_HEADERS, self._stream, block) + _frame(
            DATA, END_STREAM, self._stream, data
        )

    def heard(self) -> list[bytes]:
        """Return the messages of the responses to the last read, which arrive one after another."""
        said: bytes = self._transport.value()
        at, data = 0, b""
        while at < len(said):
            top, low, kind, _, _ = FRAME_HEAD.unpack_from(said, at)
            at += FRAME_HEAD.size
            after = at + (top << 16 | low)
            if kind == DATA:
                data += said[at:after]
            at = after
        return MessageCutter(len(data)).feed(data)


def _frame(kind: int, flags: int, stream: int, payload: bytes) -> bytes:
    size = len(payload)
    return FRAME_HEAD.pack(size >> 16, size & 0xFFFF, kind, flags, stream) + payload


def send_request(number: int) -> v2.SendMessageRequest:
    """Return a send as the official client writes it."""
    system = v2.SystemProperties(
        message_id=f"01{number:032X}",
        message_type=v2.MessageType.NORMAL,
        born_timestamp=v2.Timestamp(seconds=int(time.time()), nanos=123_000_000),
        born_host="vm",
        body_encoding=v2.Encoding.IDENTITY,
        queue_id=number % 4,
    )
    message = v2.Message(topic=v2.Resource(name=TOPIC), system_properties=system, body=BODY)
    return v2.SendMessageRequest(messages=[message])


def receive_request() -> v2.ReceiveMessageRequest:
    """Return a receive of up to `TOGETHER` messages with a long poll of 5 s."""
    expression = v2.FilterExpression(type=v2.FilterType.TAG, expression="*")
    return v2.ReceiveMessageRequest(
        group=v2.Resource(name=GROUP),
        message_queue=v2.MessageQueue(topic=v2.Resource(name=TOPIC), id=-1),
        filter_expression=expression,
        batch_size=TOGETHER,
        invisible_duration=v2.Duration(seconds=60),
        long_polling_timeout=v2.Duration(seconds=5),
    )


def acknowledgement(message: v2.Message) -> v2.AckMessageRequest:
    """Return an acknowledgement of one message, as the official client makes it."""
    system = message.system_properties
    entry = v2.AckMessageEntry(message_id=system.message_id, receipt_handle=system.receipt_handle)
    return v2.AckMessageRequest(group=v2.Resource(name=GROUP), topic=message.topic, entries=[entry])


class Exchange:
    """Sends, receives and acknowledgements, `TOGETHER` at a time; each prepares the input of the next."""

    def __init__(self, server: Server) -> None:
        server.service.broker.tables.topics.put(TopicConfig(TOPIC, 4, 4))
        self._client = GrpcClient(server)
        self._sent = 0
        self._data = b""
        self._received: list[v2.Message] = []

    def prepare_sends(self) -> None:
        """Prepare the bytes of the sends."""
        numbers = range(self._sent, self._sent + TOGETHER)
        self._sent += TOGETHER
        self._data = b"".join(self._client.call("SendMessage", send_request(one)) for one in numbers)

    def prepare_receive(self) -> None:
        """Send the messages to receive, and prepare the bytes of the receive."""
        self.prepare_sends()
        self.do()
        self._data = self._client.call("ReceiveMessage", receive_request())

    def prepare_acknowledgements(self) -> None:
        """Receive messages, and prepare the bytes that acknowledge them."""
        self.prepare_receive()
        self.do()
        calls = (self._client.call("AckMessage", acknowledgement(one)) for one in self.received())
        self._data = b"".join(calls)

    def do(self) -> None:
        """Deliver the prepared bytes to the server."""
        self._client.say(self._data)

    def received(self) -> list[v2.Message]:
        """Return the messages received in answer to the last read."""
        answers = map(v2.ReceiveMessageResponse.FromString, self._client.heard())
        return [answer.message for answer in answers if answer.HasField("message")]

    def check(self) -> None:
        """Do everything once. Raises `RuntimeError` if a response is not as expected."""
        self.prepare_sends()
        self.do()
        codes = [v2.SendMessageResponse.FromString(one).status.code for one in self._client.heard()]
        if codes != [v2.Code.OK] * TOGETHER:
            raise RuntimeError(f"sends were answered {codes}")
        self.prepare_receive()
        self.do()
        if not self.received():
            raise RuntimeError(f"received nothing: {self._client.heard()}")
        self.prepare_acknowledgements()
        self.do()
        codes = [v2.AckMessageResponse.FromString(one).status.code for one in self._client.heard()]
        if set(codes) != {v2.Code.OK}:
            raise RuntimeError(f"acknowledgements were answered {codes}")


def grpc_work(folder: Path) -> list[Work]:
    """Sends, receives, acknowledgements."""
    exchange = Exchange(Server(folder / "grpc"))
    exchange.check()
    return [
        Work("a whole send over gRPC", TOGETHER, exchange.do, exchange.prepare_sends),
        Work(f"a whole receive of {TOGETHER} over gRPC", 1, exchange.do, exchange.prepare_receive),
        Work("an acknowledgement over gRPC", TOGETHER, exchange.do, exchange.prepare_acknowledgements),
    ]
