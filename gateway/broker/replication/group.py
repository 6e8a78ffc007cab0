"""Interfaces of the broker's part in a group of replicas.

`Membership`, `Replication` and `ControlledReplica` implement them. They need the broker themselves, so no
module that the broker imports may import them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol

from twisted.internet.defer import Deferred

from mqgateway.engine.ha.epochs import Epochs
from mqgateway.engine.ha.group_nodes import NodesView
from mqgateway.engine.ha.member_group import MemberGroup
from mqgateway.engine.ha.peer_groups import PeerGroups
from mqgateway.gateway.codec.bodies import HARuntimeInfo
from mqgateway.gateway.codec.headers import (
    ExchangeHAInfoResponseHeader,
    NotifyBrokerRoleChangedRequestHeader,
)


class GroupView(Protocol):
    """A broker's view of its group."""

    group: MemberGroup
    is_enabled: bool
    """True if slaves of the group may act for their master."""

    @property
    def is_active(self) -> bool:
        """True if this broker does the periodic work of a master."""
        ...

    def noticed(self, min_id: int, address: str, ha_address: str) -> None:
        """Handle a name server's notification of the smallest broker id."""
        ...

    def announced(self, address: str, ha_address: str) -> None:
        """Handle the notification of a master that is back, with its addresses."""
        ...

    def whereabouts(self) -> ExchangeHAInfoResponseHeader:
        """Return this broker's address for slaves, and the end of its log."""
        ...


class Controlled(Protocol):
    """The broker as a replica of a controller."""

    epochs: Epochs

    def is_authorized(self) -> bool:
        """Return True if this master still holds its lease; an expired one is fenced by the query."""
        ...

    def noticed(self, header: NotifyBrokerRoleChangedRequestHeader, body: bytes) -> None:
        """Handle the controller's notification of the master. Raises `HeaderError`."""
        ...


class LogReplication(Protocol):
    """Replication of the log from the master, and to slaves."""

    @property
    def follows(self) -> bool:
        """True if this is a slave that is connected to its master."""
        ...

    def arrived(self) -> None:
        """Send new records to slaves."""
        ...

    def log_requested(self, host: str) -> bytes:
        """Note that the peer at `host` requests the log; return its ticket, empty if none is needed."""
        ...

    def runtime_info(self) -> HARuntimeInfo:
        """Return the answer to 907."""
        ...


class Nodes(Protocol):
    """The nodes of the group that clients of a front end see. A broker `is_leaving` if it stops."""

    is_leaving: bool

    @property
    def own_id(self) -> int:
        """The id of this broker by its number in the group; -1 while it has none."""
        ...

    def publish(self, node_id: int, host: str, port: int, rack: str) -> None:
        """Report this broker's node to the other members; a negative `node_id` stands for its number."""
        ...

    def tick(self) -> None:
        """Do the work that is due."""
        ...

    def leave(self) -> None:
        """Report to the master that this broker stops: clients are not given its address any more."""
        ...

    @property
    def serves(self) -> bool:
        """True if this slave is in sync and keeps up, by its master's last answer."""
        ...

    def view(self) -> NodesView:
        """Return the nodes as this master sees them, or as the master reported them."""
        ...

    def received(self, report: str) -> str:
        """Apply the node in a slave's report; return the view for it, empty if this broker is no master."""
        ...

    def reported(self) -> str:
        """Return the view for another group, empty if this broker is no master."""
        ...


class Peers(Protocol):
    """The other groups of the cluster that clients of a front end see."""

    groups: PeerGroups

    def tick(self) -> None:
        """Do the work that is due."""
        ...

    def check_names(self, setting: str) -> None:
        """Raise `OperationError` if another broker's setting has other groups than this one's."""
        ...

    def refresh(self, group: str) -> Deferred[None]:
        """Request the nodes and topics of a group now; never fails."""
        ...

    def ask(self, group: str, kind: str, fields: Mapping[str, Any]) -> Deferred[Mapping[str, Any]]:
        """Return the answer of a group's master to a front end's request. Fails with `OperationError`."""
        ...

    def serve(
        self, kind: str, serve: Callable[[Mapping[str, Any]], Mapping[str, Any] | Deferred[Mapping[str, Any]]]
    ) -> None:
        """Serve requests of a kind from other groups."""
        ...

    def received(self, kind: str, body: bytes) -> Deferred[bytes]:
        """Return the answer to another group's request. Raises `OperationError`."""
        ...
