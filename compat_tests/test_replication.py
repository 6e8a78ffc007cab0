"""Masters and slaves of both kinds in one group; a slave that replaces a master of the other kind.

The log of a slave is its master's byte for byte; the slave serves all messages that a SYNC_MASTER has
acknowledged when the master is down; groups resume from their offsets. ``MQGATEWAY_REPLICATION_MESSAGES``
(600) is the number of messages.
"""

from __future__ import annotations

import os
import re
import time
from concurrent.futures import Future
from contextlib import closing
from pathlib import Path

import pytest

from compat_tests.support.driver import ClientError, PullConsumer, Queue, message
from compat_tests.support.mqadmin import Mqadmin
from compat_tests.support.peers import Peer, Peers
from compat_tests.support.processes import wait_until
from compat_tests.support.replicas import Group, Member

MESSAGES = int(os.environ.get("MQGATEWAY_REPLICATION_MESSAGES", "600"))
READ_SECONDS = max(90, MESSAGES // 100)
TABLES_SECONDS = 100
"""Apache's slave copies its master's tables after a minute."""
MASTER = {"brokerRole": "SYNC_MASTER", "inSyncReplicas": "2"}
ALONE = {"brokerRole": "SYNC_MASTER", "inSyncReplicas": "1"}
SLAVE = {"brokerRole": "SLAVE", "brokerId": "1"}
VARIANT = "5.5.0"
ADDRESS = r"\d+(\.\d+){3}:\d+"


def send_mixture(peer: Peer, topic: str) -> set[str]:
    """Send messages of several kinds and sizes; return the bodies, all of which were acknowledged."""
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
    """Read until all wanted messages have come; return the end of each queue."""
    offsets = dict.fromkeys(queues, 0)
    seen: set[str] = set()
    end = time.monotonic() + READ_SECONDS
    while not wanted <= seen:
        assert time.monotonic() < end, f"never came: {sorted(wanted - seen)[:5]} of {len(wanted - seen)}"
        for queue in queues:
            try:
                pulled = consumer.pull(queue, offsets[queue])
            except ClientError:  # the client has not noticed yet that the master is down
                time.sleep(0.5)
                continue
            seen |= {one.body for one in pulled.messages}
            offsets[queue] = max(offsets[queue], pulled.next_offset)
    return offsets


def is_in_step(master: Member, slave: Member) -> None:
    """Wait until the slave has the whole log, and compare it byte for byte."""
    wait_until(lambda: master.is_followed() and slave.end() == master.end(), 60, "the slave has everything")
    end = master.end()
    assert slave.log(end) == master.log(end)


def shape(text: str) -> list[str]:
    """Return the output of mqadmin without the parts that differ between runs."""
    text = re.sub(ADDRESS, "ADDRESS", text)
    text = re.sub(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3}", "TIME", text)
    lines = [re.sub(r"\d+(\.\d+)?", "N", line).split() for line in text.splitlines()]
    return [" ".join(words) for words in lines if words]


def check_status(admin: Mqadmin, group: Group) -> None:
    """Check the output of `mqadmin haStatus` for both brokers, which is that of Apache's brokers."""
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


@pytest.mark.overlap
@pytest.mark.both_servers
@pytest.mark.parametrize(("master", "slave"), [("ours", "apache"), ("apache", "ours"), ("ours", "ours")])
def test_a_slave_has_its_masters_log_and_serves_readers_without_it(
    peers: Peers, tmp_path: Path, master: str, slave: str
) -> None:
    """Both have the acknowledged messages; a group resumes from its offsets, and they are stored."""
    with Group(tmp_path) as group, closing(Mqadmin(peers.runtime)) as admin:
        _lose_the_master(group, peers, admin, master, slave)


def _lose_the_master(group: Group, peers: Peers, admin: Mqadmin, master: str, slave: str) -> None:
    """Run the scenario in a group of its own."""
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
    """Commit, which has no answer, and return True if the offset arrived."""
    try:
        consumer.update_offset(queue, offset)
        return consumer.fetch_offset(queue) == offset
    except ClientError:
        return False


@pytest.mark.overlap
@pytest.mark.both_servers
def test_a_group_is_handed_over_from_apaches_broker_to_ours(peers: Peers, tmp_path: Path) -> None:
    """The master is stopped under load, readers continue with our slave, which is restarted as the master.

    Apache's broker returns as its slave. No acknowledged message is lost, and the logs are equal.
    """
    with Group(tmp_path) as group:
        _hand_over(group, peers)


def _hand_over(group: Group, peers: Peers) -> None:
    """Run the scenario in a group of its own."""
    group.first.begin("apache", MASTER)
    group.second.begin("ours", SLAVE)
    wait_until(group.first.is_followed, 60, "the slave follows")
    peer = Peer(group.namesrv_address, peers.driver(VARIANT), "handed-over")
    topic, name = peer.topic("handed", queues=2), peer.name("readers")
    with peer.pull(name) as consumer:
        queues = consumer.queues(topic)
        acknowledged = _storm(group, peer, topic)
        ends = read(consumer, queues, acknowledged)
        group.second.stop()
        group.second.begin("ours", ALONE)
        group.first.begin("apache", SLAVE)
        wait_until(group.second.is_followed, 90, "Apache's broker follows")
        more = send_mixture(peer, topic)
        after = read(consumer, queues, acknowledged | more)
        assert all(after[queue] >= ends[queue] for queue in queues)
    is_in_step(group.second, group.first)
    peer.close()


def _storm(group: Group, peer: Peer, topic: str) -> set[str]:
    """Send at full speed until the master is stopped; return the acknowledged bodies."""
    with peer.producer(retries=0) as producer:
        storm: Future[list[str]] = producer.begin_storm(topic, 4, 60_000)
        wait_until(lambda: producer.storm_count() >= MESSAGES, 60, "a storm", 0.05)
        wait_until(lambda: group.second.knows(topic, "CID_ONSAPI_OWNER"), 60, "the slave has the topic")
        group.first.stop()
        acknowledged = storm.result(60)
    assert len(acknowledged) >= MESSAGES
    return set(acknowledged)
