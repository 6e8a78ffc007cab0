"""A cluster of Apache's brokers moves to ours and back with `mqgateway migrate`, under load of stock clients.

The scenario takes the part of the operator: it reads the command's instructions, and starts and stops brokers
with the configuration files of the plan. `MQGATEWAY_MIGRATION_SECONDS` (35) is the time that producers get to
move to other brokers.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from compat_tests.support.artifacts import CURRENT
from compat_tests.support.controlled import apache_controllers
from compat_tests.support.driver import ClientError, message
from compat_tests.support.peers import Peer, Peers
from compat_tests.support.processes import free_ports, wait_until
from compat_tests.support.servers import (
    HOST,
    ROOT,
    Part,
    apache_broker,
    apache_namesrv,
    our_broker,
    wait_until_registered,
)

DRAIN_SECONDS = os.environ.get("MQGATEWAY_MIGRATION_SECONDS", "35")
SETTINGS = {"mappedFileSizeCommitLog": str(1 << 20), "flushConsumerOffsetInterval": "500"}
QUEUES = 2
ROUTE_SECONDS = 60
"""Clients refresh routes every 30 s."""
PAUSE = 0.02
DELAYED = "d-"
COMMAND = [sys.executable, "-c", "from mqgateway.gateway.cli.main import main; main()", "migrate"]


class Cluster:
    """A name server and brokers of Apache's, and the brokers that replace them."""

    def __init__(self, folder: Path, names: list[str], settings: Mapping[str, str] | None = None) -> None:
        self.folder = folder
        self._settings = {**SETTINGS, **(settings or {})}
        self.names = names
        port = free_ports()
        self.namesrv_address = f"{HOST}:{port}"
        self._namesrv = apache_namesrv(folder / "namesrv", port)
        self.old = {name: free_ports((-2, 0, 1)) for name in names}
        self.new = {name: free_ports((-2, 0, 1)) for name in names}
        self._running: dict[int, Part] = {}

    def __enter__(self) -> Cluster:
        self._namesrv.start()
        for name, port in self.old.items():
            settings = {**self._settings, "brokerName": name}
            self._begin(port, apache_broker(self.folder / name, port, self.namesrv_address, settings))
        wait_until_registered(self.namesrv_address, set(self.names))
        return self

    def __exit__(self, *failure: object) -> None:
        for part in (*self._running.values(), self._namesrv):
            part.kill9()

    def _begin(self, port: int, part: Part) -> None:
        part.start()
        self._running[port] = part

    def act(self, asked: Mapping[str, str]) -> None:
        """Follow an instruction of the command."""
        port, name = int(asked["address"].rpartition(":")[2]), asked["group"]
        file = asked["file"]
        if asked["act"] == "end":
            self._running.pop(port).stop(40)
            return
        settings = dict(line.split("=", 1) for line in Path(file).read_text().splitlines())
        if "-old-" in file:
            part = apache_broker(self.folder / name, port, self.namesrv_address, settings)
        else:
            home = Path(settings["storePathRootDir"]).parent
            part = our_broker(home, port, self.namesrv_address, settings)
        self._begin(port, part)

    def command(self, verb: str, *arguments: str, code: int = 0) -> list[dict[str, Any]]:
        """Run a command to its end and follow its instructions; return its lines."""
        command = [*COMMAND, verb, str(self.folder / "plan.json"), *arguments, "--json"]
        lines = []
        with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as running:
            assert running.stdout is not None and running.stderr is not None
            for text in running.stdout:
                line = json.loads(text)
                print(time.strftime("%X"), line)
                lines.append(line)
                if "act" in line:
                    self.act(line)
            said = running.stderr.read().decode()
        assert running.returncode == code, said
        return lines


class Load:
    """A producer and a consumer that run continuously, with the longest pause of each.

    Every tenth message is delayed by ten seconds.
    """

    def __init__(self, peer: Peer, topic: str) -> None:
        self._peer = peer
        self._topic = topic
        self._ended = threading.Event()
        self.sent: dict[str, float] = {}
        self.seen: dict[str, float] = {}
        self.failed = 0
        self._threads = [threading.Thread(target=each) for each in (self._send, self._read)]

    def __enter__(self) -> Load:
        for thread in self._threads:
            thread.start()
        wait_until(lambda: len(self.seen) > 20, 60, "messages go round")
        return self

    def __exit__(self, *failure: object) -> None:
        self._ended.set()
        for thread in self._threads:
            thread.join(120)

    def _send(self) -> None:
        number = 0
        with self._peer.producer(retries=2) as producer:
            while not self._ended.is_set():
                number += 1
                is_delayed = number % 10 == 0
                body = f"{DELAYED if is_delayed else 'm-'}{number}"
                how = {"delayLevel": 3} if is_delayed else {}
                try:
                    sent = producer.send([message(self._topic, body, **how)])[0]
                except ClientError:
                    self.failed += 1
                else:
                    if sent.status == "SEND_OK":
                        self.sent[body] = time.monotonic()
                time.sleep(PAUSE)

    def _read(self) -> None:
        with self._peer.push(self._peer.name("readers"), {self._topic: "*"}) as consumer:
            while not (self._ended.is_set() and set(self.sent) <= set(self.seen)):
                found = consumer.collect(len(self.seen) + 1, 1)
                now = time.monotonic()
                for one in found:
                    self.seen.setdefault(one.body, now)
                if self._ended.is_set() and now - max(self.sent.values()) > 90:
                    return

    def producer_pause(self) -> float:
        """Longest time between two acknowledgements, in seconds."""
        times = sorted(self.sent.values())
        return max(after - before for before, after in pairwise(times))

    def consumer_pause(self) -> float:
        """Longest time from an acknowledgement to the delivery, in seconds."""
        return max(self.seen[body] - at for body, at in self.sent.items() if not body.startswith(DELAYED))


def move_and_come_back(cluster: Cluster, peers: Peers, ports: Mapping[str, int], *how: str) -> None:
    """Move there and back under load; acknowledged messages are delivered, and both sides store them."""
    peer = Peer(cluster.namesrv_address, peers.driver(CURRENT), CURRENT)
    topic = peer.topic("moving", QUEUES, brokers=len(cluster.names))
    new = [part for name, port in ports.items() for part in ("--new", f"{name}={HOST}:{port}")]
    where = ("-n", cluster.namesrv_address, "--data-dir", str(cluster.folder / "new"))
    with Load(peer, topic) as load:
        cluster.command("plan", *where, *new, "--drain-seconds", DRAIN_SECONDS, *how)
        cluster.command("run", "--dry-run")
        cluster.command("run")
        rows = cluster.command("verify")
        assert [(row["moved"], row["wrong"]) for row in rows] == [(True, "")] * len(cluster.names)
        there = len(load.sent)
        print("away without a master", [row["away"] for row in rows])
        wait_until(lambda: len(load.sent) > there + 50, ROUTE_SECONDS, "the new master is sent to")
        cluster.command("rollback")
        rows = cluster.command("verify")
        assert [(row["moved"], row["wrong"]) for row in rows] == [(False, "")] * len(cluster.names)
        back = len(load.sent)
        wait_until(lambda: len(load.sent) > back + 50, ROUTE_SECONDS, "the old master is sent to")
    lost = set(load.sent) - set(load.seen)
    assert not lost, f"{len(lost)} of {len(load.sent)} never came, such as {sorted(lost)[:5]}"
    print(
        f"sent {len(load.sent)}, failed {load.failed}; longest pause of the producer "
        f"{load.producer_pause():.1f} s, of the consumer {load.consumer_pause():.1f} s"
    )
    peer.close()


@pytest.mark.long
@pytest.mark.both_servers
@pytest.mark.timeout(1500)
@pytest.mark.parametrize("count", [1, 3])
def test_a_cluster_moves_and_comes_back(count: int, peers: Peers, tmp_path: Path) -> None:
    """The cluster has one group, whose producers cannot move to others, or three."""
    with Cluster(tmp_path, [f"broker-{letter}" for letter in "abc"[:count]]) as cluster:
        move_and_come_back(cluster, peers, cluster.new)


@pytest.mark.long
@pytest.mark.both_servers
@pytest.mark.timeout(600)
def test_a_cluster_moves_in_place_and_comes_back(peers: Peers, tmp_path: Path) -> None:
    """Each broker opens the files of its predecessor, at the same address."""
    with Cluster(tmp_path, ["broker-a"]) as cluster:
        move_and_come_back(cluster, peers, cluster.old, "--in-place")


@pytest.mark.long
@pytest.mark.both_servers
@pytest.mark.timeout(600)
def test_a_cluster_with_a_controller_moves_by_election_and_comes_back(peers: Peers, tmp_path: Path) -> None:
    """Apache's controller elects our broker, then Apache's again; no broker is stopped."""
    (controller,) = apache_controllers(tmp_path / "controller", 1)
    controller.part.start()
    settings = {"enableControllerMode": "true", "controllerAddr": controller.address}
    try:
        with Cluster(tmp_path, ["broker-a"], settings) as cluster:
            move_and_come_back(cluster, peers, cluster.new)
    finally:
        controller.part.kill9()
