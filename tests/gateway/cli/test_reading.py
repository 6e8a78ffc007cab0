"""Settings of two servers by the flags of one command; `test_main` has the commands' outsides."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from mqgateway.engine.errors import ConfigError
from mqgateway.engine.options import TlsMode
from mqgateway.gateway.cli.reading import apply_all, below, find_out_all
from mqgateway.gateway.cli.settings import ASSUMED_BY_SERVE, BrokerSettings, NamesrvSettings


def given(folder: Path, **more: Any) -> dict[str, Any]:
    """Return the flags of a command without any but the folder."""
    return {"pairs": (), "data_dir": str(folder), "secure": False, "print_config": False, **more}


def read(flags: dict[str, Any]) -> tuple[NamesrvSettings, BrokerSettings]:
    namesrv, broker = NamesrvSettings(), BrokerSettings()
    assert not apply_all(flags, namesrv, broker)
    assert find_out_all(flags, namesrv, broker) is None
    return namesrv, broker


def test_flags_reach_the_server_that_they_are_for(tmp_path: Path) -> None:
    pairs = ("fileReservedTime=48", "kvConfigPath=/kv.json", "tls.server.mode=disabled")
    namesrv, broker = read(given(tmp_path, pairs=pairs, namesrv_port=1, broker_port=2, bind="127.0.0.1"))
    assert (namesrv.remoting.listen_port, broker.broker.listen_port) == (1, 2)
    assert namesrv.remoting.bind_address == broker.remoting.bind_address == "127.0.0.1"
    assert broker.store.file_reserved_time == 48
    assert namesrv.namesrv.kv_config_path == "/kv.json"
    assert namesrv.tls.tls_server_mode is broker.tls.tls_server_mode is TlsMode.DISABLED


def test_servers_have_folders_below_that_of_the_command(tmp_path: Path) -> None:
    namesrv, broker = read(given(tmp_path))
    assert broker.store.store_path_root_dir == str(tmp_path / "store")
    assert namesrv.namesrv.kv_config_path == str(tmp_path / "namesrv" / "kvConfig.json")
    assert below(None, "store") is None


def test_front_ends_of_a_broker_beside_a_name_server_have_ports(tmp_path: Path) -> None:
    _, broker = read(given(tmp_path, kafka_port=0))
    assert broker.broker.grpc_server_port == 8081 and broker.broker.kafka_port == 0
    assert broker.options.origin("grpcServerPort") == ASSUMED_BY_SERVE
    alone = BrokerSettings()
    find_out_all(given(tmp_path), None, alone)
    assert alone.broker.grpc_server_port == 0


def test_secured_servers_have_credentials_unless_settings_are_only_printed(tmp_path: Path) -> None:
    namesrv, broker = NamesrvSettings(), BrokerSettings()
    secured = find_out_all(given(tmp_path, secure=True), namesrv, broker)
    assert secured is not None and secured.password
    assert broker.broker.authentication_enabled and namesrv.namesrv.authentication_enabled
    flags = given(tmp_path / "printed", secure=True, print_config=True)
    assert find_out_all(flags, NamesrvSettings(), BrokerSettings()) is None
    assert not (tmp_path / "printed").exists()


def test_unreadable_file_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot be read"):
        apply_all(given(tmp_path, config=str(tmp_path / "missing")), None, BrokerSettings())
