"""Settings for clients of a broker."""

import pytest

from mqgateway.engine.options import BrokerOptions, OptionSet, RequestMode, Setting
from mqgateway.engine.options.clients import ConnectedClientOptions, FilterOptions


def test_broker_options_include_settings_of_clients() -> None:
    assert issubclass(BrokerOptions, ConnectedClientOptions) and issubclass(BrokerOptions, FilterOptions)


@pytest.mark.parametrize(("text", "mode"), [("PULL", RequestMode.PULL), ("POP", RequestMode.POP)])
def test_consumption_mode_is_read_by_name(text: str, mode: RequestMode) -> None:
    options = OptionSet(BrokerOptions())
    assert options.set("defaultMessageRequestMode", text) == mode


def test_unknown_consumption_mode_is_refused_with_the_nearest_name() -> None:
    (problem,) = OptionSet(BrokerOptions()).check([Setting("defaultMessageRequestMode", "PUL")])
    assert problem.what == "not one of PULL, POP" and problem.suggestion.endswith("=PULL")
