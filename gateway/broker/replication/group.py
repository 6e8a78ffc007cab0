"""What the rest of the broker asks its part in a group of replicas.

`Membership`, `Replication` and `ControlledReplica` answer; they need the broker themselves, and nothing
that the broker imports may.
"""

from __future__ import annotations

from typing import Protocol

from mqgateway.engine.ha.epochs import Epochs
from mqgateway.engine.ha.member_group import MemberGroup
from mqgateway.gateway.codec.bodies import HARuntimeInfo
from mqgateway.gateway.codec.headers import (
    ExchangeHAInfoResponseHeader,
    NotifyBrokerRoleChangedRequestHeader,
)


class Member(Protocol):
    """What is known of the group."""

    group: MemberGroup
    is_enabled: bool
    """Whether slaves of the group may act for their master."""

    @property
    def is_active(self) -> bool:
        """Whether this broker does of its own accord what is due."""
        ...

    def noticed(self, min_id: int, address: str, ha_address: str) -> None:
        """A name server says who has the smallest id now."""
        ...

    def announced(self, address: str, ha_address: str) -> None:
        """A master says that it is back, and where."""
        ...

    def whereabouts(self) -> ExchangeHAInfoResponseHeader:
        """Where this broker takes slaves, and how far its log goes."""
        ...


class Controlled(Protocol):
    """The broker under a controller."""

    epochs: Epochs

    def is_authorized(self) -> bool:
        """Whether a master is still one; a master in doubt is fenced by the question."""
        ...

    def noticed(self, header: NotifyBrokerRoleChangedRequestHeader, body: bytes) -> None:
        """The controller says who is master now. Raises `HeaderError`."""
        ...


class Replica(Protocol):
    """The log's way from the master, and to the slaves."""

    @property
    def follows(self) -> bool:
        """Whether this is a slave that is connected to its master."""
        ...

    def asked_for_log(self, host: str) -> bytes:
        """Who is at `host` has asked where the log is: the ticket to it, empty where none is needed."""
        ...

    def runtime_info(self) -> HARuntimeInfo:
        """What 907 is answered with."""
        ...
