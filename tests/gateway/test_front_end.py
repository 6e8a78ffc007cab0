"""Declarations of front ends."""

from mqgateway.engine.options import BrokerOptions
from mqgateway.gateway.front_ends import FRONT_ENDS
from tests.support.gateway.line_protocol.front_end import LINES


def test_host_is_bind_address_unless_the_front_end_has_its_own() -> None:
    options = BrokerOptions(console_host="10.0.0.3")
    hosts = {one.name: one.host_in(options, "10.0.0.1") for one in FRONT_ENDS}
    assert hosts == {"grpc": "10.0.0.1", "kafka": "10.0.0.1", "console": "10.0.0.3"}


def test_port_of_a_front_end_without_setting_is_zero() -> None:
    assert LINES.port_in(BrokerOptions()) == 0


def test_parameter_and_description_are_made_of_the_flag() -> None:
    assert LINES.parameter == "line_port"
    assert LINES.described_setting == "linePort (--line-port)"
