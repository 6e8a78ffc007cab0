"""Defaults of groups whose partitions the broker assigns."""

import pytest

from mqgateway.engine.errors import ConfigError
from mqgateway.engine.options import BrokerOptions, OptionSet
from mqgateway.engine.options.kafka_groups import KafkaGroupOptions
from mqgateway.engine.options.option import options_of
from mqgateway.engine.tables.kafka_group_configs import KAFKA_GROUP_CONFIGS


def test_defaults_are_those_of_the_settings_of_groups() -> None:
    shown = {option.default for option in options_of(KafkaGroupOptions)}
    assert shown == {int(row.config.default) for row in KAFKA_GROUP_CONFIGS.values() if row.config.synonym}


def test_delivery_count_is_at_least_two() -> None:
    options = BrokerOptions()
    OptionSet(options).set("kafkaGroupShareDeliveryCountLimit", "2")
    with pytest.raises(ConfigError):
        OptionSet(options).set("kafkaGroupShareDeliveryCountLimit", "1")
    assert options.kafka_group_share_delivery_count_limit == 2
