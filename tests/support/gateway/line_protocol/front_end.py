"""The declaration of the line protocol."""

from __future__ import annotations

from dataclasses import dataclass, field

from twisted.internet.defer import Deferred

from mqgateway.gateway.front_end import FrontEnd, FrontEndEnvironment, Running
from tests.support.gateway.line_protocol import FIRST_BYTES, NAME
from tests.support.gateway.line_protocol.connection import LineConnection
from tests.support.gateway.line_protocol.requests import Requests


@dataclass
class LineServer:
    """The line protocol on its port and on the broker's."""

    around: FrontEndEnvironment
    port: int = 0
    connections: set[LineConnection] = field(default_factory=set)

    def start(self) -> None:
        """Listen, and count connections."""
        around, server = self.around, self.around.server
        self.requests = Requests(around.operations, around.meter.latency, around.faults)
        around.meter.read_from(lambda: len(self.connections))
        server.recognise(FIRST_BYTES, self.connection)
        self.port = server.listen_for(
            self.connection, around.host, around.port, title="the line protocol", setting="linePort"
        )

    def connection(self) -> LineConnection:
        """Return the protocol of a new connection."""
        return LineConnection(self.requests.answer, self.around.server.settings.turn, self.connections)

    def endpoint(self, advertised: str) -> str | None:
        """See `Running`."""
        return f"{advertised}:{self.port}"

    def stop(self) -> Deferred[None] | None:
        """See `Running`: connections end with the broker's server."""
        return None


def start(around: FrontEndEnvironment) -> Running:
    """Start the line protocol."""
    server = LineServer(around)
    server.start()
    return server


LINES = FrontEnd(
    name=NAME,
    title="lines",
    start=start,
    setting="linePort",
    flag="--line-port",
    flag_help="Port of the line protocol.",
    serve_port=23999,
    usage="telnet {}",
)
