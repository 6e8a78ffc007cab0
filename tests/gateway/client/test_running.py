"""Rates and means over the last minute, failures over the last hour."""

from __future__ import annotations

from mqgateway.gateway.client.running import ConsumerStats
from mqgateway.gateway.codec.bodies import ConsumeStatus


def test_rates_are_those_of_the_last_minute() -> None:
    stats = ConsumerStats()
    stats.consumed("T", 10, 1000, 0, 0)
    for second in range(1, 121):
        now = second * 1000
        stats.pulled("T", 30, 32, now)
        stats.consumed("T", 5, 30, 2, now)
        if second % 10 == 0:
            stats.tick(now)
    status = stats.status("T", 120_000)
    assert (status.pull_tps, status.consume_ok_tps, status.consume_failed_tps) == (32.0, 30.0, 2.0)
    assert (status.pull_rt, status.consume_rt) == (30.0, 5.0)
    assert status.consume_failed_msgs == 240


def test_failures_are_forgotten_after_an_hour() -> None:
    stats = ConsumerStats()
    stats.consumed("T", 1, 0, 5, 0)
    for minute in range(1, 130):
        stats.tick(minute * 60_000)
    assert stats.status("T", 130 * 60_000).consume_failed_msgs == 0
    assert len(stats._topics["T"].samples) < 70


def test_a_topic_without_messages_has_no_rates() -> None:
    assert ConsumerStats().status("T", 5) == ConsumeStatus()
