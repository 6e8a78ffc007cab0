"""Addresses of each form."""

from __future__ import annotations

import pytest

from mqgateway.gateway.access.errors import AccessError
from mqgateway.gateway.access.plain.addresses import parse_white_address


@pytest.mark.parametrize(
    ("text", "inside", "outside"),
    [
        ("*", "10.0.0.1 2001:db8::1 unknown", ""),
        ("*.*.*.*", "10.0.0.1 ::1", ""),
        ("*:*:*:*:*:*:*:*", "10.0.0.1 ::1", ""),
        (None, "", "10.0.0.1 unknown"),
        ("  ", "", "10.0.0.1"),
        ("10.0.0.7", "10.0.0.7", "10.0.0.8 10.0.0.70 ::a00:7 unknown"),
        ("2001:DB8::7", "2001:db8::7 2001:db8:0:0:0:0:0:7 2001:db8::7%eth0", "2001:db8::8"),
        ("10.0.0.7,10.0.0.9", "10.0.0.7 10.0.0.9", "10.0.0.8"),
        ("10.0.0.{7,9}", "10.0.0.7 10.0.0.9", "10.0.0.8"),
        ("2001:db8::{7,9}", "2001:db8::9", "2001:db8::8"),
        ("10.0.0.*", "10.0.0.0 10.0.0.255", "10.0.1.0 9.255.255.255"),
        ("10.0.*.*", "10.0.0.0 10.0.255.255", "10.1.0.0"),
        ("10.*.*.*", "10.0.0.0 10.255.255.255", "11.0.0.0"),
        ("10.0.0.7-20", "10.0.0.7 10.0.0.20", "10.0.0.6 10.0.0.21 10.0.1.7"),
        ("10.0.7-20.*", "10.0.7.0 10.0.20.255", "10.0.6.255 10.0.21.0"),
        ("2001:db8::*", "2001:db8::0 2001:db8::ffff", "2001:db8::1:0"),
        ("2001:db8::1-ff", "2001:db8::1 2001:db8::ff", "2001:db8:: 2001:db8::100"),
        ("2001:db8::1-ff:*", "2001:db8::1:0 2001:db8::ff:ffff", "2001:db8::1 2001:db8::100:0"),
        ("1:2:3:4:5:6:7:*", "1:2:3:4:5:6:7:abcd", "1:2:3:4:5:6:8:0 10.0.0.1"),
    ],
)
def test_forms(text: str | None, inside: str, outside: str) -> None:
    addresses = parse_white_address(text)
    assert [ip for ip in inside.split() if not addresses.match(ip)] == []
    assert [ip for ip in outside.split() if addresses.match(ip)] == []


@pytest.mark.parametrize(
    "text",
    [
        "1.2.3",
        "1.2.3.256",
        "1.2.3.4.5",
        "host.example",
        "10.0.0.1,10.0.0.*",
        "10.0.0.7}",
        "10.0.0{7,9}",
        "10.0.0.{7,x}",
        "10.*",
        "*.0.0.1",
        "10.*.0.1",
        "10.0.7-20.1",
        "10.0.0.20-7",
        "10.0.0.-7",
        "10.0.0.7-",
        "10.0.0.7-300",
        "10.0.0.1-2-3",
        "-",
        "2001:db8::fffff",
        "2001:db8::1-10000",
        "2001:*:1",
    ],
)
def test_invalid_address_is_refused_with_its_text(text: str) -> None:
    with pytest.raises(AccessError, match="Netaddress examine") as refusal:
        parse_white_address(text)
    assert text.split(",")[-1].strip("{}") in str(refusal.value)
