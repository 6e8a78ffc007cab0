"""Settings of a controller, compared with RocketMQ's."""

import pytest

from mqgateway.engine.options import NamesrvOptions, OptionSet, Setting
from mqgateway.engine.options.access import AccessOptions
from mqgateway.engine.options.controller import ControllerOptions
from tests.support.engine.options.standard import differences

OURS = {
    "controllerEtcdCaFile",
    "controllerEtcdCertFile",
    "controllerEtcdEndpoints",
    "controllerEtcdKeyFile",
    "controllerEtcdLeaseSeconds",
    "controllerEtcdPassword",
    "controllerEtcdUser",
    "healthHost",
    "healthPort",
    "logLevels",
    "maxBrokers",
    "metricsUnitSuffixes",
}
ACCESS = set(OptionSet(AccessOptions()).names())


def test_every_property_is_known_by_type_and_default() -> None:
    options = OptionSet(ControllerOptions())
    assert differences(options, "ControllerConfig") == {}
    assert {name for name in options.names() if options.option(name).ours} - ACCESS == OURS


def test_a_name_server_may_have_them_beside_its_own() -> None:
    """Two names are in both; their defaults are the name server's then."""
    options = OptionSet(NamesrvOptions(), ControllerOptions())
    assert differences(options, "NamesrvConfig") == {}
    assert differences(options, "ControllerConfig") == {
        "configBlackList": "configBlackList;configStorePath;kvConfigPath"
    }


def test_the_standards_other_kind_is_refused() -> None:
    (problem,) = OptionSet(ControllerOptions()).apply([Setting("controllerType", "jRaft")])
    assert problem.severity == "error"


@pytest.mark.parametrize("name", ["jRaftGroupId", "mappedFileSize", "isProcessReadEvent"])
def test_setting_without_effect_is_accepted(name: str) -> None:
    assert OptionSet(ControllerOptions()).option(name).no_effect
