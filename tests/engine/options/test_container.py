"""Settings of a container: RocketMQ's, and a few for supervision."""

import pytest

from mqgateway.engine.options import OptionSet, Setting
from mqgateway.engine.options.access import AccessOptions
from mqgateway.engine.options.container import ContainerOptions

STANDARD = {
    "rocketmqHome": "",
    "namesrvAddr": "",
    "fetchNameSrvAddrByDnsLookup": False,
    "fetchNamesrvAddrByAddressServer": False,
    "brokerContainerIP": "",
    "brokerConfigPaths": "",
    "fetchNamesrvAddrInterval": 10000,
    "updateNamesrvAddrInterval": 120000,
    "configBlackList": "configBlackList;brokerConfigPaths",
}
"""`BrokerContainerConfig` of 5.5.0; values that depend on machine and environment are empty."""


def test_every_property_of_the_standard_is_known_by_default() -> None:
    options = OptionSet(ContainerOptions())
    assert {name: options.get(name) for name in STANDARD} == STANDARD
    ours = {name for name in options.names() if options.option(name).ours}
    access = set(OptionSet(AccessOptions()).names())
    assert set(options.names()) - ours - access == set(STANDARD)


@pytest.mark.parametrize("name", ["fetchNameSrvAddrByDnsLookup", "fetchNamesrvAddrByAddressServer"])
def test_setting_without_effect_is_a_warning(name: str) -> None:
    (problem,) = OptionSet(ContainerOptions()).apply([Setting(name, "true")])
    assert (problem.severity, "no effect" in problem.what) == ("warning", True)
