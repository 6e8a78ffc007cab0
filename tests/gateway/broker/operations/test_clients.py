"""Clients that front ends register."""

from __future__ import annotations

import pytest

from mqgateway.engine.lite.subscriptions import Subscriber
from mqgateway.gateway.broker.operations import (
    CLUSTERING,
    CONSUME_ACTIVELY,
    GRPC,
    Action,
    Client,
    OperationError,
    Reason,
    SubscriptionChange,
    Use,
)
from mqgateway.gateway.codec.bodies.heartbeat import (
    ConsumerData,
    HeartbeatData,
    ProducerData,
    SubscriptionData,
)
from mqgateway.gateway.codec.codes import CURRENT_VERSION
from tests.support.gateway.broker.helpers import FakePeer
from tests.support.gateway.broker.operating import OperatedBroker


def registered(operated: OperatedBroker, peer: FakePeer) -> None:
    """Register a client that consumes in G and produces in P."""
    subscription = SubscriptionData("T", "*", 0, "TAG")
    heartbeat = HeartbeatData(
        "c1",
        consumer_data_set=[ConsumerData("G", CONSUME_ACTIVELY, CLUSTERING, "", [subscription])],
        producer_data_set=[ProducerData("P")],
    )

    def client(client_id: str) -> Client:
        outgoing: object = None
        return Client(peer, client_id, "OTHER", CURRENT_VERSION, outgoing, GRPC)  # type: ignore[arg-type]

    operated.operations.clients.register(operated.permit(Use.CONNECT), peer, heartbeat, client)


def test_registered_client_is_a_member_until_it_leaves() -> None:
    operated, peer = OperatedBroker(), FakePeer()
    registered(operated, peer)
    table, clients = operated.broker.clients, operated.operations.clients
    assert table.consumer_ids("G") == ["c1"] and "P" in table.producer_groups
    clients.leave_consumers(operated.permit(Use.CONNECT), peer, "c1", "G")
    clients.leave_producers(operated.permit(Use.CONNECT), peer, "P")
    assert not table.consumer_ids("G") and not table.producer_groups.get("P")


def test_lite_subscriptions_of_a_client_are_removed() -> None:
    operated = OperatedBroker()
    change = SubscriptionChange(Action.COMPLETE_REMOVE, Subscriber("c1", "G"), "T", ())
    client: object = None
    permit = operated.permit(Use.CONNECT)
    done = operated.operations.clients.change_lite_subscriptions(permit, [change], client)  # type: ignore[arg-type]
    assert done.called


def test_running_info_of_an_unknown_member_is_refused() -> None:
    operated = OperatedBroker()
    with pytest.raises(OperationError) as refused:
        operated.operations.clients.running_info(operated.permit(Use.QUERY), "G", "c1")
    assert refused.value.reason is Reason.SYSTEM_ERROR
