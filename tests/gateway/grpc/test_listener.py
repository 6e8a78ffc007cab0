"""gRPC of a broker on a real connection: calls reach the broker, and stored messages are visible at once."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest

from mqgateway.gateway.grpc import v2
from mqgateway.gateway.testing.nodes import ServerError
from mqgateway.gateway.testing.server import Server

grpc = pytest.importorskip("grpc")

SERVICE = "apache.rocketmq.v2.MessagingService"
METADATA = [("x-mq-client-id", "me"), ("x-mq-language", "PYTHON"), ("x-mq-protocol", "v2")]
PATIENCE = 20


def ask(channel: Any, method: str, request: Any) -> Any:
    answer = getattr(v2, f"{method}Response")
    call = channel.unary_unary(f"/{SERVICE}/{method}", type(request).SerializeToString, answer.FromString)
    return call(request, metadata=METADATA, timeout=PATIENCE)


def send(channel: Any, topic: str, body: bytes) -> v2.SendMessageResponse:
    message = v2.Message(topic=v2.Resource(name=topic), body=body)
    message.system_properties.message_id = "01" * 17
    message.system_properties.message_type = v2.MessageType.NORMAL
    answer: v2.SendMessageResponse = ask(channel, "SendMessage", v2.SendMessageRequest(messages=[message]))
    return answer


def test_sent_message_is_stored_and_port_is_stable() -> None:
    with Server() as server:
        topic = server.create_topic()
        endpoints = server.grpc_endpoints
        for target in (endpoints, server.broker_address):
            with grpc.insecure_channel(target) as channel:
                assert send(channel, topic, target.encode()).status.code == v2.Code.OK
        assert {one.body for one in server.messages(topic)} == {
            endpoints.encode(),
            server.broker_address.encode(),
        }
        with grpc.insecure_channel(endpoints) as channel:
            settings = v2.Settings(client_type=v2.ClientType.PRODUCER)
            settings.publishing.topics.add(name=topic)
            telemetry = channel.stream_stream(
                f"/{SERVICE}/Telemetry", v2.TelemetryCommand.SerializeToString, v2.TelemetryCommand.FromString
            )
            result = telemetry(iter([v2.TelemetryCommand(settings=settings)]), metadata=METADATA)
            assert next(result).status.code == v2.Code.OK
            server.restart()
            assert server.grpc_endpoints == endpoints
            assert send(channel, topic, b"again").status.code == v2.Code.OK


def test_route_has_port_in_use() -> None:
    with Server() as server, grpc.insecure_channel(server.grpc_endpoints) as channel:
        topic = server.create_topic()
        answer = ask(channel, "QueryRoute", v2.QueryRouteRequest(topic=v2.Resource(name=topic)))
        ports = {one.port for queue in answer.message_queues for one in queue.broker.endpoints.addresses}
        assert ports == {int(server.grpc_endpoints.rpartition(":")[2])}


def test_grpc_modules_are_not_loaded_before_first_connection() -> None:
    program = (
        "import sys, mqgateway.gateway.grpc.listener; print({'hpack', 'google.protobuf'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"


def test_endpoints_before_start_raise() -> None:
    with pytest.raises(ServerError, match="gRPC is not served"):
        _ = Server().grpc_endpoints
