"""Settings of replication between a master and its slaves. Standard: `MessageStoreConfig`."""

from enum import StrEnum

from mqgateway.engine.options import checks
from mqgateway.engine.options.option import LONG_MAX, Effect, option
from mqgateway.engine.options.option_set import Options


class BrokerRole(StrEnum):
    """What a broker is to its replicas."""

    ASYNC_MASTER = "ASYNC_MASTER"
    SYNC_MASTER = "SYNC_MASTER"
    SLAVE = "SLAVE"


class AcknowledgementOptions(Options):
    """How many logs a send waits for; only a SYNC_MASTER waits at all."""

    in_sync_replicas: int = option(1, "Logs that a message must be in, the master's own counted.", low=1)
    min_in_sync_replicas: int = option(
        1, "Logs that must keep up, the master's own counted; with fewer, sends are refused.", low=1
    )
    total_replicas: int = option(1, "Members of the group, the master counted.", low=1)
    enable_auto_in_sync_replicas: bool = option(
        False, "Wait for no more logs than keep up, but for minInSyncReplicas at least."
    )
    all_ack_in_sync_state_set: bool = option(False, "Wait for every slave that keeps up.")
    slave_timeout: int = option(3000, "How long a send waits for slaves.", unit="ms", low=1)
    ha_max_gap_not_in_sync: int = option(
        256 << 20, "A slave that lacks as much does not keep up.", unit="bytes", low=1, high=LONG_MAX
    )
    ha_max_time_slave_not_catchup: int = option(
        15000,
        "A slave that had not everything for so long is not waited for by allAckInSyncStateSet.",
        unit="ms",
        low=1,
    )


class ReplicationOptions(AcknowledgementOptions):
    """Who a broker is in its group, and how the log goes from master to slave."""

    broker_role: BrokerRole = option(
        BrokerRole.ASYNC_MASTER,
        "Master or slave, and whether a master waits for its slaves.",
        effect=Effect.RESTART,
    )
    ha_listen_port: int = option(
        0, "Port for slaves; 0: the port for clients and 1.", high=65535, effect=Effect.ANNOUNCED
    )
    ha_master_address: str = option(
        "",
        "Where a slave finds its master's port for slaves; empty: name servers say it.",
        effect=Effect.RESTART,
        check=checks.address(10912),
    )
    ha_send_heartbeat_interval: int = option(
        5000, "Silence after which either side shows that it is there.", unit="ms", low=1
    )
    ha_housekeeping_interval: int = option(
        20000, "Silence after which either side gives a connection up.", unit="ms", low=1
    )
    ha_transfer_batch_size: int = option(
        32768, "Bytes of the log that are sent in one piece.", unit="bytes", low=1, high=4 << 20
    )
    ha_flow_control_enable: bool = option(False, "Bound what a slave is sent in a second.")
    max_ha_transfer_byte_in_second: int = option(
        100 << 20, "What a slave is sent in a second at most.", unit="bytes", low=1, high=LONG_MAX
    )
    offset_check_in_slave: bool = option(
        False, "Let a slave correct offsets that its queues do not have, as a master does."
    )
    sync_from_last_file: bool = option(
        False,
        "In controller mode: let a new replica ask for the newest file of the log only.",
        effect=Effect.RESTART,
    )
    async_learner: bool = option(
        False,
        "In controller mode: never count as in sync, so never wait for this replica, nor elect it.",
        effect=Effect.RESTART,
    )
    store_path_epoch_file: str = option(
        "",
        "File of the log's epochs; empty: epochFileCheckpoint in storePathRootDir.",
        effect=Effect.FIXED,
    )
    store_path_broker_identity: str = option(
        "",
        "File of the id that the controller gave; empty: brokerIdentity in storePathRootDir.",
        effect=Effect.FIXED,
    )
    ha_copy_whole_log: bool = option(
        False, "Give a new slave the whole log, or ask for it, not only the newest file.", ours=True
    )
    ha_max_frame_size: int = option(
        4 << 20,
        "Bytes that a master may send a slave in one piece.",
        unit="bytes",
        low=4096,
        ours=True,
        effect=Effect.RESTART,
    )
    ha_max_slaves: int = option(16, "Slaves that may be connected.", low=1, ours=True)
    ha_allowed_slaves: str = option(
        "",
        "Addresses or networks that slaves may come from, separated by commas, beside those of the group's "
        "members (authenticationEnabled=false), or of slaves that sign.",
        ours=True,
        effect=Effect.FIXED,
    )
    slave_sync_interval: int = option(
        10000, "Time between takings over of the master's tables.", unit="ms", low=1000, ours=True
    )
