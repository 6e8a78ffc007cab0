"""Routes: endpoints for clients, and queues of topics."""

from __future__ import annotations

from typing import Any

import pytest
from twisted.internet.defer import succeed

from mqgateway.gateway.codec.bodies import BrokerData, QueueData, TopicRouteData
from mqgateway.gateway.grpc import v2
from tests.support.gateway.grpc.messaging import PORT, Service

Scheme = v2.AddressScheme


def endpoints(service: Service, *pairs: tuple[str, int]) -> tuple[int, list[tuple[str, int]]]:
    """Return scheme and addresses for a client that named these."""
    addresses = [v2.Address(host=host, port=port) for host, port in pairs]
    request = v2.QueryRouteRequest(topic=v2.Resource(name="T"), endpoints=v2.Endpoints(addresses=addresses))
    address = service.ask(request).message_queues[0].broker.endpoints
    return address.scheme, [(one.host, one.port) for one in address.addresses]


def test_client_gets_the_address_that_it_used() -> None:
    service = Service()
    assert endpoints(service, ("mq.example", 18081)) == (Scheme.DOMAIN_NAME, [("mq.example", 18081)])
    assert endpoints(service, ("10.1.1.1", 1), ("10.1.1.2", 2))[1] == [("10.1.1.1", 1), ("10.1.1.2", 2)]
    assert endpoints(service, ("::1", 1)) == (Scheme.IPv6, [("::1", 1)])
    assert endpoints(service) == (Scheme.IPv4, [("127.0.0.1", 18081)]), "as the call names the server"


@pytest.mark.parametrize(
    "options,address",
    [
        ({"use_endpoint_port_from_request": False}, ("mq.example", PORT)),
        ({"grpc_advertised_address": "out.example:9"}, ("out.example", 9)),
        ({"grpc_advertised_address": "[::1]:9"}, ("::1", 9)),
        ({"grpc_advertised_address": "nonsense"}, ("mq.example", 18081)),
    ],
)
def test_addresses_by_settings(options: dict[str, Any], address: tuple[str, int]) -> None:
    assert endpoints(Service(options=options), ("mq.example", 18081))[1] == [address]


def known(service: Service, route: TopicRouteData | None) -> None:
    """Set the answer of the name servers."""
    service.broker.cluster.routes.of = lambda topic: succeed(route)  # type: ignore[method-assign]


TWO = TopicRouteData(
    [QueueData("broker-a", 4, 2, 6, 0), QueueData("broker-b", 1, 1, 4, 0), QueueData("gone", 1, 1, 6, 0)],
    [
        BrokerData("c", "broker-a", {0: "127.0.0.1:10911", 1: "10.0.0.3:10911"}),
        BrokerData("c", "broker-b", {0: "10.0.0.2:10911"}),
    ],
)


def places_of(answer: v2.QueryRouteResponse) -> dict[tuple[str, int], tuple[str, int]]:
    """Return host and port of each broker in a route, by its name and id."""
    return {
        (one.broker.name, one.broker.id): (
            one.broker.endpoints.addresses[0].host,
            one.broker.endpoints.addresses[0].port,
        )
        for one in answer.message_queues
    }


def test_other_brokers_are_at_their_own_hosts_on_the_same_port() -> None:
    service = Service()
    known(service, TWO)
    answer = service.ask(v2.QueryRouteRequest(topic=v2.Resource(name="T")))
    places = places_of(answer)
    assert places == {
        ("broker-a", 0): ("127.0.0.1", 18081),
        ("broker-a", 1): ("10.0.0.3", 18081),
        ("broker-b", 0): ("10.0.0.2", 18081),
    }
    kinds = [
        (one.id, v2.Permission.Name(one.permission))
        for one in answer.message_queues
        if one.broker.name == "broker-a" and one.broker.id == 0
    ]
    assert kinds == [(0, "READ"), (1, "READ"), (2, "READ_WRITE"), (3, "READ_WRITE")]


def test_listed_brokers_are_at_their_own_ports() -> None:
    service = Service(options={"grpc_ports_of_brokers": "broker-b:8091"})
    known(service, TWO)
    places = places_of(service.ask(v2.QueryRouteRequest(topic=v2.Resource(name="T"))))
    assert places["broker-b", 0] == ("10.0.0.2", 8091)
    assert places["broker-a", 1] == ("10.0.0.3", 18081)
    service.broker.options.grpc_ports_of_brokers = "broker-b:8101"
    places = places_of(service.ask(v2.QueryRouteRequest(topic=v2.Resource(name="T"))))
    assert places["broker-b", 0] == ("10.0.0.2", 8101), "the setting changes when a broker is added"


def test_masters_are_asked_for_messages() -> None:
    service = Service()
    known(service, TWO)
    request = v2.QueryAssignmentRequest(topic=v2.Resource(name="T"), group=v2.Resource(name="G"))
    answer = service.ask(request)
    found = [(one.message_queue.broker.name, one.message_queue.id) for one in answer.assignments]
    assert found == [("broker-a", -1), ("broker-b", -1)]
    known(service, TopicRouteData([QueueData("broker-a", 4, 4, 2, 0)], TWO.broker_datas))
    assert service.ask(request).status.code == v2.Code.FORBIDDEN


def test_a_topic_that_name_servers_do_not_know_yet() -> None:
    service = Service()
    known(service, None)
    assert service.ask(v2.QueryRouteRequest(topic=v2.Resource(name="T"))).status.code == v2.Code.OK


@pytest.mark.parametrize("perm,name", [(0, "NONE"), (2, "WRITE"), (4, "READ"), (6, "READ_WRITE")])
def test_permissions_of_queues(perm: int, name: str) -> None:
    service = Service()
    service.topic("P", perm=perm, queues=1)
    (queue,) = service.ask(v2.QueryRouteRequest(topic=v2.Resource(name="P"))).message_queues
    assert v2.Permission.Name(queue.permission) == name


def test_message_types_of_a_topic() -> None:
    service = Service()
    service.topic("M", "MIXED", queues=1)
    (queue,) = service.ask(v2.QueryRouteRequest(topic=v2.Resource(name="M"))).message_queues
    names = [v2.MessageType.Name(one) for one in queue.accept_message_types]
    assert names == ["NORMAL", "FIFO", "DELAY", "TRANSACTION"]
