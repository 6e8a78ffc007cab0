"""The options -b and -c."""

from __future__ import annotations

import pytest

from mqgateway.gateway.mqadmin.commands import targets
from mqgateway.gateway.mqadmin.connection import Connections
from mqgateway.gateway.mqadmin.declaration import CommandCall, GivenOptions, UsageError
from mqgateway.gateway.mqadmin.servers import Servers
from tests.support.gateway.mqadmin.answers import answering


def _call(**given: str) -> CommandCall:
    tool = answering({})
    servers = Servers(["n:1"], Connections(tool.connect, tool.clock), 5.0)
    return CommandCall(GivenOptions(given), servers, tool.clock.millis, tool.clock.monotonic)


def test_a_broker_or_those_of_a_cluster() -> None:
    assert targets.masters(_call(b="x:1", c="C")) == targets.all_brokers(_call(b="x:1")) == ["x:1"]
    assert targets.masters(_call(c="C")) == ["a:1"]
    assert targets.all_brokers(_call(c="C")) == ["a:1", "a:2"]
    for missing in (targets.masters, targets.all_brokers, targets.titled):
        with pytest.raises(UsageError, match="-b and -c"):
            missing(_call())


def test_titles_say_who_is_whose_slave() -> None:
    assert targets.titled(_call(b="x:1")) == [("x:1", "============x:1============")]
    assert targets.titled(_call(c="C")) == [
        ("a:1", "============Master: a:1============"),
        ("a:2", "============My Master: a:1=====Slave: a:2============"),
    ]
