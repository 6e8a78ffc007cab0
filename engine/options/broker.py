"""Settings of a broker: who it is, what it allows, how it talks to clients and name servers.

Standard: `BrokerConfig`. Properties that only size what a server on one loop does not have are in
`engine.options.accepted`.
"""

from enum import StrEnum

from mqgateway.engine.options import checks
from mqgateway.engine.options.accepted import BROKER_ACCEPTED
from mqgateway.engine.options.access import AccessOptions, AclOptions
from mqgateway.engine.options.console import ConsoleOptions
from mqgateway.engine.options.controlled import ControlledOptions
from mqgateway.engine.options.grpc import GrpcOptions
from mqgateway.engine.options.lite import LiteOptions
from mqgateway.engine.options.logs import LogOptions
from mqgateway.engine.options.messaging import MessagingOptions
from mqgateway.engine.options.metrics import MetricsOptions
from mqgateway.engine.options.option import LONG_MAX, Effect, option
from mqgateway.engine.options.option_set import Options
from mqgateway.engine.options.pop import PopOptions
from mqgateway.engine.options.reasons import (
    IN_TURN,
    NO_BIT_MAPS,
    NO_HEARTBEATS,
    NO_LOOKUP,
    NO_REPLICAS,
)


class RequestMode(StrEnum):
    """How a client reads the queues that the broker has given it. Standard: `MessageRequestMode`."""

    PULL = "PULL"
    POP = "POP"


class IdentityOptions(Options):
    """Names and addresses of a broker."""

    broker_cluster_name: str = option(
        "DefaultCluster", "Cluster the broker belongs to.", effect=Effect.ANNOUNCED, check=checks.name
    )
    broker_name: str = option(
        "",
        "Name shared by a master and its slaves; empty: the host's name.",
        effect=Effect.ANNOUNCED,
        check=checks.name,
    )
    broker_id: int = option(
        0, "0 for a master, more for a slave, -1 while unknown.", low=-1, high=LONG_MAX, effect=Effect.RESTART
    )
    broker_ip1: str = option(
        "",
        "Address clients are told to connect to; empty: the first local one.",
        name="brokerIP1",
        effect=Effect.ANNOUNCED,
        check=checks.host,
    )
    broker_ip2: str = option(
        "",
        "Address slaves are told to connect to; empty: as brokerIP1.",
        name="brokerIP2",
        effect=Effect.ANNOUNCED,
        check=checks.host,
    )
    listen_port: int = option(10911, "Port for clients.", high=65535, effect=Effect.ANNOUNCED)
    namesrv_addr: str = option(
        "", "Name servers as host:port, separated by semicolons.", check=checks.addresses(9876)
    )
    rocketmq_home: str = option(
        "", "Installation folder: accounts of aclEnable are read from its conf.", effect=Effect.FIXED
    )
    broker_config_path: str = option("", "The file these settings came from.", effect=Effect.FIXED)
    region_id: str = option("DefaultRegion", "Region written into every message.")
    broker_permission: int = option(
        6, "What clients may do: 4 read, 2 write, 6 both.", high=7, effect=Effect.ANNOUNCED
    )
    config_black_list: str = option(
        "configBlackList;brokerConfigPath",
        "Properties that requests may not change, separated by semicolons.",
        effect=Effect.FIXED,
    )
    start_accept_send_request_time_stamp: int = option(
        0, "Sends before this time are refused.", unit="ms since the epoch", high=LONG_MAX
    )
    drain_timeout_millis: int = option(
        0,
        "How long a stop may wait until producers send elsewhere or another master is made; 0: not at all.",
        unit="ms",
        ours=True,
    )


class RegistrationOptions(Options):
    """How the broker tells name servers about itself."""

    register_name_server_period: int = option(
        30000, "Time between registrations; kept within 10 to 60 s.", unit="ms", low=1
    )
    register_broker_timeout_mills: int = option(24000, "Wait for a name server's answer.", unit="ms", low=1)
    force_register: bool = option(True, "Register even when name servers know all topics already.")
    compressed_register: bool = option(False, "Deflate the registration's body.")
    enable_single_topic_register: bool = option(
        False,
        "Tell of a new topic alone, not of all topics.",
        no_effect="a changed topic is always told by itself",
    )
    enable_split_registration: bool = option(False, "Spread topics over several registrations.")
    split_registration_size: int = option(800, "Topics in one registration when they are spread.", low=1)
    broker_heartbeat_interval: int = option(
        1000, "Time between light heartbeats, with enableSlaveActingMaster.", unit="ms", low=1
    )
    broker_not_active_timeout_millis: int = option(
        10000,
        "Silence after which name servers forget the broker, with enableSlaveActingMaster.",
        unit="ms",
        low=1,
    )
    send_heartbeat_timeout_millis: int = option(
        1000, "Wait for the answer to a light heartbeat.", unit="ms", no_effect=NO_HEARTBEATS
    )
    compatible_with_old_name_srv: bool = option(
        True, "Ask and tell name servers of a group in the words of version 4."
    )
    fetch_namesrv_addr_by_address_server: bool = option(
        False, "Ask a web address for the name servers.", no_effect=NO_LOOKUP
    )
    fetch_name_srv_addr_by_dns_lookup: bool = option(
        False, "Read namesrvAddr as a name to look up again and again.", no_effect=NO_LOOKUP
    )


class TopicOptions(Options):
    """What topics and groups exist without being created by hand."""

    auto_create_topic_enable: bool = option(True, "Create unknown topics on the first send.")
    auto_create_subscription_group: bool = option(True, "Create unknown consumer groups on first use.")
    default_topic_queue_nums: int = option(
        8, "Queues of a topic made on the first send, at most.", low=1, effect=Effect.RESTART
    )
    cluster_topic_enable: bool = option(
        True, "Let a topic named like the cluster be written to.", effect=Effect.RESTART
    )
    broker_topic_enable: bool = option(
        True, "Let a topic named like the broker be written to.", effect=Effect.RESTART
    )
    validate_system_topic_when_update_topic: bool = option(True, "Refuse to change reserved topics.")
    trace_topic_enable: bool = option(False, "Create the topic for message traces.", effect=Effect.RESTART)
    msg_trace_topic_name: str = option(
        "RMQ_SYS_TRACE_TOPIC", "Name of the topic for message traces.", effect=Effect.RESTART
    )
    trace_on: bool = option(True, "Tell clients that they may send traces.")
    enable_mixed_message_type: bool = option(False, "Allow topics of the message type MIXED.")
    clear_retry_topic_when_delete_topic: bool = option(True, "Delete POP retry topics with their topic.")
    enable_create_sys_group: bool = option(True, "Create the reserved consumer groups at start.")
    enable_split_metadata: bool = option(True, "Answer requests for all topics or groups page by page.")
    split_metadata_size: int = option(2000, "Topics or groups on such a page.", low=1)
    max_topics: int = option(
        100000, "Topics a broker keeps; more are not created on a send.", low=1, ours=True
    )
    max_queue_pieces: int = option(
        200000, "Pieces that the queues of static topics have been moved in, of all topics.", low=1, ours=True
    )
    max_groups: int = option(
        100000, "Consumer groups a broker keeps; more are not created on use.", low=1, ours=True
    )
    max_queues_per_topic: int = option(16384, "Queues a topic may be given by a request.", low=1, ours=True)
    max_group_config_size: int = option(
        65536, "Length of a group's settings as JSON.", unit="bytes", low=1024, ours=True
    )
    max_forbidden: int = option(100000, "Pairs of a group and a topic it may not read.", low=1, ours=True)
    max_attributes_per_topic: int = option(64, "Attributes a topic or group may carry.", ours=True)


class FlowOptions(Options):
    """When requests are refused so that the rest is served in time."""

    broker_fast_failure_enable: bool = option(
        True, "Refuse requests that would wait too long.", no_effect=IN_TURN
    )
    wait_time_mills_in_send_queue: int = option(200, "Longest wait of a send.", unit="ms", no_effect=IN_TURN)
    wait_time_mills_in_pull_queue: int = option(5000, "Longest wait of a pull.", unit="ms", no_effect=IN_TURN)
    wait_time_mills_in_lite_pull_queue: int = option(
        5000, "Longest wait of a lite pull.", unit="ms", no_effect=IN_TURN
    )
    wait_time_mills_in_heartbeat_queue: int = option(
        31000, "Longest wait of a heartbeat.", unit="ms", no_effect=IN_TURN
    )
    wait_time_mills_in_transaction_queue: int = option(
        3000, "Longest wait of a transaction's end.", unit="ms", no_effect=IN_TURN
    )
    wait_time_mills_in_ack_queue: int = option(3000, "Longest wait of an ack.", unit="ms", no_effect=IN_TURN)
    wait_time_mills_in_admin_broker_queue: int = option(
        5000, "Longest wait of administration.", unit="ms", no_effect=IN_TURN
    )
    disable_consume_if_consumer_read_slowly: bool = option(
        False, "Close the door to groups that fall far behind, until an administrator opens it again."
    )
    consumer_fallbehind_threshold: int = option(
        16 * 1024**3, "How far behind is far.", unit="bytes", high=LONG_MAX
    )
    cg_cold_read_threshold: int = option(
        3 * 1024**2, "Cold messages one group may read in 5 s.", unit="bytes", high=LONG_MAX
    )
    global_cold_read_threshold: int = option(
        100 * 1024**2, "Cold messages all groups may read in 5 s.", unit="bytes", high=LONG_MAX
    )
    cold_ctr_strategy_enable: bool = option(
        False, "Let what a group may read cold follow what the disk has to bear."
    )
    use_pid_cold_ctr_strategy: bool = option(
        True, "Look at the last ten times for that, not only at the last.", name="usePIDColdCtrStrategy"
    )
    max_sends_waiting_for_flush: int = option(
        100000, "Sends that may wait for their message to be on disk; more are refused.", low=1, ours=True
    )
    forward_timeout: int = option(
        3000,
        "Wait for an answer of a broker that has a part of a static topic's queue.",
        unit="ms",
        low=1,
    )


class PullOptions(Options):
    """Pulls, their waiting, and offsets."""

    long_polling_enable: bool = option(
        True, "Let a pull that finds nothing wait as long as its client wants."
    )
    short_polling_time_mills: int = option(1000, "How long it waits otherwise.", unit="ms")
    lite_pull_message_enable: bool = option(True, "Serve lite pulls.")
    reject_pull_consumer_enable: bool = option(False, "Refuse consumers that pull by themselves.")
    slave_read_enable: bool = option(False, "Suggest slaves to consumers that are far behind.")
    in_broker_container: bool = option(
        False,
        "Set by a container: slaves are never suggested.",
        name="isInBrokerContainer",
        old_names=("inBrokerContainer",),
    )
    transfer_msg_by_heap: bool = option(
        True, "Copy messages rather than send them from the page cache.", no_effect="they are always copied"
    )
    flush_consumer_offset_interval: int = option(
        5000,
        "Time between writes of consumer offsets.",
        unit="ms",
        low=1,
        effect=Effect.RESTART,
    )
    consumer_offset_update_version_step: int = option(
        500, "Commits after which the offset table's version is raised.", low=1
    )
    delay_offset_update_version_step: int = option(
        200,
        "Deliveries after which the delay offset table's version is raised.",
        low=1,
        effect=Effect.RESTART,
    )
    use_server_side_reset_offset: bool = option(True, "Reset offsets here rather than in the clients.")
    enable_broadcast_offset_store: bool = option(
        True, "Watch the offsets of broadcasting clients, for those that come by another road."
    )
    broadcast_offset_expire_second: int = option(
        120, "Silence after which those of a client that is gone are forgotten.", unit="s"
    )
    broadcast_offset_expire_max_second: int = option(
        300, "Silence after which those of a connected client are forgotten.", unit="s"
    )
    max_held_pulls: int = option(200000, "Pulls that may wait at once.", low=1, ours=True)
    max_held_pulls_per_queue: int = option(20000, "Pulls that may wait on one queue.", low=1, ours=True)
    max_offsets: int = option(
        2000000, "Consumer offsets kept; commits for more are refused.", low=1, ours=True
    )


class ClientOptions(Options):
    """Producers and consumers that are connected."""

    notify_consumer_ids_changed_enable: bool = option(True, "Tell a group's members when one comes or goes.")
    real_time_notify_consumer_change: bool = option(True, "Tell at once, not only at the next heartbeat.")
    channel_expired_timeout: int = option(
        120000, "Silence after which a client is forgotten.", unit="ms", low=1
    )
    subscription_expired_timeout: int = option(
        600000,
        "Age after which a subscription nobody renewed is forgotten.",
        unit="ms",
        low=1,
        no_effect="a subscription lives as long as its group",
    )
    enable_register_producer: bool = option(True, "Keep a table of producers.")
    lock_in_strict_mode: bool = option(
        False, "Ask the replicas too before a queue is locked.", no_effect=NO_REPLICAS
    )
    store_reply_message_enable: bool = option(True, "Store replies as well as passing them on.")
    max_heartbeat_body_size: int = option(
        4 * 1024**2, "Length of a heartbeat's body.", unit="bytes", low=1, ours=True
    )
    max_heartbeat_parts: int = option(
        100000,
        "Commas, brackets and lines in it; a subscription without tags has eleven.",
        low=100,
        ours=True,
    )
    max_list_size: int = option(
        12 * 1024**2, "Length of a list of topics or groups to create.", unit="bytes", low=1024, ours=True
    )
    max_list_parts: int = option(
        300000, "Commas, brackets and lines in it; a topic has ten, a group twenty.", low=100, ours=True
    )
    max_groups_per_client: int = option(1000, "Groups one client may belong to.", low=1, ours=True)
    max_subscriptions_per_group: int = option(1000, "Topics one group may subscribe to.", low=1, ours=True)
    max_subscription_text: int = option(
        256 * 1024, "Characters in all subscriptions of one group.", low=1, ours=True
    )
    max_name_length: int = option(
        1024, "Characters in a client's id or in a name that has no limit of its own.", low=1, ours=True
    )
    max_clients_per_group: int = option(20000, "Clients one group may have.", low=1, ours=True)
    max_groups_online: int = option(
        100000, "Producer and consumer groups with a client connected.", low=1, ours=True
    )
    max_queue_locks_per_group: int = option(100000, "Queues one group may lock.", low=1, ours=True)


class AssignmentOptions(Options):
    """Queues shared out by the broker, for clients that ask for that."""

    default_message_request_mode: RequestMode = option(
        RequestMode.PULL, "How a group reads a topic for which nothing was chosen."
    )
    default_pop_share_queue_num: int = option(
        -1,
        "With how many other clients one that pops shares its queues; -1: all clients pop all queues.",
        low=-1,
    )
    server_load_balancer_enable: bool = option(
        True, "Share the queues out; otherwise each client is given all."
    )
    load_balance_poll_name_server_interval: int = option(
        30000,
        "Time between questions for the queues of topics that are shared out.",
        unit="ms",
        low=1,
        effect=Effect.RESTART,
    )
    max_request_modes: int = option(
        100000, "Pairs of topic and group for which a mode of reading is kept.", low=1, ours=True
    )


class StatisticsOptions(Options):
    """What is counted and shown."""

    account_stats_enable: bool = option(True, "Count by account.", no_effect="nothing is counted by account")
    enable_detail_stat: bool = option(
        True, "Count by topic, group and queue.", no_effect="counts by topic and group are always kept"
    )
    auto_delete_unused_stats: bool = option(True, "Drop a topic's or group's counts with it.")
    max_stats_keys: int = option(
        200000, "Counted pairs of topic and group; more are counted in total only.", low=1, ours=True
    )


class FilterOptions(Options):
    """Filters by property."""

    enable_property_filter: bool = option(False, "Allow SQL92 expressions.")
    enable_calc_filter_bit_map: bool = option(False, "Match expressions when storing.", no_effect=NO_BIT_MAPS)
    expect_consumer_num_use_filter: int = option(
        32, "Expected number of filters.", low=1, effect=Effect.RESTART
    )
    max_error_rate_of_bloom_filter: int = option(
        20, "Percentage of false matches.", low=1, high=99, effect=Effect.RESTART
    )
    filter_support_retry: bool = option(False, "Filter retried messages too.")
    filter_data_clean_time_span: int = option(
        86400000, "How long the expression of a group that is gone is kept.", unit="ms", high=LONG_MAX
    )
    max_filter_data: int = option(
        100000, "Expressions that are kept, with those of groups that are gone.", low=1, ours=True
    )
    max_tags_per_subscription: int = option(1000, "Tags one subscription may name.", low=1, ours=True)


class TransactionOptions(Options):
    """Transactional messages."""

    reject_transaction_message: bool = option(False, "Refuse transactional messages.")
    transaction_time_out: int = option(
        6000, "Age at which an open transaction is first asked about.", unit="ms"
    )
    transaction_check_max: int = option(15, "How often it is asked about.")
    transaction_check_interval: int = option(30000, "Time between rounds of asking.", unit="ms")
    transaction_op_msg_max_size: int = option(
        4096, "Length of a message that lists ended transactions.", unit="bytes"
    )
    transaction_op_batch_interval: int = option(
        3000, "Time over which ended transactions are collected.", unit="ms"
    )
    transaction_metric_flush_interval: int = option(
        10000, "Time between writes of the counts.", unit="ms", effect=Effect.RESTART
    )
    max_transactions_checked_per_tick: int = option(
        200, "Open transactions looked at in one beat of 100 ms.", low=1, ours=True
    )
    max_waiting_transactions: int = option(
        100_000, "Open transactions kept in mind while they wait; others are put back.", low=1, ours=True
    )
    recall_message_enable: bool = option(False, "Let senders call back messages with timers.")
    allow_recall_when_broker_not_writeable: bool = option(
        True, "Let them do so too while brokerPermission forbids writing."
    )


class RoleOptions(Options):
    """Replicas that act for one another."""

    enable_slave_acting_master: bool = option(
        False, "Let a slave act for its master while that is gone.", effect=Effect.RESTART
    )
    enable_remote_escape: bool = option(
        False, "Let a slave that acts deliver what is delayed, through other brokers."
    )
    skip_pre_online: bool = option(
        False,
        "Register at once, not only when the logs of the group follow one another.",
        effect=Effect.RESTART,
    )
    sync_broker_member_group_period: int = option(
        1000, "Time between questions who is in the group.", unit="ms", low=1
    )
    max_escapes_under_way: int = option(
        1000,
        "Messages under way to or from other brokers, for a slave that acts.",
        low=1,
        ours=True,
        effect=Effect.RESTART,
    )


class BrokerOptions(
    LogOptions,
    MetricsOptions,
    MessagingOptions,
    ConsoleOptions,
    GrpcOptions,
    RoleOptions,
    AclOptions,
    ControlledOptions,
    AccessOptions,
    TransactionOptions,
    FilterOptions,
    StatisticsOptions,
    AssignmentOptions,
    ClientOptions,
    LiteOptions,
    PopOptions,
    PullOptions,
    FlowOptions,
    TopicOptions,
    RegistrationOptions,
    IdentityOptions,
):
    """All settings of a broker but those of its store and its connections."""

    also_accepted = BROKER_ACCEPTED
