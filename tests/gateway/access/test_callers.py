"""Callers of front ends without commands: their IP addresses."""

from __future__ import annotations

import pytest

from mqgateway.gateway.access.callers import FrontEndCaller


@pytest.mark.parametrize(
    "address,ip", [("10.0.0.9:5000", "10.0.0.9"), ("[::1]:5000", "::1"), ("::1:5000", "::1")]
)
def test_caller_ip_strips_port_and_brackets(address: str, ip: str) -> None:
    assert FrontEndCaller("alice", bool, address, "Request").ip == ip
