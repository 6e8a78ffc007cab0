"""Metrics that clients push, in conversations."""

from __future__ import annotations

from typing import Any

from mqgateway.gateway.kafka.codec.error_codes import ErrorCode
from mqgateway.gateway.kafka.codec.messages.api_versions_request import ApiVersionsRequest
from mqgateway.gateway.kafka.codec.messages.get_telemetry_subscriptions_request import (
    GetTelemetrySubscriptionsRequest,
)
from mqgateway.gateway.kafka.codec.messages.push_telemetry_request import PushTelemetryRequest
from mqgateway.gateway.kafka.codec.schema import NO_UUID
from mqgateway.gateway.kafka.telemetry import COMPRESSIONS, PUSH_BYTES_MAX
from tests.gateway.kafka.api.test_client_metrics import RESOURCE
from tests.gateway.kafka.api.test_configs import SET, changed
from tests.support.gateway.kafka.client import KafkaClient, KafkaScene, kafka_scene

KEYS = {71, 72}


def announced(client: KafkaClient) -> set[int]:
    """Return the API keys that the broker announces."""
    return {each.api_key for each in client.ask(ApiVersionsRequest("lib", "1.0")).api_keys}


def figures(scene: KafkaScene) -> Any:
    """Return what the broker has counted."""
    front_ends: Any = scene.server._nodes._front_ends
    return front_ends["kafka"].telemetry()


def test_metrics_are_not_received_unless_a_setting_says_so() -> None:
    with kafka_scene() as scene:
        assert not announced(scene.client()) & KEYS and figures(scene) is None
    with kafka_scene(kafka_client_telemetry=True) as scene:
        assert announced(scene.client()) >= KEYS


def test_client_gets_what_is_wanted_and_pushes_it() -> None:
    with kafka_scene(kafka_client_telemetry=True) as scene:
        client = scene.client("app")
        announced(client)
        match = "client_id=app,client_software_name=lib,client_software_version=1[.]0"
        changed(client, RESOURCE, "m", ("metrics", SET, "x,y"), ("match", SET, match))
        answer = client.ask(GetTelemetrySubscriptionsRequest())
        assert (answer.error_code, list(answer.requested_metrics)) == (0, ["x", "y"])
        assert answer.client_instance_id != NO_UUID and answer.delta_temporality
        assert tuple(answer.accepted_compression_types) == COMPRESSIONS
        assert (answer.push_interval_ms, answer.telemetry_max_bytes) == (300_000, PUSH_BYTES_MAX)
        push = PushTelemetryRequest(answer.client_instance_id, answer.subscription_id, False, 0, b"metrics")
        assert client.ask(push).error_code == 0
        assert client.ask(push).error_code == ErrorCode.THROTTLING_QUOTA_EXCEEDED
        assert figures(scene) == (1, 1, 7, {"THROTTLING_QUOTA_EXCEEDED": 1})


def test_client_of_another_library_is_asked_for_nothing() -> None:
    with kafka_scene(kafka_client_telemetry=True) as scene:
        client = scene.client("app")
        changed(client, RESOURCE, "m", ("metrics", SET, "x"), ("match", SET, "client_software_name=lib"))
        assert not client.ask(GetTelemetrySubscriptionsRequest()).requested_metrics


def test_request_that_comes_too_early_has_an_error_only() -> None:
    with kafka_scene(kafka_client_telemetry=True) as scene:
        client = scene.client()
        found = client.ask(GetTelemetrySubscriptionsRequest()).client_instance_id
        answer = client.ask(GetTelemetrySubscriptionsRequest(found))
        assert answer.error_code == ErrorCode.THROTTLING_QUOTA_EXCEEDED
        assert answer.client_instance_id == NO_UUID and not answer.push_interval_ms


def test_silent_clients_are_forgotten() -> None:
    with kafka_scene(kafka_client_telemetry=True) as scene:
        client = scene.client()
        client.ask(GetTelemetrySubscriptionsRequest())
        client.transport.loseConnection()
        assert figures(scene).clients == 1
        scene.settle(1000)
        assert figures(scene).clients == 0
