"""A broker's part in its group is what the rest of the broker takes it for."""

from mqgateway.gateway.broker.replication.group import GroupView, LogReplication
from mqgateway.gateway.broker.replication.membership import BrokerMembership
from mqgateway.gateway.broker.replication.replication import Replication


def test_protocols_are_implemented() -> None:
    for asked, answering in ((GroupView, BrokerMembership), (LogReplication, Replication)):
        names = {name for name in vars(asked) if not name.startswith("_")}
        assert names
        assert all(hasattr(answering, name) for name in names)
