"""Settings of a name server are the standard's."""

from mqgateway.engine.options import NamesrvOptions, OptionSet, Setting
from tests.support.engine.options.standard import differences


def test_every_property_is_known_by_type_and_default() -> None:
    """A name server may hold a controller's settings, which share two names with its own."""
    options = OptionSet(NamesrvOptions())
    assert differences(options, "NamesrvConfig") == {}
    assert differences(options, "ControllerConfig") == {
        "configBlackList": "configBlackList;configStorePath;kvConfigPath"
    }


def test_a_controller_is_refused() -> None:
    (problem,) = OptionSet(NamesrvOptions()).apply([Setting("enableControllerInNamesrv", "true")])
    assert problem.severity == "error"
