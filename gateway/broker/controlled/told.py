"""What a controller says of a broker's set, out of its answers and notices."""

from __future__ import annotations

from typing import NamedTuple

from mqgateway.gateway.codec.bodies import ElectMasterResponseBody, SyncStateSet
from mqgateway.gateway.codec.command import RemotingCommand
from mqgateway.gateway.codec.headers import (
    ElectMasterResponseHeader,
    GetReplicaInfoResponseHeader,
    NotifyBrokerRoleChangedRequestHeader,
    RegisterBrokerToControllerResponseHeader,
)


class Told(NamedTuple):
    """The master's id and address, None and empty without one; the epoch of its election; who is in sync, and
    the epoch of that set."""

    master: int | None
    address: str
    epoch: int
    in_sync: frozenset[int]
    in_sync_epoch: int


def by_registration(answer: RemotingCommand) -> Told:
    """What 1003 is answered with; without a master that is there it says nothing else. Raises
    `HeaderError`."""
    header = RegisterBrokerToControllerResponseHeader.decode(answer.ext_fields)
    body = SyncStateSet.decode(answer.body) if answer.body else SyncStateSet()
    return Told(
        header.master_broker_id,
        header.master_address or "",
        header.master_epoch or 0,
        frozenset(body.sync_state_set),
        header.sync_state_set_epoch or 0,
    )


def by_question(answer: RemotingCommand) -> Told:
    """What 1004 is answered with. Raises `HeaderError`."""
    header = GetReplicaInfoResponseHeader.decode(answer.ext_fields)
    body = SyncStateSet.decode(answer.body) if answer.body else SyncStateSet()
    return Told(
        header.master_broker_id,
        header.master_address or "",
        header.master_epoch or 0,
        frozenset(body.sync_state_set),
        body.sync_state_set_epoch,
    )


def by_election(answer: RemotingCommand) -> Told:
    """What 1002 is answered with, also where the master stays. Raises `HeaderError`."""
    header = ElectMasterResponseHeader.decode(answer.ext_fields)
    body = ElectMasterResponseBody.decode(answer.body) if answer.body else ElectMasterResponseBody()
    return Told(
        header.master_broker_id,
        header.master_address or "",
        header.master_epoch or 0,
        frozenset(body.sync_state_set or ()),
        header.sync_state_set_epoch or 0,
    )


def by_notice(header: NotifyBrokerRoleChangedRequestHeader, body: bytes) -> Told:
    """What 1008 says. Raises `HeaderError`."""
    found = SyncStateSet.decode(body) if body else SyncStateSet()
    return Told(
        header.master_broker_id,
        header.master_address or "",
        header.master_epoch or 0,
        frozenset(found.sync_state_set),
        header.sync_state_set_epoch or found.sync_state_set_epoch,
    )
