"""Settings of Kafka's port and groups.

Standard: `SocketServerConfigs`, `ServerLogConfigs`, `GroupCoordinatorConfig` of Apache Kafka.
"""

from mqgateway.engine.options import checks
from mqgateway.engine.options.option import INT_MAX, Effect, option
from mqgateway.engine.options.option_set import Options
from mqgateway.engine.options.principal_rules import check_principal_rules

SASL_MECHANISMS = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "OAUTHBEARER")
"""Names of the mechanisms that Kafka clients can use."""
RACK_AWARE_SELECTOR = "org.apache.kafka.common.replica.RackAwareReplicaSelector"
LEADER_SELECTOR = "org.apache.kafka.common.replica.LeaderSelector"


class KafkaOptions(Options):
    """Port of Kafka's protocol, limits of its connections, topics that its clients make, and their groups."""

    kafka_port: int = option(
        0,
        "Port for Kafka clients. 0: no Kafka. `mqgateway serve` uses 9092.",
        high=65535,
        ours=True,
        effect=Effect.RESTART,
    )
    kafka_advertised_address: str = option(
        "",
        "Address of this broker for Kafka clients (`advertised.listeners`): host:port, or `client` for the "
        "address that each client used. Empty: brokerIP1 and kafkaPort.",
        ours=True,
        check=checks.address_or(9092, "client"),
    )
    kafka_node_id: int = option(
        -1,
        "Id of this broker for Kafka clients (`node.id`), another one for each broker of a Kafka "
        "cluster. -1: its number in the group, from 1 on; 1000 more for each group before its own in "
        "kafkaClusterGroups.",
        low=-1,
        high=INT_MAX,
        ours=True,
        effect=Effect.RESTART,
    )
    kafka_cluster_groups: str = option(
        "",
        "Names of the broker groups (brokerName) that form one Kafka cluster, separated by commas, the same "
        "at all their brokers. The first is the controller. New ones are appended; none is moved or removed. "
        "Empty: each group is a Kafka cluster of its own.",
        ours=True,
        effect=Effect.RESTART,
        check=checks.distinct_names,
    )
    kafka_rack: str = option(
        "",
        "Rack of this broker for Kafka clients (`broker.rack`). Empty: none.",
        ours=True,
        effect=Effect.RESTART,
    )
    kafka_replica_selector_class: str = option(
        "",
        "Class by which a leader chooses the replica that a Kafka consumer reads from "
        "(`replica.selector.class`). " + RACK_AWARE_SELECTOR + ": one in sync in the rack of the client "
        "(`client.rack`). Empty, or " + LEADER_SELECTOR + ": the leader.",
        ours=True,
        check=checks.one_of("", RACK_AWARE_SELECTOR, LEADER_SELECTOR),
    )
    kafka_num_partitions: int = option(
        1,
        "Number of partitions of a topic that a Kafka client makes without a number (`num.partitions`).",
        low=1,
        high=INT_MAX,
        ours=True,
    )
    kafka_message_max_bytes: int = option(
        1048588,
        "Maximum size of a record batch in a topic that does not set `max.message.bytes` "
        "(`message.max.bytes`). A batch above `maxMessageSize` is refused all the same.",
        unit="bytes",
        high=INT_MAX,
        ours=True,
        effect=Effect.RESTART,
    )
    kafka_fetch_max_bytes: int = option(
        16 * 1024**2,
        "Maximum size of the records in one answer to a Kafka consumer (`fetch.max.bytes`). The first batch "
        "is sent whole, however large.",
        unit="bytes",
        low=1024,
        high=16 * 1024**2,
        ours=True,
        effect=Effect.RESTART,
    )
    kafka_max_request_size: int = option(
        100 * 1024**2,
        "Maximum size of a request of a Kafka client (`socket.request.max.bytes`). The connection of a "
        "larger one is closed.",
        unit="bytes",
        low=1024,
        high=INT_MAX,
        ours=True,
        effect=Effect.RESTART,
    )
    kafka_max_requests_in_flight: int = option(
        100,
        "Maximum number of requests of one Kafka connection that wait for their answers; while there are as "
        "many, the connection is not read.",
        low=1,
        high=INT_MAX,
        ours=True,
        effect=Effect.RESTART,
    )
    kafka_connections_max_idle_millis: int = option(
        600_000,
        "Time without requests after which a Kafka connection is closed (`connections.max.idle.ms`).",
        unit="ms",
        low=1000,
        ours=True,
        effect=Effect.RESTART,
    )
    kafka_sasl_mechanisms: str = option(
        "PLAIN,SCRAM-SHA-256,SCRAM-SHA-512",
        "Mechanisms by which Kafka clients authenticate themselves if `authenticationEnabled` is on "
        "(`sasl.enabled.mechanisms`), separated by commas.",
        ours=True,
        effect=Effect.RESTART,
        check=checks.several_of(*SASL_MECHANISMS),
    )
    kafka_principal_mapping_rules: str = option(
        "DEFAULT",
        "Rules by which the name of a client certificate becomes the user of a Kafka client "
        "(`ssl.principal.mapping.rules`): DEFAULT, or RULE:PATTERN/REPLACEMENT/ with L or U at its end, "
        "separated by commas. Only verified certificates count (`tls.server.need.client.auth`, "
        "`tls.server.authClient`, `tls.server.trustCertPath`).",
        ours=True,
        effect=Effect.RESTART,
        check=check_principal_rules,
    )
    kafka_connections_max_reauth_millis: int = option(
        0,
        "Time after which a Kafka client must have authenticated itself again, or its connection is closed "
        "(`connections.max.reauth.ms`). 0: no limit.",
        unit="ms",
        ours=True,
        effect=Effect.RESTART,
    )
    kafka_failed_authentication_delay_millis: int = option(
        100,
        "Time until a Kafka client that failed to authenticate itself is answered and disconnected "
        "(`connection.failed.authentication.delay.ms`).",
        unit="ms",
        high=60_000,
        ours=True,
        effect=Effect.RESTART,
    )
    kafka_group_initial_rebalance_delay_millis: int = option(
        3000,
        "Time that a new group waits for more members (`group.initial.rebalance.delay.ms`).",
        unit="ms",
        high=INT_MAX,
        ours=True,
        effect=Effect.RESTART,
    )
    kafka_group_min_session_timeout_millis: int = option(
        6000,
        "Shortest session timeout of a member of a group (`group.min.session.timeout.ms`).",
        unit="ms",
        low=1,
        high=INT_MAX,
        ours=True,
        effect=Effect.RESTART,
    )
    kafka_group_max_session_timeout_millis: int = option(
        1_800_000,
        "Longest session timeout of a member of a group (`group.max.session.timeout.ms`).",
        unit="ms",
        low=1,
        high=INT_MAX,
        ours=True,
        effect=Effect.RESTART,
    )
    kafka_group_max_size: int = option(
        10_000,
        "Maximum number of members of a group (`group.max.size`).",
        low=1,
        high=INT_MAX,
        ours=True,
        effect=Effect.RESTART,
    )
    kafka_group_share_max_share_sessions: int = option(
        2000,
        "Maximum number of share sessions of the broker (`group.share.max.share.sessions`). A member of a "
        "share group has one; another one is refused with SHARE_SESSION_LIMIT_REACHED.",
        low=1,
        high=100_000,
        ours=True,
        effect=Effect.RESTART,
    )
    kafka_group_share_max_size: int = option(
        200,
        "Maximum number of members of a share group (`group.share.max.size`).",
        low=1,
        high=1000,
        ours=True,
        effect=Effect.RESTART,
    )
    kafka_offsets_retention_minutes: int = option(
        10_080,
        "Time after which offsets of a group without members are removed (`offsets.retention.minutes`).",
        unit="min",
        low=1,
        high=INT_MAX,
        ours=True,
        effect=Effect.RESTART,
    )
    kafka_dead_letter_topic_prefix: str = option(
        "dlq.",
        "Prefix that the names of dead letter topics of share groups must have "
        "(`errors.deadletterqueue.topic.name.prefix`). Empty: any name.",
        ours=True,
    )
    kafka_dead_letter_topic_auto_create: bool = option(
        False,
        "Make a dead letter topic that does not exist (`errors.deadletterqueue.auto.create.topics.enable`).",
        ours=True,
    )
    kafka_transaction_max_timeout_millis: int = option(
        900_000,
        "Longest timeout of a transaction that a producer may ask for (`transaction.max.timeout.ms`).",
        unit="ms",
        low=1,
        high=INT_MAX,
        ours=True,
        effect=Effect.RESTART,
    )
    kafka_transaction_abort_timed_out_transaction_cleanup_interval_millis: int = option(
        10_000,
        "Interval between looks for transactions to abort "
        "(`transaction.abort.timed.out.transaction.cleanup.interval.ms`).",
        unit="ms",
        low=1,
        high=INT_MAX,
        ours=True,
        effect=Effect.RESTART,
    )
    kafka_transactional_id_expiration_millis: int = option(
        604_800_000,
        "Time after which an idle transactional id is forgotten (`transactional.id.expiration.ms`).",
        unit="ms",
        low=1,
        high=INT_MAX,
        ours=True,
        effect=Effect.RESTART,
    )
    kafka_transaction_remove_expired_transaction_cleanup_interval_millis: int = option(
        3_600_000,
        "Interval between looks for transactional ids to forget "
        "(`transaction.remove.expired.transaction.cleanup.interval.ms`).",
        unit="ms",
        low=1,
        high=INT_MAX,
        ours=True,
        effect=Effect.RESTART,
    )
    kafka_client_telemetry: bool = option(
        False,
        "Receive the metrics that Kafka clients push, as client-metrics resources ask for (KIP-714). They "
        "are counted, not kept.",
        ours=True,
        effect=Effect.RESTART,
    )
    kafka_offset_metadata_max_bytes: int = option(
        4096,
        "Maximum length of the metadata of a committed offset (`offset.metadata.max.bytes`).",
        unit="bytes",
        high=INT_MAX,
        ours=True,
        effect=Effect.RESTART,
    )
