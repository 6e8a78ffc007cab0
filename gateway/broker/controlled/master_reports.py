"""State of a broker's replica set in answers and notifications of a controller."""

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


class ReportedMaster(NamedTuple):
    """Master, epoch and in-sync set as a controller reports them.

    The id and address of the master are None and empty without one; `epoch` is that of its election,
    `in_sync_epoch` that of the set.
    """

    master: int | None
    address: str
    epoch: int
    in_sync: frozenset[int]
    in_sync_epoch: int


def by_registration(answer: RemotingCommand) -> ReportedMaster:
    """Read the answer to 1003; without a reachable master it contains nothing else. Raises `HeaderError`."""
    header = RegisterBrokerToControllerResponseHeader.decode(answer.ext_fields)
    body = SyncStateSet.decode(answer.body) if answer.body else SyncStateSet()
    return ReportedMaster(
        header.master_broker_id,
        header.master_address or "",
        header.master_epoch or 0,
        frozenset(body.sync_state_set),
        header.sync_state_set_epoch or 0,
    )


def by_question(answer: RemotingCommand) -> ReportedMaster:
    """Read the answer to 1004. Raises `HeaderError`."""
    header = GetReplicaInfoResponseHeader.decode(answer.ext_fields)
    body = SyncStateSet.decode(answer.body) if answer.body else SyncStateSet()
    return ReportedMaster(
        header.master_broker_id,
        header.master_address or "",
        header.master_epoch or 0,
        frozenset(body.sync_state_set),
        body.sync_state_set_epoch,
    )


def by_election(answer: RemotingCommand) -> ReportedMaster:
    """Read the answer to 1002, also if the master stays. Raises `HeaderError`."""
    header = ElectMasterResponseHeader.decode(answer.ext_fields)
    body = ElectMasterResponseBody.decode(answer.body) if answer.body else ElectMasterResponseBody()
    return ReportedMaster(
        header.master_broker_id,
        header.master_address or "",
        header.master_epoch or 0,
        frozenset(body.sync_state_set or ()),
        header.sync_state_set_epoch or 0,
    )


def by_notice(header: NotifyBrokerRoleChangedRequestHeader, body: bytes) -> ReportedMaster:
    """Read the notification 1008. Raises `HeaderError`."""
    found = SyncStateSet.decode(body) if body else SyncStateSet()
    return ReportedMaster(
        header.master_broker_id,
        header.master_address or "",
        header.master_epoch or 0,
        frozenset(found.sync_state_set),
        header.sync_state_set_epoch or found.sync_state_set_epoch,
    )
