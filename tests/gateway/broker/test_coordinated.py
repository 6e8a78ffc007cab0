from mqgateway.gateway.broker.coordinated import CoordinatorView
from tests.support.gateway.broker.helpers import MemoryBroker
from tests.support.gateway.coordinated import OneGroup, kafka_group


def test_broker_has_no_view_until_a_front_end_attaches_one() -> None:
    broker = MemoryBroker().broker
    assert broker.coordinated is None
    view: CoordinatorView = OneGroup("K", kafka_group())
    broker.attach(view)
    assert broker.coordinated is view
    found = broker.coordinated.group("K")
    assert found is not None and [member.assigned for member in found.members] == [(("T", 0),)]
