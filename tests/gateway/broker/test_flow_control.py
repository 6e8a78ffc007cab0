"""Refusals for too much work: RocketMQ's code, one log line with the cause, and counts."""

from __future__ import annotations

import logging

import pytest

from mqgateway.engine.clock import ManualClock
from mqgateway.engine.options import BrokerOptions
from mqgateway.gateway.broker.errors import Reason
from mqgateway.gateway.broker.flow_control import OVERLOAD, REPORT_MILLIS, FlowControl
from mqgateway.gateway.broker.stats import FLOW_CONTROL_NUMS, BrokerStats


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def stats(clock: ManualClock) -> BrokerStats:
    return BrokerStats(BrokerOptions(), clock.millis())


@pytest.fixture
def flow(clock: ManualClock, stats: BrokerStats) -> FlowControl:
    return FlowControl(clock, stats)


def test_refusal_has_rocketmqs_text(flow: FlowControl) -> None:
    error = flow.refusal("the disk", OVERLOAD)
    assert (error.reason, error.message) == (
        Reason.SYSTEM_BUSY,
        "[OVERLOAD]system busy, start flow control for a while",
    )


def test_refusals_are_counted_by_cause(flow: FlowControl, stats: BrokerStats) -> None:
    for cause in ("the disk", "the disk", "old data"):
        flow.count(cause)
    assert flow.totals == {"the disk": 2, "old data": 1}
    counted = stats.item(FLOW_CONTROL_NUMS, "the disk")
    assert counted is not None and counted.value == 2


def test_cause_is_logged_when_it_begins_and_once_a_minute(
    flow: FlowControl, clock: ManualClock, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING)
    for _ in range(5):
        flow.count("the disk", "topic T")
    clock.advance(REPORT_MILLIS)
    flow.count("the disk", "topic U")
    flow.count("old data")
    assert [record.getMessage() for record in caplog.records] == [
        "flow control, the disk: 1 requests refused, the last for topic T",
        "flow control, the disk: 5 requests refused, the last for topic U",
        "flow control, old data: 1 requests refused, the last for ",
    ]
