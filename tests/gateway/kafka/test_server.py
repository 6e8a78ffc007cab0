"""Kafka's port: plain, by TLS, behind a proxy; its metrics, and its end."""

from __future__ import annotations

from typing import Any

import pytest
from twisted.internet.error import CannotListenError

from mqgateway.engine.meters import FrontEndMeter
from mqgateway.engine.worker import InlineWorker
from mqgateway.gateway.kafka.codec.messages.metadata_request import MetadataRequest
from mqgateway.gateway.kafka.server import KafkaServer
from tests.support.gateway.kafka.client import kafka_scene


def test_a_proxy_header_names_the_client() -> None:
    with kafka_scene() as scene:
        client = scene.client()
        client.write(b"PROXY TCP4 203.0.113.7 10.0.0.1 56324 9092\r\n")
        assert client.ask(MetadataRequest(topics=[])).brokers
        [connection] = scene.connections()
        assert connection.address == "203.0.113.7:56324"


def test_answers_are_counted_by_api_and_connections_while_they_last() -> None:
    with kafka_scene() as scene:
        meter = FrontEndMeter(has_latency=True)
        service: Any = scene.server._nodes.broker
        loop: Any = scene.hands.loop
        server = KafkaServer(
            scene.operations,
            service.server,
            reactor=loop.net,
            advertised="10.0.0.1",
            worker=InlineWorker(),
            latency=meter.latency,
        )
        server.start("10.0.0.1", 19092)
        assert server.endpoint("out.example") == "out.example:19092"
        scene.port = 19092
        client = scene.client()
        assert client.ask(MetadataRequest(topics=[])).brokers
        assert meter.latency is not None
        [labels] = meter.latency.table
        assert labels[0] == "metadata" and server.connection_count == 1
        client.transport.loseConnection()
        scene.settle(0.1)
        assert server.connection_count == 0
        server.stop()


def test_a_port_that_cannot_be_opened_is_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    with kafka_scene() as scene:
        service: Any = scene.server._nodes.broker
        loop: Any = scene.hands.loop
        server = KafkaServer(scene.operations, service.server, reactor=loop.net, advertised="10.0.0.1")

        def taken(*_: Any) -> Any:
            raise CannotListenError("", 9092, OSError("taken"))

        loop.net.listenTCP = taken
        server.start("10.0.0.1", 9092)
        assert server.port == 0 and server.endpoint("x") is None
        assert "kafkaPort sets another one" in caplog.text
        server.stop()
