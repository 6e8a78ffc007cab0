"""Users by certificate."""

from __future__ import annotations

import datetime
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from OpenSSL import crypto
from twisted.internet.address import IPv4Address
from twisted.internet.task import Clock

from mqgateway.gateway.access.users import User
from mqgateway.gateway.kafka.codec.error_codes import ErrorCode
from mqgateway.gateway.kafka.codec.messages.api_versions_request import ApiVersionsRequest
from mqgateway.gateway.kafka.codec.messages.metadata_request import MetadataRequest
from mqgateway.gateway.kafka.codec.messages.sasl_handshake_request import SaslHandshakeRequest
from mqgateway.gateway.kafka.connection import KafkaConnection
from mqgateway.gateway.kafka.sasl.certificates import CertificateUsers
from mqgateway.gateway.kafka.server import KafkaServer
from tests.gateway.kafka.api.test_metadata import ACCESS
from tests.support.gateway.kafka.broker import KafkaBroker
from tests.support.gateway.kafka.client import PASSWORD, KafkaClient, KafkaScene, kafka_scene

NAMED = ApiVersionsRequest("tests", "1.0")
NO_TOPICS = MetadataRequest(topics=[])


class Transport:
    """A transport, as far as it has a certificate."""

    def __init__(self, name: x509.Name | None) -> None:
        self._name = name

    def getPeerCertificate(self) -> crypto.X509 | None:
        """Return a certificate of this name."""
        if self._name is None:
            return None
        key = ec.generate_private_key(ec.SECP256R1())
        builder = x509.CertificateBuilder(self._name, self._name, key.public_key(), 1)
        start, end = (datetime.datetime(year, 1, 1) for year in (2000, 2100))
        certificate = builder.not_valid_before(start).not_valid_after(end).sign(key, hashes.SHA256())
        return crypto.X509.from_cryptography(certificate)


NAME = x509.Name(
    [
        x509.NameAttribute(NameOID.COUNTRY_NAME, "DE"),
        x509.NameAttribute(NameOID.ORGANIZATION_NAME, "A, B"),
        x509.NameAttribute(NameOID.COMMON_NAME, "alice"),
    ]
)


@pytest.mark.parametrize(
    ("rules", "user"),
    [
        ("DEFAULT", r"CN=alice,O=A\, B,C=DE"),
        ("RULE:^CN=([^,]*),.*$/$1/U", "ALICE"),
        ("RULE:^CN=bob.*$/bob/", None),
        ("RULE:^.*$//", None),
    ],
)
def test_user_is_the_mapped_name(rules: str, user: str | None) -> None:
    users = CertificateUsers(rules)
    assert users.user_of(Transport(NAME)) == user
    assert users.user_of(Transport(None)) is None


class Remoting:
    """A server, as far as it verifies certificates."""

    def __init__(self, verifies_clients: bool) -> None:
        self.verifies_clients = verifies_clients


@pytest.mark.parametrize(("verifies_clients", "user"), [(True, "alice"), (False, None)])
def test_only_verified_certificates_stand_for_users(verifies_clients: bool, user: str | None) -> None:
    operations = KafkaBroker(options={"kafka_principal_mapping_rules": "RULE:^CN=([^,]*),.*$/$1/"}).operations
    remoting: Any = Remoting(verifies_clients)
    server = KafkaServer(operations, remoting, reactor=Clock(), advertised="10.0.0.1")
    assert server._users_by_certificate()(Transport(NAME)) == user


def certified(scene: KafkaScene) -> KafkaClient:
    """Return a client after a TLS handshake."""
    scene.users.put(User("alice", PASSWORD), User("bob", PASSWORD))
    scene.stranger().ask(NAMED)  # which loads the modules
    before = scene.connections()
    client = scene.stranger()
    scene.settle(0.1)
    [connection] = [one for one in scene.connections() if one not in before]
    connection.handshakeCompleted()
    return client


def session_user(scene: KafkaScene) -> list[str | None]:
    """Return the users of the connections that have one."""
    sessions = [connection._session for connection in scene.connections()]
    return [session.user for session in sessions if session is not None and session.user is not None]


@contextmanager
def certifying(monkeypatch: pytest.MonkeyPatch, user: str | None) -> Iterator[KafkaScene]:
    """Yield a server whose clients have a certificate that stands for a user."""
    monkeypatch.setattr(KafkaServer, "_users_by_certificate", lambda _: lambda transport: user)
    with kafka_scene(**ACCESS) as scene:
        yield scene


def test_client_with_a_certificate_is_served_as_its_user(monkeypatch: pytest.MonkeyPatch) -> None:
    with certifying(monkeypatch, "alice") as scene:
        client = certified(scene)
        assert client.ask(NAMED).error_code == 0
        assert client.ask(NO_TOPICS).brokers
        assert session_user(scene) == ["alice"]


def test_client_with_a_certificate_may_authenticate_as_another_user_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with certifying(monkeypatch, "alice") as scene:
        client = certified(scene)
        assert client.log_in("bob", PASSWORD).error_code == 0
        assert session_user(scene) == ["bob"]
        assert client.ask(SaslHandshakeRequest("PLAIN")).error_code == ErrorCode.ILLEGAL_SASL_STATE


def test_client_whose_certificate_stands_for_no_user_must_authenticate(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with certifying(monkeypatch, None) as scene:
        client = certified(scene)
        assert client.log_in("bob", PASSWORD).error_code == 0
        client = certified(scene)
        client.write(client.frame(NO_TOPICS))
        assert client.frames(1, 0.3) == [] and client.lost


class Loaded:
    """A transport of a connection that begins after its TLS handshake."""

    def getPeer(self) -> IPv4Address:
        """Return an address."""
        return IPv4Address("TCP", "10.0.0.7", 5000)

    getHost = getPeer

    def registerProducer(self, producer: object, streaming: bool) -> None:
        """Do nothing."""


def test_connection_that_was_secured_before_it_was_loaded_has_its_user(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with certifying(monkeypatch, "alice") as scene:
        certified(scene)
        front_ends: Any = scene.server._nodes._front_ends
        connection = KafkaConnection(front_ends["kafka"]._terms, lambda _: None, lambda _: None)
        connection.handshakeCompleted()
        transport: Any = Loaded()
        connection.makeConnection(transport)
        assert connection._session is not None and connection._session.user == "alice"
