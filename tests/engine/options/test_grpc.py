import pytest

from mqgateway.engine.options import BrokerOptions, OptionSet
from mqgateway.engine.options.grpc import ports_by_broker
from mqgateway.engine.options.option import BadValue


def test_there_is_no_grpc_unless_a_port_is_set() -> None:
    options = BrokerOptions()
    assert options.grpc_server_port == 0
    OptionSet(options).set("grpcServerPort", "8081")
    assert options.grpc_server_port == 8081


def test_limits_are_the_standards() -> None:
    options = BrokerOptions()
    assert options.grpc_max_inbound_message_size == 130 * 1024 * 1024
    assert options.grpc_client_idle_time_mills == 120_000


def test_ports_of_other_brokers_are_pairs() -> None:
    assert ports_by_broker("") == {}
    assert ports_by_broker(" a:8081; b-1:8091;") == {"a": 8081, "b-1": 8091}


@pytest.mark.parametrize("text", ["a", "a:", ":8081", "a:0", "a:65536", "a:eight"])
def test_ports_of_other_brokers_refuse_other_text(text: str) -> None:
    with pytest.raises(BadValue):
        ports_by_broker(text)
