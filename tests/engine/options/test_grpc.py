from mqgateway.engine.options import BrokerOptions, OptionSet


def test_there_is_no_grpc_unless_a_port_is_set() -> None:
    options = BrokerOptions()
    assert options.grpc_server_port == 0
    OptionSet(options).set("grpcServerPort", "8081")
    assert options.grpc_server_port == 8081


def test_limits_are_the_standards() -> None:
    options = BrokerOptions()
    assert options.grpc_max_inbound_message_size == 130 * 1024 * 1024
    assert options.grpc_client_idle_time_mills == 120_000
