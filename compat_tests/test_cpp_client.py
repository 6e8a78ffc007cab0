"""The client in C++, which Python's package `rocketmq` contains and wraps, with both servers."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from compat_tests.support.peers import Peers
from compat_tests.support.processes import stop, wait_until

pytest.importorskip("rocketmq", reason="the package rocketmq has wheels for Linux on x86-64 only")
pytestmark = pytest.mark.overlap

ROOT = Path(__file__).parents[1]
_numbers = count(1)

Sends = list[dict[str, Any]]


def command(request: dict[str, Any]) -> list[str]:
    """Return the command of a process with the client."""
    return [sys.executable, "-m", "compat_tests.support.cpp_member", json.dumps(request)]


def send(namesrv: str, topic: str, *messages: dict[str, Any]) -> Sends:
    """Send messages; return the client's result for each."""
    request = {"namesrv": namesrv, "topic": topic, "send": messages}
    done = subprocess.run(command(request), capture_output=True, timeout=60, check=True, cwd=ROOT)
    return [json.loads(line) for line in done.stdout.splitlines() if line.startswith(b"{")]


class Member:
    """A consumer in a process of its own."""

    def __init__(self, namesrv: str, topic: str, group: str, **options: Any) -> None:
        usual = {"expression": "*", "orderly": False, "broadcasting": False, "refuse": 0}
        request = usual | {"namesrv": namesrv, "topic": topic, "group": group} | options
        self.popen = subprocess.Popen(
            command(request), stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=ROOT
        )
        self.lines: list[dict[str, Any]] = []
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self.popen.stdout is not None
        for line in self.popen.stdout:
            if line.startswith(b"{"):
                self.lines.append(json.loads(line))

    def has(self, body: str) -> bool:
        """Return True if a body was delivered."""
        return body in self.bodies

    @property
    def received(self) -> list[dict[str, Any]]:
        """Delivered messages, in order."""
        return [line for line in list(self.lines) if "body" in line]

    @property
    def bodies(self) -> list[str]:
        """Bodies of the delivered messages."""
        return [line["body"] for line in self.received]

    def collect(self, least: int, seconds: float = 40) -> list[str]:
        """Return the bodies once there are at least `least`."""
        wait_until(lambda: len(self.bodies) >= least, seconds, f"{least} messages, {self.bodies} came")
        return self.bodies

    def __enter__(self) -> Member:
        return self

    def __exit__(self, *failure: object) -> None:
        assert self.popen.stdin is not None
        self.popen.stdin.close()
        stop(self.popen)
        self._reader.join(10)


def place(kind: str, peers: Peers) -> tuple[str, str, str]:
    """Return the name server, a new topic and a new group."""
    number = next(_numbers)
    return peers.tuned(kind).namesrv_address, f"cpp_topic_{number}", f"cpp_group_{number}"


def bodies(*names: str, **more: Any) -> Sends:
    """Return messages with these bodies."""
    return [{"body": name, **more} for name in names]


def test_sent_messages_are_consumed_by_tag(kind: str, peers: Peers) -> None:
    """The client's heartbeat writes enums as ordinals of Java's declaration."""
    namesrv, topic, group = place(kind, peers)
    results = send(namesrv, topic, *bodies("a1", "a2"), *bodies("b1", tag="B"))
    assert [result["status"] for result in results] == ["OK"] * 3
    assert len({result["id"] for result in results}) == 3
    with Member(namesrv, topic, group, expression="A || C") as member:
        assert sorted(member.collect(2)) == ["a1", "a2"]
        send(namesrv, topic, *bodies("b2", tag="B"), *bodies("c1", tag="C"))
        assert sorted(member.collect(3)) == ["a1", "a2", "c1"]


def test_a_shard_is_consumed_in_order(kind: str, peers: Peers) -> None:
    namesrv, topic, group = place(kind, peers)
    names = [f"m{number}" for number in range(8)]
    send(namesrv, topic, *bodies(*names, shard=1))
    with Member(namesrv, topic, group, orderly=True) as member:
        assert member.collect(8) == names
        assert len({received["place"][0] for received in member.received}) == 1


def test_refused_message_is_redelivered(kind: str, peers: Peers) -> None:
    namesrv, topic, group = place(kind, peers)
    send(namesrv, topic, *bodies("again"))
    with Member(namesrv, topic, group, refuse=1) as member:
        assert member.collect(2, 90) == ["again", "again"]
        assert [received["times"] for received in member.received] == [0, 1]


def test_broadcasts_come_to_every_member(kind: str, peers: Peers) -> None:
    """Members start at the end of the queue, so messages are sent until both have started."""
    namesrv, topic, group = place(kind, peers)
    send(namesrv, topic, *bodies("before"))
    with (
        Member(namesrv, topic, group, broadcasting=True) as first,
        Member(namesrv, topic, group, broadcasting=True) as second,
    ):

        def both_have_begun() -> bool:
            send(namesrv, topic, *bodies("warm", "warm", "warm", "warm"))
            return bool(first.bodies and second.bodies)

        wait_until(both_have_begun, 60, "both members consume", 0.5)
        send(namesrv, topic, *bodies("to all"))
        for member in (first, second):
            wait_until(partial(member.has, "to all"), 40, "a broadcast")
