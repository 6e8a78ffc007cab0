"""Settings that all groups of Kafka clients have whose partitions the broker assigns.

A group can have values of its own (`engine.tables.kafka_group_configs`). Standard: `GroupCoordinatorConfig`,
`ShareGroupConfig` of Apache Kafka 4.4.0.
"""

from mqgateway.engine.options.option import INT_MAX, option
from mqgateway.engine.options.option_set import Options


class KafkaGroupOptions(Options):
    """Defaults of consumer groups (KIP-848) and of share groups (KIP-932)."""

    kafka_group_consumer_assignment_interval_millis: int = option(
        1000,
        "Time between two assignments of a consumer group (`group.consumer.assignment.interval.ms`).",
        unit="ms",
        high=INT_MAX,
        ours=True,
    )
    kafka_group_consumer_heartbeat_interval_millis: int = option(
        5000,
        "Time between two heartbeats of a member of a consumer group "
        "(`group.consumer.heartbeat.interval.ms`).",
        unit="ms",
        low=1,
        high=INT_MAX,
        ours=True,
    )
    kafka_group_consumer_session_timeout_millis: int = option(
        45_000,
        "Time until a silent member of a consumer group is removed (`group.consumer.session.timeout.ms`).",
        unit="ms",
        low=1,
        high=INT_MAX,
        ours=True,
    )
    kafka_group_share_assignment_interval_millis: int = option(
        1000,
        "Time between two assignments of a share group (`group.share.assignment.interval.ms`).",
        unit="ms",
        high=INT_MAX,
        ours=True,
    )
    kafka_group_share_delivery_count_limit: int = option(
        5,
        "Maximum number of deliveries of a record to a share group (`group.share.delivery.count.limit`).",
        low=2,
        high=INT_MAX,
        ours=True,
    )
    kafka_group_share_heartbeat_interval_millis: int = option(
        5000,
        "Time between two heartbeats of a member of a share group (`group.share.heartbeat.interval.ms`).",
        unit="ms",
        low=1,
        high=INT_MAX,
        ours=True,
    )
    kafka_group_share_partition_max_record_locks: int = option(
        2000,
        "Maximum number of records of a partition that are in flight to a share group "
        "(`group.share.partition.max.record.locks`).",
        low=100,
        high=INT_MAX,
        ours=True,
    )
    kafka_group_share_record_lock_duration_millis: int = option(
        30_000,
        "Time for which a member of a share group acquires a record (`group.share.record.lock.duration.ms`).",
        unit="ms",
        low=1000,
        high=INT_MAX,
        ours=True,
    )
    kafka_group_share_session_timeout_millis: int = option(
        45_000,
        "Time until a silent member of a share group is removed (`group.share.session.timeout.ms`).",
        unit="ms",
        low=1,
        high=INT_MAX,
        ours=True,
    )
