"""The master of two brokers under a controller is killed while Kafka's Java client works.

Only this server has such a group: Apache Kafka needs three nodes for the same.
"""

from __future__ import annotations

import itertools
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import pytest

from compat_tests.kafka.support.clients import KafkaClient, Programs
from compat_tests.kafka.support.commands import Commands
from compat_tests.kafka.support.wire import Connection, create_topic, stored_batches
from compat_tests.support.controlled import ControlledGroup, Member
from compat_tests.support.processes import free_ports, wait_until
from compat_tests.support.servers import HOST

CLIENT = "java-4.4.0"
FLIGHT = 500
"""Records that are sent without waiting: a kill finds batches in flight."""
KILLS = 2
SECONDS = 120
KNOWN_SECONDS = 60

PATIENT = {"promptHeartBeatTimeoutMills": "30000", "controllerHeartBeatTimeoutMills": "30000"}
"""Settings with which a busy machine is not taken for a dead one: the end of a process is noticed at once."""

Places = dict[int, str]
"""Values by offset."""


class Sender(threading.Thread):
    """An idempotent producer that sends until it is stopped."""

    def __init__(self, client: KafkaClient, topic: str) -> None:
        super().__init__(daemon=True)
        self._client, self._topic = client, topic
        self._ends = threading.Event()
        self.flights = 0
        self.failures: list[Exception] = []
        self.acknowledged: Places = {}

    def run(self) -> None:
        """Send."""
        numbers = itertools.count()
        while not self._ends.is_set():
            values = [f"value-{next(numbers):07}" for _ in range(FLIGHT)]
            records = [{"value": value, "partition": 0} for value in values]
            try:
                places = self._client.produce(self._topic, records, idempotent=True)
            except Exception as failure:
                self.failures.append(failure)
                return
            self.acknowledged |= {place.offset: value for place, value in zip(places, values, strict=True)}
            self.flights += 1

    def wait_for_flights(self, count: int) -> None:
        """Wait until so many flights more are acknowledged."""
        wanted = self.flights + count
        wait_until(lambda: self.flights >= wanted or bool(self.failures), SECONDS, "acknowledged records")
        assert not self.failures

    def stop(self) -> None:
        """End after the flight that is in the air."""
        self._ends.set()
        self.join(SECONDS)
        assert not self.is_alive()
        assert not self.failures


class KafkaPair:
    """Two brokers of one set with Kafka's ports; `addresses` are these, `bootstrap` both of them."""

    def __init__(self, group: ControlledGroup, ports: list[int]) -> None:
        self.group = group
        self.addresses = [f"{HOST}:{port}" for port in ports]
        self.bootstrap = ",".join(self.addresses)

    def address(self, member: Member) -> str:
        """Return the Kafka address of a member."""
        return self.addresses[self.group.members.index(member)]

    def make_topic(self, name: str) -> None:
        """Make a topic of one partition, which both members know afterwards."""
        create_topic(self.address(self.group.master()), name)
        wait_until(lambda: all(one.knows(name) for one in self.group.members), KNOWN_SECONDS, name)

    def replace_master(self) -> None:
        """Kill the master, wait for another one, and start the killed one again."""
        master = self.group.master()
        master.kill()
        wait_until(lambda: self.group.master() is not master, SECONDS, "another master")
        master.start()
        self.group.wait_until_whole()


@contextmanager
def kafka_pair(folder: Path) -> Iterator[KafkaPair]:
    """Yield a pair that is in sync."""
    ports = [free_ports(), free_ports()]
    own = [{"kafkaPort": str(port), **PATIENT} for port in ports]
    with ControlledGroup(folder, "file", ["ours", "ours"], own_settings=own) as group:
        pair = KafkaPair(group, ports)
        for address in pair.addresses:
            wait_until(partial(answers, address), SECONDS, f"{address} answers")
        yield pair


def answers(address: str) -> bool:
    """Return True if a server answers: the first connection waits until Kafka's modules are loaded."""
    try:
        with Connection(address) as connection:
            return bool(connection.api_versions())
    except OSError:
        return False


def shown(commands: Commands, address: str, topic: str) -> dict[str, str]:
    """Return what `kafka-topics --describe` shows of the one partition of a topic."""
    out = commands.run(address, "topics", "--describe", "--topic", topic).out
    rows = [line for line in out.splitlines() if "Partition: 0" in line]
    return dict(re.findall(r"(Leader|Replicas|Isr): (\S*)", rows[0])) if rows else {}


def is_shown(commands: Commands, address: str, topic: str, wanted: dict[str, str]) -> bool:
    """Return True if that is what is shown."""
    return shown(commands, address, topic) == wanted


@pytest.mark.long
@pytest.mark.timeout(900)
def test_java_client_continues_on_the_next_master(
    work: Path, programs: Programs, commands: Commands, name: str
) -> None:
    """Nothing acknowledged is lost, nothing is stored twice, and the group continues."""
    with kafka_pair(work / name) as pair:
        pair.make_topic(name)
        whole = {"Leader": "1", "Replicas": "1,2", "Isr": "1,2"}
        for address in pair.addresses:
            wait_until(partial(is_shown, commands, address, name, whole), KNOWN_SECONDS, f"{whole}")
        client = KafkaClient(CLIENT, programs.get(CLIENT), pair.bootstrap)
        sender, member = Sender(client, name), client.join(f"{name}-group", name)
        sender.start()
        for _ in range(KILLS):
            sender.wait_for_flights(3)
            pair.replace_master()
            sender.wait_for_flights(1)
        sender.stop()
        acknowledged = sender.acknowledged

        def has_all() -> bool:
            member.poll()
            return {one.offset for one in list(member.records)} >= acknowledged.keys()

        wait_until(has_all, SECONDS, "all is received")
        received = {one.offset: str(one.value) for one in list(member.records)}
        member.commit()
        member.close()
        batches = stored_batches(pair.address(pair.group.master()), name, 0)
        stored = [bytes(record.value or b"").decode() for batch in batches for record in batch.records()]
        assert dict(enumerate(stored)) == received == acknowledged
        assert len(set(stored)) == len(stored)
        after = {**whole, "Leader": "1" if pair.group.master() is pair.group.members[0] else "2"}
        assert shown(commands, pair.bootstrap, name) == after
