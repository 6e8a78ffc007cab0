from mqgateway.engine.options import BrokerOptions, OptionSet


def test_there_is_no_kafka_unless_a_port_is_set() -> None:
    options = BrokerOptions()
    assert options.kafka_port == 0
    OptionSet(options).set("kafkaPort", "9092")
    assert options.kafka_port == 9092


def test_limits_are_those_of_apache_kafka() -> None:
    options = BrokerOptions()
    assert options.kafka_max_request_size == 100 * 1024 * 1024
    assert options.kafka_connections_max_idle_millis == 600_000
    assert options.kafka_num_partitions == 1


def test_the_advertised_address_may_be_that_of_the_client() -> None:
    options = BrokerOptions()
    OptionSet(options).set("kafkaAdvertisedAddress", "client")
    assert options.kafka_advertised_address == "client"
