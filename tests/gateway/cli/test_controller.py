"""The command `mqgateway controller`: help, settings, errors, and a run as a process."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from compat_tests.support.processes import free_ports
from mqgateway.gateway.cli.controller import mqcontroller
from mqgateway.gateway.cli.main import main
from mqgateway.gateway.codec.codes import RequestCode
from mqgateway.gateway.codec.command import RemotingCommand, decode_command, encode_command
from mqgateway.gateway.codec.frame import FrameCutter

ROOT = Path(__file__).parents[3]


def invoke(*arguments: str, command=main):  # type: ignore[no-untyped-def]
    return CliRunner().invoke(command, arguments, env={})


def test_help_is_available_under_both_names() -> None:
    for result in (invoke("controller", "--help"), invoke("-h", command=mqcontroller)):
        assert result.exit_code == 0
        assert "controllerDLegerPeers" in result.output


def test_file_and_flags_of_rocketmq_are_accepted(tmp_path: Path) -> None:
    """The settings file is that of Apache's distribution, unchanged."""
    file = tmp_path / "controller.conf"
    file.write_text(
        "controllerDLegerGroup = group1\ncontrollerDLegerPeers = n0-127.0.0.1:9878\n"
        "controllerDLegerSelfId = n0\ncontrollerStorePath = /tmp/DledgerController\n"
        "enableElectUncleanMaster = false\nnotifyBrokerRoleChanged = true\n"
    )
    result = invoke("-c", str(file), "-p", "--strict", command=mqcontroller)
    assert (result.exit_code, result.stderr) == (0, "")
    lines = {line.split()[0] for line in result.output.splitlines()}
    assert {"controllerDLegerPeers=n0-127.0.0.1:9878", "controllerStorePath=/tmp/DledgerController"} <= lines
    result = invoke("-configFile", str(file), "-p", "--output", "json", command=mqcontroller)
    shown = {row["name"]: row["value"] for row in json.loads(result.output)}
    assert shown["controllerDLegerGroup"] == "group1"


def test_m_prints_the_important_settings_only() -> None:
    lines = invoke("-m", command=mqcontroller).output.splitlines()
    assert len(lines) == 6 and "enableElectUncleanMaster=false" in lines


def test_wrong_settings_stop_the_start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mqgateway.gateway.cli.service_flags.start_logging", lambda *_, **__: None)
    file = tmp_path / "controller.conf"
    file.write_text("controllerType=jRaft\n")
    result = invoke("controller", "-c", str(file))
    assert result.exit_code == 2 and f"{file}:1" in result.stderr
    assert invoke("controller", "-c", "/no/such/file").exit_code == 2
    result = invoke("controller", "--data-dir", str(tmp_path / "data"))
    assert result.exit_code == 2 and "name this controller's address" in result.stderr


def test_controller_runs_until_it_is_stopped(tmp_path: Path) -> None:
    port = free_ports()
    command = [sys.executable, "-m", "mqgateway.gateway.cli.main", "controller", "--bind", "127.0.0.1"]
    command += ["--set", f"controllerDLegerPeers=n0-127.0.0.1:{port}", "--output", "json"]
    command += ["--data-dir", str(tmp_path)]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL, "text": True}
    with subprocess.Popen(command, cwd=ROOT, env=dict(os.environ), **pipes) as popen:  # type: ignore[call-overload]
        try:
            ready = json.loads(popen.stdout.readline() or "{}")
            assert (ready["controller"], ready["ready"]) == (f"127.0.0.1:{port}", True)
            with socket.create_connection(("127.0.0.1", port), 5) as peer:
                peer.sendall(
                    encode_command(RemotingCommand.request(RequestCode.CONTROLLER_GET_METADATA_INFO))
                )
                cutter, payloads = FrameCutter(), []
                while not payloads:
                    payloads = list(cutter.feed(peer.recv(65536)))
            assert decode_command(payloads[0]).ext_fields["controllerLeaderId"] == "n0"
            popen.send_signal(signal.SIGTERM)
            assert popen.wait(20) == 0
        finally:
            popen.kill()
    assert json.loads((tmp_path / "DLedgerController" / "brokerSets.json").read_text()) == {
        "brokerSets": {},
        "term": 1,
    }
