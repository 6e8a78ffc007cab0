"""Settings of share groups."""

from mqgateway.gateway.kafka.share_groups.settings import ShareGroupSettings


def test_defaults_are_those_of_kafka() -> None:
    settings = ShareGroupSettings()
    assert (settings.session_timeout, settings.heartbeat_interval) == (45_000, 5000)
    assert (settings.record_lock_duration, settings.delivery_count_limit) == (30_000, 5)
    assert (settings.partition_max_record_locks, settings.auto_offset_reset) == (2000, "latest")
