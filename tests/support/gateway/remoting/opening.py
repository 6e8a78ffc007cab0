"""Openings of connections: TLS, and bytes sent ahead of the protocol, such as the header of a proxy."""

from __future__ import annotations

from typing import Any

from twisted.internet.protocol import Factory

from mqgateway.engine.options import TlsOptions
from mqgateway.gateway.remoting.proxy_header import V2_SIGNATURE
from mqgateway.gateway.remoting.tls import ClientTls
from tests.gateway.remoting.test_tls import FileShelf

PROXY_V1 = b"PROXY TCP4 203.0.113.7 10.0.0.1 56324 10911\r\n"
PROXY_V2 = V2_SIGNATURE + b"\x21\x11\x00\x0c" + bytes([203, 0, 113, 7, 10, 0, 0, 1]) + b"\xdc\x04\x2a\x9f"
"""Headers in both versions for a client at 203.0.113.7:56324."""


def over_tls(client: Any) -> Any:
    """Return the protocol that speaks TLS for a client; it trusts every certificate."""
    factory = Factory.forProtocol(lambda: client)
    factory.noisy = False
    client.factory = None
    return ClientTls(TlsOptions(), FileShelf()).wrap_factory(factory).buildProtocol(None)


class Before:
    """Sends bytes first, then hands the transport to another protocol."""

    def __init__(self, words: bytes, then: Any) -> None:
        self._words, self._then = words, then

    def makeConnection(self, transport: Any) -> None:
        if self._words:
            transport.write(self._words)
        transport.protocol = self._then
        self._then.makeConnection(transport)
