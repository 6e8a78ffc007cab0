"""A store with batches of Kafka's producers that is converted for Apache's broker, and one that is not.

Our broker gets records of Kafka's clients and messages of RocketMQ's in the same topics, a group of Kafka's
commits, and the broker stops. Apache's broker starts on the converted store: the official Java client pulls
every message at its offset, finds it by key and by time, and the group continues where it was.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from compat_tests.kafka.support.clients import KafkaClient, Programs
from compat_tests.kafka.support.wire import create_topic
from compat_tests.support.artifacts import CURRENT
from compat_tests.support.driver import PullConsumer, Queue, Received, message
from compat_tests.support.mqadmin import Mqadmin
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

SETTINGS = {"mappedFileSizeCommitLog": str(4 << 20), "flushConsumerOffsetInterval": "500"}
PARTITIONS = 2
RECORDS = 400
COMMITTED = 150
TOPIC, GROUP = "orders.v1", "kafka-readers"
STORE_TOPIC = "orders|v1"

RecordFields = tuple[int, int, str, list[tuple[str, str]], int, int]
"""Queue, offset, body, properties, and the times of birth and storing of a message."""


class Home:
    """One folder, one address and one name server; brokers come and go."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        port = free_ports()
        self.namesrv_address = f"{HOST}:{port}"
        self.kafka_address = f"{HOST}:{free_ports()}"
        self._port = free_ports((-2, 0, 1))
        self.broker_address = f"{HOST}:{self._port}"
        self._namesrv = our_namesrv(folder / "namesrv", port)
        self._broker: Part | None = None

    def __enter__(self) -> Home:
        self._namesrv.start()
        return self

    def __exit__(self, *failure: object) -> None:
        if self._broker is not None:
            self._broker.kill9()
        self._namesrv.kill9()

    def begin(self, kind: str, folder: Path) -> None:
        """Start a broker on the store of a folder."""
        settings = {**SETTINGS, **({"kafkaPort": self.kafka_address.split(":")[1]} if kind == "ours" else {})}
        start = our_broker if kind == "ours" else apache_broker
        self._broker = start(folder, self._port, self.namesrv_address, settings)
        self._broker.start()
        wait_until_registered(self.namesrv_address, {BROKER_NAME})

    def end(self) -> None:
        """Stop the broker cleanly."""
        assert self._broker is not None
        self._broker.stop()
        self._broker = None


@pytest.mark.long
@pytest.mark.both_servers
@pytest.mark.timeout(600)
def test_apaches_broker_reads_a_converted_store(peers: Peers, programs: Programs) -> None:
    folder = peers.work / f"converted-{time.time_ns()}"
    original, converted = folder / "original", folder / "converted"
    with Home(folder) as home, closing(Mqadmin(peers.runtime)) as admin:
        peer = Peer(home.namesrv_address, peers.driver(CURRENT), CURRENT)
        home.begin("ours", original)
        write(home, peer, KafkaClient("java-4.4.0", programs.get("java-4.4.0"), home.kafka_address))
        before = pull_all(peer)
        assert len(before) == 2 * RECORDS
        peer.close()
        home.end()
        convert(original / "store", converted / "store")
        home.begin("apache", converted)
        wait_until(lambda: peer.knows(STORE_TOPIC, PARTITIONS), 60, "the topic has a route")
        assert pull_all(peer) == before
        check_group(peer)
        check_queries(home, peer, admin, before)
        with peer.producer() as producer:
            sent = producer.send([message(STORE_TOPIC, "later")])[0]
        assert sent.queue_offset == 1 + max(each[1] for each in before if each[0] == sent.queue.queue_id)
        peer.close()
        home.end()
        check_return(home, peer, converted, before)


def write(home: Home, peer: Peer, client: KafkaClient) -> None:
    """Records by Kafka's producer in all compressions, messages by RocketMQ's, and a commit of a group."""
    create_topic(home.kafka_address, TOPIC, PARTITIONS)
    wait_until(lambda: peer.knows(STORE_TOPIC, PARTITIONS), 60, "the topic has a route")
    kinds = ("none", "gzip", "snappy", "lz4", "zstd")
    with peer.producer() as producer:
        for number, kind in enumerate(kinds):
            part = range(number * RECORDS // len(kinds), (number + 1) * RECORDS // len(kinds))
            records = [
                {
                    "key": f"key-{each}",
                    "value": f"record-{each}" * (1 + each % 50),
                    "partition": each % PARTITIONS,
                    "headers": [["TAGS", "red" if each % 3 else "blue"], ["number", str(each)]],
                }
                for each in part
            ]
            client.produce(TOPIC, records, compression=kind, idempotent=number % 2 == 0)
            producer.send([message(STORE_TOPIC, f"message-{each}", keys=f"own-{each}") for each in part])
    with client.join(GROUP, TOPIC) as member:
        wait_until(lambda: len(member.values) >= COMMITTED, 60, "records for the group")
        member.commit()


def pull_all(peer: Peer) -> list[RecordFields]:
    """Every message of the topic, as its queue and offset, body, properties and times tell it."""
    found: list[RecordFields] = []
    with peer.pull(peer.name("auditors")) as consumer:
        for queue in consumer.queues(STORE_TOPIC):
            assert consumer.min_offset(queue) == 0
            found += [fields_of(each) for each in read_queue(consumer, queue)]
            tagged = consumer.pull(queue, 0, expression="blue").messages
            assert tagged
            assert {each.tags for each in tagged} == {"blue"}
    return found


def read_queue(consumer: PullConsumer, queue: Queue) -> Iterator[Received]:
    """Every message of a queue, without a gap."""
    offset, end = 0, consumer.max_offset(queue)
    while offset < end:
        pulled = consumer.pull(queue, offset)
        numbers = [each.queue_offset for each in pulled.messages]
        assert numbers == list(range(offset, pulled.next_offset))
        yield from pulled.messages
        offset = pulled.next_offset


def fields_of(received: Received) -> RecordFields:
    """Return the fields that must be the same before and after."""
    properties = {
        name: value
        for name, value in received.properties.items()
        if name not in ("MIN_OFFSET", "MAX_OFFSET", "CONSUME_START_TIME", "CLUSTER")
    }
    times = received.born_timestamp, received.store_timestamp
    return received.queue_id, received.queue_offset, received.body, sorted(properties.items()), *times


def convert(source: Path, target: Path) -> None:
    """Run the command."""
    target.parent.mkdir(parents=True)
    program = "from mqgateway.gateway.cli.main import main; main()"
    command = [sys.executable, "-c", program, "store", "convert", str(source), str(target)]
    done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr


def check_group(peer: Peer) -> None:
    """Kafka's group continues as one of RocketMQ's where it was."""
    with peer.pull(GROUP) as consumer:
        offsets = [consumer.fetch_offset(queue) for queue in consumer.queues(STORE_TOPIC)]
    assert sum(offsets) >= COMMITTED


def check_queries(home: Home, peer: Peer, admin: Mqadmin, before: list[RecordFields]) -> None:
    """Records are found by their keys, and shown by the official tools."""
    with peer.producer() as producer:
        for key, body in (("key-7", "record-7" * 8), ("own-9", "message-9")):
            found = producer.query(STORE_TOPIC, key, 0, int(time.time() * 1000) + 60_000)
            assert [each.body for each in found] == [body]
    status = admin.run("topicStatus", "-n", home.namesrv_address, "-t", STORE_TOPIC)
    ends = [sum(1 for each in before if each[0] == queue_id) for queue_id in range(PARTITIONS)]
    for queue_id, end in enumerate(ends):
        row = [line.split()[:4] for line in status.out.splitlines() if line.startswith(BROKER_NAME)][queue_id]
        assert row == [BROKER_NAME, str(queue_id), "0", str(end)], status.out


def check_return(home: Home, peer: Peer, converted: Path, before: list[RecordFields]) -> None:
    """Our broker continues on what Apache's has left."""
    back = home.folder / "back"
    shutil.move(converted, back)
    home.begin("ours", back)
    wait_until(lambda: peer.knows(STORE_TOPIC, PARTITIONS), 60, "the topic has a route")
    assert [each for each in pull_all(peer) if each[2] != "later"] == before
    peer.close()
    home.end()
