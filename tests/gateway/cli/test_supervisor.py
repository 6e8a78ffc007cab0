"""Notifications to a service manager, over a real datagram socket."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from mqgateway.engine.clock import ManualClock
from mqgateway.gateway.cli.supervisor import LONGEST_STATUS, Supervisor


class Listener:
    """The socket of a service manager."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.bind(str(path))
        self.socket.settimeout(10)

    def heard(self) -> list[str]:
        return self.socket.recv(4096).decode().split("\n")


@pytest.fixture
def listener(tmp_path: Path) -> Iterator[Listener]:
    found = Listener(tmp_path / "notify")
    yield found
    found.socket.close()


def test_each_word_is_one_datagram(listener: Listener) -> None:
    clock = ManualClock()
    supervisor = Supervisor({"NOTIFY_SOCKET": str(listener.path)}, clock)
    supervisor.progress("recovering, 42 % of the log read")
    assert listener.heard() == ["STATUS=recovering, 42 % of the log read", "EXTEND_TIMEOUT_USEC=30000000"]
    supervisor.ready("broker at port 10911")
    assert listener.heard() == ["READY=1", "STATUS=broker at port 10911"]
    supervisor.alive()
    assert listener.heard() == ["WATCHDOG=1"]
    supervisor.reloading()
    assert listener.heard() == ["RELOADING=1", f"MONOTONIC_USEC={int(clock.monotonic() * 1e6)}"]
    supervisor.stopping("draining\nREADY=1" + "x" * 500)
    first, status = listener.heard()
    assert first == "STOPPING=1"
    assert status.startswith("STATUS=draining READY=1x") and len(status) == len("STATUS=") + LONGEST_STATUS


def test_child_processes_do_not_inherit_the_supervisor(listener: Listener) -> None:
    environment = {
        "NOTIFY_SOCKET": str(listener.path),
        "WATCHDOG_USEC": "20000000",
        "WATCHDOG_PID": str(os.getpid()),
        "HOME": "/home",
    }
    supervisor = Supervisor(environment, ManualClock())
    assert environment == {"HOME": "/home"}
    assert (supervisor.is_there, supervisor.interval) == (True, 10.0)


@pytest.mark.parametrize(
    "variables",
    [
        {},
        {"WATCHDOG_USEC": "0"},
        {"WATCHDOG_USEC": "soon"},
        {"WATCHDOG_USEC": "1000000", "WATCHDOG_PID": "1"},
    ],
    ids=["none", "zero", "no number", "another process"],
)
def test_signs_of_life_only_where_they_are_waited_for(listener: Listener, variables: dict[str, str]) -> None:
    supervisor = Supervisor({"NOTIFY_SOCKET": str(listener.path), **variables}, ManualClock())
    assert supervisor.interval == 0


def test_an_abstract_address() -> None:
    name = f"mqgateway-test-{os.getpid()}"
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as heard:
        heard.bind("\0" + name)
        heard.settimeout(10)
        Supervisor({"NOTIFY_SOCKET": f"@{name}"}, ManualClock()).alive()
        assert heard.recv(100) == b"WATCHDOG=1"


def test_notification_without_a_supervisor_is_skipped(tmp_path: Path) -> None:
    """The address is empty, of another kind, or has no listener."""
    for address in ("", "vsock:2:1", str(tmp_path / "gone")):
        supervisor = Supervisor({"NOTIFY_SOCKET": address, "WATCHDOG_USEC": "1000000"}, ManualClock())
        supervisor.ready("up")
        assert supervisor.is_there == (supervisor.interval > 0) == address.startswith("/")
