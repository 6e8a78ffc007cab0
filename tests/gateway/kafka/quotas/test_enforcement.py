"""Clients that exceed their quotas, in conversations."""

from __future__ import annotations

from typing import Any

import pytest

from mqgateway.engine.tables.client_quotas import ClientQuotas
from mqgateway.gateway.broker.operations import Use
from mqgateway.gateway.kafka.codec.error_codes import ErrorCode
from mqgateway.gateway.kafka.codec.messages.create_partitions_request import (
    CreatePartitionsRequest,
    CreatePartitionsTopic,
)
from mqgateway.gateway.kafka.codec.messages.create_topics_request import CreatableTopic, CreateTopicsRequest
from mqgateway.gateway.kafka.codec.messages.delete_topics_request import DeleteTopicsRequest, DeleteTopicState
from mqgateway.gateway.kafka.codec.messages.metadata_request import MetadataRequest
from mqgateway.gateway.kafka.codec.schema import Message
from tests.gateway.kafka.api.test_metadata import create
from tests.support.gateway.kafka.client import KafkaClient, KafkaScene, kafka_scene
from tests.support.gateway.kafka.requests import NAME_ONLY, batch_of_values, fetch_request, produce_request

NO_TOPICS = MetadataRequest(topics=[])


def limit(scene: KafkaScene, **limits: float) -> None:
    """Set the limits of all clients with the id `app`, and let the broker take them over."""
    permit = scene.operations.gate.internal(Use.CONFIGURE)
    scene.operations.client_quotas.put(permit, [ClientQuotas({"client-id": "app"}, limits)])
    scene.settle(0.2)


def batch(scene: KafkaScene, size: int = 20_000) -> bytearray:
    """Return a batch of one record."""
    return batch_of_values(b"x" * size, now=scene.server.clock.millis())


def figures(scene: KafkaScene) -> Any:
    """Return what the broker has counted."""
    front_ends: Any = scene.server._nodes._front_ends
    return front_ends["kafka"].quotas()


def waits(client: KafkaClient, request: Message = NO_TOPICS) -> float:
    """Return after how many seconds a request is answered."""
    client.write(client.frame(request))
    for tenths in range(1000):
        if client.frames(1, 0.1):
            return tenths / 10
    raise AssertionError("no answer")


def test_producer_beyond_its_rate_is_answered_and_then_not_read() -> None:
    with kafka_scene() as scene:
        create(scene.client(), "a")
        limit(scene, producer_byte_rate=1000)
        client = scene.client("app")
        frame = client.frame(produce_request("a", batch(scene)), NAME_ONLY)
        client.write(frame)
        [data] = client.frames(1, 0.1)
        answer = client.decoded(produce_request("a", b""), data, NAME_ONLY)
        assert answer.responses[0].partition_responses[0].error_code == 0
        assert answer.throttle_time_ms == round(((len(frame) - 4) / 10 - 1000) * 10)
        assert waits(client) == pytest.approx(answer.throttle_time_ms / 1000, abs=0.3)
        assert waits(client) == 0
        assert figures(scene) == (
            1,
            {"producer_byte_rate": 1},
            {"producer_byte_rate": answer.throttle_time_ms},
        )


def test_other_clients_and_smaller_rates_are_not_throttled() -> None:
    with kafka_scene() as scene:
        create(scene.client(), "a")
        limit(scene, producer_byte_rate=3000)
        for client in (scene.client("app"), scene.client("other"), scene.client("other")):
            assert client.ask(produce_request("a", batch(scene)), NAME_ONLY).throttle_time_ms == 0


def test_producer_that_wants_no_answers_is_not_read() -> None:
    with kafka_scene() as scene:
        create(scene.client(), "a")
        limit(scene, producer_byte_rate=1000)
        client = scene.client("app")
        client.write(client.frame(produce_request("a", batch(scene), acks=0), NAME_ONLY))
        assert waits(client) == pytest.approx(10, abs=0.5)


def test_consumer_gets_no_more_at_once_than_its_rate_allows() -> None:
    with kafka_scene() as scene:
        client = scene.client("app")
        create(client, "a")
        for _ in range(4):
            client.ask(produce_request("a", batch(scene)), NAME_ONLY)
        limit(scene, consumer_byte_rate=4100)
        request = fetch_request("a", 0)
        answer = client.ask(request, NAME_ONLY)
        size = len(answer.responses[0].partitions[0].records)
        assert 40_000 < size <= 41_000 and answer.throttle_time_ms == 0
        assert 9000 < client.ask(request, NAME_ONLY).throttle_time_ms < 11_000
        assert waits(client) == pytest.approx(9.8, abs=0.5)


def test_connection_that_ends_while_it_is_throttled_leaves_nothing() -> None:
    with kafka_scene() as scene:
        create(scene.client(), "a")
        limit(scene, producer_byte_rate=1000)
        client = scene.client("app")
        client.ask(produce_request("a", batch(scene)), NAME_ONLY)
        [throttled] = [one for one in scene.connections() if one._is_held]
        client.transport.loseConnection()
        scene.settle(15)
        assert not throttled.is_open and throttled not in scene.connections()


def test_limits_that_are_removed_are_not_enforced() -> None:
    with kafka_scene() as scene:
        create(scene.client(), "a")
        limit(scene, producer_byte_rate=1000)
        limit(scene)
        assert scene.client("app").ask(produce_request("a", batch(scene)), NAME_ONLY).throttle_time_ms == 0
        assert figures(scene) == (0, {}, {})


def created(client: KafkaClient, name: str, partitions: int, version: int = 7) -> tuple[int, int]:
    """Create a topic, and return code and throttle time."""
    answer = client.ask(CreateTopicsRequest([CreatableTopic(name, partitions, 1)]), version, seconds=30)
    [topic] = answer.topics
    assert not topic.error_message
    return topic.error_code, answer.throttle_time_ms


THROTTLED = ErrorCode.THROTTLING_QUOTA_EXCEEDED


def test_partitions_beyond_the_rate_are_refused() -> None:
    with kafka_scene() as scene:
        limit(scene, controller_mutation_rate=1)
        client = scene.client("app")
        assert created(client, "a", 13) == (0, 0)
        code, millis = created(client, "b", 1)
        assert code == THROTTLED and 1500 < millis <= 2000
        assert created(client, "b", 3)[0] == 0
        more = CreatePartitionsRequest([CreatePartitionsTopic("a", 14, None)])
        assert client.ask(more, seconds=30).results[0].error_code == THROTTLED
        assert client.ask(more, seconds=30).results[0].error_code == 0
        deletion = DeleteTopicsRequest([DeleteTopicState("a")])
        codes = [client.ask(deletion, seconds=30).responses[0].error_code for _ in range(2)]
        assert codes == [THROTTLED, 0]
        again = client.ask(DeleteTopicsRequest([DeleteTopicState("b")]), seconds=30)
        assert again.responses[0].error_code == THROTTLED and again.throttle_time_ms > 10_000


def test_old_clients_are_throttled_and_not_refused() -> None:
    with kafka_scene() as scene:
        limit(scene, controller_mutation_rate=1)
        client = scene.client("app")
        assert created(client, "a", 13, 5) == (0, 2000)
        assert waits(client) == pytest.approx(2, abs=0.3)


def test_connections_beyond_the_rate_of_an_address_are_closed() -> None:
    with kafka_scene() as scene:
        first = scene.client()
        assert first.ask(NO_TOPICS).brokers
        permit = scene.operations.gate.internal(Use.CONFIGURE)
        limits = {"connection_creation_rate": 1.0}
        scene.operations.client_quotas.put(permit, [ClientQuotas({"ip": None}, limits)])
        scene.settle(0.2)
        accepted = [scene.client() for _ in range(10)]
        assert all(client.ask(NO_TOPICS).brokers for client in accepted)
        refused = scene.client()
        refused.write(refused.frame(NO_TOPICS))
        assert not refused.frames(1, 0.5) and not refused.lost
        scene.settle(1)
        assert refused.lost and not refused.frames(1, 0.1)
        assert all(client.ask(NO_TOPICS).brokers for client in (first, *accepted))
        scene.settle(11)
        assert scene.client().ask(NO_TOPICS).brokers
