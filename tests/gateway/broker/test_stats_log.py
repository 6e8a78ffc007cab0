"""stats.log: RocketMQ's lines with every full minute, hour and day, and none if the log is not read."""

import logging
from datetime import datetime

import pytest
from twisted.internet.task import Clock

from mqgateway.engine.clock import ManualClock
from mqgateway.engine.options import BrokerOptions
from mqgateway.engine.steps import run
from mqgateway.gateway.broker import stats_log
from mqgateway.gateway.broker.stats import SECONDS_STEP, BrokerStats, Rate
from mqgateway.gateway.runtime.schedule import Schedule

TEN_O_CLOCK = int(datetime(2024, 5, 6, 10).timestamp() * 1000)
MINUTE = 60_000
LOGGER = "mqgateway.stats"


def counted(*topics: str) -> BrokerStats:
    stats = BrokerStats(BrokerOptions(), TEN_O_CLOCK)
    for topic in topics:
        stats.put(topic, 2, 500)
        stats.put(topic, 1, 100)
    run(stats.tick(TEN_O_CLOCK, SECONDS_STEP))
    return stats


def test_line_has_rocketmqs_form() -> None:
    assert stats_log.line("TOPIC_PUT_NUMS", "T", "Minute", Rate(785717, 15714.344, 8.1351)) == (
        "[TOPIC_PUT_NUMS] [T] Stats In One Minute, SUM: 785717 TPS: 15714.34 AVGPT: 8.14"
    )


@pytest.mark.parametrize(
    ("time", "spans"),
    [
        (datetime(2024, 5, 6, 10, 1), ["minute"]),
        (datetime(2024, 5, 6, 10, 0), ["minute", "hour"]),
        (datetime(2024, 5, 6, 9, 59, 59, 990_000), ["minute", "hour"]),
        (datetime(2024, 5, 6, 0, 0, 3), ["minute", "hour", "day"]),
    ],
)
def test_spans_that_end_at_a_time(time: datetime, spans: list[str]) -> None:
    assert stats_log.spans_that_end(int(time.timestamp() * 1000)) == spans


def test_every_count_is_logged_each_minute(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, LOGGER)
    loop, clock = Clock(), ManualClock(TEN_O_CLOCK - 5_000)
    stats_log.StatsLog(counted("T"), clock, Schedule(loop)).start()
    clock.advance(4_900)
    loop.advance(4.9)
    assert not caplog.messages
    clock.advance(200)
    loop.advance(0.2)
    assert "[TOPIC_PUT_NUMS] [T] Stats In One Minute, SUM: 3 TPS: 0.30 AVGPT: 1.50" in caplog.messages
    assert "[TOPIC_PUT_SIZE] [T] Stats In One Hour, SUM: 600 TPS: 1.00 AVGPT: 300.00" in caplog.messages
    assert (
        "[BROKER_PUT_NUMS] [DefaultCluster] Stats In One Minute, SUM: 3 TPS: 0.30 AVGPT: 0.00"
        in caplog.messages
    )
    assert not [message for message in caplog.messages if "One Day" in message]
    caplog.clear()
    clock.advance(MINUTE)
    loop.advance(60)
    assert len([message for message in caplog.messages if "[T] Stats In One Minute" in message]) == 2
    assert not [message for message in caplog.messages if "One Hour" in message]


def test_many_lines_yield_to_other_work() -> None:
    steps = stats_log.write(counted(*(f"T{number}" for number in range(500))), TEN_O_CLOCK + MINUTE)
    assert sum(1 for _ in steps) >= 500 * 2 / 50


def test_disabled_log_builds_no_lines(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    caplog.set_level(logging.WARNING, LOGGER)
    monkeypatch.setattr(stats_log, "write", lambda *_: pytest.fail("nobody reads this"))
    loop, clock = Clock(), ManualClock(TEN_O_CLOCK)
    stats_log.StatsLog(counted("T"), clock, Schedule(loop)).start()
    clock.advance(MINUTE)
    loop.advance(60)
    assert not caplog.messages
