"""Two brokers by one command, `mqgateway serve --brokers 2`: stock clients use both, and outlive restarts.

Apache's servers have no such command.
"""

from __future__ import annotations

import itertools
import json
import os
import signal
import subprocess
import sys
import time
from contextlib import ExitStack
from pathlib import Path

import pytest

from compat_tests.support.artifacts import CURRENT
from compat_tests.support.driver import message
from compat_tests.support.peers import Peer, Peers
from compat_tests.support.processes import free_ports, wait_until
from compat_tests.support.servers import HOST, ROOT, our_brokers

PORTS = (-2, 0, 1, 8, 10, 11)
"""Offsets of the ports that two brokers use."""
NAMES = {"broker-a-0", "broker-a-1"}
RESTART_SECONDS = 240
"""Limit of a rolling restart; the second broker is restarted once clients can know that the first is back."""
RECEIVE_SECONDS = 120
MESSAGES = 40


def send(peer: Peer, topic: str, what: str) -> tuple[set[str], set[str]]:
    """Send messages; return their bodies, and the names of the brokers that stored them."""
    bodies = [f"{what}-{number}" for number in range(MESSAGES)]
    with peer.producer(retries=5) as producer:
        results = producer.send([message(topic, body) for body in bodies])
    assert {result.status for result in results} == {"SEND_OK"}
    return set(bodies), {result.queue.broker_name for result in results}


def tool(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run a command of `mqgateway`; return its end."""
    command = [sys.executable, "-m", "mqgateway.gateway.cli.main", *arguments]
    return subprocess.run(command, capture_output=True, text=True, cwd=ROOT)


@pytest.mark.overlap
@pytest.mark.timeout(600)
def test_clients_use_both_brokers_and_continue_while_they_are_restarted(peers: Peers, tmp_path: Path) -> None:
    """A topic is made on both; a rolling restart loses no message and ends no client."""
    namesrv, port = free_ports(), free_ports(PORTS)
    part = our_brokers(tmp_path / "serve", namesrv, port, 2, {})
    log = tmp_path / "serve" / "serve.log"
    with ExitStack() as stack:
        part.start()
        stack.callback(part.stop)
        peer = Peer(f"{HOST}:{namesrv}", peers.driver(CURRENT), CURRENT)
        stack.callback(peer.close)
        topic = peer.topic("shared", 2, brokers=2)
        consumer = stack.enter_context(peer.push(peer.name("readers"), {topic: "*"}))
        steady = stack.enter_context(peer.producer(retries=5))
        sent, brokers = send(peer, topic, "before")
        assert brokers == NAMES

        os.kill(part.pid, signal.SIGHUP)
        wait_until(lambda: "restarted one after the other" in log.read_text(), 30, "the restart has begun")
        end = time.monotonic() + RESTART_SECONDS
        for number in itertools.count():
            sent |= send(peer, topic, f"during-{number}")[0] | {f"steady-{number}"}
            steady.send([message(topic, f"steady-{number}")])
            if "all brokers have been restarted" in log.read_text():
                break
            assert time.monotonic() < end, log.read_text()
            time.sleep(0.5)
        wait_until(lambda: send(peer, topic, "probe")[1] == NAMES, RECEIVE_SECONDS, "both are used again")
        wait_until(lambda: {one.body for one in consumer.collect(0, 0)} >= sent, RECEIVE_SECONDS, "all come")


@pytest.mark.overlap
@pytest.mark.timeout(600)
def test_added_broker_takes_its_share_of_topics_that_exist(peers: Peers, tmp_path: Path) -> None:
    """A start with three instead of two brokers loses no message, and clients use the third."""
    namesrv, port = free_ports(), free_ports((*PORTS, 18, 20, 21))
    two = our_brokers(tmp_path / "serve", namesrv, port, 2, {})
    three = our_brokers(tmp_path / "serve", namesrv, port, 3, {})
    with ExitStack() as stack:
        stack.callback(two.stop)
        two.start()
        peer = Peer(f"{HOST}:{namesrv}", peers.driver(CURRENT), CURRENT)
        stack.callback(peer.close)
        topic = peer.topic("grown", 2, brokers=2)
        consumer = stack.enter_context(peer.push(peer.name("readers"), {topic: "*"}))
        sent = send(peer, topic, "before")[0]
        two.stop()
        stack.callback(three.stop)
        three.start()
        wait_until(lambda: peer.knows(topic, 6), RECEIVE_SECONDS, "the route has three brokers")
        more, brokers = send(peer, topic, "after")
        assert brokers == {*NAMES, "broker-a-2"}
        sent |= more
        wait_until(lambda: {one.body for one in consumer.collect(0, 0)} >= sent, RECEIVE_SECONDS, "all come")


@pytest.mark.overlap
@pytest.mark.timeout(600)
def test_broker_is_added_while_clients_continue_and_a_restart_keeps_it(peers: Peers, tmp_path: Path) -> None:
    """Clients use the third broker without a restart of theirs; `--brokers 2` starts all three then."""
    namesrv, port = free_ports(), free_ports((*PORTS, 18, 20, 21))
    two = our_brokers(tmp_path / "serve", namesrv, port, 2, {})
    with ExitStack() as stack:
        two.start()
        stack.callback(two.stop)
        peer = Peer(f"{HOST}:{namesrv}", peers.driver(CURRENT), CURRENT)
        stack.callback(peer.close)
        topic = peer.topic("widened", 2, brokers=2)
        consumer = stack.enter_context(peer.push(peer.name("readers"), {topic: "*"}))
        sent = send(peer, topic, "before")[0]
        for _ in range(2):
            done = tool("broker", "add", "broker-a-2", "-n", f"{HOST}:{namesrv}", "--json")
            assert done.returncode == 0, done.stderr
            (row,) = json.loads(done.stdout)["rows"]
            assert (row["brokerName"], row["state"]) == ("broker-a-2", "up")
        wait_until(lambda: peer.knows(topic, 6), RECEIVE_SECONDS, "the route has three brokers")
        more, brokers = send(peer, topic, "after")
        assert brokers == {*NAMES, "broker-a-2"}
        sent |= more
        two.stop()
        two.start()
        wait_until(lambda: peer.knows(topic, 6), RECEIVE_SECONDS, "the restart has started three brokers")
        sent |= send(peer, topic, "again")[0]
        wait_until(lambda: {one.body for one in consumer.collect(0, 0)} >= sent, RECEIVE_SECONDS, "all come")


@pytest.mark.overlap
@pytest.mark.timeout(600)
def test_removed_broker_is_stopped_once_clients_have_read_it(peers: Peers, tmp_path: Path) -> None:
    """Producers use the other broker meanwhile, and no message is lost; it can be added again."""
    namesrv, port = free_ports(), free_ports(PORTS)
    two = our_brokers(tmp_path / "serve", namesrv, port, 2, {})
    with ExitStack() as stack:
        two.start()
        stack.callback(two.stop)
        peer = Peer(f"{HOST}:{namesrv}", peers.driver(CURRENT), CURRENT)
        stack.callback(peer.close)
        topic, group = peer.topic("shrunk", 2, brokers=2), peer.name("readers")
        sent, brokers = send(peer, topic, "before")
        assert brokers == NAMES
        removal = ["broker", "remove", "broker-a-1", "-n", f"{HOST}:{namesrv}"]
        waiting = tool(*removal, "--wait", "4")
        assert waiting.returncode == 1 and f"read by no group {topic}" in waiting.stderr
        with peer.push(group, {topic: "*"}) as consumer:
            done = tool(*removal, "--wait", "300")
            assert done.returncode == 0, done.stderr
            more, brokers = send(peer, topic, "after")
            assert brokers == {"broker-a-0"}
            sent |= more
            wait_until(
                lambda: {one.body for one in consumer.collect(0, 0)} >= sent, RECEIVE_SECONDS, "all come"
            )
        done = tool("broker", "add", "broker-a-1", "-n", f"{HOST}:{namesrv}")
        assert done.returncode == 0, done.stderr
        wait_until(lambda: send(peer, topic, "both")[1] == NAMES, RECEIVE_SECONDS, "both are used again")
