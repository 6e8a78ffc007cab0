"""The caller: headers, addresses, and the call as a connection."""

from __future__ import annotations

from typing import Any

import pytest

from mqgateway.engine.message import pack_host
from mqgateway.gateway.grpc.call import RpcPeer
from mqgateway.gateway.grpc.service.caller import CallConnection, language_of
from tests.support.gateway.grpc.messaging import FakeCall


@pytest.mark.parametrize(
    "text,language",
    [
        ("JAVA", "JAVA"),
        ("golang", "GO"),
        ("DOT_NET", "DOTNET"),
        ("C++", "CPP"),
        ("", "OTHER"),
        ("x", "OTHER"),
    ],
)
def test_a_language_by_its_name_in_the_remoting_protocol(text: str, language: str) -> None:
    assert language_of(text) == language


@pytest.mark.parametrize(
    "host,packed",
    [("10.0.0.9", pack_host("10.0.0.9", 5)), ("fe80::1%eth0", pack_host("fe80::1", 5)), ("?", bytes(8))],
)
def test_the_address_of_a_caller(host: str, packed: bytes) -> None:
    assert RpcPeer(host, 5, "", 0, False).host_bytes == packed


def test_a_call_is_lost_once_when_it_is_over() -> None:
    call, lost = FakeCall("SendMessage"), list[Any]()
    caller = CallConnection(call)
    caller.on_lost(lost.append)
    caller.on_lost(lost.append)
    assert caller.is_open and not lost
    call.leave()
    assert not caller.is_open and lost == [caller]
    caller.on_lost(lost.append)
    assert len(lost) == 2, "of one that is over at once"
