"""Connection settings of a cluster: TLS, and the user, by a properties file of Kafka's clients.

The same file is taken by `--command-config` of Kafka's commands. Certificates are read from PEM files.
Source: `SaslClientAuthenticator`, `ScramSaslClient`, `SslConfigs`.
"""

from __future__ import annotations

import base64
import binascii
import re
import secrets
import socket
import ssl
from collections.abc import Callable, Mapping
from typing import Final, NamedTuple

from mqgateway.engine.errors import ConfigError
from mqgateway.engine.options import load_properties
from mqgateway.gateway.access.scram import SCRAM_MECHANISMS, ScramMechanism
from mqgateway.gateway.migration.plan import MigrationError
from mqgateway.gateway.mqadmin.connection import Connect, SocketStream, plain

PLAIN: Final = "PLAIN"
MECHANISMS: Final = (PLAIN, *SCRAM_MECHANISMS)
PROTOCOLS: Final = {
    "PLAINTEXT": (False, False),
    "SSL": (True, False),
    "SASL_PLAINTEXT": (False, True),
    "SASL_SSL": (True, True),
}
"""By `security.protocol`: with TLS, with SASL."""
ITERATIONS: Final = range(4096, 1_000_001)
"""Iterations of a key derivation that a server may ask for. Fewer make it easy to guess the password."""
_LOGIN: Final = re.compile(r'\b(username|password)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|\'([^\']*)\')')
_SERVER_FIRST: Final = re.compile(r"r=([^,]+),s=([A-Za-z0-9+/=]+),i=([0-9]{1,9})")


class Login(NamedTuple):
    """A user of a cluster, and the mechanism by which the password is proved."""

    mechanism: str
    user: str
    password: str


class ClusterSecurity(NamedTuple):
    """The way to connect to a cluster; `login` is None without authentication."""

    connect: Connect = plain
    login: Login | None = None


SendToken = Callable[[bytes], bytes]
"""Function that sends a token of the client and returns the server's answer."""


def read_security(text: bytes, path: str) -> ClusterSecurity:
    """Return the connection settings of a properties file. Raises `MigrationError`, `OSError`."""
    try:
        values = {one.key: one.value for one in load_properties(text, path)}
    except ConfigError as error:
        raise MigrationError(f"{path}: {error}") from None
    protocol = values.get("security.protocol", "PLAINTEXT").upper()
    if protocol not in PROTOCOLS:
        raise MigrationError(f"{path}: security.protocol is {protocol}; known are {', '.join(PROTOCOLS)}")
    has_tls, has_sasl = PROTOCOLS[protocol]
    return ClusterSecurity(
        _encrypted(values, path) if has_tls else plain, _login(values, path) if has_sasl else None
    )


def _login(values: Mapping[str, str], path: str) -> Login:
    mechanism = values.get("sasl.mechanism", "")
    if mechanism not in MECHANISMS:
        known = ", ".join(MECHANISMS)
        raise MigrationError(f"{path}: sasl.mechanism is {mechanism or 'not set'}; known are {known}")
    found = {}
    for name, quoted, single in _LOGIN.findall(values.get("sasl.jaas.config", "")):
        found[name] = re.sub(r"\\(.)", r"\1", quoted) or single
    if found.keys() != {"username", "password"}:
        raise MigrationError(f"{path}: sasl.jaas.config must have username and password")
    return Login(mechanism, found["username"], found["password"])


def _encrypted(values: Mapping[str, str], path: str) -> Connect:
    """Return a function that connects with TLS and verifies the server."""
    for store in ("truststore", "keystore"):
        if f"ssl.{store}.location" in values and values.get(f"ssl.{store}.type") != "PEM":
            raise MigrationError(f"{path}: ssl.{store}.type must be PEM")
    context = ssl.create_default_context(cafile=values.get("ssl.truststore.location"))
    context.check_hostname = values.get("ssl.endpoint.identification.algorithm", "https") != ""
    if certificate := values.get("ssl.keystore.location"):
        context.load_cert_chain(certificate, password=values.get("ssl.key.password"))

    def connect(host: str, port: int, seconds: float) -> SocketStream:
        return context.wrap_socket(socket.create_connection((host, port), seconds), server_hostname=host)

    return connect


def log_in(login: Login, send: SendToken) -> None:
    """Prove the password to a server that has agreed to the mechanism.

    Raises `MigrationError` if the server's own proof is wrong, and what `send` raises.
    """
    if login.mechanism == PLAIN:
        send(f"\0{login.user}\0{login.password}".encode())
    else:
        _prove(SCRAM_MECHANISMS[login.mechanism], login, send)


def _prove(mechanism: ScramMechanism, login: Login, send: SendToken) -> None:
    user = login.user.replace("=", "=3D").replace(",", "=2C")
    nonce = secrets.token_urlsafe()
    bare = f"n={user},r={nonce}"
    answer = send(f"n,,{bare}".encode()).decode("utf-8", "replace")
    found = _SERVER_FIRST.match(answer)
    if found is None or not found[1].startswith(nonce) or int(found[3]) not in ITERATIONS:
        raise MigrationError(f"the server's first message of {mechanism.name} cannot be used")
    try:
        salt = base64.b64decode(found[2])
    except binascii.Error:
        raise MigrationError(f"the server's salt of {mechanism.name} cannot be read") from None
    salted = mechanism.salted(login.password, salt, int(found[3]))
    client_key = mechanism.hmac(salted, b"Client Key")
    unproved = f"c=biws,r={found[1]}"
    signed = f"{bare},{answer},{unproved}".encode()
    signature = mechanism.hmac(mechanism.hash(client_key), signed)
    proof = base64.b64encode(bytes(one ^ other for one, other in zip(client_key, signature, strict=True)))
    final = send(f"{unproved},p={proof.decode()}".encode())
    expected = mechanism.hmac(mechanism.hmac(salted, b"Server Key"), signed)
    if not secrets.compare_digest(final, b"v=" + base64.b64encode(expected)):
        raise MigrationError(f"the server does not know the password of {login.user}")
