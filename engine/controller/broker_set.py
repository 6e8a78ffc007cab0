"""One broker set as stored by the controller, and the result of an event on it.

A set is a value: a change creates another value, so a set cannot change during a decision. Names of sets are
unique over all clusters, as in RocketMQ.

RocketMQ: `BrokerReplicaInfo`, `SyncStateInfo`, `ReplicasInfoManager.applyEvent`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from mqgateway.engine.controller.events import (
    AlterSyncStateSet,
    ApplyBrokerId,
    CleanBrokerData,
    ElectMaster,
    Event,
    UpdateBrokerAddress,
)

FIRST_BROKER_ID = 1


class Replica(NamedTuple):
    """Last address of a replica, and the code that proves its id."""

    address: str
    check_code: str


@dataclass(frozen=True, slots=True)
class BrokerSet:
    """The replicas of one broker name by id.

    `master` is None before the first election and when all replicas in sync are gone. Ids are not reused.
    """

    cluster: str
    name: str
    replicas: Mapping[int, Replica] = field(default_factory=dict)
    next_broker_id: int = FIRST_BROKER_ID
    master: int | None = None
    master_epoch: int = 0
    sync_state_set: frozenset[int] = frozenset()
    sync_state_set_epoch: int = 0

    @property
    def had_master(self) -> bool:
        """True if there ever was a master."""
        return self.master_epoch > 0

    @property
    def master_address(self) -> str | None:
        """Address of the master; None without one, or if it was removed."""
        replica = None if self.master is None else self.replicas.get(self.master)
        return None if replica is None else replica.address

    def to_json(self) -> dict[str, Any]:
        """Return the stored form."""
        return {
            "cluster": self.cluster,
            "masterBrokerId": self.master,
            "masterEpoch": self.master_epoch,
            "nextBrokerId": self.next_broker_id,
            "replicas": {
                str(number): {"address": one.address, "checkCode": one.check_code}
                for number, one in self.replicas.items()
            },
            "syncStateSet": sorted(self.sync_state_set),
            "syncStateSetEpoch": self.sync_state_set_epoch,
        }

    @classmethod
    def from_json(cls, name: str, kept: Any) -> BrokerSet:
        """Parse the stored form.

        Raises `KeyError`, `TypeError`, `ValueError` or `AttributeError` for other content.
        """
        master = kept.get("masterBrokerId")
        return cls(
            cluster=str(kept["cluster"]),
            name=name,
            replicas={
                int(number): Replica(str(one["address"]), str(one["checkCode"]))
                for number, one in kept["replicas"].items()
            },
            next_broker_id=int(kept["nextBrokerId"]),
            master=None if master is None else int(master),
            master_epoch=int(kept["masterEpoch"]),
            sync_state_set=frozenset(map(int, kept["syncStateSet"])),
            sync_state_set_epoch=int(kept["syncStateSetEpoch"]),
        )


def changed(before: BrokerSet | None, event: Event) -> BrokerSet | None:
    """Return the set after an event; None if it is removed, or missing and not created by the event."""
    if isinstance(event, ApplyBrokerId):
        return _with_replica(before or BrokerSet(event.cluster_name, event.broker_name), event)
    if before is None:
        return None
    if isinstance(event, AlterSyncStateSet):
        return _with_set(before, event.new_sync_state_set)
    if isinstance(event, ElectMaster):
        return _with_master(before, event.new_master_broker_id)
    if isinstance(event, UpdateBrokerAddress):
        return _moved(before, event)
    return _cleaned(before, event)


def _with_replica(before: BrokerSet, event: ApplyBrokerId) -> BrokerSet:
    number = event.new_broker_id
    if number in before.replicas:
        return before
    replica = Replica(event.broker_address, event.register_check_code)
    # The next id must not be one that is or was assigned.
    following = max(before.next_broker_id, number + 1)
    return replace(before, replicas={**before.replicas, number: replica}, next_broker_id=following)


def _with_set(before: BrokerSet, ids: frozenset[int]) -> BrokerSet:
    return replace(before, sync_state_set=ids, sync_state_set_epoch=before.sync_state_set_epoch + 1)


def _with_master(before: BrokerSet, master: int | None) -> BrokerSet:
    after = replace(before, master=master, master_epoch=before.master_epoch + 1)
    # The in-sync set of the lost master is kept: its members have everything that was acknowledged.
    return after if master is None else _with_set(after, frozenset([master]))


def _moved(before: BrokerSet, event: UpdateBrokerAddress) -> BrokerSet:
    replica = before.replicas.get(event.broker_id)
    if replica is None:
        return before
    moved = replica._replace(address=event.broker_address)
    return replace(before, replicas={**before.replicas, event.broker_id: moved})


def _cleaned(before: BrokerSet, event: CleanBrokerData) -> BrokerSet | None:
    left = {number: one for number, one in before.replicas.items() if number not in event.broker_ids}
    if not event.broker_ids or not left:
        return None
    return replace(before, replicas=left, sync_state_set=before.sync_state_set - event.broker_ids)
