"""Questions to a broker about itself."""

from __future__ import annotations

import pytest

from mqgateway.gateway.client import admin_broker as broker
from mqgateway.gateway.client.errors import BrokerError
from tests.support.gateway.client.administering import office


def test_settings_are_read_and_changed() -> None:
    with office() as here:
        assert here.ask(broker.settings())["brokerName"] == "broker-a"
        here.ask(broker.update_settings({"autoCreateTopicEnable": "false"}))
        assert here.ask(broker.settings())["autoCreateTopicEnable"] == "false"


def test_figures_and_counters() -> None:
    with office() as here:
        here.send(4)
        here.cluster.settle(30.0)
        assert here.ask(broker.figures())["msgPutTotalTodayNow"]
        assert here.ask(broker.counter("TOPIC_PUT_NUMS", "T")).stats_minute.sum >= 0
        with pytest.raises(BrokerError):
            here.ask(broker.counter("TOPIC_PUT_NUMS", "Unknown"))


def test_files_are_cleaned() -> None:
    with office() as here:
        for question in (
            broker.clean_queues(),
            broker.clean_unused_topics(),
            broker.delete_expired_log(),
            broker.roll_pops_back(),
        ):
            assert here.ask(question) is None


def test_delays_and_timers() -> None:
    with office() as here:
        here.send(1, delay_level=1)
        here.cluster.settle(10.0)
        assert here.ask(broker.delay_offsets()) is not None
        assert len(here.ask(broker.timer_check_point())) == 56
        assert isinstance(here.ask(broker.timer_counts()), dict)
        assert here.ask(broker.switch_timers()) is None
        with pytest.raises(BrokerError):
            here.ask(broker.switch_timers("R"))


def test_cold_reads() -> None:
    with office() as here:
        here.ask(broker.limit_cold_reads({"G": 1_000_000}))
        assert "G" in str(here.ask(broker.cold_reads()))
        here.ask(broker.unlimit_cold_reads("G"))
        assert "G" not in str(here.ask(broker.cold_reads()).get("configTable", {}))
        assert here.ask(broker.set_read_mode(broker.RANDOM_READS)) is not None
        assert here.cluster.broker.store_options.data_read_ahead_enable is False
