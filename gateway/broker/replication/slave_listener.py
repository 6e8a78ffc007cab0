"""Admission at a broker's port for slaves: strangers are kept out, and use up no slave's slot.

A connection from a known slave's address is admitted at once, as RocketMQ's slaves send nothing for a while.
From other peers the first data is their ticket or their first report; from that and the address
`engine.ha.admission` decides whether the peer is a slave. If that is unknown, name servers are queried for
the members of the group. Only then is the connection passed to the slave server, and counted. See
`docs/security.md`.
"""

from __future__ import annotations

import logging
import socket
from collections.abc import Callable, Collection, Sequence

from twisted.internet.defer import Deferred
from twisted.internet.protocol import Factory, Protocol, connectionDone
from twisted.python.failure import Failure

from mqgateway.engine.clock import Clock, elapsed_millis
from mqgateway.engine.ha.admission import AdmissionOutcome, SlaveAdmission, parted
from mqgateway.engine.worker import Worker
from mqgateway.gateway.broker.cluster.name_servers import NameServers, accepted
from mqgateway.gateway.codec.bodies import ClusterInfo
from mqgateway.gateway.codec.codes import RequestCode
from mqgateway.gateway.codec.command import RemotingCommand
from mqgateway.gateway.remoting.exchange import RemotingError
from mqgateway.gateway.runtime.loop import Transport

log = logging.getLogger(__name__)

WAITING_MAX = 32
"""Maximum number of connections that wait for admission; one more disconnects the oldest."""
PATIENCE_MILLIS = 10_000
"""Milliseconds in which each must identify itself; RocketMQ's slaves take up to six seconds."""
FIRST_BYTES_MAX = 1024
"""Bytes kept of a connection while name servers are queried."""


MakeSlave = Callable[[object], Protocol | None]
"""Factory of a slave's protocol, by its address; returns None if there are too many slaves."""


class PendingSlave(Protocol):
    """One connection, and that of its slave once it is admitted."""

    transport: Transport  # type: ignore[assignment]  # there is one whenever we are called

    def __init__(self, listener: SlaveListener, address: object) -> None:
        self._listener = listener
        self._address = address
        self._said = b""
        self._has_shown = False
        self._slave: Protocol | None = None

    def connectionMade(self) -> None:
        self.host = str(self.transport.getPeer().host).removeprefix("::ffff:")
        self._listener.connected(self)

    def dataReceived(self, data: bytes) -> None:
        if self._has_shown and self._slave is not None:
            self._slave.dataReceived(data)
            return
        self._said += data
        if not self._has_shown and (words := parted(self._said)) is not None:
            ticket, self._said = words
            self._has_shown = True
            if self._slave is None:
                self._listener.identified(self, ticket)
            else:
                self._pass_on()
        if len(self._said) > FIRST_BYTES_MAX:
            self._listener.refuse(self, "it says too much before it is let in")

    def connectionLost(self, reason: Failure = connectionDone) -> None:
        if self._slave is not None:
            self._slave.connectionLost(reason)
        else:
            self._listener.left(self)

    def open(self, make: MakeSlave) -> None:
        """Admit the connection, unless there are too many slaves."""
        self._slave = make(self._address)
        if self._slave is None:
            self.abort()
            return
        self._slave.makeConnection(self.transport)  # type: ignore[no-untyped-call]
        if self._has_shown:
            self._pass_on()

    def _pass_on(self) -> None:
        said, self._said = self._said, b""
        if said and self._slave is not None:
            self._slave.dataReceived(said)

    def abort(self) -> None:
        """End the connection at once."""
        self.transport.abortConnection()


class SlaveListener(Factory):
    """All connections that wait for admission; an admitted one gets the protocol that `make` returns."""

    noisy = False

    def __init__(
        self,
        admission: SlaveAdmission,
        make: MakeSlave,
        *,
        clock: Clock,
        worker: Worker,
        name_servers: NameServers,
        broker_name: str,
        own_address: str,
        on_refused: Callable[[str, str], None],
    ) -> None:
        self.admission = admission
        self._make = make
        self._clock = clock
        self._worker = worker
        self._name_servers = name_servers
        self._broker_name = broker_name
        self._own_address = own_address
        self._on_refused = on_refused
        self._waiting: dict[PendingSlave, int] = {}
        self._unknown: set[PendingSlave] = set()  # not empty while name servers are queried for these

    def __len__(self) -> int:
        return len(self._waiting)

    def now(self) -> int:
        """Return the time in ms of a monotonic clock."""
        return elapsed_millis(self._clock)

    def buildProtocol(self, addr: object) -> PendingSlave:
        return PendingSlave(self, addr)

    def tick(self) -> None:
        """Disconnect peers that do not identify themselves in time."""
        now = self.now()
        for pending in [pending for pending, since in self._waiting.items() if now - since > PATIENCE_MILLIS]:
            self.refuse(pending, "it does not identify itself")

    def stop(self) -> None:
        """Disconnect all peers that still wait."""
        for pending in list(self._waiting):
            self._waiting.pop(pending)
            pending.abort()

    # Called by connections

    def connected(self, pending: PendingSlave) -> None:
        """Admit a known host at once, or let a new connection wait."""
        if self.admission.judge(b"", pending.host, self.now()) is AdmissionOutcome.OPEN:
            pending.open(self._make)
            return
        if len(self._waiting) >= WAITING_MAX:
            self.refuse(next(iter(self._waiting)), "too many wait before it")
        self._waiting[pending] = self.now()

    def left(self, pending: PendingSlave) -> None:
        """Remove a waiting connection that was closed."""
        self._waiting.pop(pending, None)

    def identified(self, pending: PendingSlave, ticket: bytes) -> None:
        """Judge a connection by its ticket, empty for none."""
        outcome = self.admission.judge(ticket, pending.host, self.now())
        if outcome is AdmissionOutcome.UNKNOWN:
            is_asking, self._unknown = bool(self._unknown), self._unknown | {pending}
            if not is_asking:
                self._members().addBoth(self._members_known)
        else:
            self._let(pending, outcome is AdmissionOutcome.OPEN)

    def refuse(self, pending: PendingSlave, reason: str) -> None:
        """End a connection, and log the reason."""
        self._waiting.pop(pending, None)
        self._on_refused(f"{pending.host}:0", reason)
        pending.abort()

    def _members_known(self, hosts: Collection[str] | Failure) -> None:
        if isinstance(hosts, Failure):
            log.debug("the members of the group are unknown: %s", hosts.getErrorMessage())
            hosts = ()
        listener, self._unknown = self._unknown, set()
        for pending in listener & self._waiting.keys():
            self.admission.members_are(hosts, pending.host, self.now())
            self._let(pending, pending.host in hosts)

    def _let(self, pending: PendingSlave, is_slave: bool) -> None:
        if pending not in self._waiting:
            return
        if not is_slave:
            self.refuse(pending, self.admission.reason)
            return
        del self._waiting[pending]
        pending.open(self._make)

    def _members(self) -> Deferred[Collection[str]]:
        """Query the addresses of the members, from the first name server that has the group."""
        command = RemotingCommand.request(RequestCode.GET_BROKER_CLUSTER_INFO)
        return self._name_servers.read(command, self._hosts).addCallback(self._looked_up)

    def _hosts(self, answer: RemotingCommand) -> list[str]:
        data = ClusterInfo.decode(accepted(answer).body).broker_addr_table.get(self._broker_name)
        others = set() if data is None else set(data.broker_addrs.values()) - {self._own_address}
        if not others:
            raise RemotingError(f"the name server knows no other member of {self._broker_name}")
        return [address.rpartition(":")[0].strip("[]") for address in others]

    def _looked_up(self, names: Sequence[str]) -> Deferred[Collection[str]]:
        found: Deferred[Collection[str]] = Deferred()
        self._worker.run(lambda: _addresses_of(names), lambda hosts: _fire(found, hosts))
        return found


def _fire(found: Deferred[Collection[str]], hosts: Collection[str] | Exception) -> None:
    if isinstance(hosts, Exception):
        found.errback(hosts)
    else:
        found.callback(hosts)


def _addresses_of(names: Sequence[str]) -> Collection[str]:
    """Return all addresses of the hosts; on a thread, as it resolves names."""
    found: set[str] = set()
    for name in names:
        try:
            found.update(str(entry[4][0]) for entry in socket.getaddrinfo(name, None))
        except OSError as error:
            log.warning("the member at %s has no address: %s", name, error)
    return found
