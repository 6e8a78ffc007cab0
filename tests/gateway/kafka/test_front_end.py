"""Kafka as it is declared."""

from mqgateway.engine.options import BrokerOptions
from mqgateway.gateway.kafka.front_end import KAFKA
from tests.support.gateway.kafka.client import kafka_scene


def test_the_port_is_that_of_its_setting() -> None:
    assert KAFKA.port_in(BrokerOptions()) == 0
    assert KAFKA.port_in(BrokerOptions(kafka_port=9092)) == 9092
    assert KAFKA.flag == "--kafka-port" and KAFKA.serve_port == 9092


def test_the_test_server_has_the_address_for_clients() -> None:
    with kafka_scene() as scene:
        assert scene.server.kafka_bootstrap_servers == f"10.0.0.1:{scene.port}"
