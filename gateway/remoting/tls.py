"""TLS contexts, built from files, rebuilt when the files change, or generated for tests.

Files are read through the given disk, and read again by `reload`, which the owner of the timers calls. Open
connections keep their context. Both ends support three modes:

- test mode (the default): the server presents a certificate that it signed itself at start-up and accepts any
  client certificate; the client accepts any server;
- files: key, certificate chain, trusted certificates, all PEM; the key may have a password;
- `authClient` / `authServer` false: the peer's certificate is not verified.

Host names are compared with certificates only if a client requests it, because brokers are mostly addressed
by ip; RocketMQ never does. RocketMQ: `TlsHelper`, `TlsSystemConfig`, `TlsCertificateManager`.
"""

from __future__ import annotations

import datetime
import ipaddress
import logging
import typing
from collections.abc import Callable
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from OpenSSL import SSL, crypto
from service_identity import CertificateError, VerificationError
from service_identity.cryptography import verify_certificate_hostname, verify_certificate_ip_address
from twisted.internet.interfaces import IOpenSSLClientConnectionCreator, IOpenSSLServerConnectionCreator
from twisted.internet.protocol import Factory, Protocol
from twisted.protocols.tls import TLSMemoryBIOFactory, TLSMemoryBIOProtocol
from zope.interface import implementer  # type: ignore[import-untyped, unused-ignore]

from mqgateway.engine.options import TlsOptions

log = logging.getLogger(__name__)

# The layer without write buffering; the factory's default would join small writes, which is done already.
_TlsProtocol: Any = TLSMemoryBIOProtocol
_TlsFactory: Any = TLSMemoryBIOFactory

_PROTOCOL_OFF = {
    "TLSv1": SSL.OP_NO_TLSv1,
    "TLSv1.1": SSL.OP_NO_TLSv1_1,
    "TLSv1.2": SSL.OP_NO_TLSv1_2,
    "TLSv1.3": SSL.OP_NO_TLSv1_3,
}
HTTP2 = b"h2"
_DEFAULT_PROTOCOLS = ("TLSv1.2", "TLSv1.3")
_TLS_1_3_SUITES = ("TLS_AES_", "TLS_CHACHA20_")

_VERIFY_CLIENT = {
    "none": SSL.VERIFY_NONE,
    "optional": SSL.VERIFY_PEER,
    "require": SSL.VERIFY_PEER | SSL.VERIFY_FAIL_IF_NO_PEER_CERT,
}

# Errors of building a context from configured files: unreadable, not PEM, wrong password, key that does not
# belong to the certificate, unknown cipher.
UNUSABLE = (OSError, ValueError, TypeError, SSL.Error, crypto.Error)


class Files(typing.Protocol):
    """Part of a disk that is needed (`engine.disk.Disk` provides it)."""

    def read_bytes(self, path: str) -> bytes:
        """Return the content of a file; raises OSError."""
        ...


class _Credentials:
    """Files of one end, as last read."""

    def __init__(
        self, files: Files, *, key_path: str, key_password: str, cert_path: str, trust_path: str
    ) -> None:
        self._files = files
        self._paths = (key_path, cert_path, trust_path)
        self._password = key_password.encode() or None
        self._contents: tuple[bytes, ...] | None = None
        self.complaint = ""
        """Last error, so that a persistent one is not logged again."""

    def changed(self) -> bool:
        """Read the files. Returns True if they have changed. Raises OSError."""
        contents = tuple(self._files.read_bytes(path) if path else b"" for path in self._paths)
        changed, self._contents = contents != self._contents, contents
        return changed

    def use(self, context: SSL.Context) -> None:
        """Load key and certificates into a context; raises one of `UNUSABLE`."""
        key, chain, trusted = self._contents or (b"", b"", b"")
        if chain:
            first, *others = x509.load_pem_x509_certificates(chain)
            context.use_certificate(first)
            for certificate in others:
                context.add_extra_chain_cert(certificate)
        if key:
            password = self._password if b"ENCRYPTED" in key else None
            context.use_privatekey(serialization.load_pem_private_key(key, password))  # type: ignore[arg-type]
            context.check_privatekey()
        if not trusted:
            context.set_default_verify_paths()
            return
        store = context.get_cert_store()
        assert store is not None
        for certificate in x509.load_pem_x509_certificates(trusted):
            store.add_cert(crypto.X509.from_cryptography(certificate))


@implementer(IOpenSSLServerConnectionCreator)
class ServerContext:
    """Context of a server's TLS in test mode or from files; see `server_tls.ServerTls`.

    Without a usable one `is_ready` is False, as the log explains.
    """

    def __init__(self, options: TlsOptions, files: Files) -> None:
        self._options = options
        self._context: SSL.Context | None = None
        self._credentials: _Credentials | None = None
        self._factory = _TlsFactory(
            self, False, Factory(), clock=object()
        )  # the clock is for others' protocols
        if options.tls_test_mode_enable:
            self._context = self._test_context()
            return
        self._credentials = _Credentials(
            files,
            key_path=options.tls_server_key_path,
            key_password=options.tls_server_key_password,
            cert_path=options.tls_server_cert_path,
            trust_path=options.tls_server_trust_cert_path,
        )
        self.reload()

    @property
    def is_ready(self) -> bool:
        """True if there is a usable context."""
        return self._context is not None

    def reload(self) -> None:
        """Read the files again; if they have changed and are usable, new connections use them."""
        if self._credentials is not None:
            self._context = _reloaded(self._context, self._credentials, self._file_context, "server")

    def wrap(self, inside: object) -> Protocol:
        """Return a protocol that speaks TLS and passes decrypted bytes to `inside`."""
        wrapped: Protocol = _TlsProtocol(self._factory, inside)
        return wrapped

    def serverConnectionForTLS(self, protocol: object) -> SSL.Connection:
        """Return the OpenSSL connection of a new connection, for the TLS layer."""
        return SSL.Connection(self._context, None)  # type: ignore[arg-type]

    def _file_context(self, credentials: _Credentials) -> SSL.Context:
        options = self._options
        context = _new_context(options)
        credentials.use(context)
        context.set_alpn_select_callback(_choose_protocol)
        verify = _VERIFY_CLIENT[options.tls_server_need_client_auth]
        context.set_verify(verify, _believe_checked if options.tls_server_auth_client else _believe_all)
        return context

    def _test_context(self) -> SSL.Context:
        context = _new_context(self._options)
        key, certificate = self_signed("localhost")
        context.use_privatekey(key)
        context.use_certificate(certificate)
        context.set_alpn_select_callback(_choose_protocol)
        context.set_verify(SSL.VERIFY_PEER, _believe_all)
        return context


@implementer(IOpenSSLClientConnectionCreator)
class ClientTls:
    """TLS of a client. Raises one of the errors of reading and parsing if the files are unusable.

    With `check_host`, a server's certificate is always verified, and must match the name or address by which
    the server was connected to.
    """

    def __init__(self, options: TlsOptions, files: Files, *, check_host: bool = False) -> None:
        self._check_host = check_host
        self._context = _new_context(options)
        self._context.set_verify(SSL.VERIFY_NONE, _believe_all)
        if options.tls_test_mode_enable and not check_host:
            return
        credentials = _Credentials(
            files,
            key_path=options.tls_client_key_path,
            key_password=options.tls_client_key_password,
            cert_path=options.tls_client_cert_path,
            trust_path=options.tls_client_trust_cert_path,
        )
        credentials.changed()
        credentials.use(self._context)
        if options.tls_client_auth_server or check_host:
            self._context.set_verify(SSL.VERIFY_PEER, _believe_checked)

    def wrap_factory(self, factory: Factory, host: str = "") -> Factory:
        """Return a factory whose protocols speak TLS with `host` around those of `factory`."""
        return wrapping_factory(self.for_host(host) if self._check_host else self, factory)

    def for_host(self, host: str) -> IOpenSSLClientConnectionCreator:
        """Return the creator of connections to one host, whose certificate must match it."""
        creator: Any = _ForHost(self._context, host)
        return creator  # type: ignore[no-any-return]

    def clientConnectionForTLS(self, protocol: object) -> SSL.Connection:
        """Return the OpenSSL connection of a new connection, for the TLS layer."""
        return SSL.Connection(self._context, None)


def wrapping_factory(creator: Any, factory: Factory) -> Factory:
    """Return a factory whose protocols speak TLS over the creator's connections."""
    wrapper: Factory = _TlsFactory(
        creator, True, factory, clock=object()
    )  # the clock is for others' protocols
    wrapper.protocol = _TlsProtocol
    return wrapper


@implementer(IOpenSSLClientConnectionCreator)
class _ForHost:
    """Connections to one host, whose certificate must match its name or address."""

    def __init__(self, context: SSL.Context, host: str) -> None:
        self._context = context
        self._host = host

    def clientConnectionForTLS(self, protocol: object) -> SSL.Connection:
        connection = SSL.Connection(self._context, None)
        connection.set_verify(SSL.VERIFY_PEER, self._believe)
        if not _is_ip(self._host):
            connection.set_tlsext_host_name(self._host.encode("idna"))
        return connection

    def _believe(self, _: object, certificate: crypto.X509, error: int, depth: int, ok: int) -> bool:
        if not ok or depth:
            return bool(ok)
        shown = certificate.to_cryptography()
        try:
            if _is_ip(self._host):
                verify_certificate_ip_address(shown, self._host)
            else:
                verify_certificate_hostname(shown, self._host)
        except (VerificationError, CertificateError) as failure:
            log.error("the certificate of %s is not for that name: %s", self._host, failure)
            return False
        return True


def _is_ip(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


def self_signed(*names: str) -> tuple[ec.EllipticCurvePrivateKey, x509.Certificate]:
    """Return a new key and a self-signed certificate for these names that practically never expires."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, names[0])])
    alternatives = x509.SubjectAlternativeName(map(_general_name, names))
    certificate = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(datetime.datetime(2000, 1, 1))
        .not_valid_after(datetime.datetime(9999, 12, 31))
        .add_extension(alternatives, critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    return key, certificate


def pem_of(key: ec.EllipticCurvePrivateKey, certificate: x509.Certificate) -> tuple[bytes, bytes]:
    """Encode key and certificate as PEM."""
    plain = serialization.NoEncryption()
    pkcs8 = serialization.PrivateFormat.PKCS8
    pem = serialization.Encoding.PEM
    return key.private_bytes(pem, pkcs8, plain), certificate.public_bytes(pem)


def _general_name(name: str) -> x509.GeneralName:
    return x509.IPAddress(ipaddress.ip_address(name)) if _is_ip(name) else x509.DNSName(name)


def openssl_cipher(name: str) -> str:
    """Return OpenSSL's name of a cipher suite before TLS 1.3 that Java names `TLS_..._WITH_...`."""
    if "_WITH_" not in name:
        return name
    exchange, _, cipher = name.removeprefix("TLS_").partition("_WITH_")
    cipher = cipher.replace("AES_128", "AES128").replace("AES_256", "AES256").replace("_CBC_", "_")
    if "CHACHA20" in cipher:
        cipher = "CHACHA20_POLY1305"
    return (cipher if exchange == "RSA" else f"{exchange}_{cipher}").replace("_", "-")


def _reloaded(
    current: SSL.Context | None,
    credentials: _Credentials,
    build: Callable[[_Credentials], SSL.Context],
    side: str,
) -> SSL.Context | None:
    """Return a context for the current files; `current` if they are unchanged or unusable."""
    try:
        if not credentials.changed():
            return current
        context = build(credentials)
    except UNUSABLE as error:
        complaint = f"{type(error).__name__}: {error}"
        if complaint != credentials.complaint:
            log.error("the TLS files of the %s cannot be used: %s", side, complaint)
        credentials.complaint = complaint
        return current
    credentials.complaint = ""
    log.info("the TLS files of the %s have been read", side)
    return context


def _new_context(options: TlsOptions) -> SSL.Context:
    context = SSL.Context(SSL.TLS_METHOD)
    context.set_session_id(
        b"mqgateway"
    )  # wanted by OpenSSL before it resumes sessions with client certificates
    protocols = _words(options.tls_protocols) or _DEFAULT_PROTOCOLS
    unknown = set(protocols) - set(_PROTOCOL_OFF)
    if unknown:
        raise ValueError(f"unknown TLS protocols {sorted(unknown)}")
    ciphers = _words(options.tls_ciphers)
    suites = [name for name in ciphers if name.startswith(_TLS_1_3_SUITES)]
    older = [openssl_cipher(name) for name in ciphers if not name.startswith(_TLS_1_3_SUITES)]
    off = {name for name in _PROTOCOL_OFF if name not in protocols}
    if ciphers and not suites:
        off.add("TLSv1.3")
    if ciphers and not older:
        off |= set(_PROTOCOL_OFF) - {"TLSv1.3"}
    for name in off:
        context.set_options(_PROTOCOL_OFF[name])
    if suites:
        context.set_tls13_ciphersuites(":".join(suites).encode())
    if older:
        context.set_cipher_list(":".join(older).encode())
    return context


def _words(text: str) -> list[str]:
    return [word.strip() for word in (text or "").split(",") if word.strip()]


def _choose_protocol(_: SSL.Connection, offered: list[bytes]) -> Any:
    """Select HTTP/2 if offered, as gRPC clients require it; the remoting protocol has no ALPN name."""
    return HTTP2 if HTTP2 in offered else SSL.NO_OVERLAPPING_PROTOCOLS


def _believe_all(*_: object) -> bool:
    return True


def _believe_checked(connection: object, certificate: object, error: int, depth: int, ok: int) -> bool:
    return bool(ok)
