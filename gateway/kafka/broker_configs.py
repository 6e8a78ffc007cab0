"""Settings of the broker by Kafka's names: those that have a counterpart here, with the values in effect.

Types and defaults are those of Apache Kafka 4.4.0 (`KafkaConfig`). Settings of Kafka's that have no
counterpart, such as those of threads, quotas and replica fetchers, are not shown.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from mqgateway.engine.options import BrokerOptions
from mqgateway.engine.tables.kafka_configs import (
    BOOLEAN,
    DOUBLE,
    INT,
    KAFKA_CONFIGS,
    LIST,
    LONG,
    MIN_IN_SYNC,
    STRING,
)
from mqgateway.engine.tables.kafka_group_configs import KAFKA_GROUP_CONFIGS
from mqgateway.gateway.broker.operations import Operations
from mqgateway.gateway.kafka.call import KafkaCall
from mqgateway.gateway.kafka.fetch_sessions import SESSIONS_MAX
from mqgateway.gateway.kafka.group_settings import group_defaults
from mqgateway.gateway.kafka.node import Node
from mqgateway.gateway.kafka.telemetry import PUSH_BYTES_MAX
from mqgateway.gateway.kafka.transaction_coordination import txn_settings

SHORT: Final = "short"
TYPES: Final = {BOOLEAN: 1, STRING: 2, INT: 3, SHORT: 4, LONG: 5, DOUBLE: 6, LIST: 7}
"""Numbers of types in DescribeConfigs."""

CHANGEABLE: Final = {
    "auto.create.topics.enable": "autoCreateTopicEnable",
    "num.partitions": "kafkaNumPartitions",
}
"""Settings of the broker that Kafka clients can change, with our names."""


class BrokerConfig(NamedTuple):
    """A setting of the broker: its type, Kafka's default (None for none), and its meaning."""

    kind: str
    default: str | None
    meaning: str


_ROWS: Final = {
    "advertised.listeners": BrokerConfig(LIST, None, "Addresses that the broker gives to clients."),
    "auto.create.topics.enable": BrokerConfig(BOOLEAN, "true", "Create a topic that a client uses."),
    "broker.id": BrokerConfig(INT, "-1", "Id of this broker."),
    "broker.rack": BrokerConfig(STRING, None, "Rack of this broker."),
    "connection.failed.authentication.delay.ms": BrokerConfig(
        INT, "100", "Time until a client that failed to authenticate itself is disconnected."
    ),
    "connections.max.idle.ms": BrokerConfig(LONG, "600000", "Time until an idle connection is closed."),
    "connections.max.reauth.ms": BrokerConfig(LONG, "0", "Longest session of a client; 0 for no limit."),
    "default.replication.factor": BrokerConfig(INT, "1", "Replicas of a new topic."),
    "delegation.token.expiry.time.ms": BrokerConfig(
        LONG, "86400000", "Time after which a delegation token must be renewed."
    ),
    "delegation.token.max.lifetime.ms": BrokerConfig(
        LONG, "604800000", "Longest lifetime of a delegation token."
    ),
    "delete.topic.enable": BrokerConfig(BOOLEAN, "true", "Whether topics can be deleted."),
    "errors.deadletterqueue.auto.create.topics.enable": BrokerConfig(
        BOOLEAN, "false", "Create a dead letter topic that does not exist."
    ),
    "errors.deadletterqueue.topic.name.prefix": BrokerConfig(
        STRING, "dlq.", "Prefix of the names of dead letter topics."
    ),
    "fetch.max.bytes": BrokerConfig(INT, "57671680", "Maximum size of the records in one answer, in bytes."),
    "group.consumer.assignors": BrokerConfig(
        LIST, "uniform,range", "Assignors of consumer groups; the first one is the default."
    ),
    "group.consumer.max.size": BrokerConfig(INT, "2147483647", "Most members of a consumer group."),
    "group.consumer.migration.policy": BrokerConfig(
        STRING, "bidirectional", "Whether groups with members change their protocol."
    ),
    "group.coordinator.rebalance.protocols": BrokerConfig(
        LIST, "classic,consumer,streams", "Protocols of groups."
    ),
    "group.initial.rebalance.delay.ms": BrokerConfig(INT, "3000", "Time that a new group waits for members."),
    "group.max.session.timeout.ms": BrokerConfig(INT, "1800000", "Longest session of a member."),
    "group.max.size": BrokerConfig(INT, "2147483647", "Most members of a group."),
    "group.min.session.timeout.ms": BrokerConfig(INT, "6000", "Shortest session of a member."),
    "group.share.assignors": BrokerConfig(LIST, "simple", "Assignors of share groups."),
    "group.share.max.share.sessions": BrokerConfig(INT, "2000", "Most share sessions."),
    "group.share.max.size": BrokerConfig(INT, "200", "Most members of a share group."),
    "listeners": BrokerConfig(LIST, "PLAINTEXT://:9092", "Addresses on which the broker listens."),
    "log.cleaner.dedupe.buffer.size": BrokerConfig(
        LONG, "134217728", "Memory for keys of compactions, in bytes."
    ),
    "log.cleaner.enable": BrokerConfig(BOOLEAN, "true", "Whether topics are compacted."),
    "log.dirs": BrokerConfig(LIST, None, "Folder of the store."),
    "log.retention.check.interval.ms": BrokerConfig(
        LONG, "300000", "Time between two looks for records to delete."
    ),
    "log.retention.hours": BrokerConfig(INT, "168", "Time that the log keeps its files, in hours."),
    "log.retention.minutes": BrokerConfig(INT, None, "Not set: log.retention.hours counts."),
    "log.retention.ms": BrokerConfig(LONG, None, "Not set: log.retention.hours counts."),
    "max.incremental.fetch.session.cache.slots": BrokerConfig(INT, "1000", "Most fetch sessions."),
    "node.id": BrokerConfig(INT, None, "Id of this broker."),
    "num.partitions": BrokerConfig(INT, "1", "Partitions of a new topic."),
    "offset.metadata.max.bytes": BrokerConfig(INT, "4096", "Longest metadata of an offset."),
    "offsets.retention.minutes": BrokerConfig(INT, "10080", "Time that offsets of an empty group are kept."),
    "offsets.topic.num.partitions": BrokerConfig(INT, "50", "Partitions of the topic of offsets."),
    "offsets.topic.replication.factor": BrokerConfig(SHORT, "3", "Replicas of the topic of offsets."),
    "process.roles": BrokerConfig(LIST, None, "Roles of this broker in the cluster."),
    "producer.id.expiration.ms": BrokerConfig(
        INT, "86400000", "Time after which an idle producer is forgotten."
    ),
    "replica.selector.class": BrokerConfig(
        STRING, None, "Class that chooses the replica that a consumer reads from."
    ),
    "sasl.enabled.mechanisms": BrokerConfig(LIST, "GSSAPI", "Mechanisms by which clients authenticate."),
    "sasl.oauthbearer.allow.unverified.audience": BrokerConfig(
        BOOLEAN, "false", "Accept access tokens for any audience."
    ),
    "sasl.oauthbearer.allow.unverified.issuer": BrokerConfig(
        BOOLEAN, "false", "Accept access tokens of any issuer."
    ),
    "sasl.oauthbearer.clock.skew.seconds": BrokerConfig(INT, "30", "Difference of clocks that is tolerated."),
    "sasl.oauthbearer.expected.audience": BrokerConfig(LIST, None, "Audiences of access tokens."),
    "sasl.oauthbearer.expected.issuer": BrokerConfig(STRING, None, "Issuer of access tokens."),
    "sasl.oauthbearer.jwks.endpoint.refresh.ms": BrokerConfig(
        LONG, "3600000", "Interval at which the key set is read again."
    ),
    "sasl.oauthbearer.jwks.endpoint.url": BrokerConfig(
        STRING, None, "URL of the key set that verifies access tokens."
    ),
    "sasl.oauthbearer.scope.claim.name": BrokerConfig(STRING, "scope", "Claim that has the scopes."),
    "sasl.oauthbearer.sub.claim.name": BrokerConfig(STRING, "sub", "Claim that names the user."),
    "sasl.server.max.receive.size": BrokerConfig(
        INT, "524288", "Maximum size of a request before authentication."
    ),
    "socket.request.max.bytes": BrokerConfig(INT, "104857600", "Maximum size of a request."),
    "ssl.principal.mapping.rules": BrokerConfig(
        STRING, "DEFAULT", "Rules by which the name of a client certificate becomes a user."
    ),
    "telemetry.max.bytes": BrokerConfig(
        INT, "1048576", "Maximum size of the metrics that a client pushes at a time."
    ),
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": BrokerConfig(
        INT, "10000", "Time between two looks for transactions to abort."
    ),
    "transaction.max.timeout.ms": BrokerConfig(INT, "900000", "Longest timeout of a transaction."),
    "transaction.partition.verification.enable": BrokerConfig(
        BOOLEAN, "true", "Check with the coordinator before the first batch of a transaction."
    ),
    "transaction.remove.expired.transaction.cleanup.interval.ms": BrokerConfig(
        INT, "3600000", "Time between two looks for transactional ids to forget."
    ),
    "transaction.state.log.num.partitions": BrokerConfig(
        INT, "50", "Partitions of the topic of transactions."
    ),
    "transaction.state.log.replication.factor": BrokerConfig(
        SHORT, "3", "Replicas of the topic of transactions."
    ),
    "transactional.id.expiration.ms": BrokerConfig(
        INT, "604800000", "Time after which an idle transactional id is forgotten."
    ),
}
_OF_TOPICS: Final = {
    config.synonym: BrokerConfig(config.kind, config.default, config.meaning)
    for config in KAFKA_CONFIGS.values()
    if config.synonym
}
"""Settings that have the defaults of topics; they cannot be changed here."""
_GROUP_DEFAULTS: Final = {
    config.synonym: name for name, (config, *_) in KAFKA_GROUP_CONFIGS.items() if config.synonym
}
"""Settings of groups by the broker's that have their defaults."""


def _of_groups() -> dict[str, BrokerConfig]:
    """Return the settings that have the defaults and the limits of groups; they cannot be changed here."""
    found: dict[str, BrokerConfig] = {}
    for config, low, high in KAFKA_GROUP_CONFIGS.values():
        if config.synonym:
            kind, _, name = config.name.partition(".")
            found[config.synonym] = BrokerConfig(config.kind, config.default, config.meaning)
            for limit, value in (("min", low), ("max", high)):
                meaning = f"The {limit}imum of {config.name} of a group."
                found[f"group.{kind}.{limit}.{name}"] = BrokerConfig(config.kind, str(value), meaning)
    return found


BROKER_CONFIGS: Final = dict(sorted((_OF_TOPICS | _of_groups() | _ROWS).items()))
"""The settings by name."""


def broker_values(operations: Operations, node: Node, call: KafkaCall) -> dict[str, str | None]:
    """Return the values in effect of all settings. The advertised listener is that of the call's client."""
    options, store = operations.options, operations.store_options
    groups = group_defaults(options)
    transactions = txn_settings(options)
    values: dict[str, object] = {
        **{synonym: groups[name] for synonym, name in _GROUP_DEFAULTS.items()},
        "advertised.listeners": node.advertised_listener(call),
        "auto.create.topics.enable": str(options.auto_create_topic_enable).lower(),
        "broker.id": node.id,
        **_given("broker.rack", node.rack),
        "connection.failed.authentication.delay.ms": options.kafka_failed_authentication_delay_millis,
        "connections.max.idle.ms": options.kafka_connections_max_idle_millis,
        "connections.max.reauth.ms": options.kafka_connections_max_reauth_millis,
        "errors.deadletterqueue.auto.create.topics.enable": str(
            options.kafka_dead_letter_topic_auto_create
        ).lower(),
        "errors.deadletterqueue.topic.name.prefix": options.kafka_dead_letter_topic_prefix,
        "fetch.max.bytes": options.kafka_fetch_max_bytes,
        "group.consumer.max.size": options.kafka_group_max_size,
        "group.consumer.migration.policy": "disabled",
        "group.coordinator.rebalance.protocols": "classic,consumer",
        "group.initial.rebalance.delay.ms": options.kafka_group_initial_rebalance_delay_millis,
        "group.max.session.timeout.ms": options.kafka_group_max_session_timeout_millis,
        "group.max.size": options.kafka_group_max_size,
        "group.min.session.timeout.ms": options.kafka_group_min_session_timeout_millis,
        "group.share.max.share.sessions": options.kafka_group_share_max_share_sessions,
        "group.share.max.size": options.kafka_group_share_max_size,
        "listeners": node.listener,
        "log.cleaner.dedupe.buffer.size": store.max_offset_map_size,
        "log.cleaner.enable": str(store.enable_compaction).lower(),
        "log.dirs": operations.storage.folder,
        "log.retention.check.interval.ms": store.topic_retention_check_interval,
        "log.retention.hours": store.file_reserved_time,
        "max.incremental.fetch.session.cache.slots": SESSIONS_MAX,
        "message.max.bytes": options.kafka_message_max_bytes,
        MIN_IN_SYNC: store.min_in_sync_replicas,
        "node.id": node.id,
        "num.partitions": options.kafka_num_partitions,
        "offset.metadata.max.bytes": options.kafka_offset_metadata_max_bytes,
        "offsets.retention.minutes": options.kafka_offsets_retention_minutes,
        "offsets.topic.num.partitions": 1,
        "offsets.topic.replication.factor": 1,
        "process.roles": "broker,controller",
        "producer.id.expiration.ms": store.kafka_producer_id_expiration_millis,
        **_given("replica.selector.class", options.kafka_replica_selector_class),
        "socket.request.max.bytes": options.kafka_max_request_size,
        "ssl.principal.mapping.rules": options.kafka_principal_mapping_rules,
        "telemetry.max.bytes": PUSH_BYTES_MAX,
        "transaction.abort.timed.out.transaction.cleanup.interval.ms": transactions.timeout_interval,
        "transaction.max.timeout.ms": transactions.timeout_max,
        "transaction.remove.expired.transaction.cleanup.interval.ms": transactions.expiry_interval,
        "transaction.state.log.num.partitions": 1,
        "transaction.state.log.replication.factor": 1,
        "transactional.id.expiration.ms": transactions.id_retention,
    }
    values |= _sasl_values(options)
    return {
        name: str(values[name]) if name in values else config.default
        for name, config in BROKER_CONFIGS.items()
    }


def _given(name: str, value: str | None) -> dict[str, str]:
    """Return a setting that has a value."""
    return {name: value} if value else {}


def _sasl_values(options: BrokerOptions) -> dict[str, object]:
    """Return the values of settings of SASL and of delegation tokens that are set."""
    values = {
        "delegation.token.expiry.time.ms": options.kafka_delegation_token_expiry_time_millis,
        "delegation.token.max.lifetime.ms": options.kafka_delegation_token_max_lifetime_millis,
        "sasl.enabled.mechanisms": options.kafka_sasl_mechanisms,
        "sasl.oauthbearer.allow.unverified.audience": str(
            options.kafka_oauthbearer_allow_unverified_audience
        ).lower(),
        "sasl.oauthbearer.allow.unverified.issuer": str(
            options.kafka_oauthbearer_allow_unverified_issuer
        ).lower(),
        "sasl.oauthbearer.clock.skew.seconds": options.kafka_oauthbearer_clock_skew_seconds,
        "sasl.oauthbearer.expected.audience": options.kafka_oauthbearer_expected_audience,
        "sasl.oauthbearer.expected.issuer": options.kafka_oauthbearer_expected_issuer,
        "sasl.oauthbearer.jwks.endpoint.refresh.ms": options.kafka_oauthbearer_jwks_refresh_millis,
        "sasl.oauthbearer.jwks.endpoint.url": options.kafka_oauthbearer_jwks_url,
        "sasl.oauthbearer.scope.claim.name": options.kafka_oauthbearer_scope_claim_name,
        "sasl.oauthbearer.sub.claim.name": options.kafka_oauthbearer_sub_claim_name,
    }
    return {name: value for name, value in values.items() if value != ""}
