"""Clients that front ends register."""

from __future__ import annotations

import pytest

from mqgateway.engine.lite.subscriptions import Subscriber
from mqgateway.gateway.broker.clients.members import GRPC
from mqgateway.gateway.broker.operations import (
    CLUSTERING,
    CONSUME_ACTIVELY,
    GroupClient,
    LiteTopicChange,
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
from mqgateway.gateway.codec.bodies.message_queue import MessageQueue
from mqgateway.gateway.codec.codes import CURRENT_VERSION
from tests.support.gateway.broker.helpers import FakePeer
from tests.support.gateway.broker.operating import OperatedBroker
from tests.support.gateway.coordinated import OneGroup, kafka_group


def registered(operated: OperatedBroker, peer: FakePeer) -> None:
    """Register a client that consumes in G and produces in P."""
    subscription = SubscriptionData("T", "*", 0, "TAG")
    heartbeat = HeartbeatData(
        "c1",
        consumer_data_set=[ConsumerData("G", CONSUME_ACTIVELY, CLUSTERING, "", [subscription])],
        producer_data_set=[ProducerData("P")],
    )

    def client(client_id: str) -> GroupClient:
        outgoing: object = None
        return GroupClient(peer, client_id, "OTHER", CURRENT_VERSION, outgoing, GRPC)  # type: ignore[arg-type]

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
    change = SubscriptionChange(LiteTopicChange.COMPLETE_REMOVE, Subscriber("c1", "G"), "T", ())
    client: object = None
    permit = operated.permit(Use.CONNECT)
    done = operated.operations.clients.change_lite_subscriptions(permit, [change], client)  # type: ignore[arg-type]
    assert done.called


def test_running_info_of_an_unknown_member_is_refused() -> None:
    operated = OperatedBroker()
    with pytest.raises(OperationError) as refused:
        operated.operations.clients.running_info(operated.permit(Use.QUERY), "G", "c1")
    assert refused.value.reason is Reason.SYSTEM_ERROR


def test_group_with_members_of_another_protocol_takes_up_no_others(caplog: pytest.LogCaptureFixture) -> None:
    operated, peer = OperatedBroker(), FakePeer()
    operated.operations.coordinated.attach(OneGroup("G", kafka_group()))
    registered(operated, peer)
    assert not operated.operations.groups.has_members("G")
    assert "cannot join group G" in caplog.text
    operated.operations.coordinated.attach(OneGroup("G", kafka_group(assigned=())))
    registered(operated, peer)
    assert operated.operations.groups.has_members("G")


def test_members_of_all_groups_are_listed_producers_first() -> None:
    operated, peer = OperatedBroker(), FakePeer()
    clients = operated.operations.clients
    registered(operated, peer)
    assert [(one.group, one.client.client_id, one.is_consumer) for one in clients.all_members()] == [
        ("P", "c1", False),
        ("G", "c1", True),
    ]
    assert clients.has_producers("P") and not clients.has_producers("Q")
    assert clients.consumer_groups() == ["G"] and clients.consumers("H") is None


def test_consumers_are_described_by_their_heartbeats() -> None:
    operated, peer = OperatedBroker(), FakePeer()
    clients = operated.operations.clients
    registered(operated, peer)
    assert (clients.consumer_count("G"), clients.consumer_count("H")) == (1, 0)
    found = clients.consumers("G")
    assert found is not None
    assert [client.peer for client in found.clients] == [peer]
    assert (found.consume_type, found.message_model) == (CONSUME_ACTIVELY, CLUSTERING)
    assert list(found.subscriptions) == ["T"]


def test_members_with_different_subscriptions_make_a_group_inconsistent() -> None:
    operated = OperatedBroker()
    clients = operated.operations.clients
    operated.memory.subscribe("G", "T", "a", peer=FakePeer("10.0.0.1:1"))
    assert clients.inconsistent_groups() == []
    operated.memory.subscribe("G", "T", "b", peer=FakePeer("10.0.0.2:1"))
    assert clients.inconsistent_groups() == ["G"]
    assert clients.is_inconsistent("G") and not clients.is_inconsistent("H")


def test_group_that_locks_a_queue_consumes_in_order() -> None:
    operated = OperatedBroker()
    clients = operated.operations.clients
    assert not clients.consumes_in_order("G")
    clients.lock_queues(operated.permit(Use.LOCK), "G", "c1", [MessageQueue("T", "broker-a", 0)])
    assert clients.consumes_in_order("G")
