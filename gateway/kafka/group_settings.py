"""Settings of groups: those of their attributes in RocketMQ's table of groups, and the broker's defaults."""

from __future__ import annotations

from collections.abc import Iterator

from mqgateway.engine.options import BrokerOptions
from mqgateway.engine.tables.kafka_configs import PREFIX
from mqgateway.engine.tables.kafka_group_configs import DEAD_LETTER_TOPIC, KAFKA_GROUP_CONFIGS, SHARE_RESET
from mqgateway.gateway.broker.operations import Operations
from mqgateway.gateway.kafka.consumer_groups.settings import ConsumerGroupSettings
from mqgateway.gateway.kafka.group_names import kafka_group, store_group
from mqgateway.gateway.kafka.share_groups.settings import ShareGroupSettings

_KAFKA_DEFAULTS = {name: row.config.default for name, row in KAFKA_GROUP_CONFIGS.items()}


def group_defaults(options: BrokerOptions) -> dict[str, str]:
    """Return the defaults of all settings of groups on a broker, by Kafka's names."""
    numbers = {
        "consumer.assignment.interval.ms": options.kafka_group_consumer_assignment_interval_millis,
        "consumer.heartbeat.interval.ms": options.kafka_group_consumer_heartbeat_interval_millis,
        "consumer.session.timeout.ms": options.kafka_group_consumer_session_timeout_millis,
        "share.assignment.interval.ms": options.kafka_group_share_assignment_interval_millis,
        "share.delivery.count.limit": options.kafka_group_share_delivery_count_limit,
        "share.heartbeat.interval.ms": options.kafka_group_share_heartbeat_interval_millis,
        "share.partition.max.record.locks": options.kafka_group_share_partition_max_record_locks,
        "share.record.lock.duration.ms": options.kafka_group_share_record_lock_duration_millis,
        "share.session.timeout.ms": options.kafka_group_share_session_timeout_millis,
    }
    return _KAFKA_DEFAULTS | {name: str(number) for name, number in numbers.items()}


def own_settings(operations: Operations, group_id: str) -> dict[str, str]:
    """Return the settings that a group has itself, by Kafka's names."""
    config = operations.groups.get(store_group(group_id))
    if config is None or not config.attributes:
        return {}
    attributes = config.attributes
    return {name: attributes[PREFIX + name] for name in KAFKA_GROUP_CONFIGS if PREFIX + name in attributes}


def groups_with_settings(operations: Operations) -> Iterator[str]:
    """Yield the ids of the groups that have settings of their own."""
    for name in operations.groups.names():
        group_id = kafka_group(name)
        if group_id is not None and own_settings(operations, group_id):
            yield group_id


class StoredSettings:
    """The settings of the groups of one broker. Values that are not allowed count as the default."""

    def __init__(self, operations: Operations) -> None:
        self._operations = operations

    def consumer(self, group_id: str) -> ConsumerGroupSettings:
        """Return the settings of a consumer group."""
        values = self._values(group_id)
        return ConsumerGroupSettings(
            session_timeout=int(values["consumer.session.timeout.ms"]),
            heartbeat_interval=int(values["consumer.heartbeat.interval.ms"]),
            assignment_interval=int(values["consumer.assignment.interval.ms"]),
        )

    def share(self, group_id: str) -> ShareGroupSettings:
        """Return the settings of a share group."""
        values = self._values(group_id)
        return ShareGroupSettings(
            session_timeout=int(values["share.session.timeout.ms"]),
            heartbeat_interval=int(values["share.heartbeat.interval.ms"]),
            assignment_interval=int(values["share.assignment.interval.ms"]),
            record_lock_duration=int(values["share.record.lock.duration.ms"]),
            delivery_count_limit=int(values["share.delivery.count.limit"]),
            partition_max_record_locks=int(values["share.partition.max.record.locks"]),
            auto_offset_reset=values[SHARE_RESET],
            is_read_committed=values["share.isolation.level"] == "read_committed",
            can_renew=values["share.renew.acknowledge.enable"] == "true",
            dead_letter_topic=values[DEAD_LETTER_TOPIC],
            copies_dead_letters=values["errors.deadletterqueue.copy.record.enable"] == "true",
        )

    def _values(self, group_id: str) -> dict[str, str]:
        own = own_settings(self._operations, group_id)
        allowed = {name: value for name, value in own.items() if _is_allowed(name, value)}
        return group_defaults(self._operations.options) | allowed


def _is_allowed(name: str, value: str) -> bool:
    return KAFKA_GROUP_CONFIGS[name].problem(value) is None
