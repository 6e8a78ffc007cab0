"""Settings of a name server, compared with RocketMQ's."""

from mqgateway.engine.options import NamesrvOptions, OptionSet, Setting
from tests.support.engine.options.standard import differences


def test_every_property_is_known_by_type_and_default() -> None:
    assert differences(OptionSet(NamesrvOptions()), "NamesrvConfig") == {}


def test_a_controller_runs_only_where_it_is_asked_for() -> None:
    options = NamesrvOptions()
    assert not options.enable_controller_in_namesrv
    assert OptionSet(options).apply([Setting("enableControllerInNamesrv", "true")]) == []
    assert options.enable_controller_in_namesrv
