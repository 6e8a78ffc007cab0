"""Settings of POP: their effects and ranges."""

import pytest

from mqgateway.engine.options import BrokerOptions, OptionSet, Setting
from mqgateway.engine.options.pop import PopOptions


@pytest.mark.parametrize(
    ("key", "value"),
    [("reviveQueueNum", "0"), ("popFromRetryProbability", "101"), ("maxOrderedQueues", "0")],
)
def test_value_out_of_range_is_refused(key: str, value: str) -> None:
    assert len(OptionSet(BrokerOptions()).apply([Setting(key, value)])) == 1


def test_the_defaults_are_the_standards() -> None:
    options = PopOptions()
    assert (options.pop_from_retry_probability, options.revive_queue_num) == (20, 8)
    assert options.priority_order_asc
    assert not options.enable_retry_topic_v2


def test_an_odd_name_is_the_standards() -> None:
    options = OptionSet(BrokerOptions())
    assert options.apply([Setting("skipWhenCKRePutReachMaxTimes", "true")]) == []
    assert options.get("skipWhenCKRePutReachMaxTimes") is True
