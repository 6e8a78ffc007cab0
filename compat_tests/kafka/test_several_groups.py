"""Two broker groups as one Kafka cluster, with Kafka's Java client and its scripts.

Only this server has such groups: Apache Kafka's brokers are nodes of one cluster anyway.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from zlib import crc32

import pytest

from compat_tests.kafka.support.clients import KafkaClient, Programs, wait_for_values
from compat_tests.kafka.support.commands import Commands
from compat_tests.kafka.support.wire import Connection
from compat_tests.support.processes import free_ports, wait_until
from compat_tests.support.servers import HOST, our_broker, our_namesrv

CLIENT = "java-4.4.0"
GROUPS = ("one", "two")
NODES = {"one": 1, "two": 1001}
SECONDS = 120
PARTITIONS = 2


@contextmanager
def kafka_groups(folder: Path) -> Iterator[Mapping[str, str]]:
    """Yield the addresses of Kafka's ports of two masters by their groups, once they know each other."""
    with ExitStack() as stack:
        namesrv = free_ports()
        part = our_namesrv(folder / "namesrv", namesrv)
        stack.callback(part.stop)
        part.start()
        addresses: dict[str, str] = {}
        for group in GROUPS:
            kafka = free_ports()
            settings = {
                "brokerName": group,
                "kafkaClusterGroups": ",".join(GROUPS),
                "kafkaPort": str(kafka),
            }
            port = free_ports((-2, 0, 1))
            part = our_broker(folder / group, port, f"{HOST}:{namesrv}", settings)
            stack.callback(part.stop)
            part.start()
            addresses[group] = f"{HOST}:{kafka}"
        for address in addresses.values():
            wait_until(partial(shows_both, address), SECONDS, f"{address} shows both nodes")
        yield addresses


def shows_both(address: str) -> bool:
    """Return True if a broker answers and shows both nodes."""
    try:
        with Connection(address) as connection:
            answer = connection.ask("Metadata", 8, topics=[])
    except OSError:
        return False
    brokers = answer["brokers"]
    assert isinstance(brokers, list)
    return [one["node_id"] for one in brokers] == list(NODES.values())


def name_in(group: str, prefix: str) -> str:
    """Return a name of a topic that is made in a group."""
    names = (f"{prefix}-{number}" for number in range(100))
    return next(name for name in names if GROUPS[crc32(name.encode()) % len(GROUPS)] == group)


def shows_leader(commands: Commands, address: str, topic: str, node: int) -> bool:
    """Return True if `kafka-topics --describe` shows a node as leader of all partitions of a topic."""
    out = commands.run(address, "topics", "--describe", "--topic", topic).out
    return re.findall(r"Leader: (\d+)", out) == [str(node)] * PARTITIONS


@pytest.mark.long
@pytest.mark.timeout(900)
def test_java_client_uses_topics_of_both_groups(
    work: Path, programs: Programs, commands: Commands, name: str
) -> None:
    """Topics are made at any broker and shown at all; their records and offsets are there for a group."""
    with kafka_groups(work / name) as addresses:
        topics = {group: name_in(group, name) for group in GROUPS}
        for topic in topics.values():
            options = ("--topic", topic, "--partitions", str(PARTITIONS))
            made = commands.run(addresses["two"], "topics", "--create", *options)
            assert made.exit == 0, made
        for address in addresses.values():
            for group, topic in topics.items():
                is_shown = partial(shows_leader, commands, address, topic, NODES[group])
                wait_until(is_shown, SECONDS, f"{address} shows the leaders of {topic}")
        client = KafkaClient(CLIENT, programs.get(CLIENT), addresses["two"])
        for topic in topics.values():
            values = [f"{topic}-{number}" for number in range(10)]
            records = [{"value": value, "partition": number % 2} for number, value in enumerate(values)]
            client.produce(topic, records, idempotent=True)
            with client.join(f"{name}-group", topic) as member:
                wait_for_values([member], values)
                member.commit()
            client.produce(topic, [{"value": "last", "partition": 0}])
            with client.join(f"{name}-group", topic) as member:
                wait_for_values([member], ["last"])
        deleted = commands.run(addresses["one"], "topics", "--delete", "--topic", topics["two"])
        assert deleted.exit == 0, deleted
