"""Faults apply to gRPC calls as to the equivalent remoting requests."""

from __future__ import annotations

from collections.abc import Iterator
from threading import Event

import pytest

from mqgateway.gateway.codec.codes import RequestCode
from mqgateway.gateway.grpc import v2
from mqgateway.gateway.grpc.faults import LIKE
from mqgateway.gateway.grpc.service.messaging import SERVICE
from mqgateway.gateway.testing.faults import SEND
from mqgateway.gateway.testing.server import Server

grpc = pytest.importorskip("grpc")

METADATA = [("x-mq-client-id", "me"), ("x-mq-language", "PYTHON")]
PATIENCE = 20
SOON = 0.3
"""Timeout in seconds of a call whose answer will not arrive."""


@pytest.fixture
def server() -> Iterator[Server]:
    with Server() as made:
        yield made


class Client:
    def __init__(self, server: Server) -> None:
        self.topic = server.create_topic()
        self.channel = grpc.insecure_channel(server.grpc_endpoints)

    def send(self, body: bytes, timeout: float = PATIENCE) -> v2.SendMessageResponse:
        message = v2.Message(topic=v2.Resource(name=self.topic), body=body)
        message.system_properties.message_id = "01" * 17
        message.system_properties.message_type = v2.MessageType.NORMAL
        call = self.channel.unary_unary(
            f"/{SERVICE}/SendMessage",
            v2.SendMessageRequest.SerializeToString,
            v2.SendMessageResponse.FromString,
        )
        answer: v2.SendMessageResponse = call(
            v2.SendMessageRequest(messages=[message]), metadata=METADATA, timeout=timeout
        )
        return answer

    def receive(self) -> list[v2.ReceiveMessageResponse]:
        call = self.channel.unary_stream(
            f"/{SERVICE}/ReceiveMessage",
            v2.ReceiveMessageRequest.SerializeToString,
            v2.ReceiveMessageResponse.FromString,
        )
        request = v2.ReceiveMessageRequest(
            group=v2.Resource(name="G"),
            message_queue=v2.MessageQueue(topic=v2.Resource(name=self.topic), id=-1),
            filter_expression=v2.FilterExpression(type=v2.FilterType.TAG, expression="*"),
            batch_size=16,
            invisible_duration=v2.Duration(seconds=60),
        )
        return list(call(request, metadata=METADATA, timeout=PATIENCE))


@pytest.fixture
def client(server: Server) -> Iterator[Client]:
    made = Client(server)
    with made.channel:
        grpc.channel_ready_future(made.channel).result(PATIENCE)  # so that short waits are for answers only
        yield made


def bodies(server: Server, client: Client) -> list[bytes]:
    return [one.body for one in server.messages(client.topic)]


def test_refusal_becomes_status(server: Server, client: Client) -> None:
    with server.refuse(SEND, code=2, remark="busy", topic=client.topic) as fault:
        status = client.send(b"a").status
        assert (status.code, status.message) == (v2.Code.TOO_MANY_REQUESTS, "busy")
        assert client.send(b"b").status.code == v2.Code.OK, "it strikes once"
    assert fault.hits == 1 and bodies(server, client) == [b"b"]
    server.refuse(SEND, topic="another")
    assert client.send(b"c").status.code == v2.Code.OK
    server.refuse(RequestCode.POP_MESSAGE, code=1)
    assert [answer.status.code for answer in client.receive()] == [v2.Code.INTERNAL_SERVER_ERROR]
    assert client.receive()[0].status.code == v2.Code.OK


def test_dropped_call_is_not_answered(server: Server, client: Client) -> None:
    server.drop(SEND)
    with pytest.raises(grpc.RpcError) as failed:
        client.send(b"lost", SOON)
    assert failed.value.code() is grpc.StatusCode.DEADLINE_EXCEEDED
    server.drop_answer(SEND)
    with pytest.raises(grpc.RpcError) as failed:
        client.send(b"stored", SOON)
    assert failed.value.code() is grpc.StatusCode.DEADLINE_EXCEEDED
    assert bodies(server, client) == [b"stored"]


def test_call_is_delayed_or_disconnected(server: Server, client: Client) -> None:
    with server.delay(SEND, seconds=0.05) as fault:
        assert client.send(b"late").status.code == v2.Code.OK
    assert fault.hits == 1
    server.cut(SEND)
    is_broken = Event()
    # A call that starts before the channel has detected the end of its connection fails as well.
    client.channel.subscribe(lambda state: state is grpc.ChannelConnectivity.READY or is_broken.set())
    with pytest.raises(grpc.RpcError) as failed:
        client.send(b"cut")
    assert failed.value.code() is grpc.StatusCode.UNAVAILABLE
    assert is_broken.wait(PATIENCE)
    assert client.send(b"again").status.code == v2.Code.OK
    assert bodies(server, client) == [b"late", b"again"]


def test_every_method_except_telemetry_has_equivalent_requests(server: Server) -> None:
    answers = {name.removesuffix("Response") for name in vars(v2) if name.endswith("Response")}
    assert set(LIKE) == answers & set(LIKE) and answers - set(LIKE) <= {"Telemetry"}
