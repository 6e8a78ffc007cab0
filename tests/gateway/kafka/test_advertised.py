"""The address in `kafkaAdvertisedAddress`."""

import pytest

from mqgateway.engine.options import BrokerOptions
from mqgateway.gateway.kafka.advertised import advertised_address


@pytest.mark.parametrize(
    ("setting", "address"),
    [
        ("", ("a", 1)),
        ("client", ("a", 1)),
        ("kafka.example:9093", ("kafka.example", 9093)),
        ("[::1]:2", ("::1", 2)),
    ],
)
def test_setting_names_the_address_or_leaves_it(setting: str, address: tuple[str, int]) -> None:
    assert advertised_address(BrokerOptions(kafka_advertised_address=setting), "a", 1) == address
