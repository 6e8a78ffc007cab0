"""Obstacles to a start are reported before the store is opened, each with its setting and a remedy."""

import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from compat_tests.support.processes import free_ports
from mqgateway.engine.errors import ConfigError
from mqgateway.gateway.cli.preconditions import (
    check_added,
    check_controller_start,
    check_start,
    check_starts,
)
from mqgateway.gateway.cli.settings import (
    ASSUMED_BY_SERVE,
    BrokerSettings,
    ControllerSettings,
    NamesrvSettings,
    from_flags,
)

SERVE = [
    sys.executable,
    "-m",
    "mqgateway.gateway.cli.main",
    "serve",
    "--bind",
    "127.0.0.1",
    "--advertise",
    "127.0.0.1",
]


@pytest.fixture
def taken() -> Iterator[int]:
    """A port that another socket listens on."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        one.listen()
        yield one.getsockname()[1]


def settings(folder: Path, port: int = 0, **flags: object) -> tuple[NamesrvSettings, BrokerSettings]:
    namesrv, broker = NamesrvSettings(), BrokerSettings()
    namesrv.remoting.bind_address = broker.remoting.bind_address = "127.0.0.1"
    namesrv.remoting.listen_port = port
    usual: dict[str, object] = {
        "brokerIP1": "127.0.0.1",
        "storePathRootDir": folder / "store",
        "listenPort": 0,
    }
    assert not broker.options.apply(from_flags(usual | flags))
    broker.find_out()
    namesrv.find_out(str(folder / "namesrv"))
    return namesrv, broker


def problem(namesrv: NamesrvSettings | None, broker: BrokerSettings | None) -> str:
    with pytest.raises(ConfigError) as caught:
        check_start(namesrv, broker)
    return str(caught.value)


def problems_of_several(namesrv: NamesrvSettings, **brokers: BrokerSettings) -> list[str]:
    with pytest.raises(ConfigError) as caught:
        check_starts(namesrv, brokers)
    return str(caught.value).splitlines()


def test_several_brokers_with_ports_of_their_own_have_no_problem(tmp_path: Path) -> None:
    port = free_ports((-2, 0, 1, 8, 10, 11))
    namesrv, first = settings(tmp_path, listenPort=port)
    check_starts(namesrv, {"a": first, "b": settings(tmp_path / "b", listenPort=port + 10)[1]})


def test_problems_of_several_brokers_name_the_broker(tmp_path: Path, taken: int) -> None:
    namesrv, first = settings(tmp_path, brokerIP1="no-such-host.invalid")
    _, second = settings(tmp_path / "b", grpcServerPort=taken)
    found = problems_of_several(namesrv, a=first, b=second)
    assert found[0].startswith("a: brokerIP1")
    assert found[1].startswith("b: grpcServerPort") and f"{taken} is in use" in found[1]


def test_port_of_two_brokers_is_reported(tmp_path: Path) -> None:
    port = free_ports()
    namesrv, first = settings(tmp_path, grpcServerPort=port)
    namesrv.namesrv.enable_controller_in_namesrv = True
    _, second = settings(tmp_path / "b", grpcServerPort=port)
    controller, shared = problems_of_several(namesrv, a=first, b=second)
    assert controller.startswith("enableControllerInNamesrv: with --brokers")
    assert shared.startswith(
        "grpcServerPort (--grpc-port) of b and grpcServerPort (--grpc-port) of a are both"
    )


def test_ports_of_running_brokers_are_no_problem_of_an_added_one(tmp_path: Path, taken: int) -> None:
    namesrv, first = settings(tmp_path, listenPort=taken)
    port = free_ports((-2, 0, 1))
    check_added(namesrv, {"a": first, "b": settings(tmp_path / "b", listenPort=port)[1]}, "b")
    with pytest.raises(ConfigError) as caught:
        check_added(namesrv, {"a": first, "b": settings(tmp_path / "b", listenPort=taken)[1]}, "b")
    assert f"b: listenPort of the broker (--port): 127.0.0.1:{taken} is in use by another process" in str(
        caught.value
    )
    assert f"of b and listenPort of the broker (--port) of a are both {taken}" in str(caught.value)


def test_valid_settings_have_no_problem(tmp_path: Path) -> None:
    check_start(*settings(tmp_path))
    check_start(*settings(tmp_path, brokerIP1="localhost"))
    check_start(*settings(tmp_path, brokerIP1="::1"))


@pytest.mark.parametrize(
    "address", ["10.0.0.1:10911", "300.1.1.1", "a b", "no.such.host.invalid", "-x", "http://a"]
)
def test_address_that_clients_cannot_connect_to_is_refused(tmp_path: Path, address: str) -> None:
    namesrv, broker = settings(tmp_path)
    broker.broker.broker_ip1 = address
    said = problem(namesrv, broker)
    assert said.startswith(f"brokerIP1 (--advertise): {address} is ")
    assert "set an IP address" in said


def test_ports_in_use_are_all_named(tmp_path: Path, taken: int) -> None:
    first, second = problem(*settings(tmp_path, taken, listenPort=taken)).splitlines()[:2]
    assert first.startswith(f"listenPort of the name server (--namesrv-port): 127.0.0.1:{taken} is in use")
    assert second.startswith(f"listenPort of the broker (--broker-port): 127.0.0.1:{taken} is in use")
    assert "choose another port" in first
    namesrv, broker = settings(tmp_path, taken, listenPort=taken)
    assert "(--port)" in problem(namesrv, None) and "(--port)" in problem(None, broker)


def controller(folder: Path, peers: str) -> ControllerSettings:
    made = ControllerSettings()
    made.remoting.bind_address = "127.0.0.1"
    made.controller.controller_d_leger_peers = peers
    made.find_out(str(folder / "controller"))
    return made


def test_a_controller_needs_a_place_a_port_and_a_folder(tmp_path: Path, taken: int) -> None:
    check_controller_start(controller(tmp_path, f"n0-127.0.0.1:{free_ports((0,))}"))
    with pytest.raises(ConfigError, match="name this controller's address"):
        check_controller_start(controller(tmp_path, ""))
    (tmp_path / "controller" / "DLedgerController").rmdir()
    (tmp_path / "controller" / "DLedgerController").write_text("a file")
    with pytest.raises(ConfigError) as caught:
        check_controller_start(controller(tmp_path, f"n0-127.0.0.1:{taken}"))
    port, folder = str(caught.value).splitlines()
    assert port.startswith(f"controllerDLegerPeers: 127.0.0.1:{taken} is in use")
    assert folder.startswith("controllerStorePath (--data-dir): the folder")


def test_a_controller_beside_a_name_server_is_looked_at_where_it_is_asked_for(tmp_path: Path) -> None:
    namesrv, _ = settings(tmp_path)
    check_start(namesrv, None)
    namesrv.namesrv.enable_controller_in_namesrv = True
    assert "name this controller's address" in problem(namesrv, None)


def test_the_ports_beside_the_brokers_are_tried_too(tmp_path: Path, taken: int) -> None:
    assert "the VIP port, 2 below listenPort" in problem(*settings(tmp_path, listenPort=taken + 2))
    flags = {"listenPort": free_ports((-2, 0, 1)), "haListenPort": taken}
    assert f"haListenPort (--set haListenPort=PORT): 127.0.0.1:{taken}" in problem(
        *settings(tmp_path, **flags)
    )


def test_an_address_that_is_not_this_machines(tmp_path: Path) -> None:
    namesrv, broker = settings(tmp_path, free_ports((-2, 0, 1)))
    namesrv.remoting.bind_address = "192.0.2.77"
    assert "cannot listen on 192.0.2.77" in problem(namesrv, broker)
    namesrv.remoting.bind_address, namesrv.remoting.listen_port = "127.0.0.1", 70_000
    assert "70000 is not a port" in problem(namesrv, broker)


def test_folders_that_cannot_be_written(tmp_path: Path) -> None:
    given = settings(tmp_path)
    (tmp_path / "store").write_text("a file")
    (tmp_path / "namesrv").write_text("a file")
    first, second = problem(*given).splitlines()
    assert first.startswith(f"storePathRootDir (--data-dir): the folder {tmp_path}/store cannot be written: ")
    assert second.startswith(f"kvConfigPath (--data-dir): the folder {tmp_path}/namesrv cannot be written: ")
    assert "choose another" in first


def test_folder_of_another_user_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "store").mkdir()
    # Root, as which tests may run, may write everywhere.
    monkeypatch.setattr(os, "access", lambda *_: False)
    assert "permission denied" in problem(*settings(tmp_path))


def test_a_process_that_cannot_start_opens_no_store(tmp_path: Path, taken: int) -> None:
    command = [*SERVE, "--data-dir", str(tmp_path / "data"), "--namesrv-port", str(free_ports((-2, 0, 1)))]
    done = subprocess.run(
        [*command, "--broker-port", str(taken)], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 2
    assert f"error: listenPort of the broker (--broker-port): 127.0.0.1:{taken} is in use" in done.stderr
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "data" / "store" / "commitlog").exists()


def test_start_logs_sentences(tmp_path: Path) -> None:
    """No line of the log contains the Python repr of a value."""
    port = free_ports((-2, 0, 1))
    command = [*SERVE, "--data-dir", str(tmp_path), "--namesrv-port", str(port), "--broker-port", "0"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    try:
        assert process.stdout is not None
        lines = []
        until = time.monotonic() + 60
        for line in process.stdout:
            lines.append(line)
            if line.startswith("ready in") or time.monotonic() > until:
                break
        process.send_signal(signal.SIGTERM)
        lines += process.stdout.readlines()
        assert process.wait(30) == 0
    finally:
        if process.poll() is None:
            process.kill()
        process.wait()
    said = "".join(lines)
    assert "ready in" in said
    assert f"the name server listens on 127.0.0.1:{port}" in said
    assert not re.search(r"\w+\(\w+=|\{'|\['", said), said


def test_console_without_a_login_is_refused(tmp_path: Path) -> None:
    _, broker = settings(tmp_path)
    broker.broker.console_host = "0.0.0.0"
    check_start(None, broker)
    broker.broker.console_port = 8088
    with pytest.raises(ConfigError, match=r"consoleHost=0\.0\.0\.0: without a login"):
        check_start(None, broker)


def test_grpc_port_must_be_free_only_if_it_was_set(tmp_path: Path, taken: int) -> None:
    namesrv, broker = settings(tmp_path)
    broker.options.assume("grpcServerPort", taken, ASSUMED_BY_SERVE)
    check_start(namesrv, broker)
    said = problem(*settings(tmp_path, grpcServerPort=taken))
    assert said.startswith(f"grpcServerPort (--grpc-port): 127.0.0.1:{taken} is in use")


@pytest.mark.parametrize(
    ("flags", "both"),
    [
        (
            {"healthPort": 8088, "consolePort": 8088},
            "consolePort (--console-port) and healthPort are both 8088",
        ),
        (
            {"metricsExporterType": "PROM", "metricsPromExporterPort": 9000, "healthPort": 9000},
            "metricsPromExporterPort and healthPort are both 9000",
        ),
        ({"grpcServerPort": 8000, "consolePort": 8000}, "consolePort (--console-port) and grpcServerPort"),
    ],
)
def test_port_that_two_services_want_is_an_error_that_names_both(
    tmp_path: Path, flags: dict[str, object], both: str
) -> None:
    with pytest.raises(ConfigError) as error:
        check_start(*settings(tmp_path, **flags))
    assert both in str(error.value) and "give one of them another port" in str(error.value)


def test_one_port_on_two_addresses_is_no_conflict(tmp_path: Path) -> None:
    port = free_ports()
    flags = {"healthPort": port, "healthHost": "127.0.0.2", "consolePort": port, "consoleHost": "127.0.0.1"}
    check_start(*settings(tmp_path, **flags))
