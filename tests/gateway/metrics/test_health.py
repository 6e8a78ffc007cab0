from types import SimpleNamespace
from typing import Any, cast

from mqgateway.engine.options import NamesrvOptions
from mqgateway.gateway.container.plan import BrokerIdentity, BrokerPlan
from mqgateway.gateway.container.supervision import Charge, ChildState, Supervision
from mqgateway.gateway.metrics.health import fleet_health, is_ready, name_server_health


def test_a_name_server_that_holds_routes_back_is_not_ready() -> None:
    server = SimpleNamespace(is_ready=lambda: False, options=NamesrvOptions())
    assert not is_ready(name_server_health(cast(Any, server)))
    server.is_ready = lambda: True
    assert is_ready(name_server_health(cast(Any, server)))


def test_a_container_is_ready_when_all_its_brokers_are_up() -> None:
    charge = Charge(
        BrokerPlan(BrokerIdentity("C", "a", 0), "/a.conf", 10911), state=ChildState.UP, address="h:10911"
    )
    supervision = cast(Supervision, [charge])
    assert is_ready(fleet_health(supervision))
    charge.state = ChildState.WAITING
    found = fleet_health(supervision)
    assert not is_ready(found)
    assert found["C_a_0"].state.startswith("waiting to be started again")
