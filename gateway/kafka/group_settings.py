"""Settings of groups, which their attributes in RocketMQ's table of groups have."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from mqgateway.engine.tables.kafka_configs import PREFIX
from mqgateway.engine.tables.kafka_group_configs import DEAD_LETTER_TOPIC, KAFKA_GROUP_CONFIGS, SHARE_RESET
from mqgateway.gateway.broker.operations import Operations
from mqgateway.gateway.kafka.consumer_groups.settings import ConsumerGroupSettings
from mqgateway.gateway.kafka.group_names import kafka_group, store_group
from mqgateway.gateway.kafka.share_groups.settings import ShareGroupSettings

CONSUMER_DEFAULTS, SHARE_DEFAULTS = ConsumerGroupSettings(), ShareGroupSettings()


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
        values = own_settings(self._operations, group_id)
        if not values:
            return CONSUMER_DEFAULTS
        own = _Own(values)
        return ConsumerGroupSettings(
            session_timeout=own.number("consumer.session.timeout.ms"),
            heartbeat_interval=own.number("consumer.heartbeat.interval.ms"),
            assignment_interval=own.number("consumer.assignment.interval.ms"),
        )

    def share(self, group_id: str) -> ShareGroupSettings:
        """Return the settings of a share group."""
        values = own_settings(self._operations, group_id)
        if not values:
            return SHARE_DEFAULTS
        own = _Own(values)
        return ShareGroupSettings(
            session_timeout=own.number("share.session.timeout.ms"),
            heartbeat_interval=own.number("share.heartbeat.interval.ms"),
            assignment_interval=own.number("share.assignment.interval.ms"),
            record_lock_duration=own.number("share.record.lock.duration.ms"),
            delivery_count_limit=own.number("share.delivery.count.limit"),
            partition_max_record_locks=own.number("share.partition.max.record.locks"),
            auto_offset_reset=own.text(SHARE_RESET),
            is_read_committed=own.text("share.isolation.level") == "read_committed",
            can_renew=own.text("share.renew.acknowledge.enable") == "true",
            dead_letter_topic=own.text(DEAD_LETTER_TOPIC),
            copies_dead_letters=own.text("errors.deadletterqueue.copy.record.enable") == "true",
        )


class _Own:
    """Settings that a group has itself, completed by the defaults."""

    def __init__(self, values: Mapping[str, str]) -> None:
        self._values = values

    def text(self, name: str) -> str:
        row = KAFKA_GROUP_CONFIGS[name]
        value = self._values.get(name)
        return row.config.default if value is None or row.problem(value) is not None else value

    def number(self, name: str) -> int:
        return int(self.text(name))
