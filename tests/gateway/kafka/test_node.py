"""The node and the cluster that Kafka clients see."""

from typing import Any

import pytest

from mqgateway.engine.options import BrokerOptions
from mqgateway.gateway.kafka.call import Address
from mqgateway.gateway.kafka.node import Node


class Options:
    """Operations, as far as a node needs them; also a call."""

    local = Address("192.168.1.9", 9094)

    def __init__(self, **settings: Any) -> None:
        self.options = BrokerOptions(**settings)
        self.replicas = self
        self.own_id = 4


def node(host: str = "", requires_tls: bool = False, **settings: Any) -> tuple[Node, Any]:
    """Return a node, and a call."""
    operations: Any = Options(**settings)
    return Node(operations, "10.0.0.1", 9092, host=host, requires_tls=requires_tls), operations


def test_the_address_is_that_of_the_setting_the_broker_or_the_client() -> None:
    one, call = node()
    assert one.address(call) == ("10.0.0.1", 9092)
    one, call = node(kafka_advertised_address="[::1]:9093")
    assert one.address(call) == ("::1", 9093)
    one, call = node(kafka_advertised_address="client")
    assert one.address(call) == ("192.168.1.9", 9094)


@pytest.mark.parametrize(
    ("host", "listener"),
    [("", "PLAINTEXT://:9092"), ("0.0.0.0", "PLAINTEXT://0.0.0.0:9092"), ("::", "PLAINTEXT://[::]:9092")],
)
def test_listener_has_the_interface_and_the_port(host: str, listener: str) -> None:
    assert node(host)[0].listener == listener


def test_listener_that_requires_tls_is_ssl() -> None:
    one, call = node(requires_tls=True)
    assert (one.listener, one.advertised_listener(call)) == ("SSL://:9092", "SSL://10.0.0.1:9092")


def test_listener_of_a_broker_that_authenticates_is_sasl() -> None:
    operations: Any = Options()
    listeners = [
        Node(operations, "10.0.0.1", 9092, requires_tls=requires_tls, has_sasl=True).listener
        for requires_tls in (False, True)
    ]
    assert listeners == ["SASL_PLAINTEXT://:9092", "SASL_SSL://:9092"]


def test_advertised_listener_has_the_address_that_clients_are_given() -> None:
    one, call = node(kafka_advertised_address="[::1]:9093")
    assert one.advertised_listener(call) == "PLAINTEXT://[::1]:9093"
    one, call = node(kafka_advertised_address="client")
    assert one.advertised_listener(call) == "PLAINTEXT://192.168.1.9:9094"


def test_brokers_of_one_cluster_have_one_cluster_id_and_ids_of_their_own() -> None:
    first, _ = node(kafka_node_id=1)
    second, _ = node(kafka_node_id=2)
    other, _ = node(broker_cluster_name="Other")
    assert (first.id, second.id) == (1, 2)
    assert first.cluster_id == second.cluster_id != other.cluster_id and len(first.cluster_id) == 22


def test_node_has_the_number_of_its_broker_and_a_rack_only_if_settings_name_none_and_one() -> None:
    assert (node()[0].id, node()[0].rack) == (4, None)
    one, _ = node(kafka_node_id=0, kafka_rack="r1")
    assert (one.id, one.rack) == (0, "r1")
