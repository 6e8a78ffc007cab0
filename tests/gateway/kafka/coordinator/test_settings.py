"""Defaults are those of Apache Kafka 4.4.0."""

from mqgateway.gateway.kafka.coordinator.settings import GroupSettings


def test_defaults_are_those_of_kafka() -> None:
    settings = GroupSettings()
    assert (settings.min_session_timeout, settings.max_session_timeout) == (6000, 1_800_000)
    assert (settings.initial_rebalance_delay, settings.new_member_timeout) == (3000, 300_000)
    assert (settings.offset_metadata_max, settings.offsets_retention) == (4096, 10080 * 60_000)
