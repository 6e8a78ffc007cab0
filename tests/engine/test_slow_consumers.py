"""Consumption of slow groups is disabled, if configured, once at a time and with a log line."""

from __future__ import annotations

import logging

import pytest

from mqgateway.engine.clock import ManualClock
from mqgateway.engine.options import BrokerOptions
from mqgateway.engine.slow_consumers import SlowConsumers
from mqgateway.engine.tables.groups import GroupTable
from mqgateway.engine.testing.crash_disk import CrashDisk


class Watch:
    """A broker's groups, and its slow consumers."""

    def __init__(self, is_on: bool = True) -> None:
        self.options = BrokerOptions(
            disable_consume_if_consumer_read_slowly=is_on, consumer_fallbehind_threshold=1000
        )
        self.groups = GroupTable(self.options, CrashDisk(), "/groups.json", ManualClock())
        self.slow_consumers = SlowConsumers(self.options)
        for group in "ab":
            self.groups.find(group)

    def may_consume(self) -> list[str]:
        self.slow_consumers.shut_out(self.groups)
        return [group for group in "ab" if getattr(self.groups.get(group), "consume_enable", False)]


def test_slow_group_is_disabled(caplog: pytest.LogCaptureFixture) -> None:
    watch = Watch()
    watch.slow_consumers.note("a", "T", 0, 1001)
    watch.slow_consumers.note("b", "T", 0, 1000)
    with caplog.at_level(logging.WARNING):
        assert watch.may_consume() == ["b"]
    (record,) = caplog.records
    assert "1001 bytes" in record.getMessage() and "group a" in record.getMessage()


def test_group_that_caught_up_is_not_disabled() -> None:
    watch = Watch()
    watch.slow_consumers.note("a", "T", 0, 5000)
    watch.slow_consumers.note("a", "T", 1, 5000)
    for queue_id in (0, 1):
        watch.slow_consumers.note("a", "T", queue_id, 0)
    assert watch.may_consume() == ["a", "b"]


def test_enabled_again_group_is_checked_again(caplog: pytest.LogCaptureFixture) -> None:
    watch = Watch()
    watch.slow_consumers.note("a", "T", 0, 5000)
    watch.slow_consumers.shut_out(watch.groups)
    known = watch.groups.get("a")
    assert known is not None
    known.consume_enable = True
    assert watch.may_consume() == ["a", "b"]


def test_slow_groups_are_not_disabled_by_default() -> None:
    watch = Watch(is_on=False)
    watch.slow_consumers.note("a", "T", 0, 5000)
    assert watch.may_consume() == ["a", "b"]


def test_groups_that_are_gone_are_passed_over() -> None:
    watch = Watch()
    watch.slow_consumers.note("c", "T", 0, 5000)
    assert watch.may_consume() == ["a", "b"]
    assert "c" not in watch.groups


def test_only_so_many_queues_are_kept() -> None:
    watch = Watch()
    watch.options.max_offsets = 1
    for group in "ab":
        watch.slow_consumers.note(group, "T", 0, 5000)
    assert len(watch.slow_consumers) == 1
    watch.slow_consumers.note("a", "T", 0, 6000)
    assert watch.may_consume() == ["b"]
