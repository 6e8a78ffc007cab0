"""Settings of a broker: identity, permissions, limits, clients and name servers.

Standard: `BrokerConfig`. Properties that only size thread pools are in `engine.options.accepted`.
"""

from mqgateway.engine.options import checks
from mqgateway.engine.options.accepted import BROKER_ACCEPTED
from mqgateway.engine.options.access import AccessOptions, AclOptions
from mqgateway.engine.options.clients import (
    AssignmentOptions,
    ConnectedClientOptions,
    FilterOptions,
    StatisticsOptions,
)
from mqgateway.engine.options.console import ConsoleOptions
from mqgateway.engine.options.container import START_TIMEOUT_MILLIS
from mqgateway.engine.options.controlled import ControlledOptions
from mqgateway.engine.options.grpc import GrpcOptions
from mqgateway.engine.options.kafka import KafkaOptions
from mqgateway.engine.options.kafka_access import DelegationTokenOptions, KafkaAccessOptions
from mqgateway.engine.options.kafka_groups import KafkaGroupOptions
from mqgateway.engine.options.lite import LiteOptions
from mqgateway.engine.options.logs import LogOptions
from mqgateway.engine.options.messaging import MessagingOptions
from mqgateway.engine.options.metrics import MetricsOptions
from mqgateway.engine.options.option import LONG_MAX, Effect, option
from mqgateway.engine.options.option_set import Options
from mqgateway.engine.options.pop import PopOptions
from mqgateway.engine.options.reasons import (
    IN_TURN,
    NO_HEARTBEATS,
    NO_LOOKUP,
)


class IdentityOptions(Options):
    """Names and addresses of a broker."""

    broker_cluster_name: str = option(
        "DefaultCluster", "Cluster that the broker belongs to.", effect=Effect.ANNOUNCED, check=checks.name
    )
    broker_name: str = option(
        "",
        "Name that a master and its slaves share. Empty: the host name.",
        effect=Effect.ANNOUNCED,
        check=checks.name,
    )
    broker_id: int = option(
        0,
        "Id within the broker set: 0 for the master, 1 or more for a slave, -1 while unknown.",
        low=-1,
        high=LONG_MAX,
        effect=Effect.RESTART,
    )
    broker_ip1: str = option(
        "",
        "Address that clients connect to. Empty: the first local address.",
        name="brokerIP1",
        effect=Effect.ANNOUNCED,
        check=checks.host,
    )
    broker_ip2: str = option(
        "",
        "Address that slaves connect to. Empty: the same as brokerIP1.",
        name="brokerIP2",
        effect=Effect.ANNOUNCED,
        check=checks.host,
    )
    listen_port: int = option(10911, "Port for clients.", high=65535, effect=Effect.ANNOUNCED)
    namesrv_addr: str = option(
        "", "Name servers as host:port, separated by semicolons.", check=checks.addresses(9876)
    )
    rocketmq_home: str = option(
        "", "Installation folder. Accounts of aclEnable are read from its conf folder.", effect=Effect.FIXED
    )
    broker_config_path: str = option("", "File that these settings were read from.", effect=Effect.FIXED)
    region_id: str = option("DefaultRegion", "Region that is written into every message.")
    broker_permission: int = option(
        6, "Permission of clients on this broker: 4 read, 2 write, 6 both.", high=7, effect=Effect.ANNOUNCED
    )
    config_black_list: str = option(
        "configBlackList;brokerConfigPath",
        "Properties that requests may not change, separated by semicolons.",
        effect=Effect.FIXED,
    )
    start_accept_send_request_time_stamp: int = option(
        0,
        "Time before which sends are refused. 0: sends are accepted from the start.",
        unit="ms since the epoch",
        high=LONG_MAX,
    )
    drain_timeout_millis: int = option(
        0,
        "Maximum time a stop waits for producers to switch to other brokers or for a new master. 0: the "
        "stop does not wait.",
        unit="ms",
        ours=True,
    )
    broker_start_timeout: int = option(
        START_TIMEOUT_MILLIS,
        "Time that a starting broker of `serve --brokers` may make no progress before it is killed. Progress "
        "is a further percent of its log that is recovered.",
        unit="ms",
        low=1,
        ours=True,
        effect=Effect.RESTART,
    )
    rolling_restart_pause_millis: int = option(
        40_000,
        "Time that all brokers of `serve --brokers` have been up before the next one is restarted. Clients "
        "refresh routes every 30 s; a client that has not seen a broker come back has no other to turn to.",
        unit="ms",
        ours=True,
        effect=Effect.RESTART,
    )


class RegistrationOptions(Options):
    """Registration of the broker at name servers."""

    register_name_server_period: int = option(
        30000,
        "Interval between registrations at the name servers. Values are limited to 10 to 60 s.",
        unit="ms",
        low=1,
    )
    register_broker_timeout_mills: int = option(24000, "Timeout of a registration.", unit="ms", low=1)
    force_register: bool = option(
        True, "Register at every interval, even if the name servers know all topics."
    )
    compressed_register: bool = option(False, "Compress the body of registrations (deflate).")
    enable_single_topic_register: bool = option(
        False,
        "Register a new topic alone instead of all topics.",
        no_effect="a changed topic is always told by itself",
    )
    enable_split_registration: bool = option(False, "Split topics over several registrations.")
    split_registration_size: int = option(
        800, "Topics in one registration with enableSplitRegistration.", low=1
    )
    broker_heartbeat_interval: int = option(
        1000,
        "Interval between lightweight heartbeats to name servers, with enableSlaveActingMaster.",
        unit="ms",
        low=1,
    )
    broker_not_active_timeout_millis: int = option(
        10000,
        "Time without a heartbeat after which name servers remove the broker, with enableSlaveActingMaster.",
        unit="ms",
        low=1,
    )
    send_heartbeat_timeout_millis: int = option(
        1000, "Timeout of a lightweight heartbeat.", unit="ms", no_effect=NO_HEARTBEATS
    )
    compatible_with_old_name_srv: bool = option(
        True, "Use the version 4 requests to query name servers for the members of a broker set."
    )
    fetch_namesrv_addr_by_address_server: bool = option(
        False, "Fetch name server addresses from a web address.", no_effect=NO_LOOKUP
    )
    fetch_name_srv_addr_by_dns_lookup: bool = option(
        False, "Resolve namesrvAddr repeatedly as a DNS name.", no_effect=NO_LOOKUP
    )


class TopicOptions(Options):
    """Automatic creation of topics and groups, and their limits."""

    auto_create_topic_enable: bool = option(True, "Create an unknown topic on the first send.")
    auto_create_subscription_group: bool = option(True, "Create an unknown consumer group on first use.")
    default_topic_queue_nums: int = option(
        8, "Maximum number of queues of a topic created on the first send.", low=1, effect=Effect.RESTART
    )
    cluster_topic_enable: bool = option(
        True, "Make the topic named like the cluster writable.", effect=Effect.RESTART
    )
    broker_topic_enable: bool = option(
        True, "Make the topic named like the broker writable.", effect=Effect.RESTART
    )
    validate_system_topic_when_update_topic: bool = option(True, "Refuse changes of reserved topics.")
    trace_topic_enable: bool = option(
        False, "Create the topic for message traces at start.", effect=Effect.RESTART
    )
    msg_trace_topic_name: str = option(
        "RMQ_SYS_TRACE_TOPIC", "Topic for message traces.", effect=Effect.RESTART
    )
    trace_on: bool = option(True, "Allow clients to send traces.")
    enable_mixed_message_type: bool = option(False, "Allow topics of the message type MIXED.")
    clear_retry_topic_when_delete_topic: bool = option(
        True, "Delete a topic's POP retry topics together with the topic."
    )
    enable_create_sys_group: bool = option(True, "Create the reserved consumer groups at start.")
    enable_split_metadata: bool = option(True, "Answer requests for all topics or all groups in pages.")
    split_metadata_size: int = option(2000, "Topics or groups in one page with enableSplitMetadata.", low=1)
    max_topics: int = option(
        100000, "Maximum number of topics. Beyond it, sends do not create topics.", low=1, ours=True
    )
    max_queue_pieces: int = option(
        200000,
        "Maximum number of mapping items of all static topics: one for each range of offsets that a "
        "queue was moved in.",
        low=1,
        ours=True,
    )
    max_groups: int = option(
        100000,
        "Maximum number of consumer groups. Beyond it, groups are not created on use.",
        low=1,
        ours=True,
    )
    max_queues_per_topic: int = option(
        16384, "Maximum number of queues that a request may give a topic.", low=1, ours=True
    )
    max_group_config_size: int = option(
        65536, "Maximum size of a group's settings as JSON.", unit="bytes", low=1024, ours=True
    )
    max_forbidden: int = option(
        100000, "Maximum number of (group, topic) pairs for which reading is forbidden.", low=1, ours=True
    )
    max_attributes_per_topic: int = option(64, "Maximum number of attributes of a topic or group.", ours=True)


class FlowOptions(Options):
    """Limits at which requests are refused or throttled."""

    broker_fast_failure_enable: bool = option(
        True, "Refuse requests that would wait too long.", no_effect=IN_TURN
    )
    wait_time_mills_in_send_queue: int = option(
        200, "Maximum waiting time of a send.", unit="ms", no_effect=IN_TURN
    )
    wait_time_mills_in_pull_queue: int = option(
        5000, "Maximum waiting time of a pull.", unit="ms", no_effect=IN_TURN
    )
    wait_time_mills_in_lite_pull_queue: int = option(
        5000, "Maximum waiting time of a lite pull.", unit="ms", no_effect=IN_TURN
    )
    wait_time_mills_in_heartbeat_queue: int = option(
        31000, "Maximum waiting time of a heartbeat.", unit="ms", no_effect=IN_TURN
    )
    wait_time_mills_in_transaction_queue: int = option(
        3000, "Maximum waiting time of a commit or rollback.", unit="ms", no_effect=IN_TURN
    )
    wait_time_mills_in_ack_queue: int = option(
        3000, "Maximum waiting time of an acknowledgement.", unit="ms", no_effect=IN_TURN
    )
    wait_time_mills_in_admin_broker_queue: int = option(
        5000, "Maximum waiting time of an administrative request.", unit="ms", no_effect=IN_TURN
    )
    disable_consume_if_consumer_read_slowly: bool = option(
        False,
        "Disable consumption for a group that lags more than consumerFallbehindThreshold, until an "
        "administrator enables it again.",
    )
    consumer_fallbehind_threshold: int = option(
        16 * 1024**3, "Lag above which a group counts as a slow consumer.", unit="bytes", high=LONG_MAX
    )
    cg_cold_read_threshold: int = option(
        3 * 1024**2,
        "Bytes of cold messages that one group may read in 5 s before it is throttled.",
        unit="bytes",
        high=LONG_MAX,
    )
    global_cold_read_threshold: int = option(
        100 * 1024**2,
        "Bytes of cold messages that all groups together may read in 5 s before groups are throttled.",
        unit="bytes",
        high=LONG_MAX,
    )
    cold_ctr_strategy_enable: bool = option(
        False, "Adapt each group's cold-read threshold to the total of cold reads."
    )
    use_pid_cold_ctr_strategy: bool = option(
        True,
        "Adapt thresholds to the last ten intervals of 5 s. False: to the last interval only.",
        name="usePIDColdCtrStrategy",
    )
    max_sends_waiting_for_flush: int = option(
        100000,
        "Maximum number of sends that wait for a flush to disk. Further sends are refused.",
        low=1,
        ours=True,
    )
    forward_timeout: int = option(
        3000,
        "Timeout of a request to the broker that stores a range of a static topic's queue.",
        unit="ms",
        low=1,
    )


class BrokerPullOptions(Options):
    """Pulls, long polling and offsets."""

    long_polling_enable: bool = option(
        True, "Hold a pull that finds no message as long as its client permits."
    )
    short_polling_time_mills: int = option(
        1000, "Time that a pull is held with longPollingEnable=false.", unit="ms"
    )
    lite_pull_message_enable: bool = option(True, "Serve lite pulls.")
    reject_pull_consumer_enable: bool = option(
        False, "Refuse pull consumers, which choose queues and offsets themselves."
    )
    slave_read_enable: bool = option(False, "Redirect consumers with a large lag to a slave.")
    in_broker_container: bool = option(
        False,
        "Set by a container: consumers are never redirected to a slave.",
        name="isInBrokerContainer",
        old_names=("inBrokerContainer",),
    )
    transfer_msg_by_heap: bool = option(
        True, "Copy messages instead of sending them from the page cache.", no_effect="they are always copied"
    )
    flush_consumer_offset_interval: int = option(
        5000,
        "Interval between writes of the consumer offset table.",
        unit="ms",
        low=1,
        effect=Effect.RESTART,
    )
    consumer_offset_update_version_step: int = option(
        500, "Commits after which the version of the offset table is raised.", low=1
    )
    delay_offset_update_version_step: int = option(
        200,
        "Deliveries after which the version of the delay offset table is raised.",
        low=1,
        effect=Effect.RESTART,
    )
    use_server_side_reset_offset: bool = option(
        True, "Reset offsets at the broker instead of in the clients."
    )
    enable_broadcast_offset_store: bool = option(
        True,
        "Track the offsets of broadcasting clients, for clients that change between a direct connection "
        "and a proxy.",
    )
    broadcast_offset_expire_second: int = option(
        120, "Time after which the offsets of a disconnected broadcasting client are removed.", unit="s"
    )
    broadcast_offset_expire_max_second: int = option(
        300,
        "Time without a pull after which the offsets of a connected broadcasting client are removed.",
        unit="s",
    )
    max_held_pulls: int = option(200000, "Maximum number of pulls in long polling.", low=1, ours=True)
    max_held_pulls_per_queue: int = option(
        20000, "Maximum number of pulls in long polling on one queue.", low=1, ours=True
    )
    max_offsets: int = option(
        2000000,
        "Maximum number of consumer offsets. Commits for further queues are refused.",
        low=1,
        ours=True,
    )


class TransactionOptions(Options):
    """Transactional messages."""

    reject_transaction_message: bool = option(False, "Refuse transactional messages.")
    transaction_time_out: int = option(
        6000, "Age of an open transaction at which its producer is first checked.", unit="ms"
    )
    transaction_check_max: int = option(15, "Maximum number of checks of an open transaction.")
    transaction_check_interval: int = option(30000, "Interval between checks of a transaction.", unit="ms")
    transaction_op_msg_max_size: int = option(
        4096, "Maximum size of an op message, which lists ended transactions.", unit="bytes"
    )
    transaction_op_batch_interval: int = option(
        3000, "Time over which ended transactions are collected into one op message.", unit="ms"
    )
    transaction_metric_flush_interval: int = option(
        10000, "Interval between writes of the transaction counts.", unit="ms", effect=Effect.RESTART
    )
    max_transactions_checked_per_tick: int = option(
        200, "Maximum number of open transactions examined in one tick of 100 ms.", low=1, ours=True
    )
    max_waiting_transactions: int = option(
        100_000,
        "Maximum number of open transactions kept in memory. Others are written to the log again.",
        low=1,
        ours=True,
    )
    recall_message_enable: bool = option(False, "Allow senders to recall timer messages before delivery.")
    allow_recall_when_broker_not_writeable: bool = option(
        True, "Allow recalls while brokerPermission forbids writing."
    )


class RoleOptions(Options):
    """Slaves that act for a lost master."""

    enable_slave_acting_master: bool = option(
        False, "Allow a slave to act for a lost master.", effect=Effect.RESTART
    )
    enable_remote_escape: bool = option(
        False, "Allow an acting master to deliver delayed messages through other brokers."
    )
    skip_pre_online: bool = option(
        False,
        "Register at once. False: only after the logs of the broker set are aligned.",
        effect=Effect.RESTART,
    )
    sync_broker_member_group_period: int = option(
        1000, "Interval between queries for the members of the broker set.", unit="ms", low=1
    )
    max_escapes_under_way: int = option(
        1000,
        "Maximum number of messages in flight between an acting master and other brokers.",
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
    KafkaOptions,
    KafkaAccessOptions,
    DelegationTokenOptions,
    KafkaGroupOptions,
    RoleOptions,
    AclOptions,
    ControlledOptions,
    AccessOptions,
    TransactionOptions,
    FilterOptions,
    StatisticsOptions,
    AssignmentOptions,
    ConnectedClientOptions,
    LiteOptions,
    PopOptions,
    BrokerPullOptions,
    FlowOptions,
    TopicOptions,
    RegistrationOptions,
    IdentityOptions,
):
    """All settings of a broker except those of its store and its connections."""

    also_accepted = BROKER_ACCEPTED
