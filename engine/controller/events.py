"""Events that change a broker set.

Types, names and members are those of the entries in the log of RocketMQ's controllers, and `text` is the form
there, so that log lines of both products are alike. Epochs are in no event: applying one raises them.

RocketMQ: `EventType` and the classes of the same names.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from mqgateway.engine.lenient_json import dumps


@dataclass(frozen=True, slots=True)
class AlterSyncStateSet:
    """Replace the in-sync set."""

    TYPE: ClassVar[str] = "ALTER_SYNC_STATE_SET_EVENT"

    broker_name: str
    new_sync_state_set: frozenset[int]

    def members(self) -> dict[str, Any]:
        """Return RocketMQ's members."""
        return {"newSyncStateSet": sorted(self.new_sync_state_set)}


@dataclass(frozen=True, slots=True)
class ApplyBrokerId:
    """Assign an id to a replica; the first one creates the set."""

    TYPE: ClassVar[str] = "APPLY_BROKER_ID_EVENT"

    broker_name: str
    cluster_name: str
    broker_address: str
    new_broker_id: int
    register_check_code: str

    def members(self) -> dict[str, Any]:
        """Return RocketMQ's members."""
        return {
            "brokerAddress": self.broker_address,
            "clusterName": self.cluster_name,
            "newBrokerId": self.new_broker_id,
            "registerCheckCode": self.register_check_code,
        }


@dataclass(frozen=True, slots=True)
class ElectMaster:
    """Make a replica master, and alone in sync; None: the master is gone, and there is no other."""

    TYPE: ClassVar[str] = "ELECT_MASTER_EVENT"

    broker_name: str
    new_master_broker_id: int | None

    def members(self) -> dict[str, Any]:
        """Return RocketMQ's members."""
        master = self.new_master_broker_id
        return {"newMasterBrokerId": master, "newMasterElected": master is not None}


@dataclass(frozen=True, slots=True)
class CleanBrokerData:
    """Remove these replicas; without ids the whole set."""

    TYPE: ClassVar[str] = "CLEAN_BROKER_DATA_EVENT"

    broker_name: str
    broker_ids: frozenset[int] = frozenset()

    def members(self) -> dict[str, Any]:
        """Return RocketMQ's members."""
        return {"brokerIdSetToClean": sorted(self.broker_ids) or None}


@dataclass(frozen=True, slots=True)
class UpdateBrokerAddress:
    """Change the address of a replica."""

    TYPE: ClassVar[str] = "UPDATE_BROKER_ADDRESS"

    broker_name: str
    cluster_name: str
    broker_address: str
    broker_id: int

    def members(self) -> dict[str, Any]:
        """Return RocketMQ's members."""
        return {
            "brokerAddress": self.broker_address,
            "brokerId": self.broker_id,
            "clusterName": self.cluster_name,
        }


Event = AlterSyncStateSet | ApplyBrokerId | ElectMaster | CleanBrokerData | UpdateBrokerAddress


def text(event: Event) -> str:
    """Return the event as JSON, as in RocketMQ's log after the two bytes of its type."""
    members = {"brokerName": event.broker_name, "eventType": event.TYPE, **event.members()}
    return dumps(members).decode()
