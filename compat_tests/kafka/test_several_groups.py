"""Several broker groups as one Kafka cluster, with Kafka's Java client and its scripts.

Only this server has such groups: Apache Kafka's brokers are nodes of one cluster anyway.
"""

from __future__ import annotations

import re
from functools import partial
from pathlib import Path
from zlib import crc32

import pytest

from compat_tests.kafka.support.broker_groups import BrokerGroups
from compat_tests.kafka.support.clients import KafkaClient, Programs, wait_for_values
from compat_tests.kafka.support.commands import Commands
from compat_tests.kafka.support.sending import Sender
from compat_tests.support.processes import wait_until

CLIENT = "java-4.4.0"
GROUPS = ("one", "two")
THREE = ("one", "two", "three")
SECONDS = 120
PARTITIONS = 2
FLIGHT = 300
"""Records that are sent without waiting: a stop finds batches in flight."""


def name_in(group: str, prefix: str, groups: tuple[str, ...] = GROUPS) -> str:
    """Return a name of a topic whose first partition is made in a group."""
    names = (f"{prefix}-{number}" for number in range(100))
    return next(name for name in names if groups[crc32(name.encode()) % len(groups)] == group)


def shows_leaders(commands: Commands, address: str, topic: str, nodes: list[int]) -> bool:
    """Return True if `kafka-topics --describe` shows these leaders of the partitions of a topic."""
    out = commands.run(address, "topics", "--describe", "--topic", topic).out
    found = re.findall(r"Leader: (\S+)", out)
    return [-1 if one == "none" else int(one) for one in found] == nodes


def create(commands: Commands, address: str, topic: str, partitions: int) -> None:
    """Create a topic by `kafka-topics`."""
    options = ("--topic", topic, "--partitions", str(partitions))
    made = commands.run(address, "topics", "--create", *options)
    assert made.exit == 0, made


def wait_for_leaders(cluster: BrokerGroups, commands: Commands, topic: str, nodes: list[int]) -> None:
    """Wait until all brokers of a cluster show these leaders of the partitions of a topic."""
    for address in cluster.addresses.values():
        is_shown = partial(shows_leaders, commands, address, topic, nodes)
        wait_until(is_shown, SECONDS, f"{address} shows the leaders of {topic}")


def spread_from(first: str, groups: tuple[str, ...], nodes: dict[str, int], partitions: int) -> list[int]:
    """Return the leaders of a topic whose first partition is in a group."""
    begin = groups.index(first)
    return [nodes[groups[(begin + number) % len(groups)]] for number in range(partitions)]


@pytest.mark.long
@pytest.mark.timeout(900)
def test_java_client_uses_topics_of_both_groups(
    work: Path, programs: Programs, commands: Commands, name: str
) -> None:
    """Topics are made at any broker and shown at all; their records and offsets are there for a group."""
    with BrokerGroups(work / name, GROUPS) as cluster:
        topics = {group: name_in(group, name) for group in GROUPS}
        for topic in topics.values():
            create(commands, cluster.addresses["two"], topic, PARTITIONS)
        for group, topic in topics.items():
            wait_for_leaders(cluster, commands, topic, spread_from(group, GROUPS, cluster.nodes, PARTITIONS))
        client = KafkaClient(CLIENT, programs.get(CLIENT), cluster.addresses["two"])
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
        deleted = commands.run(cluster.addresses["one"], "topics", "--delete", "--topic", topics["two"])
        assert deleted.exit == 0, deleted


@pytest.mark.long
@pytest.mark.timeout(900)
def test_stopped_group_keeps_order_and_offsets_of_its_partitions(
    work: Path, programs: Programs, commands: Commands, name: str
) -> None:
    """Six partitions over three groups, one of which stops and returns while records are sent and read."""
    count, topic = 6, name_in("two", name, THREE)
    with BrokerGroups(work / name, THREE) as cluster:
        create(commands, cluster.addresses["one"], topic, count)
        nodes = spread_from("two", THREE, cluster.nodes, count)
        wait_for_leaders(cluster, commands, topic, nodes)
        client = KafkaClient(CLIENT, programs.get(CLIENT), cluster.bootstrap)
        sender, member = Sender(client, topic, FLIGHT, partitions=count), client.join(f"{name}-group", topic)
        sender.start()
        sender.wait_for_flights(3)
        cluster.stop("three")
        left = [-1 if node == cluster.nodes["three"] else node for node in nodes]
        is_shown = partial(shows_leaders, commands, cluster.addresses["one"], topic, left)
        wait_until(is_shown, SECONDS, "partitions without leader")
        cluster.start("three")
        cluster.wait_for_nodes("one", THREE)
        sender.wait_for_flights(2)
        sender.stop()
        wait_until(lambda: len(member.values) >= len(sender.acknowledged), SECONDS, "all is received")
        received = [((one.partition, one.offset), str(one.value)) for one in member.poll().records]
        assert dict(received) == sender.acknowledged and len(received) == len(sender.acknowledged)
        for partition in range(count):
            own = [(offset, value) for (number, offset), value in received if number == partition]
            assert [offset for offset, _ in own] == list(range(len(own)))
            assert [value for _, value in own] == sorted(value for _, value in own)
        member.commit()
        member.close()
        client.produce(topic, [{"value": f"last-{number}", "partition": number} for number in range(count)])
        with client.join(f"{name}-group", topic) as member:
            wait_for_values([member], [f"last-{number}" for number in range(count)])
