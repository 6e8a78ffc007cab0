"""Calls: what their functions are given."""

from __future__ import annotations

from mqgateway.gateway.access.operations import AclOperation
from mqgateway.gateway.broker.operations import NotAdmitted, Use
from mqgateway.gateway.kafka.call import Address, KafkaCall
from mqgateway.gateway.kafka.codec.headers import RequestHeader
from mqgateway.gateway.kafka.rights import on_topic
from tests.gateway.kafka.api.test_metadata import ACCESS
from tests.support.gateway.kafka.client import KafkaScene, kafka_scene


def call_in(scene: KafkaScene, client_id: str | None = None) -> KafkaCall:
    """Return a call of a client that is connected."""
    scene.client()
    scene.settle(0.1)
    [connection] = scene.connections()
    return KafkaCall(RequestHeader(3, 13, 1, client_id), connection, Address("10.0.0.1", 1), scene.operations)


def test_a_call_has_its_version_client_and_time() -> None:
    with kafka_scene() as scene:
        call = call_in(scene, "me")
        assert (call.version, call.client_id) == (13, "me") and call.now == scene.server.clock.millis()
        assert call.admit(Use.SEND, on_topic("a", AclOperation.WRITE)).now == call.now
    with kafka_scene() as scene:
        assert call_in(scene).client_id == ""


def test_with_access_control_a_call_without_a_user_is_not_admitted() -> None:
    with kafka_scene(**ACCESS) as scene:
        call = call_in(scene)
        try:
            call.admit(Use.SEND, on_topic("a", AclOperation.WRITE))
        except NotAdmitted:
            return
        raise AssertionError("admitted")
