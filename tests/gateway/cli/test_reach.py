"""Name servers of the brokers of a command; `test_summary` has the texts about who can reach it."""

from __future__ import annotations

import socket

import pytest

from mqgateway.gateway.cli.reach import opened_to, warnings_of, with_own_name_server
from mqgateway.gateway.cli.settings import BrokerSettings, NamesrvSettings


@pytest.mark.parametrize("bind,own", [("0.0.0.0", "127.0.0.1"), ("", "127.0.0.1"), ("10.0.0.1", "10.0.0.1")])
def test_own_name_server_is_the_first(bind: str, own: str) -> None:
    settings = BrokerSettings()
    settings.remoting.bind_address = bind
    settings.broker.namesrv_addr = f"other:9876;localhost:9876;{socket.gethostname()}:9876;localhost:9877"
    assert with_own_name_server(settings, 9876) == f"{own}:9876;other:9876;localhost:9877"


def test_reach_of_servers_on_loopback() -> None:
    namesrv, broker = NamesrvSettings(), BrokerSettings()
    for settings in (namesrv, broker):
        settings.remoting.bind_address = "127.0.0.1"
    broker.broker.broker_ip1 = "127.0.0.1"
    assert "all clients on this machine" in opened_to(namesrv, broker)
    assert "all clients on this machine" in opened_to(namesrv, None)


def test_too_few_open_files_are_reported() -> None:
    (warning, *_) = warnings_of(NamesrvSettings(), None, 100)
    assert warning.startswith("100 open files are allowed")
