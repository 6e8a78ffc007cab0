"""Broker groups with replicas: in-sync sets, elections, epochs, the state of replication.

Standard: `SyncStateSet`, `ElectMasterResponseBody`, `RoleChangeNotifyEntry`, `BrokerReplicasInfo`,
`EpochEntryCache`, `HARuntimeInfo`.
"""

from dataclasses import field

from mqgateway.gateway.codec.bodies.body import Body, Int, body
from mqgateway.gateway.codec.bodies.routes import BrokerMemberGroup


@body
class SyncStateSet(Body):
    """The ids of the replicas in sync."""

    sync_state_set: set[int] = field(default_factory=set)
    sync_state_set_epoch: Int = 0


@body
class ElectMasterResponseBody(Body):
    """The group after an election."""

    broker_member_group: BrokerMemberGroup | None = None
    sync_state_set: set[int] | None = None


@body
class ReplicaIdentity(Body):
    """One replica."""

    broker_name: str
    broker_id: int
    broker_address: str | None = None
    alive: bool | None = None


@body
class ReplicasInfo(Body):
    """The replicas of a group."""

    master_broker_id: int | None = None
    master_address: str | None = None
    master_epoch: Int | None = None
    sync_state_set_epoch: Int | None = None
    in_sync_replicas: list[ReplicaIdentity] = field(default_factory=list)
    not_in_sync_replicas: list[ReplicaIdentity] = field(default_factory=list)


@body
class BrokerReplicasInfo(Body):
    """The replicas of groups by broker name."""

    replicas_info_table: dict[str, ReplicasInfo] = field(default_factory=dict)


@body
class EpochEntry(Body):
    """The part of the log one master wrote, as physical offsets; the end is excluded."""

    epoch: Int
    start_offset: int
    end_offset: int = 2**63 - 1


@body
class EpochEntryCache(Body):
    """The epochs of a broker's log."""

    cluster_name: str
    broker_name: str
    broker_id: int
    epoch_list: list[EpochEntry] = field(default_factory=list)
    max_offset: int = 0


@body
class HAConnectionRuntimeInfo(Body):
    """A follower as the master sees it; offsets are physical, `diff` is bytes behind."""

    addr: str | None = None
    slave_ack_offset: int = 0
    diff: int = 0
    in_sync: bool = False
    transferred_byte_in_second: int = 0
    transfer_from_where: int = 0


@body
class HAClientRuntimeInfo(Body):
    """A follower as it sees itself; times are ms since the epoch."""

    master_addr: str | None = None
    transferred_byte_in_second: int = 0
    max_offset: int = 0
    last_read_timestamp: int = 0
    last_write_timestamp: int = 0
    master_flush_offset: int = 0
    activated: bool = False


@body
class HARuntimeInfo(Body):
    """The state of replication on a broker."""

    master: bool = False
    master_commit_log_max_offset: int = 0
    in_sync_slave_nums: Int = 0
    ha_connection_info: list[HAConnectionRuntimeInfo] = field(default_factory=list)
    ha_client_runtime_info: HAClientRuntimeInfo = field(default_factory=HAClientRuntimeInfo)
