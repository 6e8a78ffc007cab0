"""Access tokens of an identity provider, and delegation tokens: what both servers answer, step by step."""

from __future__ import annotations

import base64
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from compat_tests.kafka.support.secured import PROTOCOL, ROOT, ROOT_PASSWORD, SESSION_MILLIS, SecuredServer
from compat_tests.kafka.support.servers import SERVER_JVM, Servers
from compat_tests.kafka.support.wire import Connection
from tests.support.gateway.kafka.access_tokens import IdentityProvider, response
from tests.support.gateway.kafka.scram import ScramClient

PROVIDER = IdentityProvider()
MECHANISMS = "PLAIN,SCRAM-SHA-256,OAUTHBEARER"
AUDIENCE, ISSUER = "mq", "https://identity.example"
REFUSAL = '{"status":"invalid_token"}'
FAILED, NOT_ALLOWED, NOT_FOUND, EXPIRED, WRONG_TYPE = 58, 64, 62, 66, 67
_OAUTH = "org.apache.kafka.common.security.oauthbearer"
_LISTENER = f"listener.name.{PROTOCOL.lower()}.oauthbearer.sasl"


class TokenServer(SecuredServer):
    """A server of one kind that accepts both kinds of tokens."""

    def __init__(self, kind: str, work: Path) -> None:
        path = work / f"keys-{kind}.json"
        path.write_bytes(PROVIDER.document())
        allowed = f"-Dorg.apache.kafka.sasl.oauthbearer.allowed.urls={path.as_uri()}"
        apaches = {
            "sasl.enabled.mechanisms": MECHANISMS,
            f"{_LISTENER}.jaas.config": f"{_OAUTH}.OAuthBearerLoginModule required;",
            f"{_LISTENER}.server.callback.handler.class": f"{_OAUTH}.OAuthBearerValidatorCallbackHandler",
            "sasl.oauthbearer.jwks.endpoint.url": path.as_uri(),
            "sasl.oauthbearer.expected.audience": AUDIENCE,
            "sasl.oauthbearer.expected.issuer": ISSUER,
            "delegation.token.secret.key": "key",
        }
        ours = {
            "kafkaSaslMechanisms": MECHANISMS,
            "kafkaOauthbearerJwksUrl": path.as_uri(),
            "kafkaOauthbearerExpectedAudience": AUDIENCE,
            "kafkaOauthbearerExpectedIssuer": ISSUER,
            "kafkaDelegationTokenSecretKey": "key",
        }
        super().__init__(kind, work, apaches if kind == "apache" else ours, jvm=(*SERVER_JVM, allowed))


@pytest.fixture(scope="module")
def token_servers(work: Path) -> Iterator[Servers]:
    """The servers that accept tokens."""
    servers = Servers(lambda kind: TokenServer(kind, work))
    yield servers
    servers.close()


@pytest.fixture
def address(kind: str, token_servers: Servers) -> str:
    """The address of the server of one kind."""
    return token_servers.get(kind).address


def token(**changes: Any) -> str:
    """Return a token of the root user; a change to None leaves a claim out."""
    now = int(time.time())
    claims = {"sub": ROOT, "aud": AUDIENCE, "iss": ISSUER, "iat": now, "exp": now + 600, **changes}
    return PROVIDER.token(**{name: value for name, value in claims.items() if value is not None})


def begin(connection: Connection, mechanism: str) -> None:
    """Choose a mechanism."""
    assert connection.ask("SaslHandshake", 1, mechanism=mechanism)["error_code"] == 0


def authenticate(connection: Connection, data: bytes) -> Mapping[str, Any]:
    """Send a token of a mechanism, and return the answer."""
    return connection.ask("SaslAuthenticate", 2, auth_bytes=data)


def test_access_token_authenticates_its_user(address: str) -> None:
    with Connection(address) as connection:
        begin(connection, "OAUTHBEARER")
        answer = authenticate(connection, response(token()))
        assert (answer["error_code"], answer["error_message"] or "", answer["auth_bytes"]) == (0, "", b"")
        assert answer["session_lifetime_ms"] == SESSION_MILLIS
        assert connection.ask("Metadata", 9, topics=None)["brokers"]


def refused() -> dict[str, str]:
    """Return tokens that are refused, by the reason."""
    now = int(time.time())
    header, claims, signature = token().split(".")
    return {
        "expired": token(iat=now - 600, exp=now - 60),
        "without end": token(exp=None),
        "without issue": token(iat=None),
        "not yet valid": token(nbf=now + 300),
        "another audience": token(aud="other"),
        "without audience": token(aud=None),
        "another issuer": token(iss="https://other.example"),
        "without issuer": token(iss=None),
        "without user": token(sub=None),
        "blank user": token(sub=" "),
        "end before issue": token(iat=now + 700),
        "another key": IdentityProvider().token(sub=ROOT, aud=AUDIENCE, iss=ISSUER, iat=now, exp=now + 600),
        "unknown key": IdentityProvider("other").token(
            sub=ROOT, aud=AUDIENCE, iss=ISSUER, iat=now, exp=now + 600
        ),
        "no signature": f"eyJhbGciOiJub25lIn0.{claims}.",
        "cut signature": f"{header}.{claims}.{signature[:-4]}",
        "two parts": f"{header}.{claims}",
    }


@pytest.mark.parametrize("reason", refused())
def test_access_token_is_refused_with_an_error_that_the_client_confirms(address: str, reason: str) -> None:
    with Connection(address) as connection:
        begin(connection, "OAUTHBEARER")
        answer = authenticate(connection, response(refused()[reason]))
        assert (answer["error_code"], answer["auth_bytes"]) == (0, REFUSAL.encode())
        end = authenticate(connection, b"\x01")
        assert (end["error_code"], end["error_message"]) == (FAILED, REFUSAL)
        with pytest.raises(ConnectionError):
            connection.ask("Metadata", 9, topics=None)


def test_authorization_id_must_be_the_user_of_the_token(address: str) -> None:
    with Connection(address) as connection:
        begin(connection, "OAUTHBEARER")
        end = authenticate(connection, response(token(), "other"))
        assert (end["error_code"], end["error_message"]) == (
            FAILED,
            "Authentication failed: Client requested an authorization id (other) that is different from the "
            f"token's principal name ({ROOT})",
        )


def test_message_without_a_token_is_refused(address: str) -> None:
    for message in (b"\x01", b"n,,\x01\x01", b"n,,\x01auth=Bearer\x01\x01"):
        with Connection(address) as connection:
            begin(connection, "OAUTHBEARER")
            end = authenticate(connection, message)
            assert end["error_code"] == FAILED and "OAUTHBEARER" in end["error_message"], message


def root(address: str) -> Connection:
    """Return a connection of the root user."""
    connection = Connection(address)
    begin(connection, "PLAIN")
    assert authenticate(connection, f"\0{ROOT}\0{ROOT_PASSWORD}".encode())["error_code"] == 0
    return connection


def create(connection: Connection, **fields: Any) -> Mapping[str, Any]:
    """Create a delegation token."""
    given = {"owner_principal_type": None, "owner_principal_name": None, "max_lifetime_ms": -1, **fields}
    return connection.ask("CreateDelegationToken", 3, **given)


def log_in(address: str, token_id: str, secret: bytes) -> tuple[Connection, Mapping[str, Any]]:
    """Authenticate a connection by a delegation token; return it with the last answer."""
    connection = Connection(address)
    begin(connection, "SCRAM-SHA-256")
    password = base64.b64encode(secret).decode()
    scram = ScramClient("sha256", token_id, password, extensions=",tokenauth=true")
    first = authenticate(connection, scram.first())
    if first["error_code"]:
        return connection, first
    return connection, authenticate(connection, scram.final(first["auth_bytes"]))


def test_delegation_token_is_created_described_and_used(address: str) -> None:
    with root(address) as owner:
        made = create(owner, renewers=[{"principal_type": "User", "principal_name": "other"}])
        assert (made["error_code"], made["principal_type"], made["principal_name"]) == (0, "User", ROOT)
        assert made["token_requester_principal_name"] == ROOT and len(made["hmac"]) == 64
        assert made["expiry_timestamp_ms"] - made["issue_timestamp_ms"] == 86_400_000
        assert made["max_timestamp_ms"] - made["issue_timestamp_ms"] == 604_800_000
        found = described(owner, made["token_id"])
        assert (found["principal_name"], found["hmac"]) == (ROOT, made["hmac"])
        assert found["renewers"] == [{"principal_type": "User", "principal_name": "other"}]
    connection, answer = log_in(address, made["token_id"], made["hmac"])
    with connection:
        assert answer["error_code"] == 0 and answer["session_lifetime_ms"] == SESSION_MILLIS
        not_allowed = create(connection)
        assert (not_allowed["error_code"], not_allowed["issue_timestamp_ms"]) == (NOT_ALLOWED, -1)
        assert (not_allowed["principal_name"], not_allowed["token_id"]) == (ROOT, "")
        renewed = connection.ask("RenewDelegationToken", 2, hmac=made["hmac"], renew_period_ms=-1)
        assert (renewed["error_code"], renewed["expiry_timestamp_ms"]) == (NOT_ALLOWED, -1)
    for token_id, secret in ((made["token_id"], b"wrong"), ("unknown", made["hmac"])):
        connection, answer = log_in(address, token_id, secret)
        connection.close()
        assert answer["error_code"] == FAILED and "SCRAM-SHA-256" in answer["error_message"]


def described(connection: Connection, token_id: str) -> Mapping[str, Any]:
    """Return a token as it is described, once it is: servers learn of tokens from their controller."""
    for _ in range(600):
        answer = connection.ask("DescribeDelegationToken", 3, owners=None)
        assert answer["error_code"] == 0
        for one in answer["tokens"]:
            if one["token_id"] == token_id:
                found: Mapping[str, Any] = one
                return found
        time.sleep(0.1)
    raise AssertionError(f"{token_id} is not described")


def test_delegation_token_is_renewed_and_ended(address: str) -> None:
    with root(address) as owner:
        made = create(owner)
        described(owner, made["token_id"])
        renewed = owner.ask("RenewDelegationToken", 2, hmac=made["hmac"], renew_period_ms=3_600_000)
        assert renewed["error_code"] == 0
        assert renewed["expiry_timestamp_ms"] < made["expiry_timestamp_ms"]
        ended = owner.ask("ExpireDelegationToken", 2, hmac=made["hmac"], expiry_time_period_ms=0)
        assert ended["error_code"] == 0
        time.sleep(0.1)
        late = owner.ask("RenewDelegationToken", 2, hmac=made["hmac"], renew_period_ms=-1)
        assert (late["error_code"], late["expiry_timestamp_ms"]) == (EXPIRED, 0)
        gone = owner.ask("ExpireDelegationToken", 2, hmac=made["hmac"], expiry_time_period_ms=-1)
        assert gone["error_code"] == 0


def test_wrong_requests_about_delegation_tokens_are_refused(address: str) -> None:
    with root(address) as owner:
        for name in ("RenewDelegationToken", "ExpireDelegationToken"):
            answer = owner.ask(name, 2, hmac=b"unknown")
            assert (answer["error_code"], answer["expiry_timestamp_ms"]) == (NOT_FOUND, 0)
        wrong = create(owner, renewers=[{"principal_type": "Group", "principal_name": "other"}])
        assert (wrong["error_code"], wrong["issue_timestamp_ms"], wrong["hmac"]) == (WRONG_TYPE, -1, b"")
        assert owner.ask("DescribeDelegationToken", 3, owners=[])["tokens"] == []
