"""The master of two brokers under a controller is killed or stopped while Kafka's Java client works.

Only this server has such a group: Apache Kafka needs three nodes for the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import NamedTuple

import pytest

from compat_tests.kafka.support.clients import KafkaClient, Programs
from compat_tests.kafka.support.sending import Sender
from compat_tests.kafka.support.wire import Connection, create_topic, stored_batches
from compat_tests.support.controlled import ControlledGroup, Member
from compat_tests.support.processes import free_ports, wait_until
from compat_tests.support.servers import HOST

CLIENT = "java-4.4.0"
FLIGHT = 500
"""Records that are sent without waiting: a kill finds batches in flight."""
KILLS = 2
SECONDS = 240
KNOWN_SECONDS = 120

PATIENT = {"promptHeartBeatTimeoutMills": "30000", "controllerHeartBeatTimeoutMills": "30000"}
"""Settings with which a busy machine is not taken for a dead one: the end of a process is noticed at once."""

DRAINING = {"drainTimeoutMillis": "10000"}
"""Settings with which a master that is stopped has another one elected first."""


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

    def wait_until_shown(self, topic: str, leader: int) -> None:
        """Wait until both members report this leader of a topic, and both members in sync."""
        wanted = Shown(leader, [1, 2], [1, 2])
        for address in self.addresses:
            wait_until(partial(shows, address, topic, wanted), KNOWN_SECONDS, f"{address} shows {wanted}")

    def replace_master(self, end: Callable[[Member], None] = Member.kill) -> None:
        """End the master, wait for another one, and start the one that ended again."""
        master = self.group.master()
        end(master)
        wait_until(lambda: self.group.master() is not master, SECONDS, "another master")
        master.start()
        self.group.wait_until_whole()


@contextmanager
def kafka_pair(folder: Path, **settings: str) -> Iterator[KafkaPair]:
    """Yield a pair that is in sync."""
    ports = [free_ports(), free_ports()]
    own = [{"kafkaPort": str(port), **PATIENT, **settings} for port in ports]
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


class Shown(NamedTuple):
    """Leader, replicas and in-sync replicas of a partition."""

    leader: int
    replicas: list[int]
    in_sync: list[int]


def shows(address: str, topic: str, wanted: Shown) -> bool:
    """Return True if a server reports that of the one partition of a topic."""
    try:
        with Connection(address) as connection:
            answer = connection.ask("Metadata", 9, topics=[{"name": topic}], allow_auto_topic_creation=False)
    except OSError:
        return False
    return [wanted] == [
        Shown(one["leader_id"], sorted(one["replica_nodes"]), sorted(one["isr_nodes"]))
        for one in answer["topics"][0]["partitions"]
    ]


@pytest.mark.long
@pytest.mark.timeout(900)
@pytest.mark.parametrize(
    ("end", "settings"), [(Member.kill, {}), (Member.stop, DRAINING)], ids=["killed", "stopped"]
)
def test_java_client_continues_on_the_next_master(
    work: Path,
    programs: Programs,
    name: str,
    end: Callable[[Member], None],
    settings: Mapping[str, str],
) -> None:
    """Nothing acknowledged is lost, nothing is stored twice, and the group continues."""
    with kafka_pair(work / name, **settings) as pair:
        pair.make_topic(name)
        pair.wait_until_shown(name, 1)
        client = KafkaClient(CLIENT, programs.get(CLIENT), pair.bootstrap)
        sender, member = Sender(client, name, FLIGHT), client.join(f"{name}-group", name)
        sender.start()
        for _ in range(KILLS):
            sender.wait_for_flights(3)
            pair.replace_master(end)
            sender.wait_for_flights(1)
        sender.stop()
        acknowledged = {offset: value for (_, offset), value in sender.acknowledged.items()}

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
        pair.wait_until_shown(name, 1 + pair.group.members.index(pair.group.master()))
