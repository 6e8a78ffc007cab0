"""Controllers of the cluster: `n0-10.0.0.1:9878;n1-10.0.0.2:9878`, and the one that is this process.

Brokers and controllers connect to the same port, the one in this list, regardless of `listenPort`.
RocketMQ: `DLedgerConfig`, `DLedgerController.getControllerMetadata`.
"""

from __future__ import annotations

from typing import NamedTuple

from mqgateway.engine.controller.state import Leader
from mqgateway.engine.errors import ConfigError
from mqgateway.engine.options.controller import ControllerOptions

EXAMPLE = "n0-10.0.0.1:9878"


class ControllerPeer(NamedTuple):
    """Controller."""

    peer_id: str
    host: str
    port: int

    @property
    def address(self) -> str:
        """`host:port`."""
        return f"{self.host}:{self.port}"

    @property
    def leader(self) -> Leader:
        """Leader announced to brokers while this controller leads."""
        return Leader(self.peer_id, self.address)


def peers_of(text: str) -> list[ControllerPeer]:
    """Parse `controllerDLegerPeers`. Raises `ConfigError`."""
    peers = [_peer(part.strip()) for part in text.split(";") if part.strip()]
    ids = [peer.peer_id for peer in peers]
    if len(set(ids)) < len(ids):
        raise ConfigError(f"controllerDLegerPeers={text}: an id occurs twice")
    return peers


def own_peer(options: ControllerOptions) -> ControllerPeer:
    """Return this process's controller; a single one needs no own id. Raises `ConfigError`.

    Several controllers need a shared store, through which they agree.
    """
    peers, own = peers_of(options.controller_d_leger_peers), options.controller_d_leger_self_id
    if not peers:
        raise ConfigError(f"controllerDLegerPeers is empty; name this controller's address, as in {EXAMPLE}")
    if len(peers) > 1 and not options.controller_etcd_endpoints:
        raise ConfigError(
            "controllerDLegerPeers: several controllers keep their state in etcd: set its address with "
            "controllerEtcdEndpoints, or name this controller alone"
        )
    found = [peer for peer in peers if peer.peer_id == own or (len(peers) == 1 and not own)]
    if not found:
        raise ConfigError(f"controllerDLegerSelfId={own}: controllerDLegerPeers has no such id")
    return found[0]


def shown(peers: list[ControllerPeer]) -> str:
    """Return the controllers in the form sent to brokers and tools."""
    return "".join(f"{peer.peer_id}:{peer.address};" for peer in peers)


def _peer(part: str) -> ControllerPeer:
    peer_id, dash, address = part.partition("-")
    host, colon, port = address.rpartition(":")
    if not (peer_id and dash and host and colon and port.isdecimal() and 0 < int(port) < 65536):
        raise ConfigError(f"controllerDLegerPeers: {part} is not a controller; write it as {EXAMPLE}")
    return ControllerPeer(peer_id, host, int(port))
