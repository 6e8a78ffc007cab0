"""Connections that come before Kafka's modules are loaded."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from mqgateway.engine.worker import MemoryWorker
from mqgateway.gateway.kafka.codec.messages.metadata_request import MetadataRequest
from mqgateway.gateway.kafka.server import MODULES, KafkaServer
from tests.support.gateway.kafka.client import KafkaClient, KafkaScene, kafka_scene

NO_TOPICS = MetadataRequest(topics=[])


@contextmanager
def not_loaded() -> Iterator[tuple[KafkaScene, MemoryWorker, KafkaServer]]:
    """A second Kafka port whose modules a worker still has to load."""
    with kafka_scene() as scene:
        worker, service = MemoryWorker(), _service(scene)
        loop: Any = scene.hands.loop
        server = KafkaServer(
            scene.operations, service.server, reactor=loop.net, advertised="10.0.0.1", worker=worker
        )
        server.start("10.0.0.1", 19092)
        scene.port = 19092
        yield scene, worker, server
        server.stop()


def _service(scene: KafkaScene) -> Any:
    return scene.server._nodes.broker


def test_nothing_is_loaded_before_the_first_connection() -> None:
    with not_loaded() as (scene, worker, server):
        scene.settle(1)
        assert not worker.waiting
        scene.client()
        scene.settle(0.1)
        assert worker.waiting == 1 and server.connection_count == 0


def test_first_connections_wait_for_the_modules_and_are_served_then() -> None:
    with not_loaded() as (scene, worker, server):
        first, gone, second = scene.client(), scene.client(), scene.client()
        for client in (first, gone, second):
            client.write(client.frame(NO_TOPICS))
        scene.settle(0.1)
        gone.transport.loseConnection()
        assert first.frames(1, 0.1) == []
        for _ in MODULES:
            worker.perform()
        assert [len(client.frames(1)) for client in (first, second)] == [1, 1]
        assert first.ask(NO_TOPICS).brokers and server.connection_count == 2
        third: KafkaClient = scene.client()
        assert third.ask(NO_TOPICS).brokers
        first.transport.loseConnection()
        scene.settle(0.1)
        assert server.connection_count == 2


def test_modules_of_kafka_are_not_imported_with_the_server() -> None:
    program = (
        "import sys, mqgateway.gateway.kafka.server, mqgateway.gateway.broker.service\n"
        "print([name for name in sys.modules if 'kafka.codec' in name or 'crcmod' in name])"
    )
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert ended.stdout == "[]\n"
