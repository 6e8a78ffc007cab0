"""A member of a group. Standard: `ClassicGroupMember`."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import NamedTuple

from mqgateway.gateway.kafka.codec.messages.join_group_request import JoinGroupRequest
from mqgateway.gateway.kafka.codec.messages.join_group_response import JoinGroupResponse
from mqgateway.gateway.kafka.codec.messages.sync_group_response import SyncGroupResponse

Protocols = tuple[tuple[str, bytes], ...]
"""Names of protocols and what the member says with each, the one it likes best first."""
JoinReply = Callable[[JoinGroupResponse], None]
SyncReply = Callable[[SyncGroupResponse], None]


class RequestSender(NamedTuple):
    """The sender of a request: the name it gives itself, and its address."""

    id: str
    host: str


class MemberTally:
    """Count of the members of all groups, pending ids included, and the bytes that members sent."""

    def __init__(self) -> None:
        self.members = 0
        self.bytes = 0


class Member:
    """A member. `join` and `sync` are given the answers of its requests that wait.

    `is_new` is true until its first generation: its client does not know its id for certain.
    """

    __slots__ = (
        "assignment",
        "client",
        "id",
        "instance_id",
        "is_new",
        "join",
        "protocol_type",
        "protocols",
        "rebalance_timeout",
        "session_timeout",
        "sync",
    )

    def __init__(
        self,
        member_id: str,
        instance_id: str | None,
        client: RequestSender,
        protocol_type: str,
        protocols: Protocols,
        *,
        rebalance_timeout: int,
        session_timeout: int,
        assignment: bytes = b"",
    ) -> None:
        self.id = member_id
        self.instance_id = instance_id
        self.client = client
        self.protocol_type = protocol_type
        self.protocols = protocols
        self.rebalance_timeout = rebalance_timeout
        self.session_timeout = session_timeout
        self.assignment = assignment
        self.join: JoinReply | None = None
        self.sync: SyncReply | None = None
        self.is_new = False

    @property
    def is_waiting(self) -> bool:
        """True if it needs no heartbeat, because a request of it waits."""
        return not self.is_new and (self.join is not None or self.sync is not None)

    @property
    def size(self) -> int:
        """Bytes that it sent of itself."""
        return size_of(self.protocols)

    def metadata(self, protocol: str | None) -> bytes:
        """Return what it says with a protocol."""
        return next((metadata for name, metadata in self.protocols if name == protocol), b"")

    def vote(self, candidates: Collection[str]) -> str:
        """Return the candidate that it likes best. There is one, as every candidate is supported by all."""
        return next(name for name, _ in self.protocols if name in candidates)


def protocols_of(request: JoinGroupRequest) -> Protocols:
    """Return the protocols of a request."""
    return tuple((protocol.name, protocol.metadata) for protocol in request.protocols)


def size_of(protocols: Protocols) -> int:
    """Return the bytes of protocols."""
    return sum(len(name) + len(metadata) for name, metadata in protocols)


def names_of(protocols: Protocols) -> Sequence[str]:
    """Return the names of protocols, each once."""
    return tuple(dict.fromkeys(name for name, _ in protocols))
