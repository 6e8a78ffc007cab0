"""The mechanism OAUTHBEARER: first messages, refusals, sessions that end with their token."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mqgateway.gateway.access.users import User, UserStatus
from mqgateway.gateway.kafka.codec.error_codes import ErrorCode
from mqgateway.gateway.kafka.codec.messages.metadata_request import MetadataRequest
from mqgateway.gateway.kafka.codec.messages.sasl_authenticate_request import SaslAuthenticateRequest
from mqgateway.gateway.kafka.codec.messages.sasl_handshake_request import SaslHandshakeRequest
from mqgateway.gateway.kafka.sasl.oauthbearer import RESPONSE_SIZE_MAX, ClientResponse, read_client_response
from tests.gateway.kafka.api.test_metadata import ACCESS
from tests.support.gateway.kafka.access_tokens import IdentityProvider, response
from tests.support.gateway.kafka.client import PASSWORD, KafkaClient, KafkaScene, kafka_scene

PROVIDER = IdentityProvider()
ANY: dict[str, Any] = {
    "kafka_oauthbearer_allow_unverified_audience": True,
    "kafka_oauthbearer_allow_unverified_issuer": True,
}
NO_TOPICS = MetadataRequest(topics=[])
REFUSAL = '{"status":"invalid_token"}'


def log_in(client: KafkaClient, token: str, authorization_id: str = "") -> Any:
    """Authenticate a connection by a token; return the answer."""
    assert client.ask(SaslHandshakeRequest("OAUTHBEARER")).error_code == 0
    return client.ask(SaslAuthenticateRequest(response(token, authorization_id)))


@contextmanager
def scene_with_tokens(folder: Path, **settings: Any) -> Iterator[KafkaScene]:
    """Yield a broker that accepts the tokens of the provider, and has the user alice."""
    path = folder / "keys.json"
    path.write_bytes(PROVIDER.document())
    settings = {**ACCESS, **ANY, "kafka_oauthbearer_jwks_url": path.as_uri(), **settings}
    with kafka_scene(kafka_sasl_mechanisms="PLAIN,OAUTHBEARER", **settings) as scene:
        scene.users.put(User("alice", PASSWORD), User("bob", PASSWORD))
        yield scene


def token(scene: KafkaScene, user: str = "alice", seconds: float = 60, **claims: Any) -> str:
    """Return a token of the provider."""
    now = scene.operations.clock.millis() / 1000
    return PROVIDER.token(**{"sub": user, "iat": now - 5, "exp": now + seconds, **claims})


def is_served(client: KafkaClient) -> bool:
    """Return True if the client gets an answer to another request."""
    client.write(client.frame(NO_TOPICS))
    return bool(client.frames(1, 1))


def test_client_with_a_token_is_its_user_until_the_token_ends(tmp_path: Path) -> None:
    with scene_with_tokens(tmp_path) as scene:
        client = scene.stranger()
        answer = log_in(client, token(scene, seconds=20))
        assert (answer.error_code, answer.error_message, answer.auth_bytes) == (0, None, b"")
        assert 19_000 < answer.session_lifetime_ms <= 20_000
        [connection] = scene.connections()
        assert connection._session is not None and connection._session.user == "alice"
        assert is_served(client)
        scene.settle(21)
        assert not is_served(client) and client.lost


def test_client_authenticates_again_before_the_end(tmp_path: Path) -> None:
    with scene_with_tokens(tmp_path, kafka_connections_max_reauth_millis=10_000) as scene:
        client = scene.stranger()
        assert log_in(client, token(scene)).session_lifetime_ms == 10_000
        scene.settle(5)
        assert 2_000 < log_in(client, token(scene, seconds=3)).session_lifetime_ms <= 3_000
        assert is_served(client)
        scene.settle(2)
        text = log_in(client, token(scene, "bob")).error_message
        assert text == "Cannot change principals during re-authentication from User.alice: User.bob"


def test_refused_token_is_answered_with_an_error_that_the_client_confirms(tmp_path: Path) -> None:
    with scene_with_tokens(tmp_path) as scene:
        for refused in (token(scene, seconds=-60), IdentityProvider().token(sub="alice"), "a.b.c"):
            client = scene.stranger()
            answer = log_in(client, refused)
            assert (answer.error_code, answer.auth_bytes) == (0, REFUSAL.encode())
            assert answer.session_lifetime_ms == 0
            end = client.ask(SaslAuthenticateRequest(b"\x01"))
            assert end.error_code == ErrorCode.SASL_AUTHENTICATION_FAILED
            assert end.error_message == REFUSAL
            assert not is_served(client) and client.lost


def test_refused_tokens_are_in_the_audit_log_once(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO", "mqgateway.audit")
    with scene_with_tokens(tmp_path) as scene:
        client = scene.stranger()
        log_in(client, token(scene, seconds=-60))
        client.ask(SaslAuthenticateRequest(b"\x01"))
        log_in(scene.stranger(), token(scene, "carol"))
        log_in(scene.stranger(), token(scene), "bob")
    expired, unknown, other = (one.getMessage() for one in caplog.records if one.name == "mqgateway.audit")
    assert "request=SaslAuthenticate decision=deny " in expired
    assert 'reason="the access token is refused: ' in expired
    assert "user=carol " in unknown and "is not found" in unknown
    assert "authorization id (bob)" in other


def test_second_token_of_an_exchange_is_not_looked_at(tmp_path: Path) -> None:
    with scene_with_tokens(tmp_path) as scene:
        client = scene.stranger()
        log_in(client, "a.b.c")
        again = client.ask(SaslAuthenticateRequest(response(token(scene))))
        assert again.error_code == ErrorCode.SASL_AUTHENTICATION_FAILED


def test_user_must_exist_and_be_enabled(tmp_path: Path) -> None:
    with scene_with_tokens(tmp_path) as scene:
        scene.users.put(User("dave", PASSWORD, status=UserStatus.DISABLE))
        for name, text in (("carol", "User:carol is not found."), ("dave", "User:dave is disabled.")):
            answer = log_in(scene.stranger(), token(scene, name))
            assert answer.error_code == ErrorCode.SASL_AUTHENTICATION_FAILED
            assert answer.error_message == f"Authentication failed: {text}"


def test_authorization_id_must_be_the_user(tmp_path: Path) -> None:
    with scene_with_tokens(tmp_path) as scene:
        assert log_in(scene.stranger(), token(scene), "alice").error_code == 0
        text = log_in(scene.stranger(), token(scene), "bob").error_message
        assert text == (
            "Authentication failed: Client requested an authorization id (bob) that is different from the "
            "token's principal name (alice)"
        )


def test_message_that_is_none_of_the_mechanism_is_refused(tmp_path: Path) -> None:
    with scene_with_tokens(tmp_path) as scene:
        client = scene.stranger()
        client.ask(SaslHandshakeRequest("OAUTHBEARER"))
        assert client.ask(SaslAuthenticateRequest(b"\x01")).error_message == (
            "Authentication failed during authentication due to invalid credentials with SASL mechanism "
            "OAUTHBEARER"
        )


@pytest.mark.parametrize("mechanisms", ["PLAIN,OAUTHBEARER", "PLAIN"])
def test_mechanism_is_offered_only_with_a_key_set(mechanisms: str, caplog: pytest.LogCaptureFixture) -> None:
    with kafka_scene(**ACCESS, kafka_sasl_mechanisms=mechanisms) as scene:
        answer = scene.stranger().ask(SaslHandshakeRequest("OAUTHBEARER"))
        assert answer.error_code == ErrorCode.UNSUPPORTED_SASL_MECHANISM
        assert list(answer.mechanisms) == ["PLAIN"]
    assert ("OAUTHBEARER is not offered" in caplog.text) == (mechanisms != "PLAIN")


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        (b"n,,\x01auth=Bearer a.b.c\x01\x01", ClientResponse("", "a.b.c")),
        (b"n,a=u,\x01auth=bearer   t\x01traceId=1 2\x01\x01", ClientResponse("u", "t")),
        (b"n,,\x01x=1\x01auth=Bearer t==\x01\x01", ClientResponse("", "t==")),
        (b"", None),
        (b"\x01", None),
        (b"n,,\x01\x01", None),
        (b"y,,\x01auth=Bearer t\x01\x01", None),
        (b"n,,\x01auth=Basic t\x01\x01", None),
        (b"n,,\x01auth=Bearer\x01\x01", None),
        (b"n,,\x01auth=Bearer t,u\x01\x01", None),
        (b"n,,\x01auth=Bearer t\x01", None),
        (b"n,,\x01auth=Bearer t\x01\x01more", None),
        (b"n,a==,\x01auth=Bearer t\x01\x01", None),
        (b"n,,\x01auth=Bearer " + b"t" * RESPONSE_SIZE_MAX + b"\x01\x01", None),
    ],
)
def test_first_message_is_that_of_the_standard(message: bytes, expected: ClientResponse | None) -> None:
    assert read_client_response(message) == expected


@given(st.binary(max_size=50) | st.binary(max_size=30).map(lambda data: b"n,,\x01auth=Bearer " + data))
def test_any_message_is_read_or_refused(message: bytes) -> None:
    found = read_client_response(message)
    assert found is None or found.token
