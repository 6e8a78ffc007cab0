"""A broker whose disk was lost is restored from its tier, and Apache's broker opens the restored files.

Our broker saves its log to a folder while the official Java client sends to two topics, and delays messages,
which are not saved. The broker is killed and its store deleted. Apache's broker starts on what is restored:
the client pulls every saved message at its offset, finds it by key and by time, and the group continues. Then
our broker continues on what Apache's has left.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import time
from contextlib import ExitStack
from functools import partial
from pathlib import Path

import pytest

from compat_tests.support.artifacts import CURRENT
from compat_tests.support.driver import PullConsumer, Queue, Received, message
from compat_tests.support.peers import Peer, Peers
from compat_tests.support.processes import free_ports, wait_until
from compat_tests.support.servers import (
    BROKER_NAME,
    HOST,
    Part,
    apache_broker,
    our_broker,
    our_namesrv,
    wait_until_registered,
)

SETTINGS = {"mappedFileSizeCommitLog": str(1 << 20), "flushConsumerOffsetInterval": "500"}
COUNT = 1200
DELAYED, DELAY_LEVEL = 300, 18
CONSUMED = 400
QUEUES = 4
Fields = tuple[int, int, str, str, list[tuple[str, str]], int, int]
"""Queue, offset, body, message id, properties, and the times of birth and storing of a message."""


def command(*arguments: str) -> str:
    """Run `mqgateway tier` and return its standard output."""
    program = "from mqgateway.gateway.cli.main import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", program, "tier", *arguments],
        check=False,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def saved_to(url: str) -> int:
    """Return the end of the log in the tier."""
    [broker] = json.loads(command("status", url, "--json"))["brokers"]
    return int(broker["savedTo"] or 0)


def log_end(part_folder: Path) -> int:
    """Return the position after the last record, which is where zeros begin in the newest file with any."""
    for path in sorted((part_folder / "store" / "commitlog").iterdir(), reverse=True):
        if used := len(path.read_bytes().rstrip(b"\0")):
            return int(path.name) + used
    return 0


def read_queue(consumer: PullConsumer, queue: Queue) -> list[Received]:
    """Return every message of a queue."""
    found: list[Received] = []
    offset, end = consumer.min_offset(queue), consumer.max_offset(queue)
    while offset < end:
        pulled = consumer.pull(queue, offset)
        assert [each.queue_offset for each in pulled.messages] == list(range(offset, pulled.next_offset))
        found += pulled.messages
        offset = pulled.next_offset
    return found


def fields_of(received: Received) -> Fields:
    """Return the fields that must be the same before and after."""
    properties = {
        name: value
        for name, value in received.properties.items()
        if name not in ("MIN_OFFSET", "MAX_OFFSET", "CONSUME_START_TIME", "CLUSTER")
    }
    times = received.born_timestamp, received.store_timestamp
    return (
        received.queue_id,
        received.queue_offset,
        received.body,
        received.msg_id,
        sorted(properties.items()),
        *times,
    )


def pull_all(peer: Peer, topic: str) -> list[Fields]:
    """Return every message of a topic."""
    with peer.pull(peer.name("auditors")) as consumer:
        return [fields_of(each) for queue in consumer.queues(topic) for each in read_queue(consumer, queue)]


class Home:
    """One name server and one address; brokers come and go."""

    def __init__(self, folder: Path, ending: ExitStack) -> None:
        self.folder = folder
        port = free_ports()
        self.namesrv_address = f"{HOST}:{port}"
        self._port = free_ports((-2, 0, 1))
        namesrv = our_namesrv(folder / "namesrv", port)
        namesrv.start()
        ending.callback(namesrv.kill9)
        self._ending = ending

    def begin(self, kind: str, folder: Path, **settings: str) -> Part:
        """Start a broker on the store of a folder."""
        start = our_broker if kind == "ours" else apache_broker
        part = start(folder, self._port, self.namesrv_address, {**SETTINGS, **settings})
        part.start()
        self._ending.callback(part.kill9)
        wait_until_registered(self.namesrv_address, {BROKER_NAME})
        return part


def send(peer: Peer, topic: str, text: str, count: int) -> None:
    """Send messages with keys and tags."""
    with peer.producer() as producer:
        for first in range(0, count, 100):
            producer.send(
                [
                    message(topic, f"{text}-{each} " + "." * (each % 700), keys=f"{text}-{each}", tags="red")
                    for each in range(first, first + 100)
                ]
            )


@pytest.mark.long
@pytest.mark.both_servers
@pytest.mark.timeout(600)
def test_apaches_broker_opens_what_is_restored_from_a_tier(peers: Peers) -> None:
    folder = peers.work / f"restored-{time.time_ns()}"
    url = f"file://{folder}/tier"
    lost, restored = folder / "lost", folder / "restored"
    with ExitStack() as ending:
        home = Home(folder, ending)
        part = home.begin("ours", lost, tieredStorePath=url, tieredRangeTime="1000")
        peer = Peer(home.namesrv_address, peers.driver(CURRENT), CURRENT)
        topics = [peer.topic("restored"), peer.topic("other")]
        group = peer.name("readers")
        for topic in topics:
            send(peer, topic, "message", COUNT)
        with peer.producer() as producer:
            producer.send(
                [message(topics[0], f"later-{each}", delayLevel=DELAY_LEVEL) for each in range(DELAYED)]
            )
        send(peer, topics[0], "last", 100)
        with peer.push(group, {topics[0]: "*"}) as consumer:
            assert len(consumer.collect(CONSUMED)) >= CONSUMED
        before = {topic: pull_all(peer, topic) for topic in topics}
        assert [len(found) for found in before.values()] == [COUNT + 100, COUNT]
        wait_until(lambda: saved_to(url) >= log_end(lost), 60, "all of the log is saved")
        consumed_at = time.time() + 1  # the broker writes offsets twice a second
        wait_until(
            lambda: any(path.stat().st_mtime > consumed_at for path in folder.rglob("*.tables")),
            150,
            "tables are saved, every minute",
        )
        peer.close()
        part.kill9()
        shutil.rmtree(lost)

        target = str(restored / "store")
        restored.mkdir()
        report = json.loads(command("restore", url, target, "--take-over", "--json"))
        assert report["sound"] and report["notSaved"] >= DELAYED
        part = home.begin("apache", restored)
        for topic in topics:
            wait_until(partial(peer.knows, topic, QUEUES), 60, "the topic has a route")
        assert {topic: pull_all(peer, topic) for topic in topics} == before
        check_group(peer, topics[0], group)
        with peer.producer() as producer:
            [found] = producer.query(topics[0], "message-7", 0, int(time.time() * 1000) + 60_000)
            assert found.body.startswith("message-7 ")
            sent = producer.send([message(topics[1], "after")])[0]
        ends = max(each[1] for each in before[topics[1]] if each[0] == sent.queue.queue_id)
        assert sent.queue_offset == ends + 1
        peer.close()
        part.stop()

        part = home.begin("ours", restored, tieredStorePath=url, tieredRangeTime="1000")
        for topic in topics:
            wait_until(partial(peer.knows, topic, QUEUES), 60, "the topic has a route")
        assert pull_all(peer, topics[0]) == before[topics[0]]
        assert [each for each in pull_all(peer, topics[1]) if each[2] != "after"] == before[topics[1]]
        wait_until(lambda: saved_to(url) >= log_end(restored), 60, "saving has continued")
        peer.close()
        part.stop()
        command("check", url)


def check_group(peer: Peer, topic: str, group: str) -> None:
    """Assert that a group continues where it was."""
    with peer.pull(group) as consumer:
        assert sum(consumer.fetch_offset(queue) for queue in consumer.queues(topic)) >= CONSUMED


@pytest.mark.long
@pytest.mark.both_servers
@pytest.mark.timeout(600)
def test_messages_that_stay_in_the_tier_are_read_by_clients(peers: Peers) -> None:
    """Apache's broker opens a lazily restored store too: its queues continue, without older messages."""
    folder = peers.work / f"lazy-{time.time_ns()}"
    url = f"file://{folder}/tier"
    lost, restored = folder / "lost", folder / "restored"
    with ExitStack() as ending:
        home = Home(folder, ending)
        part = home.begin("ours", lost, tieredStorePath=url, tieredRangeTime="1000")
        peer = Peer(home.namesrv_address, peers.driver(CURRENT), CURRENT)
        topic = peer.topic("lazy")
        send(peer, topic, "message", COUNT)
        before = pull_all(peer, topic)
        wait_until(lambda: any(folder.rglob("*.idx")), 60, "a range is saved")
        wait_until(lambda: saved_to(url) >= log_end(lost), 60, "all of the log is saved")
        peer.close()
        part.kill9()
        command("save", str(lost / "store"), "--to", url, "--broker-name", BROKER_NAME)
        shutil.rmtree(lost)

        restored.mkdir()
        target = str(restored / "store")
        report = json.loads(command("restore", url, target, "--take-over", "--lazy", "--json"))
        assert report["sound"] and report["lazy"] and report["records"] == COUNT
        assert [int(path.name) for path in (restored / "store" / "commitlog").iterdir()] == [
            report["logStart"]
        ]

        part = home.begin("apache", restored)
        wait_until(partial(peer.knows, topic, QUEUES), 60, "the topic has a route")
        assert pull_all(peer, topic) == []
        with peer.producer() as producer:
            sent = producer.send([message(topic, "of Apache's broker")])[0]
        ends = {queue: max(each[1] for each in before if each[0] == queue) + 1 for queue in range(QUEUES)}
        assert sent.queue_offset == ends[sent.queue.queue_id]
        peer.close()
        part.stop()

        part = home.begin("ours", restored, tieredStorePath=url, tieredRangeTime="1000")
        wait_until(partial(peer.knows, topic, QUEUES), 60, "the topic has a route")
        wait_until(lambda: len(pull_all(peer, topic)) == COUNT + 1, 60, "the ranges of the tier are known")
        found = pull_all(peer, topic)
        assert [each for each in found if each[2] != "of Apache's broker"] == before
        with peer.producer() as producer:
            [one] = producer.query(topic, "message-7", 0, int(time.time() * 1000) + 60_000)
            assert one.body.startswith("message-7 ")
        wait_until(lambda: saved_to(url) >= log_end(restored), 60, "saving has continued")
        peer.close()
        part.stop()
        command("check", url)
