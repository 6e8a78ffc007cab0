"""TLS with a context of the program's: handshakes with our server, both ends in one process."""

from __future__ import annotations

import ssl
from pathlib import Path

from mqgateway.engine.options import TlsOptions
from mqgateway.gateway.remoting.server_tls import ServerTls
from mqgateway.gateway.remoting.ssl_context import ContextTls
from tests.gateway.remoting.test_tls import FileShelf, Handshake, identity, server_options


def test_context_that_trusts_the_server_greets_it() -> None:
    key, certificate = identity("localhost")
    server = ServerTls(server_options(), FileShelf(key=key, cert=certificate))
    context = ssl.create_default_context(cadata=certificate.decode())
    assert Handshake(server, ContextTls(context)).succeeded


def test_context_refuses_a_stranger_and_another_name() -> None:
    key, certificate = identity("localhost")
    server = ServerTls(server_options(), FileShelf(key=key, cert=certificate))
    stranger = ssl.create_default_context(cadata=identity("localhost")[1].decode())
    assert not Handshake(server, ContextTls(stranger)).succeeded
    context = ssl.create_default_context(cadata=certificate.decode())
    assert not Handshake(server, ContextTls(context), "other.example").succeeded


def test_context_shows_its_client_certificate(tmp_path: Path) -> None:
    key, certificate = identity("localhost")
    client_key, client_certificate = identity("client")
    (tmp_path / "client.pem").write_bytes(client_key + client_certificate)
    shelf = FileShelf(key=key, cert=certificate, trust=client_certificate)
    options = server_options(
        tls_server_need_client_auth="require", tls_server_auth_client=True, tls_server_trust_cert_path="trust"
    )
    context = ssl.create_default_context(cadata=certificate.decode())
    assert not Handshake(ServerTls(options, shelf), ContextTls(context)).succeeded
    context.load_cert_chain(tmp_path / "client.pem")
    assert Handshake(ServerTls(options, shelf), ContextTls(context)).succeeded


def test_context_may_accept_all_certificates() -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    handshake = Handshake(ServerTls(TlsOptions(), FileShelf()), ContextTls(context), "")
    assert handshake.succeeded
    handshake.client_end.loseConnection()
