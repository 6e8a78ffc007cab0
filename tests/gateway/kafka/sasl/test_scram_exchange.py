"""SCRAM between a client and a server in memory."""

from __future__ import annotations

from typing import Any

import pytest

from mqgateway.gateway.access.users import User, UserStatus
from mqgateway.gateway.kafka.codec.messages.metadata_request import MetadataRequest
from mqgateway.gateway.kafka.codec.messages.sasl_authenticate_request import SaslAuthenticateRequest
from mqgateway.gateway.kafka.codec.messages.sasl_handshake_request import SaslHandshakeRequest
from tests.gateway.kafka.api.test_metadata import ACCESS
from tests.support.gateway.kafka.client import KafkaClient, KafkaScene, kafka_scene
from tests.support.gateway.kafka.scram import ScramClient

MECHANISMS = [("SCRAM-SHA-256", "sha256"), ("SCRAM-SHA-512", "sha512")]


def begun(scene: KafkaScene, mechanism: str, scram: ScramClient) -> tuple[KafkaClient, Any]:
    """Return a client, and the answer to its first message."""
    if "alice" not in scene.users:
        scene.users.put(User("alice", "pencil"), User("off", "pencil", status=UserStatus.DISABLE))
    client = scene.stranger()
    client.ask(SaslHandshakeRequest(mechanism))
    return client, client.ask(SaslAuthenticateRequest(scram.first()))


@pytest.mark.parametrize(("mechanism", "digest"), MECHANISMS)
def test_client_and_server_prove_that_they_know_the_password(mechanism: str, digest: str) -> None:
    with kafka_scene(**ACCESS) as scene:
        scram = ScramClient(digest, "alice", "pencil", header="n,a=alice,")
        client, answer = begun(scene, mechanism, scram)
        assert answer.error_code == 0 and answer.auth_bytes.startswith(b"r=fyko")
        done = client.ask(SaslAuthenticateRequest(scram.final(answer.auth_bytes)))
        assert done.error_code == 0 and scram.is_server_proved(done.auth_bytes)
        assert client.ask(MetadataRequest(topics=[])).brokers


@pytest.mark.parametrize(("mechanism", "digest"), MECHANISMS)
@pytest.mark.parametrize(("user", "password"), [("alice", "pencils"), ("zed", "pencil"), ("off", "pencil")])
def test_wrong_password_unknown_and_disabled_user_look_alike(
    mechanism: str, digest: str, user: str, password: str
) -> None:
    with kafka_scene(**ACCESS) as scene:
        scram = ScramClient(digest, user, password)
        client, answer = begun(scene, mechanism, scram)
        refusal = client.ask(SaslAuthenticateRequest(scram.final(answer.auth_bytes)))
        assert refusal.error_message == (
            "Authentication failed during authentication due to invalid credentials with SASL mechanism "
            + mechanism
        )
        assert client.frames(1, 0.2) == [] and client.lost


def test_another_authorization_id_is_refused() -> None:
    with kafka_scene(**ACCESS) as scene:
        _, answer = begun(scene, "SCRAM-SHA-256", ScramClient("sha256", "alice", "pencil", header="n,a=bob,"))
        assert answer.error_message == (
            "Authentication failed: Client requested an authorization id that is different from username"
        )


@pytest.mark.parametrize("wrong", [b"", b"c=biws,r=other,p=AAAA", b"c=eSws,r=NONCE,p=AAAA"])
def test_final_message_that_does_not_fit_is_refused(wrong: bytes) -> None:
    with kafka_scene(**ACCESS) as scene:
        client, answer = begun(scene, "SCRAM-SHA-256", ScramClient("sha256", "alice", "pencil"))
        nonce = answer.auth_bytes[2:].partition(b",")[0]
        refusal = client.ask(SaslAuthenticateRequest(wrong.replace(b"NONCE", nonce)))
        assert "invalid credentials" in refusal.error_message


def test_first_message_that_cannot_be_read_is_refused() -> None:
    with kafka_scene(**ACCESS) as scene:
        client = scene.stranger()
        client.ask(SaslHandshakeRequest("SCRAM-SHA-256"))
        assert "invalid credentials" in client.ask(SaslAuthenticateRequest(b"n,,n=a")).error_message
