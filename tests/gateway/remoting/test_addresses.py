"""Addresses in their two forms."""

import os

import pytest
from twisted.internet.address import IPv4Address, IPv6Address, UNIXAddress

from mqgateway.gateway.remoting.addresses import format_address, host_and_port


@pytest.mark.parametrize(
    ("address", "text"),
    [
        (IPv4Address("TCP", "10.0.0.7", 10911), "10.0.0.7:10911"),
        (IPv6Address("TCP", "::ffff:10.0.0.7", 10911), "10.0.0.7:10911"),
        (IPv6Address("TCP", "2001:db8::1", 10911), "[2001:db8::1]:10911"),
        (UNIXAddress(os.fsencode("/run/x")), "0.0.0.0:0"),
    ],
)
def test_addresses_are_shown_as_the_standard_shows_them(address: object, text: str) -> None:
    assert format_address(*host_and_port(address)) == text
