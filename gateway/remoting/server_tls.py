"""TLS of a server, loaded when it is needed.

OpenSSL and its certificates take longer to load than the rest of a start. With files of a certificate, and
with settings of protocols or ciphers, they are loaded at once, so that errors are known. In test mode, which
is the default, they are loaded by the first connection that speaks TLS.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from twisted.internet.protocol import Protocol

from mqgateway.engine.options import ClientAuthentication, TlsMode, TlsOptions

if TYPE_CHECKING:
    from mqgateway.gateway.remoting.tls import Files, ServerContext


class ServerTls:
    """TLS of a server: `mode` is disabled, permissive (TLS and plain) or enforcing (TLS only).

    Without a usable context `is_ready` is False, as the log explains, and a TLS hello is refused.
    """

    def __init__(self, options: TlsOptions, files: Files) -> None:
        self.mode = options.tls_server_mode
        self._options = options
        self._files = files
        self._loaded: ServerContext | None = None
        is_given = not options.tls_test_mode_enable or options.tls_protocols or options.tls_ciphers
        if is_given and self.mode != TlsMode.DISABLED:
            self._context()

    def _context(self) -> ServerContext:
        if self._loaded is None:
            from mqgateway.gateway.remoting.tls import ServerContext

            self._loaded = ServerContext(self._options, self._files)
        return self._loaded

    @property
    def is_ready(self) -> bool:
        """True if there is a usable context."""
        return self.mode != TlsMode.DISABLED and self._context().is_ready

    @property
    def verifies_clients(self) -> bool:
        """True if a client certificate is accepted only if one of the configured authorities issued it."""
        options = self._options
        is_asked = options.tls_server_need_client_auth != ClientAuthentication.NONE
        has_authorities = bool(options.tls_server_trust_cert_path) and not options.tls_test_mode_enable
        is_on = self.mode != TlsMode.DISABLED
        return is_on and is_asked and options.tls_server_auth_client and has_authorities

    def reload(self) -> None:
        """Read the files again; if they have changed and are usable, new connections use them."""
        if self._loaded is not None:
            self._loaded.reload()

    def wrap(self, inside: object) -> Protocol:
        """Return a protocol that speaks TLS and passes decrypted bytes to `inside`; needs `is_ready`."""
        return self._context().wrap(inside)
