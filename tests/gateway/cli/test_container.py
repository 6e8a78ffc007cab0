"""The command `mqgateway container`: its outsides, and one run with real processes."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psutil
import pytest
from click.testing import CliRunner

import mqgateway
from mqgateway.gateway.cli.container import child_command, child_environment, mqbrokercontainer
from mqgateway.gateway.cli.main import main

ROOT = Path(__file__).parents[3]
BROKER = """
brokerName=contained
brokerIP1=127.0.0.1
listenPort=0
mappedFileSizeCommitLog=65536
maxHashSlotNum=100
maxIndexNum=400
flushDiskType=ASYNC_FLUSH
serverChannelMaxIdleTimeSeconds=7
"""


def invoke(*arguments: str, command=main):  # type: ignore[no-untyped-def]
    return CliRunner().invoke(command, arguments, env={})


def test_it_has_help_under_both_names() -> None:
    for result in (invoke("container", "--help"), invoke("-h", command=mqbrokercontainer)):
        assert result.exit_code == 0
        assert "--broker-configs" in result.output


def test_the_standards_flags_are_taken(tmp_path: Path) -> None:
    file = tmp_path / "container.conf"
    file.write_text("brokerConfigPaths=/a.conf:/b.conf\nnamesrvAddr=one:1\nlistenPort=10911\n")
    result = invoke("-c", str(file), "-n", "two:2", "-p", command=mqbrokercontainer)
    assert result.exit_code == 0
    lines = {line.split()[0] for line in result.output.splitlines()}
    assert {"brokerConfigPaths=/a.conf:/b.conf", "namesrvAddr=two:2", "listenPort=10911"} <= lines
    result = invoke("-c", str(file), "-b", "/c.conf", "-p", "--output", "json", command=mqbrokercontainer)
    shown = {row["name"]: row["value"] for row in json.loads(result.output)}
    assert shown["brokerConfigPaths"] == "/c.conf"


def test_the_important_settings_alone() -> None:
    result = invoke("-m", command=mqbrokercontainer)
    assert "listenPort=10811" in result.output.splitlines()
    assert len(result.output.splitlines()) == 5


def test_a_wrong_setting_stops_the_start(tmp_path: Path) -> None:
    file = tmp_path / "container.conf"
    file.write_text("listenPort=many\n")
    result = invoke("container", "-c", str(file))
    assert result.exit_code == 2
    assert f"{file}:1" in result.stderr
    assert invoke("container", "-c", "/no/such/file").exit_code == 2
    assert invoke("container", "--set", "brokerConfigPath=x", "--strict").exit_code == 2


def test_children_find_these_modules_from_anywhere(tmp_path: Path) -> None:
    assert child_command()[0] == sys.executable
    environment = child_environment({"PYTHONPATH": "/x", "HOME": "/h"})
    packages = Path(mqgateway.__file__).parents[1]
    assert environment == {"PYTHONPATH": f"{packages}:/x", "HOME": "/h"}


class Running:
    """A container that runs."""

    def __init__(self, popen: subprocess.Popen[str]) -> None:
        assert popen.stdout is not None and popen.stderr is not None
        self.popen = popen
        self.ready: dict[str, Any] = json.loads(popen.stdout.readline() or "{}")

    def next_line(self, text: str) -> str:
        """The next line of the log with this text in it."""
        assert self.popen.stderr is not None
        for line in self.popen.stderr:
            if text in line:
                return line
        raise AssertionError(f"the log ends without: {text}")

    def child(self) -> psutil.Process:
        (child,) = psutil.Process(self.popen.pid).children()
        return child


@contextmanager
def running(folder: Path) -> Iterator[Running]:
    (folder / "broker.conf").write_text(f"{BROKER}storePathRootDir={folder}/store\n")
    command = [
        sys.executable,
        "-m",
        "mqgateway.gateway.cli.main",
        "container",
        "--port",
        "0",
        "--bind",
        "127.0.0.1",
    ]
    command += ["-b", str(folder / "broker.conf"), "--set", "brokerRestartDelay=10", "--output", "json"]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, cwd=ROOT, env=dict(os.environ), **pipes) as popen:  # type: ignore[call-overload]
        try:
            yield Running(popen)
        finally:
            popen.kill()


def test_a_broker_that_is_killed_comes_again_and_none_outlives_its_container(tmp_path: Path) -> None:
    """One run for all that needs real processes."""
    with running(tmp_path) as container:
        (name,) = container.ready["brokers"]
        assert (name, container.ready["ready"]) == ("DefaultCluster_contained_0", True)
        warned = container.next_line("serverChannelMaxIdleTimeSeconds")
        assert json.loads(warned)["broker"] == name, "it is the child that says so"
        container.child().kill()
        assert "killed by SIGKILL" in container.next_line("ended by itself")
        container.next_line("is up at")
        child = container.child()
        os.kill(container.popen.pid, signal.SIGKILL)
        assert "this broker stops" in container.next_line("the container is gone")
        with pytest.raises(psutil.NoSuchProcess):
            child.wait(20)
            child.status()
    assert not (tmp_path / "store" / "abort").exists(), "it stopped in good order"


def test_signal_stops_all_cleanly(tmp_path: Path) -> None:
    with running(tmp_path) as container:
        child = container.child()
        container.popen.send_signal(signal.SIGTERM)
        assert container.popen.wait(20) == 0
        assert not child.is_running()
    assert not (tmp_path / "store" / "abort").exists()
