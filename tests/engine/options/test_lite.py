"""Settings of lite topics."""

from mqgateway.engine.options import BrokerOptions, OptionSet, Setting
from mqgateway.engine.options.lite import LiteOptions


def test_the_defaults_are_the_standards() -> None:
    options = LiteOptions()
    assert options.enable_lite_event_mode
    assert (options.max_client_event_count, options.min_lite_t_tl) == (100, 900_000)


def test_an_odd_name_is_the_standards_and_nonsense_is_refused() -> None:
    options = OptionSet(BrokerOptions())
    assert options.apply([Setting("minLiteTTl", "5")]) == []
    assert len(options.apply([Setting("maxClientEventCount", "0")])) == 1
