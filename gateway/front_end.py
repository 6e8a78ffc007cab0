"""The declaration of a protocol front end: all that must be known of it outside its package.

A package declares one `FrontEnd`, and `gateway.front_ends` lists it. Commands, the test server and metrics
read the list: they start a front end on the port that the settings name, show its address, measure it, and
stop it before the broker.

A declaration is imported with the command line, so it must not import the front end itself: `start` does.
Settings are declared in `engine.options`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from mqgateway.engine.options import BrokerOptions, snake_case

if TYPE_CHECKING:
    from twisted.internet.defer import Deferred

    from mqgateway.engine.clock import Clock
    from mqgateway.engine.meters import FrontEndMeter
    from mqgateway.engine.worker import Worker
    from mqgateway.gateway.broker.operations import Operations
    from mqgateway.gateway.metrics.spans import MessageSpans
    from mqgateway.gateway.namesrv.name_server import NameServer
    from mqgateway.gateway.remoting.server import RemotingServer
    from mqgateway.gateway.runtime.loop import Reactor
    from mqgateway.gateway.testing.faults import Faults


class Running(Protocol):
    """A front end that was started."""

    @property
    def port(self) -> int:
        """The port in use; 0 if it could not be opened."""
        ...

    def endpoint(self, advertised: str) -> str | None:
        """Return the address to show, None if the port could not be opened.

        `advertised` is the host that the broker gives to clients.
        """
        ...

    def stop(self) -> Deferred[None] | None:
        """Stop, and notify clients; open connections drain with the broker's server, which stops next."""
        ...


@dataclass(frozen=True, kw_only=True)
class FrontEndEnvironment:
    """Values and services for a front end when it starts, after the broker.

    `server` accepts connections for it: `RemotingServer.listen_for` has TLS, PROXY headers and limits, and
    `recognise` shares the broker's ports. `host` and `port` are where to listen; port 0 is any free one.
    `advertised` is the host that the broker gives to clients. `worker` imports modules ahead of the first
    connection; None leaves that to the connection. `faults` are those of the test server.
    """

    operations: Operations
    server: RemotingServer
    reactor: Reactor
    clock: Clock
    host: str
    port: int
    advertised: str
    meter: FrontEndMeter
    worker: Worker | None = None
    name_server: NameServer | None = None
    spans: MessageSpans | None = None
    faults: Faults | None = None


@dataclass(frozen=True, kw_only=True)
class FrontEnd:
    """A protocol front end.

    `name` is its name in metrics, in JSON, and as the protocol of its clients (`Client.protocol`); `title` is
    for people. `setting` names the setting of the port; without a port nothing is started, or loaded.
    `flag`, `flag_help` and `serve_port` are for `mqgateway serve`. `usage` explains the endpoint, `{}`, in
    the start-up lines.

    A front end that is for clients runs wherever a broker does: in containers and in the test server too; its
    connections and requests are measured. If its port was set explicitly, a taken port prevents the start.

    `host` returns the address to listen on, if it is not `bindAddress`. `problems` yields the errors of its
    settings.
    """

    name: str
    title: str
    start: Callable[[FrontEndEnvironment], Running]
    setting: str
    flag: str
    flag_help: str
    serve_port: int
    usage: str = ""
    is_for_clients: bool = True
    host: Callable[[BrokerOptions], str] | None = None
    problems: Callable[[BrokerOptions], Iterable[str]] | None = None

    def port_in(self, options: BrokerOptions) -> int:
        """Return the configured port; 0 if the front end is disabled or has no setting."""
        port: int = getattr(options, snake_case(self.setting), 0)
        return port

    def host_in(self, options: BrokerOptions, bind_address: str) -> str:
        """Return the address to listen on."""
        return bind_address if self.host is None else self.host(options)

    @property
    def described_setting(self) -> str:
        """The setting of the port with the flag that sets it."""
        return f"{self.setting} ({self.flag})"

    @property
    def parameter(self) -> str:
        """The name of the flag as a parameter of the command."""
        return self.flag.lstrip("-").replace("-", "_")
