"""Settings of a broker whose role a controller decides."""

from mqgateway.engine.options import BrokerOptions, OptionSet, Setting
from mqgateway.engine.options.controlled import ControlledOptions


def test_nothing_is_on_unless_asked_for() -> None:
    options = BrokerOptions()
    assert not options.enable_controller_mode
    assert options.enable_master_lease
    assert options.controller_heart_beat_timeout_mills == 10_000


def test_controllers_are_named_one_by_one() -> None:
    """The look-up of a domain of controllers is not supported."""
    options = OptionSet(ControlledOptions())
    (problem,) = options.apply([Setting("fetchControllerAddrByDnsLookup", "true")])
    assert problem.severity == "error"
