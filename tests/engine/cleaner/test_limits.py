"""Settings of compaction, from a topic's attributes."""

from __future__ import annotations

from mqgateway.engine.cleaner.limits import CompactionLimits, compaction_limits, is_compacted


def test_policy_names_compaction() -> None:
    assert not is_compacted({})
    assert is_compacted({"kafka.cleanup.policy": "compact"})
    assert is_compacted({"kafka.cleanup.policy": "delete, compact"})
    assert not is_compacted({"kafka.cleanup.policy": "delete"})


def test_topic_without_settings_has_the_defaults_of_kafka() -> None:
    assert compaction_limits({}) == CompactionLimits(0, 2**63 - 1, 0.5, 86_400_000, 1 << 30, 604_800_000)


def test_settings_are_read() -> None:
    attributes = {
        "kafka.min.compaction.lag.ms": "1",
        "kafka.max.compaction.lag.ms": "90000",
        "kafka.min.cleanable.dirty.ratio": "0.01",
        "kafka.delete.retention.ms": "4",
        "kafka.segment.bytes": "1048576",
        "kafka.segment.ms": "100",
    }
    assert compaction_limits(attributes) == CompactionLimits(1, 90000, 0.01, 4, 1048576, 100)


def test_segments_last_no_longer_than_records_stay_uncompacted() -> None:
    assert compaction_limits({"kafka.max.compaction.lag.ms": "100"}).segment_millis == 100
