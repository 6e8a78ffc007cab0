"""Who asks by a door without commands is let in by the same users, policies and accounts."""

from __future__ import annotations

import pytest

from mqgateway.gateway.access.asker import Asker


@pytest.mark.parametrize(
    "address,ip", [("10.0.0.9:5000", "10.0.0.9"), ("[::1]:5000", "::1"), ("::1:5000", "::1")]
)
def test_from_where_somebody_asks(address: str, ip: str) -> None:
    assert Asker("alice", bool, address, "Request").ip == ip
