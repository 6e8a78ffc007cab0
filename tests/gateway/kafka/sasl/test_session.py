"""Authentication of connections: what is accepted in which state, refusals and their delay, the lifetime."""

from __future__ import annotations

import struct
from typing import Any

import pytest

from mqgateway.gateway.access.users import User, UserStatus
from mqgateway.gateway.kafka.codec.error_codes import ErrorCode
from mqgateway.gateway.kafka.codec.messages.api_versions_request import ApiVersionsRequest
from mqgateway.gateway.kafka.codec.messages.metadata_request import MetadataRequest
from mqgateway.gateway.kafka.codec.messages.sasl_authenticate_request import SaslAuthenticateRequest
from mqgateway.gateway.kafka.codec.messages.sasl_handshake_request import SaslHandshakeRequest
from tests.gateway.kafka.api.test_metadata import ACCESS
from tests.support.gateway.kafka.client import KafkaClient, KafkaScene, kafka_scene

NAMED = ApiVersionsRequest("tests", "1.0")
NO_TOPICS = MetadataRequest(topics=[])
PLAIN = SaslHandshakeRequest("PLAIN")
ALICE = SaslAuthenticateRequest(b"\0alice\0secret-a")
WRONG = SaslAuthenticateRequest(b"\0alice\0wrong")
INVALID = "Authentication failed: Invalid username or password"


def users(scene: KafkaScene) -> None:
    """Make the users of the tests."""
    for name in ("alice", "bob"):
        scene.users.put(User(name, f"secret-{name[0]}"))


def answer(client: KafkaClient, token: bytes) -> Any:
    """Authenticate by PLAIN with this token; return the answer."""
    client.ask(PLAIN)
    return client.ask(SaslAuthenticateRequest(token))


def is_closed(client: KafkaClient, seconds: float = 0.2) -> bool:
    """Return True if the server has closed the connection without an answer."""
    return client.frames(1, seconds) == [] and client.lost


LIMITED: dict[str, Any] = {**ACCESS, "kafka_connections_max_reauth_millis": 5000}


def limited(scene: KafkaScene) -> KafkaClient:
    """Return a client that has authenticated itself for 5 seconds."""
    users(scene)
    client = scene.stranger()
    client.ask(PLAIN)
    assert client.ask(ALICE).session_lifetime_ms == 5000
    return client


def test_client_authenticates_and_is_served() -> None:
    with kafka_scene(**ACCESS) as scene:
        users(scene)
        client = scene.stranger()
        assert client.ask(NAMED).error_code == 0
        handshake = client.ask(PLAIN)
        assert (handshake.error_code, "PLAIN" in handshake.mechanisms) == (0, True)
        done = client.ask(ALICE)
        assert (done.error_code, done.error_message, done.auth_bytes) == (0, None, b"")
        assert done.session_lifetime_ms == 0
        assert client.ask(NAMED).error_code == 0 and client.ask(NO_TOPICS).brokers
        [connection] = scene.connections()
        assert connection._session is not None and connection._session.user == "alice"


def test_client_may_authenticate_without_asking_for_versions() -> None:
    with kafka_scene(**ACCESS) as scene:
        users(scene)
        client = scene.stranger()
        client.write(client.frame(PLAIN) + client.frame(ALICE) + client.frame(NO_TOPICS))
        assert len(client.frames(3)) == 3


@pytest.mark.parametrize("version", [0, 1, 2])
def test_every_version_of_authenticate_is_accepted(version: int) -> None:
    with kafka_scene(**ACCESS) as scene:
        users(scene)
        client = scene.stranger()
        client.ask(PLAIN)
        assert client.ask(ALICE, version).error_code == 0


@pytest.mark.parametrize("password", [b"wrong", b"secret-b"])
def test_wrong_password_is_refused_after_a_delay_and_the_connection_ends(password: bytes) -> None:
    with kafka_scene(**ACCESS) as scene:
        users(scene)
        client = scene.stranger()
        client.ask(PLAIN)
        client.write(client.frame(SaslAuthenticateRequest(b"\0alice\0" + password)) + client.frame(NO_TOPICS))
        assert client.frames(1, 0.09) == []
        [frame] = client.frames(2, 1)
        refusal = client.decoded(WRONG, frame)
        assert (refusal.error_code, refusal.error_message) == (ErrorCode.SASL_AUTHENTICATION_FAILED, INVALID)
        assert client.lost


@pytest.mark.parametrize(
    ("token", "text"),
    [
        (b"\0nobody\0secret-a", INVALID),
        (b"\0\0secret-a", "Authentication failed: username not specified"),
        (b"\0alice\0", "Authentication failed: password not specified"),
        (
            b"bob\0alice\0secret-a",
            "Authentication failed: Client requested an authorization id that is different from username",
        ),
        (
            b"alice",
            "Authentication failed during authentication due to invalid credentials with SASL mechanism "
            "PLAIN",
        ),
    ],
)
def test_refusals_have_the_texts_of_kafka(token: bytes, text: str) -> None:
    with kafka_scene(**ACCESS) as scene:
        users(scene)
        client = scene.stranger()
        assert answer(client, token).error_message == text
        assert is_closed(client)


def test_authorization_id_that_is_the_user_is_accepted() -> None:
    with kafka_scene(**ACCESS) as scene:
        users(scene)
        assert answer(scene.stranger(), b"alice\0alice\0secret-a").error_code == 0


def test_disabled_user_is_refused_at_once_and_in_open_connections() -> None:
    with kafka_scene(**ACCESS) as scene:
        users(scene)
        client = scene.client(user="carol")
        scene.users.put(User("carol", "guest-secret", status=UserStatus.DISABLE))
        topics = client.ask(MetadataRequest(topics=None)).topics
        assert topics == ()
        assert answer(scene.stranger(), b"\0carol\0guest-secret").error_message == INVALID


def test_guesses_at_one_time_are_throttled() -> None:
    with kafka_scene(**ACCESS) as scene:
        users(scene)
        clients = [scene.stranger() for _ in range(25)]
        for client in clients:
            client.write(client.frame(PLAIN) + client.frame(WRONG))
        assert len(clients[-1].frames(2, 0.3)) == 1
        assert len(clients[0].frames(2)) == 2
        assert answer(scene.stranger(), b"\0alice\0secret-a").error_code == 0
        assert len(clients[-1].frames(1)) == 1


def test_second_guess_behind_a_wrong_one_is_not_looked_at() -> None:
    with kafka_scene(**ACCESS) as scene:
        users(scene)
        client = scene.stranger()
        requests = (PLAIN, WRONG, PLAIN, ALICE, NO_TOPICS)
        client.write(b"".join(map(client.frame, requests)))
        assert len(client.frames(5, 1)) == 2 and client.lost


def test_another_authentication_must_have_the_same_mechanism() -> None:
    with kafka_scene(**LIMITED) as scene:
        client = limited(scene)
        assert client.ask(SaslHandshakeRequest("SCRAM-SHA-256")).error_code == 0
        client.write(client.frame(SaslAuthenticateRequest(b"n,,n=alice,r=x")))
        assert is_closed(client)


def test_mechanism_that_is_not_enabled_is_refused_with_those_that_are() -> None:
    with kafka_scene(**ACCESS, kafka_sasl_mechanisms="PLAIN") as scene:
        client = scene.stranger()
        refusal = client.ask(SaslHandshakeRequest("GSSAPI"))
        assert refusal.error_code == ErrorCode.UNSUPPORTED_SASL_MECHANISM
        assert list(refusal.mechanisms) == ["PLAIN"] and is_closed(client)


@pytest.mark.parametrize(
    "requests", [[NO_TOPICS], [NAMED, NO_TOPICS], [NAMED, NAMED], [PLAIN, NO_TOPICS], [ALICE]]
)
def test_other_requests_before_authentication_end_the_connection(requests: list[Any]) -> None:
    with kafka_scene(**ACCESS) as scene:
        users(scene)
        client = scene.stranger()
        for request in requests[:-1]:
            client.ask(request)
        client.write(client.frame(requests[-1]))
        assert is_closed(client, 1)


def test_client_with_a_version_that_is_too_new_may_ask_for_versions_again() -> None:
    with kafka_scene(**ACCESS) as scene:
        client = scene.stranger()
        data = bytearray(client.frame(NAMED))
        data[6:8] = b"\0\x63"
        client.write(bytes(data))
        [frame] = client.frames(1)
        assert frame[4:6] == struct.pack(">h", ErrorCode.UNSUPPORTED_VERSION)
        assert client.ask(NAMED).error_code == 0


@pytest.mark.parametrize(
    "data", [b"\0\x11\0\x09\0\0\0\x01\xff\xff", b"\0\x11\0\x01\0\0\0\x01\xff\xff\0\x63PL"]
)
def test_undecodable_handshake_ends_the_connection(data: bytes) -> None:
    with kafka_scene(**ACCESS) as scene:
        client = scene.stranger()
        client.write(struct.pack(">i", len(data)) + data)
        assert is_closed(client)


def test_request_before_authentication_is_limited_to_512_kib() -> None:
    with kafka_scene(**ACCESS) as scene:
        client = scene.stranger()
        client.write(struct.pack(">i", 512 * 1024 + 1))
        assert is_closed(client)
        client = scene.client()
        client.write(struct.pack(">i", 512 * 1024 + 1))
        assert not is_closed(client)


def test_after_handshake_0_tokens_are_bare() -> None:
    with kafka_scene(**ACCESS) as scene:
        users(scene)
        client = scene.stranger()
        client.ask(PLAIN, 0)
        client.write(struct.pack(">i", 15) + b"\0alice\0secret-a")
        assert client.frames(1) == [b""]
        assert client.ask(NO_TOPICS).brokers
        client = scene.stranger()
        client.ask(PLAIN, 0)
        client.write(struct.pack(">i", 4) + b"\0a\0b")
        assert not is_closed(client, 0.09) and is_closed(client)


def test_requests_of_authentication_are_errors_afterwards() -> None:
    with kafka_scene(**ACCESS) as scene:
        client = scene.client()
        assert client.ask(PLAIN).error_code == ErrorCode.ILLEGAL_SASL_STATE
        assert client.ask(ALICE).error_code == ErrorCode.ILLEGAL_SASL_STATE


def test_requests_of_authentication_are_errors_of_a_server_without_users() -> None:
    with kafka_scene() as scene:
        client = scene.client()
        assert client.ask(PLAIN).error_code == ErrorCode.ILLEGAL_SASL_STATE
        refusal = client.ask(ALICE)
        assert refusal.error_message == "SaslAuthenticate request received after successful authentication"
        assert client.ask(NO_TOPICS).brokers


def test_connection_ends_with_a_request_after_the_end_of_its_session() -> None:
    with kafka_scene(**LIMITED) as scene:
        client = limited(scene)
        scene.settle(4)
        assert client.ask(NO_TOPICS).brokers
        scene.settle(1.5)
        assert not client.lost
        client.write(client.frame(NO_TOPICS))
        assert is_closed(client)


def test_client_that_authenticates_again_keeps_its_connection() -> None:
    with kafka_scene(**LIMITED) as scene:
        client = limited(scene)
        for _ in range(3):
            scene.settle(4)
            assert client.ask(PLAIN).error_code == 0
            assert client.ask(ALICE).session_lifetime_ms == 5000
            assert client.ask(NO_TOPICS).brokers


def test_client_cannot_authenticate_again_within_a_second() -> None:
    with kafka_scene(**LIMITED) as scene:
        client = limited(scene)
        client.ask(PLAIN)
        client.ask(ALICE)
        assert client.ask(PLAIN).error_code == ErrorCode.ILLEGAL_SASL_STATE


def test_another_authentication_cannot_change_the_user() -> None:
    with kafka_scene(**LIMITED) as scene:
        client = limited(scene)
        client.ask(PLAIN)
        refusal = client.ask(SaslAuthenticateRequest(b"\0bob\0secret-b"))
        expected = "Cannot change principals during re-authentication from User.alice: User.bob"
        assert refusal.error_message == expected and is_closed(client)


def test_failed_re_authentication_says_so() -> None:
    with kafka_scene(**LIMITED) as scene:
        client = limited(scene)
        client.ask(PLAIN)
        refusal = client.ask(SaslAuthenticateRequest(b"alice"))
        assert refusal.error_message is not None and "during re-authentication due" in refusal.error_message


def test_client_that_leaves_during_the_delay_is_forgotten() -> None:
    with kafka_scene(**ACCESS) as scene:
        users(scene)
        client = scene.stranger()
        client.ask(PLAIN)
        client.write(client.frame(WRONG))
        scene.settle(0.05)
        client.transport.loseConnection()
        scene.settle(0.3)
        assert scene.connections() == []
