"""TLS of a client with an `ssl.SSLContext` that its program made.

The layer below works with connections of pyOpenSSL; `_Connection` does for it what of those it uses, with an
`ssl.SSLObject` between two buffers. Which servers are believed, by which name, is the context's affair.
"""

from __future__ import annotations

import ssl
from typing import Any

from OpenSSL import SSL
from twisted.internet.interfaces import IOpenSSLClientConnectionCreator
from twisted.internet.protocol import Factory
from zope.interface import implementer  # type: ignore[import-untyped]

from mqgateway.gateway.remoting.tls import ClientTls, wrapping_factory


class ContextTls(ClientTls):
    """The client's side with a context of the program's."""

    def __init__(self, context: ssl.SSLContext) -> None:
        self._program_context = context

    def wrap_factory(self, factory: Factory, host: str = "") -> Factory:
        """A factory whose protocols speak TLS with `host` outside and are those of `factory` inside."""
        return wrapping_factory(_Creator(self._program_context, host.strip("[]")), factory)


@implementer(IOpenSSLClientConnectionCreator)
class _Creator:
    """Connections to one host."""

    def __init__(self, context: ssl.SSLContext, host: str) -> None:
        self._context = context
        self._host = host

    def clientConnectionForTLS(self, protocol: object) -> Any:
        """Create the TLS state of a connection."""
        return _Connection(self._context, self._host)


class _Connection:
    """One connection, as the TLS layer knows those of pyOpenSSL."""

    def __init__(self, context: ssl.SSLContext, host: str) -> None:
        self._received, self._to_send = ssl.MemoryBIO(), ssl.MemoryBIO()
        self._tls = context.wrap_bio(self._received, self._to_send, server_hostname=host or None)

    def set_connect_state(self) -> None:
        """It is the client's side in any case."""

    def set_app_data(self, data: object) -> None:
        """Return the argument of pyOpenSSL's callbacks; there is none."""

    def do_handshake(self) -> None:
        """Continue the handshake."""
        self._raising(self._tls.do_handshake)

    def bio_write(self, data: bytes) -> int:
        """Bytes have come from the server."""
        return self._received.write(data)

    def bio_read(self, count: int) -> bytes:
        """Bytes that are to go to the server."""
        data = self._to_send.read(count)
        if not data:
            raise SSL.WantReadError
        return data

    def bio_shutdown(self) -> None:
        """Nothing more will come from the server."""
        self._received.write_eof()

    def recv(self, count: int) -> bytes:
        """Bytes of the conversation inside."""
        data: bytes = self._raising(self._tls.read, count)
        if not data:
            raise SSL.ZeroReturnError
        return data

    def send(self, data: bytes) -> int:
        """Encrypt bytes of the conversation inside."""
        count: int = self._raising(self._tls.write, data)
        return count

    def shutdown(self) -> bool:
        """Say that nothing more will be sent; whether the server has said it too."""
        try:
            self._tls.unwrap()
        except ssl.SSLWantReadError:
            return False
        except ssl.SSLError as error:
            raise SSL.Error([("ssl", "", error.reason or str(error))]) from error
        return True

    def get_peer_certificate(self) -> None:
        """Not known in pyOpenSSL's form."""

    def _raising(self, function: Any, *args: Any) -> Any:
        """Call a function of Python's library; failures become those of pyOpenSSL."""
        try:
            return function(*args)
        except ssl.SSLWantReadError:
            raise SSL.WantReadError from None
        except ssl.SSLZeroReturnError:
            raise SSL.ZeroReturnError from None
        except ssl.SSLError as error:
            raise SSL.Error([("ssl", "", str(error))]) from error
