"""The process of a broker in a container, without being one: what it hears, says and runs with."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from twisted.internet.error import ConnectionDone
from twisted.internet.protocol import Protocol
from twisted.python.failure import Failure

from mqgateway.engine.errors import ConfigError
from mqgateway.gateway.cli import container_broker
from mqgateway.gateway.cli.container_broker import ContainedBroker, first_message, settings_from
from tests.gateway.cli.test_services import BROKER_PORT, Loop, broker_settings

FIRST: dict[str, Any] = {
    "settings": [["namesrvAddr", "shared:1"], ["haListenPort", "20912"], ["isInBrokerContainer", "true"]],
    "name": "DefaultCluster_a_0",
    "logging": {"form": "json", "level": "warning"},
}


class Contained:
    """A broker on a net in memory, as a container's child."""

    def __init__(self, folder: Path) -> None:
        self.loop = Loop()
        self.said: list[dict[str, Any]] = []
        self.parents: list[Any] = []
        self.ends = 0
        self.settings = broker_settings(folder)
        self.service = ContainedBroker(
            self.loop,
            self.settings,
            say=lambda line: self.said.append(json.loads(line)),
            attach=self._attach,
            end=self._end,
        )

    def _attach(self, protocol: Protocol) -> None:
        self.parents.append(protocol)

    def _end(self) -> None:
        self.ends += 1


def test_it_says_that_it_is_up_and_listens_to_its_parent(tmp_path: Path) -> None:
    one = Contained(tmp_path)
    one.loop.wait_for(one.service.start())
    assert one.said == [{"up": f"10.0.0.1:{BROKER_PORT}"}]
    (parent,) = one.parents
    parent.dataReceived(b'{"namesrvAddr": "new:1"}\n{"namesrv')
    assert one.settings.broker.namesrv_addr == "new:1"
    parent.dataReceived(b'Addr": "newer:1"}\n{"other": 1}\n')
    assert one.settings.broker.namesrv_addr == "newer:1"
    one.loop.wait_for(one.service.stop())
    assert not one.loop.ports
    parent.connectionLost(Failure(ConnectionDone()))
    assert one.ends == 0, "it was stopping already"


def test_it_has_a_port_for_grpc_where_its_file_names_one(tmp_path: Path) -> None:
    one = Contained(tmp_path)
    one.settings.broker.grpc_server_port = 18081
    one.loop.wait_for(one.service.start())
    assert list(one.service.front_ends) == ["grpc"] and 18081 in one.loop.ports
    one.loop.wait_for(one.service.stop())
    assert not one.loop.ports
    other = Contained(tmp_path / "other")
    other.loop.wait_for(other.service.start())
    assert not other.service.front_ends
    other.loop.wait_for(other.service.stop())


def test_it_ends_when_its_parent_is_gone(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    one = Contained(tmp_path)
    one.loop.wait_for(one.service.start())
    one.parents[0].connectionLost(Failure(ConnectionDone()))
    assert one.ends == 1
    assert "the container is gone: this broker stops" in caplog.text
    one.loop.wait_for(one.service.stop())


def test_it_says_why_it_cannot_start(tmp_path: Path) -> None:
    tables = tmp_path / "store" / "config"
    tables.mkdir(parents=True)
    (tables / "topics.json").write_text('{"topicConfigTable": {"T": {"perm": "six"}}}')
    one = Contained(tmp_path)
    failure = one.loop.wait_for(one.service.start())
    assert isinstance(failure.value, ConfigError), "the process ends with it"
    assert one.said == [{"failed": str(failure.value)}]


def test_its_settings_are_its_files_but_for_what_all_share(tmp_path: Path) -> None:
    file = tmp_path / "a.conf"
    file.write_text(
        f"brokerName=a\nlistenPort=20911\nnamesrvAddr=own:1\nhaListenPort=9\nstorePathRootDir={tmp_path}\n"
    )
    settings, (problem,) = settings_from(str(file), FIRST)
    assert settings.broker.namesrv_addr == "shared:1"
    assert settings.broker.listen_port == settings.remoting.listen_port == 20911
    assert settings.store.ha_listen_port == 20912
    assert settings.broker.in_broker_container and settings.broker.enable_remote_escape
    assert settings.broker.broker_config_path == str(file)
    assert (problem.key, problem.file) == ("namesrvAddr", str(file))
    file.write_text(f"enableRemoteEscape=false\nstorePathRootDir={tmp_path}\n")
    assert not settings_from(str(file), FIRST)[0].broker.enable_remote_escape


def test_a_file_that_became_wrong(tmp_path: Path) -> None:
    file = tmp_path / "a.conf"
    file.write_text("flushDiskType=SYNC\n")
    with pytest.raises(ConfigError, match="flushDiskType"):
        settings_from(str(file), FIRST)
    with pytest.raises(ConfigError, match="cannot be read"):
        settings_from(str(tmp_path / "none"), FIRST)


def bytes_of(text: bytes) -> Any:
    """Reads a byte each time, then nothing."""
    left: Iterator[int] = iter(text)
    return lambda: bytes([byte]) if (byte := next(left, None)) is not None else b""


def test_the_first_line_alone_is_read() -> None:
    read = bytes_of(b'{"name": "a"}\n{"namesrvAddr": "x"}\n')
    assert first_message(read) == {"name": "a"}
    assert first_message(read) == {"namesrvAddr": "x"}


def test_without_a_container_there_is_nothing_to_run() -> None:
    with pytest.raises(ConfigError, match="mqgateway broker"):
        first_message(bytes_of(b'{"name"'))


def test_it_logs_as_its_container_does(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    started: list[tuple[object, ...]] = []
    monkeypatch.setattr(
        container_broker,
        "start_logging",
        lambda *how, folder, servers: started.append((*how, folder, servers)),
    )
    container_broker.log_as(FIRST)
    container_broker.log_as({"name": "x", "logging": {"folder": "/logs"}})
    assert started == [
        ("json", "warning", "DefaultCluster_a_0", None, ["broker"]),
        ("text", "info", "x", "/logs/x", ["broker"]),
    ]


def test_folder_for_logs_that_cannot_be_made_is_reported_to_the_container(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ConfigError, match="--log-dir"):
        container_broker.log_as({"name": "x", "logging": {"folder": str(tmp_path / "file")}})
