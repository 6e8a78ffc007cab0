"""Services of the remoting protocol: a server on one or several ports, and a client for other servers."""

from __future__ import annotations

from collections.abc import Callable

from twisted.internet.defer import Deferred, gatherResults

from mqgateway.engine.options import RemotingOptions, TlsOptions
from mqgateway.gateway.codec.command import RemotingCommand
from mqgateway.gateway.remoting.client import RemotingClient
from mqgateway.gateway.remoting.connection_settings import ConnectionSettings
from mqgateway.gateway.remoting.dispatch import Dispatcher
from mqgateway.gateway.remoting.server import RemotingServer
from mqgateway.gateway.remoting.server_tls import ServerTls
from mqgateway.gateway.runtime.service import Runtime, Service


class RemotingService(Service):
    """A service that answers remoting requests. Without `tls` there is none at either end."""

    def __init__(self, runtime: Runtime, remoting: RemotingOptions, tls: TlsOptions | None = None) -> None:
        super().__init__(runtime)
        self._remoting = remoting
        self._tls = tls
        self._clients: list[RemotingClient] = []

    def _make_client(self, sign: Callable[[RemotingCommand], None] | None = None) -> RemotingClient:
        """Return a client that is closed together with the server that is made next."""
        runtime, tls = self._runtime, None
        if self._tls is not None and self._remoting.use_tls:
            from mqgateway.gateway.remoting.tls import ClientTls  # slow to load

            tls = ClientTls(self._tls, runtime.disk)
        client = RemotingClient(runtime.reactor, self._remoting, tls=tls, clock=runtime.clock, sign=sign)
        self._clients.append(client)
        return client

    def _make_server(
        self, dispatcher: Dispatcher, settings: ConnectionSettings | None = None
    ) -> RemotingServer:
        """Return a server, and register that it stops, and the client with it."""
        runtime = self._runtime
        tls = None if self._tls is None else ServerTls(self._tls, runtime.disk)
        server = RemotingServer(runtime.reactor, dispatcher, self._remoting, tls=tls, settings=settings)

        def disconnect() -> Deferred[list[None]]:
            # Together: a request may be answered only once a request of the client has failed.
            return gatherResults([server.stop(), *(client.close() for client in self._clients)])

        self._on_stop(disconnect)
        return server
