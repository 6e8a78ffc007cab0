"""Masters of both kinds and our slave in one group.

The log of a slave is its master's byte for byte; what a SYNC_MASTER has acknowledged is read from the slave
when the master is gone; groups go on where they were. ``MQGATEWAY_REPLICATION_MESSAGES`` (600) makes it
larger.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from compat_tests.driver import ClientError, PullConsumer, Queue, message
from compat_tests.mqadmin import Mqadmin
from compat_tests.peers import Peer, Peers
from compat_tests.processes import free_ports, wait_until
from compat_tests.raw import RawConnection
from compat_tests.servers import HOST, Part, apache_broker, our_broker, our_namesrv
from engine.lenient_json import loads
from gateway.codec.codes import RequestCode

MESSAGES = int(os.environ.get("MQGATEWAY_REPLICATION_MESSAGES", "600"))
READ_SECONDS = max(90, MESSAGES // 100)
TABLES_SECONDS = 100
"""Apache's slave takes over its master's tables after a minute."""
SETTINGS = {
    "mappedFileSizeCommitLog": str(1 << 20),
    "slaveReadEnable": "true",
    "haCopyWholeLog": "true",
    "flushConsumerOffsetInterval": "500",
    "registerNameServerPeriod": "10000",
}
MASTER = {"brokerRole": "SYNC_MASTER", "inSyncReplicas": "2"}
SLAVE = {"brokerRole": "SLAVE", "brokerId": "1"}
OURS_ONLY = ("haCopyWholeLog",)
VARIANT = "5.5.0"
ADDRESS = r"\d+(\.\d+){3}:\d+"


class Member:
    """One place in the group, whose store brokers of either kind open."""

    def __init__(self, group: Group, name: str) -> None:
        self._group = group
        self._folder = group.folder / name
        self._port = free_ports((-2, 0, 1))
        self._part: Part | None = None
        self.address = f"{HOST}:{self._port}"
        self.store = self._folder / "store"

    def begin(self, kind: str, role: dict[str, str]) -> Member:
        """Start a broker of a kind in a role."""
        settings = {**SETTINGS, **role}
        if kind == "apache":
            for name in OURS_ONLY:
                settings.pop(name)
        make = apache_broker if kind == "apache" else our_broker
        self._part = make(self._folder, self._port, self._group.namesrv_address, settings)
        self._part.start()
        return self

    def stop(self) -> None:
        """End the broker in good order."""
        if self._part is not None:
            self._part.stop()
            self._part = None

    def kill(self) -> None:
        """End the broker at once."""
        if self._part is not None:
            self._part.kill9()
            self._part = None

    def ask(self, code: int) -> dict[str, object]:
        """The JSON that a request without fields is answered with."""
        with RawConnection(self.address) as connection:
            answer = connection.ask(code)
        assert answer is not None
        assert answer.code == 0, answer.remark
        found: dict[str, object] = loads(answer.body)
        return found

    def end(self) -> int:
        """Where the log ends."""
        status = self.ask(RequestCode.GET_BROKER_HA_STATUS)
        of_slave = status["haClientRuntimeInfo"]
        assert isinstance(of_slave, dict)
        end = status["masterCommitLogMaxOffset"] if status["master"] else of_slave["maxOffset"]
        assert isinstance(end, int)
        return end

    def is_followed(self) -> bool:
        """Whether a slave has acknowledged everything."""
        status = self.ask(RequestCode.GET_BROKER_HA_STATUS)
        slaves = status["haConnectionInfo"]
        assert isinstance(slaves, list)
        return [slave["slaveAckOffset"] for slave in slaves] == [status["masterCommitLogMaxOffset"]]

    def log(self, end: int) -> dict[str, bytes]:
        """The bytes of each log file, as far as the log goes."""
        files = sorted((self.store / "commitlog").iterdir())
        return {
            file.name: file.read_bytes()[: end - int(file.name)] for file in files if int(file.name) < end
        }

    def knows(self, topic: str, group: str) -> bool:
        """Whether the tables on disk name a topic and a group."""
        config = self.store / "config"
        tables = (config / "topics.json", config / "subscriptionGroup.json")
        return all(
            path.exists() and f'"{name}"' in path.read_text()
            for path, name in zip(tables, (topic, group), strict=True)
        )


class Group:
    """A name server, a master and a slave."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        port = free_ports()
        self.namesrv_address = f"{HOST}:{port}"
        self._namesrv = our_namesrv(folder / "namesrv", port)
        self.first = Member(self, "first")
        self.second = Member(self, "second")

    def __enter__(self) -> Group:
        self._namesrv.start()
        return self

    def __exit__(self, *failure: object) -> None:
        for part in (self.first, self.second):
            part.kill()
        self._namesrv.kill9()


@pytest.fixture
def group(tmp_path: Path) -> Iterator[Group]:
    with Group(tmp_path) as group:
        yield group


@pytest.fixture(scope="module")
def admin(peers: Peers) -> Iterator[Mqadmin]:
    admin = Mqadmin(peers.runtime)
    yield admin
    admin.close()


def send_mixture(peer: Peer, topic: str) -> set[str]:
    """Send messages of several kinds and sizes; the bodies, all of which were acknowledged."""
    bodies = [f"{number}:" + "x" * (number * 37 % 3000) for number in range(MESSAGES)]
    third = MESSAGES // 3
    with peer.producer() as producer:
        plain = [message(topic, body, tags=f"t{at % 3}", keys=f"k{at}") for at, body in enumerate(bodies)]
        results = producer.send(plain[:third])
        results += producer.send(plain[third : 2 * third], "async")
        for at in range(2 * third, MESSAGES, 20):
            results += producer.send([message(topic, body) for body in bodies[at : at + 20]], "batch")
        results += producer.send([message(topic, "delayed", delayLevel=1)])
    assert {result.status for result in results} == {"SEND_OK"}
    return {*bodies, "delayed"}


def read(consumer: PullConsumer, queues: list[Queue], wanted: set[str]) -> dict[Queue, int]:
    """Read until everything wanted has come; where each queue ends."""
    offsets = dict.fromkeys(queues, 0)
    seen: set[str] = set()
    end = time.monotonic() + READ_SECONDS
    while not wanted <= seen:
        assert time.monotonic() < end, f"never came: {sorted(wanted - seen)[:5]} of {len(wanted - seen)}"
        for queue in queues:
            try:
                pulled = consumer.pull(queue, offsets[queue])
            except ClientError:  # the client has not noticed yet that the master is gone
                time.sleep(0.5)
                continue
            seen |= {one.body for one in pulled.messages}
            offsets[queue] = max(offsets[queue], pulled.next_offset)
    return offsets


def is_in_step(master: Member, slave: Member) -> None:
    """The slave has everything, byte for byte."""
    wait_until(lambda: master.is_followed() and slave.end() == master.end(), 60, "the slave has everything")
    end = master.end()
    assert slave.log(end) == master.log(end)


def shape(text: str) -> list[str]:
    """What mqadmin printed, without what differs from run to run."""
    text = re.sub(ADDRESS, "ADDRESS", text)
    text = re.sub(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3}", "TIME", text)
    lines = [re.sub(r"\d+(\.\d+)?", "N", line).split() for line in text.splitlines()]
    return [" ".join(words) for words in lines if words]


def check_status(admin: Mqadmin, group: Group) -> None:
    """`mqadmin haStatus` of both, as Apache's brokers have it."""
    said = admin.run("haStatus", "-n", group.namesrv_address, "-b", group.first.address)
    assert shape(said.out) == [
        "#MasterAddr ADDRESS",
        "#MasterCommitLogMaxOffset N",
        "#SlaveNum N",
        "#InSyncSlaveNum N",
        "#SlaveAddr #SlaveAckOffset #Diff #TransferSpeed(KB/s) #Status #TransferFromWhere",
        "ADDRESS N N N OK N",
    ]
    said = admin.run("haStatus", "-n", group.namesrv_address, "-b", group.second.address)
    assert shape(said.out) == [
        "#MasterAddr ADDRESS",
        "#CommitLogMaxOffset N",
        "#TransferSpeed(KB/s) N",
        "#LastReadTime TIME",
        "#LastWriteTime TIME",
        "#MasterFlushOffset N",
    ]
    said = admin.run("clusterList", "-n", group.namesrv_address)
    assert group.first.address in said.out
    assert group.second.address in said.out


@pytest.mark.both_servers
@pytest.mark.parametrize(("master", "slave"), [("ours", "ours"), ("apache", "ours")])
def test_a_slave_has_its_masters_log_and_serves_readers_without_it(
    group: Group, peers: Peers, admin: Mqadmin, master: str, slave: str
) -> None:
    """Acknowledged is what both have; a group goes on where it was, and its offsets are kept."""
    group.first.begin(master, MASTER)
    group.second.begin(slave, SLAVE)
    wait_until(group.first.is_followed, 60, "the slave follows")
    peer = Peer(group.namesrv_address, peers.driver(VARIANT), f"{master}-{slave}")
    topic, name = peer.topic("copied", queues=2), peer.name("readers")
    sent = send_mixture(peer, topic)
    with peer.pull(name) as consumer:
        queues = consumer.queues(topic)
        ends = read(consumer, queues, sent)
        for queue, offset in ends.items():
            wait_until(lambda: _commit(consumer, queue, offset // 2), 20, "the offset is kept")  # noqa: B023
        is_in_step(group.first, group.second)
        group.second.stop()
        group.second.begin(slave, SLAVE)
        is_in_step(group.first, group.second)
        check_status(admin, group)
        wait_until(lambda: group.second.knows(topic, name), TABLES_SECONDS, "the slave has the tables")
        group.first.kill()
        assert read(consumer, queues, sent) == ends
        for queue, offset in ends.items():
            wait_until(lambda: _commit(consumer, queue, offset), 60, "the slave keeps offsets")  # noqa: B023
    peer.close()


def _commit(consumer: PullConsumer, queue: Queue, offset: int) -> bool:
    """Commit, which is not answered, and see whether it arrived."""
    try:
        consumer.update_offset(queue, offset)
        return consumer.fetch_offset(queue) == offset
    except ClientError:
        return False
