"""Settings of replication between a master and its slaves. Standard: `MessageStoreConfig`."""

from enum import StrEnum

from mqgateway.engine.options import checks
from mqgateway.engine.options.option import LONG_MAX, Effect, option
from mqgateway.engine.options.option_set import Options


class BrokerRole(StrEnum):
    """Role of a broker in its broker set."""

    ASYNC_MASTER = "ASYNC_MASTER"
    SYNC_MASTER = "SYNC_MASTER"
    SLAVE = "SLAVE"


class AcknowledgementOptions(Options):
    """Number of replicas that a send waits for; only a SYNC_MASTER waits."""

    in_sync_replicas: int = option(
        1, "Number of replicas, including the master, that must hold a send before it is acknowledged.", low=1
    )
    min_in_sync_replicas: int = option(
        1,
        "Minimum number of in-sync replicas, including the master. With fewer, sends are refused. "
        "It is also the default of `min.insync.replicas` of Kafka topics.",
        low=1,
    )
    total_replicas: int = option(1, "Number of members of the broker set, including the master.", low=1)
    enable_auto_in_sync_replicas: bool = option(
        False,
        "Lower inSyncReplicas to the number of replicas that are in sync, but not below minInSyncReplicas.",
    )
    all_ack_in_sync_state_set: bool = option(
        False, "Wait for every in-sync replica before a send is acknowledged."
    )
    slave_timeout: int = option(3000, "Maximum time that a send waits for slaves.", unit="ms", low=1)
    ha_max_gap_not_in_sync: int = option(
        256 << 20, "Lag at which a slave no longer counts as in sync.", unit="bytes", low=1, high=LONG_MAX
    )
    ha_max_time_slave_not_catchup: int = option(
        15000,
        "Time without being fully caught up after which allAckInSyncStateSet no longer waits for a slave.",
        unit="ms",
        low=1,
    )


class ReplicationOptions(AcknowledgementOptions):
    """Role of a broker in its broker set, and replication of the log."""

    broker_role: BrokerRole = option(
        BrokerRole.ASYNC_MASTER,
        "Role of the broker: a master that does not wait for slaves (ASYNC_MASTER), a master that waits "
        "(SYNC_MASTER) or SLAVE.",
        effect=Effect.RESTART,
    )
    ha_listen_port: int = option(
        0, "Port for replication. 0: listenPort + 1.", high=65535, effect=Effect.ANNOUNCED
    )
    ha_master_address: str = option(
        "",
        "Replication address of the master, for a slave. Empty: the address that the name servers return.",
        effect=Effect.RESTART,
        check=checks.address(10912),
    )
    ha_send_heartbeat_interval: int = option(
        5000, "Idle time of a replication connection after which a heartbeat is sent.", unit="ms", low=1
    )
    ha_housekeeping_interval: int = option(
        20000, "Idle time of a replication connection after which it is closed.", unit="ms", low=1
    )
    ha_transfer_batch_size: int = option(
        32768, "Maximum bytes of the log in one replication frame.", unit="bytes", low=1, high=4 << 20
    )
    ha_flow_control_enable: bool = option(
        False, "Limit the replication rate of each slave to maxHaTransferByteInSecond."
    )
    max_ha_transfer_byte_in_second: int = option(
        100 << 20,
        "Maximum bytes sent to a slave in a second, with haFlowControlEnable.",
        unit="bytes",
        low=1,
        high=LONG_MAX,
    )
    offset_check_in_slave: bool = option(
        False, "Correct out-of-range pull offsets on a slave, as a master does."
    )
    sync_from_last_file: bool = option(
        False,
        "In controller mode, replicate only the newest file of the log to a new replica.",
        effect=Effect.RESTART,
    )
    async_learner: bool = option(
        False,
        "In controller mode, never count this replica as in sync: sends do not wait for it and it is not "
        "elected.",
        effect=Effect.RESTART,
    )
    store_path_epoch_file: str = option(
        "",
        "File of the log's epochs. Empty: epochFileCheckpoint in storePathRootDir.",
        effect=Effect.FIXED,
    )
    store_path_broker_identity: str = option(
        "",
        "File of the id that the controller assigned. Empty: brokerIdentity in storePathRootDir.",
        effect=Effect.FIXED,
    )
    ha_copy_whole_log: bool = option(
        False, "Replicate the whole log to a new slave. False: only the newest file.", ours=True
    )
    ha_max_frame_size: int = option(
        4 << 20,
        "Maximum size of a replication frame from a master.",
        unit="bytes",
        low=4096,
        ours=True,
        effect=Effect.RESTART,
    )
    ha_max_slaves: int = option(16, "Maximum number of connected slaves.", low=1, ours=True)
    ha_allowed_slaves: str = option(
        "",
        "Addresses or networks of slaves, separated by commas, in addition to members of the broker set "
        "(authenticationEnabled=false) or slaves that sign.",
        ours=True,
        effect=Effect.FIXED,
    )
    slave_sync_interval: int = option(
        10000, "Interval at which a slave copies the master's tables.", unit="ms", low=1000, ours=True
    )
