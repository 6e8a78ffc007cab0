"""Broker containers of both kinds: brokers are added and removed at run time while clients continue.

Cross-deployed masters and slaves survive the loss of one of two containers.

``MQGATEWAY_CONTAINERS=apache`` runs the second scenario with Apache's containers, where it takes minutes.
"""

from __future__ import annotations

import os
import re
import time
from contextlib import ExitStack, closing
from pathlib import Path

import pytest

from compat_tests.support.driver import ClientError, PushConsumer, message
from compat_tests.support.mqadmin import Mqadmin
from compat_tests.support.peers import Peer, Peers
from compat_tests.support.processes import free_ports, wait_until
from compat_tests.support.servers import (
    CLUSTER_NAME,
    HOST,
    Part,
    apache_container,
    apache_namesrv,
    contained_broker,
    our_container,
    our_namesrv,
)

CROSSED = os.environ.get("MQGATEWAY_CONTAINERS", "ours")
VARIANT = "5.5.0"
PORTS = (-2, 0, 1)
"""Offsets of the ports that a broker uses; a container uses all but the last."""

ROUTE_SECONDS = 60
"""Clients refresh routes every 30 s, and brokers register with name servers as often."""

TABLES_SECONDS = 100
"""Apache's slave copies its master's tables after a minute."""

MESSAGES = 40


class Containers:
    """A name server and containers of one kind below a folder; brokers keep their ports."""

    def __init__(self, kind: str, folder: Path) -> None:
        self.kind = kind
        self.folder = folder
        port = free_ports()
        self.namesrv = f"{HOST}:{port}"
        start_namesrv = apache_namesrv if kind == "apache" else our_namesrv
        self._parts = [start_namesrv(folder / "namesrv", port)]
        self._parts[0].start()

    def __enter__(self) -> Containers:
        return self

    def __exit__(self, *failure: object) -> None:
        for part in reversed(self._parts):
            part.stop() if self.kind == "ours" else part.kill9()

    def container(self, *brokers: Path) -> tuple[str, Part]:
        """Start a container with these brokers; return its address and process."""
        port, number = free_ports((-2, 0)), len(self._parts)
        make = apache_container if self.kind == "apache" else our_container
        part = make(self.folder / f"container-{number}", port, self.namesrv, brokers)
        self._parts.append(part)
        part.start()
        return f"{HOST}:{port}", part

    def broker(self, name: str, **settings: str) -> tuple[Path, int]:
        """Write a broker's configuration file; return its path and the broker's port."""
        port = free_ports(PORTS)
        folder = self.folder / f"{name}-{settings.get('brokerId', 0)}"
        return contained_broker(self.kind, folder, port, {"brokerName": name, **settings}), port


def listed(admin: Mqadmin, namesrv: str) -> set[tuple[str, str, str]]:
    """Return name, id and address of each broker that `mqadmin clusterList` shows."""
    lines = admin.run("clusterList", "-n", namesrv).out.splitlines()
    rows = [line.split() for line in lines if line.startswith(CLUSTER_NAME)]
    return {(row[1], row[2], row[3]) for row in rows}


def remark(output: str) -> str:
    """Return the server's code and remark from mqadmin's error output."""
    found = re.search(r"CODE: (\d+) +DESC: (.*)", output)
    return f"{found[1]} {found[2].strip()}" if found else output


def bodies(what: str) -> list[str]:
    """Return the bodies of a step's messages."""
    return [f"{what}-{number}" for number in range(MESSAGES)]


def send_all(peer: Peer, topic: str, what: str) -> set[str]:
    """Send a step's messages; return the names of the brokers that stored them."""
    with peer.producer() as producer:
        results = producer.send([message(topic, body) for body in bodies(what)])
    assert {result.status for result in results} == {"SEND_OK"}
    return {result.queue.broker_name for result in results}


def collect(consumer: PushConsumer, *steps: str) -> None:
    """Wait for all messages of these steps; duplicates come if a rebalance precedes a commit."""
    wanted = {body for step in steps for body in bodies(step)}
    wait_until(lambda: {one.body for one in consumer.collect(0, 0)} >= wanted, 120, "all have come", 0.5)
    assert {one.body for one in consumer.collect(0, 0)} == wanted


@pytest.mark.overlap
def test_brokers_come_and_go_at_run_time(kind: str, peers: Peers, tmp_path: Path) -> None:
    """Two brokers are added, one is removed and added again; no message is lost and readers continue."""
    with ExitStack() as stack:
        admin = stack.enter_context(closing(Mqadmin(peers.runtime)))
        ours = stack.enter_context(Containers(kind, tmp_path))
        address, _ = ours.container()
        (first, port), (second, other_port) = ours.broker("broker-a"), ours.broker("broker-b")
        brokers = {("broker-a", "0", f"{HOST}:{port}"), ("broker-b", "0", f"{HOST}:{other_port}")}
        for path in (first, second):
            said = admin.run("addBroker", "-c", address, "-b", str(path))
            assert f"add broker to {address} success" in said.out, said
        wait_until(lambda: listed(admin, ours.namesrv) == brokers, 30, "both are registered", 1)
        check_refusals(admin, address, first, ours.broker("broker-c", brokerRole="SLAVE", brokerId="0")[0])

        peer = Peer(ours.namesrv, peers.driver(VARIANT), f"{kind}-container")
        topic = peer.topic("contained", 2, brokers=2)
        consumer = stack.enter_context(peer.push(peer.name("readers"), {topic: "*"}))
        assert send_all(peer, topic, "both") == {"broker-a", "broker-b"}
        collect(consumer, "both")

        said = admin.run("removeBroker", "-c", address, "-b", f"{CLUSTER_NAME}:broker-b:0")
        assert f"remove broker from {address} success" in said.out, said
        left = {one for one in brokers if one[0] == "broker-a"}
        wait_until(lambda: listed(admin, ours.namesrv) == left, 30, "one is left", 1)
        assert send_all(peer, topic, "one") == {"broker-a"}
        collect(consumer, "both", "one")

        admin.run("addBroker", "-c", address, "-b", str(second))
        wait_until(lambda: listed(admin, ours.namesrv) == brokers, ROUTE_SECONDS, "both are back", 1)
        wait_until(lambda: peer.knows(topic, 4), ROUTE_SECONDS, "the route has both")
        assert send_all(peer, topic, "again") == {"broker-a", "broker-b"}
        collect(consumer, "both", "one", "again")
        peer.close()


def check_refusals(admin: Mqadmin, address: str, added: Path, slave: Path) -> None:
    """Check the refusals of a container; both kinds answer with the same remarks."""
    name = f"{CLUSTER_NAME}_broker-a_0"
    for path, expected in (
        (str(added), f"1 {name} has already been added to current broker container"),
        (str(added.with_name("missing.conf")), "1 addBroker properties empty"),
        (str(slave), "1 slave broker id must be > 0"),
    ):
        assert remark(admin.run("addBroker", "-c", address, "-b", path).err) == expected
    said = admin.run("removeBroker", "-c", address, "-b", f"{CLUSTER_NAME}:broker-x:0")
    assert remark(said.err) == "211 Broker not exist"
    said = admin.run("getBrokerConfig", "-b", address)
    assert re.search(r"^listenPort\s*=\s*" + address.rpartition(":")[2], said.out, re.MULTILINE), said


@pytest.mark.overlap
def test_masters_and_slaves_of_two_containers(peers: Peers, tmp_path: Path) -> None:
    """Each has one master and the other's slave; after one container is lost all is read from the other."""
    with Containers(CROSSED, tmp_path) as ours:
        shared = {"slaveReadEnable": "true", "totalReplicas": "2", "inSyncReplicas": "2"}
        masters = {"brokerRole": "SYNC_MASTER", "haCopyWholeLog": "true", **shared}
        slaves = {"brokerRole": "SLAVE", "brokerId": "1", "slaveSyncInterval": "1000", **shared}
        a, b = ours.broker("broker-a", **masters), ours.broker("broker-b", **masters)
        slave_a, slave_b = ours.broker("broker-a", **slaves), ours.broker("broker-b", **slaves)
        _, doomed = ours.container(a[0], slave_b[0])
        ours.container(b[0], slave_a[0])
        peer = Peer(ours.namesrv, peers.driver(VARIANT), f"{CROSSED}-cross")
        topic = peer.topic("crossed", 2, brokers=2)
        wait_until(lambda: sends(peer, topic, "probe"), 60, "both slaves follow")
        assert send_all(peer, topic, "before") == {"broker-a", "broker-b"}
        wait_until(lambda: topic in tables(ours, "broker-a-1"), TABLES_SECONDS, "the slave knows the topic")
        doomed.kill9()
        with peer.pull(peer.name("readers")) as consumer:
            read: set[str] = set()
            for queue in consumer.queues(topic):
                offset, end = 0, -1
                while offset != end:
                    try:
                        pulled = consumer.pull(queue, offset)
                    except ClientError:  # the client does not know yet that the master is down
                        time.sleep(0.5)
                        continue
                    read |= {one.body for one in pulled.messages}
                    offset, end = pulled.next_offset, pulled.max_offset
        assert read >= set(bodies("before"))
        peer.close()


def sends(peer: Peer, topic: str, what: str) -> bool:
    """Return True if all replicas store messages."""
    with peer.producer() as producer:
        try:
            results = producer.send([message(topic, what) for _ in range(4)])
        except ClientError:
            return False
    return {result.status for result in results} == {"SEND_OK"}


def tables(ours: Containers, broker: str) -> str:
    """Return the topics file of a broker, empty if it is not written yet."""
    path = ours.folder / broker / "store" / "config" / "topics.json"
    return path.read_text() if path.exists() else ""
