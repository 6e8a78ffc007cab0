"""TLS contexts tested by handshakes: both ends in one process, their bytes carried by hand."""

import logging
from typing import Any

import pytest
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    NoEncryption,
    PrivateFormat,
)
from OpenSSL import SSL
from twisted.internet.protocol import Factory, Protocol

from mqgateway.engine.options import TlsOptions
from mqgateway.gateway.remoting.server_tls import ServerTls
from mqgateway.gateway.remoting.tls import ClientTls, openssl_cipher, self_signed
from tests.support.gateway.remoting.pair import Pair


class FileShelf(dict[str, bytes]):
    """Read-only disk."""

    def read_bytes(self, path: str) -> bytes:
        if path not in self:
            raise FileNotFoundError(2, "no such file", path)
        return self[path]


def identity(name: str, password: bytes | None = None) -> tuple[bytes, bytes]:
    """Return a key and a self-signed certificate in PEM."""
    key, certificate = self_signed(name)
    encryption = BestAvailableEncryption(password) if password else NoEncryption()
    pem = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, encryption)
    return pem, certificate.public_bytes(Encoding.PEM)


class Inside(Protocol):
    """Protocol inside TLS that keeps its input."""

    def __init__(self) -> None:
        self.heard = b""
        self.lost: Any = None

    def dataReceived(self, data: bytes) -> None:
        self.heard += data

    def connectionLost(self, reason: Any = None) -> None:
        self.lost = reason


class Insides(Factory):
    noisy = False

    def buildProtocol(self, addr: object) -> Inside:
        return Inside()


class Handshake:
    """Handshake of a client and a server, followed by a greeting."""

    def __init__(self, server: ServerTls, client: ClientTls, host: str = "localhost") -> None:
        self.server_inside = Inside()
        server_end = server.wrap(self.server_inside)
        self.client_end: Any = client.wrap_factory(Insides(), host).buildProtocol(None)
        self.client_inside = self.client_end.wrappedProtocol
        pair = Pair(self.client_end, server_end)
        self.client_end.write(b"hello from the client")
        server_end.write(b"hello from the server")  # type: ignore[attr-defined]
        pair.pump()
        self.connection: SSL.Connection | None = self.client_end.getHandle()

    @property
    def succeeded(self) -> bool:
        return (self.server_inside.heard, self.client_inside.heard) == (
            b"hello from the client",
            b"hello from the server",
        )

    @property
    def shown_name(self) -> str:
        """Name in the certificate that the server presented."""
        subject = self.client_end.getPeerCertificate().to_cryptography().subject
        return str(subject.rfc4514_string()).removeprefix("CN=")


def client(**options: Any) -> ClientTls:
    return ClientTls(TlsOptions(**options), FileShelf())


def server_options(**more: Any) -> TlsOptions:
    return TlsOptions(
        tls_test_mode_enable=False, tls_server_key_path="key", tls_server_cert_path="cert", **more
    )


def test_test_mode_needs_no_files() -> None:
    server = ServerTls(TlsOptions(), FileShelf())
    assert server.is_ready
    handshake = Handshake(server, client())
    assert handshake.succeeded
    assert handshake.connection is not None
    assert handshake.connection.get_protocol_version_name() == "TLSv1.3"


def test_disabled_mode_has_no_context() -> None:
    assert not ServerTls(TlsOptions(tls_server_mode="disabled"), FileShelf()).is_ready


def test_server_presents_certificate_from_file() -> None:
    key, cert = identity("broker-a")
    handshake = Handshake(ServerTls(server_options(), FileShelf(key=key, cert=cert)), client())
    assert handshake.succeeded
    assert handshake.shown_name == "broker-a"


def test_key_may_have_password() -> None:
    key, cert = identity("broker-a", b"secret")
    files = FileShelf(key=key, cert=cert)
    assert Handshake(ServerTls(server_options(tls_server_key_password="secret"), files), client()).succeeded


@pytest.mark.parametrize(
    ("files", "options"),
    [
        ({}, {}),
        ({"key": b"no PEM", "cert": b"no PEM"}, {}),
        ({"key": identity("a")[0], "cert": identity("b")[1]}, {}),
        (dict(zip(("key", "cert"), identity("a", b"secret"), strict=True)), {}),
        (
            dict(zip(("key", "cert"), identity("a", b"secret"), strict=True)),
            {"tls_server_key_password": "wrong"},
        ),
        (dict(zip(("key", "cert"), identity("a"), strict=True)), {"tls_ciphers": "no-such-cipher"}),
        (dict(zip(("key", "cert"), identity("a"), strict=True)), {"tls_protocols": "TLSv9"}),
    ],
    ids=["missing", "no PEM", "another's key", "no password", "wrong password", "cipher", "protocol"],
)
def test_unusable_files_disable_tls_with_log(
    files: dict[str, bytes], options: dict[str, str], caplog: pytest.LogCaptureFixture
) -> None:
    server = ServerTls(server_options(**options), FileShelf(files))
    assert not server.is_ready
    assert "cannot be used" in caplog.text


def test_changed_files_are_used_by_new_connections(caplog: pytest.LogCaptureFixture) -> None:
    first, second = identity("first"), identity("second")
    files = FileShelf(key=first[0], cert=first[1])
    server = ServerTls(server_options(), files)
    old = Handshake(server, client())
    with caplog.at_level(logging.INFO):
        server.reload()
        assert caplog.records == []
        files["cert"] = second[1]
        server.reload()  # half a change: the pair does not fit
        assert "cannot be used" in caplog.text
        assert Handshake(server, client()).shown_name == "first"
        caplog.clear()
        server.reload()
        assert caplog.records == []
        files["key"] = second[0]
        server.reload()
        assert "have been read" in caplog.text
    assert Handshake(server, client()).shown_name == "second"
    assert old.succeeded


def test_missing_files_keep_context_and_are_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    key, cert = identity("a")
    files = FileShelf(key=key, cert=cert)
    server = ServerTls(server_options(), files)
    files.clear()
    for _ in range(3):
        server.reload()
    assert Handshake(server, client()).succeeded
    assert len(caplog.records) == 1


def mutual(need: str, checked: bool, trusted: bytes | None) -> ServerTls:
    key, cert = identity("server")
    files = FileShelf(key=key, cert=cert)
    options = server_options(tls_server_need_client_auth=need, tls_server_auth_client=checked)
    if trusted is not None:
        files["trust"] = trusted
        options.tls_server_trust_cert_path = "trust"
    return ServerTls(options, files)


def known_client(files: FileShelf) -> ClientTls:
    options = TlsOptions(tls_test_mode_enable=False, tls_client_key_path="key", tls_client_cert_path="cert")
    return ClientTls(options, files)


@pytest.mark.parametrize(
    ("need", "checked", "shows", "succeeds"),
    [
        ("none", True, "nothing", True),
        ("optional", True, "nothing", True),
        ("optional", True, "a stranger's", False),
        ("optional", False, "a stranger's", True),
        ("require", True, "nothing", False),
        ("require", False, "nothing", False),
        ("require", True, "a stranger's", False),
        ("require", True, "its own", True),
        ("require", False, "a stranger's", True),
    ],
)
def test_client_certificates_are_verified_by_options(
    need: str, checked: bool, shows: str, succeeds: bool
) -> None:
    friend, stranger = identity("friend"), identity("stranger")
    server = mutual(need, checked, friend[1])
    if shows == "nothing":
        ours = client()
    else:
        key, cert = friend if shows == "its own" else stranger
        ours = known_client(FileShelf(key=key, cert=cert))
    assert Handshake(server, ours).succeeded is succeeds


@pytest.mark.parametrize(
    ("checks", "trusts", "succeeds"), [(True, True, True), (True, False, False), (False, False, True)]
)
def test_server_certificate_is_verified_by_options(checks: bool, trusts: bool, succeeds: bool) -> None:
    key, cert = identity("broker")
    server = ServerTls(server_options(), FileShelf(key=key, cert=cert))
    options = TlsOptions(
        tls_test_mode_enable=False, tls_client_auth_server=checks, tls_client_trust_cert_path="trust"
    )
    ours = ClientTls(options, FileShelf(trust=cert if trusts else identity("another")[1]))
    assert Handshake(server, ours).succeeded is succeeds


@pytest.mark.parametrize(
    ("need", "checked", "has_authorities", "verifies"),
    [
        ("require", True, True, True),
        ("optional", True, True, True),
        ("none", True, True, False),
        ("require", False, True, False),
        ("require", True, False, False),
    ],
)
def test_certificates_of_clients_are_verified_if_all_options_say_so(
    need: str, checked: bool, has_authorities: bool, verifies: bool
) -> None:
    trusted = identity("friend")[1] if has_authorities else None
    assert mutual(need, checked, trusted).verifies_clients is verifies


def test_client_with_unusable_files_raises() -> None:
    options = TlsOptions(tls_test_mode_enable=False, tls_client_trust_cert_path="nowhere")
    with pytest.raises(FileNotFoundError):
        ClientTls(options, FileShelf())


@pytest.mark.parametrize(
    ("options", "version", "cipher"),
    [
        ({"tls_protocols": "TLSv1.2"}, "TLSv1.2", None),
        ({"tls_protocols": "TLSv1.3"}, "TLSv1.3", None),
        ({"tls_ciphers": "TLS_AES_128_GCM_SHA256"}, "TLSv1.3", "TLS_AES_128_GCM_SHA256"),
        (
            {"tls_ciphers": "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256"},
            "TLSv1.2",
            "ECDHE-ECDSA-AES128-GCM-SHA256",
        ),
        (
            {"tls_ciphers": " ECDHE-ECDSA-CHACHA20-POLY1305 , TLS_CHACHA20_POLY1305_SHA256 "},
            "TLSv1.3",
            "TLS_CHACHA20_POLY1305_SHA256",
        ),
    ],
)
def test_options_set_protocols_and_ciphers(options: dict[str, str], version: str, cipher: str | None) -> None:
    handshake = Handshake(ServerTls(TlsOptions(**options), FileShelf()), client())
    assert handshake.succeeded
    connection = handshake.connection
    assert connection is not None
    assert connection.get_protocol_version_name() == version
    assert cipher in (None, connection.get_cipher_name())


def test_handshake_fails_without_common_protocol() -> None:
    server = ServerTls(TlsOptions(tls_protocols="TLSv1.3"), FileShelf())
    assert not Handshake(server, client(tls_protocols="TLSv1.2")).succeeded


@pytest.mark.parametrize(
    ("java", "openssl"),
    [
        ("TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256", "ECDHE-RSA-AES128-GCM-SHA256"),
        ("TLS_ECDHE_ECDSA_WITH_AES_256_CBC_SHA384", "ECDHE-ECDSA-AES256-SHA384"),
        ("TLS_RSA_WITH_AES_128_CBC_SHA", "AES128-SHA"),
        ("TLS_DHE_RSA_WITH_AES_256_GCM_SHA384", "DHE-RSA-AES256-GCM-SHA384"),
        ("TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256", "ECDHE-RSA-CHACHA20-POLY1305"),
        ("ECDHE-RSA-AES128-GCM-SHA256", "ECDHE-RSA-AES128-GCM-SHA256"),
    ],
)
def test_java_cipher_names_are_converted(java: str, openssl: str) -> None:
    assert openssl_cipher(java) == openssl


@pytest.mark.parametrize(
    ("shows", "connects_to", "succeeds"),
    [
        ("broker.test", "broker.test", True),
        ("broker.test", "other.test", False),
        ("*.brokers.test", "a.brokers.test", True),
        ("*.brokers.test", "brokers.test", False),
        ("10.0.0.1", "10.0.0.1", True),
        ("10.0.0.1", "10.0.0.2", False),
        ("broker.test", "10.0.0.1", False),
    ],
)
def test_check_host_compares_name_with_certificate(shows: str, connects_to: str, succeeds: bool) -> None:
    key, cert = identity(shows)
    server = ServerTls(server_options(), FileShelf(key=key, cert=cert))
    options = TlsOptions(tls_test_mode_enable=False, tls_client_trust_cert_path="trust")
    ours = ClientTls(options, FileShelf(trust=cert), check_host=True)
    assert Handshake(server, ours, connects_to).succeeded is succeeds
    assert Handshake(server, ClientTls(options, FileShelf(trust=cert)), connects_to).succeeded


def test_check_host_refuses_unknown_authority() -> None:
    """In test mode too, and whether or not the authority is to be verified as well."""
    server = ServerTls(TlsOptions(), FileShelf())
    assert not Handshake(server, ClientTls(TlsOptions(), FileShelf(), check_host=True), "localhost").succeeded
