"""Settings of groups, from their attributes."""

from mqgateway.engine.tables.groups import SubscriptionGroupConfig
from mqgateway.engine.tables.kafka_group_configs import KAFKA_GROUP_CONFIGS
from mqgateway.gateway.kafka.consumer_groups.settings import ConsumerGroupSettings
from mqgateway.gateway.kafka.group_settings import StoredSettings, group_defaults, own_settings
from mqgateway.gateway.kafka.share_groups.settings import ShareGroupSettings
from tests.support.gateway.kafka.broker import KafkaBroker


def test_groups_without_settings_have_the_defaults() -> None:
    settings = StoredSettings(KafkaBroker().operations)
    assert settings.share("g") == ShareGroupSettings()
    assert settings.consumer("g") == ConsumerGroupSettings()


def test_groups_without_settings_have_those_of_the_broker() -> None:
    options = {
        "kafka_group_consumer_session_timeout_millis": 4000,
        "kafka_group_share_delivery_count_limit": 3,
    }
    kafka = KafkaBroker(options=options)
    settings = StoredSettings(kafka.operations)
    assert settings.share("g") == ShareGroupSettings(delivery_count_limit=3)
    assert settings.consumer("g") == ConsumerGroupSettings(session_timeout=4000)
    kafka.broker.tables.groups.put(
        SubscriptionGroupConfig("g", attributes={"kafka.share.delivery.count.limit": "4"})
    )
    assert settings.share("g").delivery_count_limit == 4


def test_defaults_name_settings_of_groups() -> None:
    defaults = group_defaults(KafkaBroker().operations.options)
    assert defaults == {name: row.config.default for name, row in KAFKA_GROUP_CONFIGS.items()}


def test_own_settings_are_used_if_they_are_allowed() -> None:
    kafka = KafkaBroker()
    attributes = {
        "kafka.share.auto.offset.reset": "earliest",
        "kafka.share.isolation.level": "read_committed",
        "kafka.share.renew.acknowledge.enable": "false",
        "kafka.share.delivery.count.limit": "25",
        "kafka.share.partition.max.record.locks": "100",
        "kafka.consumer.session.timeout.ms": "60000",
        "priority.factor": "3",
    }
    kafka.broker.tables.groups.put(SubscriptionGroupConfig("g", attributes=attributes))
    settings = StoredSettings(kafka.operations)
    assert settings.share("g") == ShareGroupSettings(
        auto_offset_reset="earliest",
        is_read_committed=True,
        can_renew=False,
        partition_max_record_locks=100,
    )
    assert settings.consumer("g") == ConsumerGroupSettings(session_timeout=60_000)
    assert own_settings(kafka.operations, "g") == {
        name.removeprefix("kafka."): value for name, value in attributes.items() if name.startswith("kafka.")
    }
