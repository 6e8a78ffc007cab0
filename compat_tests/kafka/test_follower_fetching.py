"""Consumers with `client.rack` read from the follower in their rack: Kafka's Java client and librdkafka.

Only this server has such a group here: Apache Kafka needs several nodes for the same.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import threading
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import pytest

from compat_tests.kafka.support.commands import Commands
from compat_tests.kafka.support.wire import Connection
from compat_tests.kafka.test_failover import PATIENT, KafkaPair, answers
from compat_tests.support.controlled import ControlledGroup, Member
from compat_tests.support.processes import free_ports, wait_until
from compat_tests.support.servers import HOST

RACK_AWARE = "org.apache.kafka.common.replica.RackAwareReplicaSelector"
RACKS = ("rack-1", "rack-2")
SECONDS = 240
COUNT = 100


class RackedPair(KafkaPair):
    """Two brokers in two racks, with metrics."""

    def __init__(self, group: ControlledGroup, ports: list[int], metrics: list[int]) -> None:
        super().__init__(group, ports)
        self._metrics = metrics

    def follower(self) -> Member:
        """Return the slave."""
        [follower] = self.group.others(self.group.master())
        return follower

    def rack(self, member: Member) -> str:
        """Return the rack of a member."""
        return RACKS[self.group.members.index(member)]

    def delivered(self, member: Member, topic: str) -> int:
        """Return the number of messages of a topic that a member has delivered, by its metrics."""
        port = self._metrics[self.group.members.index(member)]
        with urllib.request.urlopen(f"http://{HOST}:{port}/metrics", timeout=10) as answer:
            lines = answer.read().decode().splitlines()
        wanted = re.compile(r"rocketmq_messages_out_total\{.*topic=\"" + re.escape(topic) + r"\".*\} (\S+)")
        return sum(int(float(found[1])) for line in lines if (found := wanted.fullmatch(line)))

    def shown_nodes(self, member: Member) -> list[int]:
        """Return the ids of the brokers that a member reports."""
        with Connection(self.address(member)) as connection:
            answer = connection.ask("Metadata", 9, topics=[], allow_auto_topic_creation=False)
        return sorted(one["node_id"] for one in answer["brokers"])

    def produce(self, topic: str, begin: int, end: int) -> None:
        """Produce records with these numbers as values."""
        text = "".join(f"{number}\n" for number in range(begin, end))
        command = [_kcat(), "-b", self.bootstrap, "-P", "-t", topic, "-p", "0", "-X", "acks=all"]
        subprocess.run(command, input=text, text=True, check=True, timeout=SECONDS)

    def wait_until_sent_there(self, topic: str) -> None:
        """Wait until the leader sends consumers in the follower's rack to it."""
        rack = self.rack(self.follower())

        def is_sent() -> bool:
            asked = {"partition": 0, "fetch_offset": 0, "partition_max_bytes": 1 << 20}
            with Connection(self.address(self.group.master())) as connection:
                answer = connection.ask(
                    "Fetch",
                    12,
                    max_wait_ms=0,
                    min_bytes=0,
                    max_bytes=1 << 20,
                    session_epoch=-1,
                    topics=[{"topic": topic, "partitions": [asked]}],
                    rack_id=rack,
                )
            [partition] = answer["responses"][0]["partitions"]
            return bool(partition["preferred_read_replica"] >= 0)

        wait_until(is_sent, SECONDS, "consumers are sent to the follower")


@contextmanager
def racked_pair(folder: Path) -> Iterator[RackedPair]:
    """Yield two brokers in sync; the one that is not the master is the follower in its rack."""
    ports, metrics = [free_ports(), free_ports()], [free_ports(), free_ports()]
    own = [
        {
            "kafkaPort": str(port),
            "kafkaRack": rack,
            "kafkaReplicaSelectorClass": RACK_AWARE,
            "metricsExporterType": "PROM",
            "metricsPromExporterPort": str(metrics_port),
            **PATIENT,
        }
        for port, rack, metrics_port in zip(ports, RACKS, metrics, strict=True)
    ]
    with ControlledGroup(folder, "file", ["ours", "ours"], own_settings=own) as group:
        pair = RackedPair(group, ports, metrics)
        for address in pair.addresses:
            wait_until(partial(answers, address), SECONDS, f"{address} answers")
        yield pair


def _kcat() -> str:
    found = shutil.which("kcat")
    assert found, "kcat is missing: apt-get install kcat"
    return found


@pytest.mark.long
@pytest.mark.timeout(900)
def test_clients_read_from_the_follower_in_their_rack(work: Path, commands: Commands, name: str) -> None:
    """Each of them gets all records from the follower, and the leader delivers none."""
    with racked_pair(work / name) as pair:
        pair.make_topic(name)
        pair.produce(name, 0, COUNT)
        pair.wait_until_sent_there(name)
        leader, follower = pair.group.master(), pair.follower()
        rack, values = pair.rack(follower), [str(number) for number in range(COUNT)]

        place = ("--topic", name, "--partition", "0", "--offset", "earliest")
        options = ("--max-messages", str(COUNT), "--command-property", f"client.rack={rack}")
        for times, level in enumerate(("read_uncommitted", "read_committed"), 1):
            isolation = ("--isolation-level", level)
            printed = commands.run(pair.bootstrap, "console-consumer", *place, *options, *isolation)
            assert printed.out.split() == values, printed
            assert pair.delivered(follower, name) == times * COUNT and pair.delivered(leader, name) == 0

        command = [_kcat(), "-b", pair.bootstrap, "-C", "-t", name, "-p", "0", "-o", "beginning", "-e", "-q"]
        done = subprocess.run(
            [*command, "-X", f"client.rack={rack}"], capture_output=True, text=True, timeout=SECONDS
        )
        assert done.stdout.split() == values, done
        assert pair.delivered(follower, name) == 3 * COUNT and pair.delivered(leader, name) == 0


@pytest.mark.long
@pytest.mark.timeout(900)
def test_java_client_returns_to_the_leader_once_the_follower_is_lost(
    work: Path, commands: Commands, name: str
) -> None:
    """No record is lost or repeated."""
    with racked_pair(work / name) as pair:
        pair.make_topic(name)
        pair.produce(name, 0, COUNT)
        pair.wait_until_sent_there(name)
        follower = pair.follower()
        printed: list[str] = []

        def consume() -> None:
            place = ("--topic", name, "--partition", "0", "--offset", "earliest")
            options = ("--max-messages", str(2 * COUNT))
            rack = ("--command-property", f"client.rack={pair.rack(follower)}")
            printed.append(commands.run(pair.bootstrap, "console-consumer", *place, *options, *rack).out)

        consumer = threading.Thread(target=consume, daemon=True)
        consumer.start()
        wait_until(lambda: pair.delivered(follower, name) == COUNT, SECONDS, "the follower has delivered")
        follower.kill()
        pair.produce(name, COUNT, 2 * COUNT)
        consumer.join(SECONDS)
        assert printed and printed[0].split() == [str(number) for number in range(2 * COUNT)]


@pytest.mark.timeout(600)
def test_follower_that_is_stopped_leaves_the_metadata_at_once(work: Path, name: str) -> None:
    """It is not shown any more when its process has ended, without any drain."""
    with racked_pair(work / name) as pair:
        pair.make_topic(name)
        leader, follower = pair.group.master(), pair.follower()
        wait_until(lambda: len(pair.shown_nodes(leader)) == 2, SECONDS, "both are shown")
        follower.stop()
        assert pair.shown_nodes(leader) == [1 + pair.group.members.index(leader)]
