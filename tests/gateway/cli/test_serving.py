"""`mqgateway serve --brokers`: what it refuses, its rereading of files, and one run with real processes."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import psutil
import pytest
from click.testing import CliRunner

from compat_tests.support.processes import free_ports
from mqgateway.gateway.cli.main import main
from mqgateway.gateway.cli.numbering import NumberedBroker, numbered, read_numbered
from mqgateway.gateway.cli.serving import reread
from tests.gateway.cli.test_numbering import given

ROOT = Path(__file__).parents[3]
PORTS = (-2, 0, 1, 8, 10, 11, 18, 20, 21)
"""Offsets of the ports that two brokers use, and an added one."""
SMALL = (
    "mappedFileSizeCommitLog=65536",
    "maxHashSlotNum=100",
    "maxIndexNum=400",
    "flushDiskType=ASYNC_FLUSH",
    "rollingRestartPauseMillis=0",
)


def invoke(*arguments: str, **environment: str) -> Any:
    return CliRunner().invoke(main, ["serve", *arguments], env=environment)


def test_wrong_number_of_brokers_is_refused() -> None:
    for result in (invoke("--brokers", "none"), invoke(MQGATEWAY_BROKERS="0")):
        assert result.exit_code == 2
        assert "is not a number from 1 to 64, or auto" in result.output


def test_unsuitable_settings_and_stores_are_refused(tmp_path: Path) -> None:
    flags = ("--brokers", "2", "--data-dir", str(tmp_path))
    result = invoke(*flags, "--set", "enableControllerMode=true", "--set", "controllerAddr=h:1")
    assert result.exit_code == 2
    assert "--brokers: enableControllerMode=true" in result.output
    (tmp_path / "store" / "commitlog").mkdir(parents=True)
    result = invoke(*flags)
    assert result.exit_code == 2
    assert "is the store of a single broker" in result.output


class Cluster:
    """A parent that notes what it is asked to do."""

    def __init__(self, brokers: list[NumberedBroker]) -> None:
        self.brokers = brokers
        self.rolls: list[float] = []
        self.read: list[Any] = []
        self.namesrv = SimpleNamespace(
            namesrv=SimpleNamespace(configuration=SimpleNamespace(reread=self.read.append))
        )

    def roll(self, pause: float) -> None:
        self.rolls.append(pause)


def test_files_are_read_again_before_a_rolling_restart(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    file = tmp_path / "broker.conf"
    file.write_text("brokerName=n\nfileReservedTime=48\n")
    flags = {**given(tmp_path), "config": str(file)}
    cluster = Cluster(numbered(read_numbered(flags, [])[0], 2))
    reread(cluster, flags)
    assert (cluster.rolls, cluster.read) == ([40.0], [[]])
    file.write_text("brokerName=n\nfileReservedTime=many\n")
    reread(cluster, flags)
    assert len(cluster.rolls) == 1
    assert "no broker is restarted: n-0: " in caplog.text


class Running:
    """A command that runs two brokers."""

    def __init__(self, popen: subprocess.Popen[str]) -> None:
        assert popen.stdout is not None and popen.stderr is not None
        self.popen = popen
        self.ready: dict[str, Any] = json.loads(popen.stdout.readline() or "{}")

    def next_line(self, *texts: str) -> str:
        """Return the next line of the log that has all texts in it."""
        assert self.popen.stderr is not None
        for line in self.popen.stderr:
            if all(text in line for text in texts):
                return line
        raise AssertionError(f"the log ends without: {texts}")

    def child(self, number: int) -> psutil.Process:
        """Return the process of a broker."""
        for process in psutil.Process(self.popen.pid).children():
            if process.cmdline()[-1].endswith(f"broker-{number}"):
                return process
        raise AssertionError("it has no process")


@contextmanager
def running(folder: Path) -> Iterator[Running]:
    port = free_ports(PORTS)
    command = [sys.executable, "-m", "mqgateway.gateway.cli.main", "serve", "--brokers", "2"]
    command += ["--bind", "127.0.0.1", "--advertise", "127.0.0.1", "--data-dir", str(folder)]
    command += ["--broker-port", str(port), "--namesrv-port", "0", "--output", "json"]
    command += ["--grpc-port", "0", "--kafka-port", "0", "--console-port", "0"]
    command += [word for pair in ("brokerName=n", *SMALL) for word in ("--set", pair)]
    pipes = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, cwd=ROOT, env=dict(os.environ), **pipes) as popen:  # type: ignore[call-overload]
        try:
            yield Running(popen)
        finally:
            popen.kill()


def test_brokers_are_processes_that_crash_restart_and_stop_by_themselves(tmp_path: Path) -> None:
    """One run for all that needs real processes."""
    with running(tmp_path) as cluster:
        first, second = cluster.ready["brokers"]
        assert (first["name"], second["name"], cluster.ready["ready"]) == ("n-0", "n-1", True)
        ports = [int(one["address"].rpartition(":")[2]) for one in (first, second)]
        assert ports[1] == ports[0] + 10
        cluster.child(1).kill()
        assert "n-1" in cluster.next_line("ended by itself", "killed by SIGKILL")
        cluster.next_line("_n-1_0 is up at")
        before = [cluster.child(0).pid, cluster.child(1).pid]
        cluster.popen.send_signal(signal.SIGHUP)
        cluster.next_line("all brokers have been restarted")
        children = [cluster.child(0), cluster.child(1)]
        assert not {child.pid for child in children} & set(before)
        cluster.popen.send_signal(signal.SIGTERM)
        assert cluster.popen.wait(60) == 0
        assert not any(child.is_running() for child in children)
    for number in (0, 1):
        assert not (tmp_path / "store" / f"broker-{number}" / "abort").exists(), "it stopped cleanly"


def test_added_broker_serves_and_a_restart_with_the_same_number_starts_it(tmp_path: Path) -> None:
    with running(tmp_path) as cluster:
        name_server = cluster.ready["nameServer"]
        program = "import mqgateway.gateway.cli.entry as entry; entry.main()"
        command = [sys.executable, "-c", program, "broker", "add", "n-2", "--json", "-n", name_server]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        (row,) = json.loads(done.stdout)["rows"]
        assert (row["brokerName"], row["state"]) == ("n-2", "up")
        assert cluster.child(2).is_running()
        cluster.popen.send_signal(signal.SIGTERM)
        assert cluster.popen.wait(60) == 0
    with running(tmp_path) as cluster:
        assert [one["name"] for one in cluster.ready["brokers"]] == ["n-0", "n-1", "n-2"]
        assert "brokers were added since: the number is 3 now" in cluster.ready["warnings"][0]
        cluster.popen.send_signal(signal.SIGTERM)
        assert cluster.popen.wait(60) == 0


def test_stop_with_a_killed_broker_names_it_and_fails(tmp_path: Path) -> None:
    with running(tmp_path) as cluster:
        first, second = cluster.child(0), cluster.child(1)
        second.suspend()
        cluster.popen.send_signal(signal.SIGTERM)
        psutil.wait_procs([first], 60)
        assert not first.is_running(), "it does not wait for the other one"
        second.kill()
        assert cluster.popen.wait(60) == 1
        cluster.next_line("n-1 did not stop cleanly: killed by SIGKILL")


def test_brokers_stop_when_their_parent_is_gone(tmp_path: Path) -> None:
    with running(tmp_path) as cluster:
        child = cluster.child(0)
        os.kill(cluster.popen.pid, signal.SIGKILL)
        cluster.next_line("the parent process is gone")
        psutil.wait_procs([child], 60)
    assert not (tmp_path / "store" / "broker-0" / "abort").exists()
