"""Consumer groups whose coordinators are in three broker groups, with Kafka's Java client.

Only this server has such groups: Apache Kafka's brokers are nodes of one cluster anyway.
"""

from __future__ import annotations

from functools import partial
from itertools import count
from pathlib import Path

import pytest

from compat_tests.kafka.support.broker_groups import BrokerGroups
from compat_tests.kafka.support.clients import (
    KafkaClient,
    Member,
    Programs,
    wait_for_assignment,
    wait_for_values,
)
from compat_tests.kafka.support.commands import Commands
from compat_tests.kafka.support.wire import Connection
from compat_tests.support.processes import wait_until

CLIENT = "java-4.4.0"
NAMES = ("one", "two", "three")
LEFT = ("two", "three")
PARTITIONS = 6
SECONDS = 120
COORDINATOR_NOT_AVAILABLE = 15


def coordinator(address: str, group: str) -> tuple[int, int]:
    """Return the error and the node of the coordinator of a consumer group."""
    with Connection(address) as connection:
        found = connection.ask("FindCoordinator", 3, key=group, key_type=0)
        return found["error_code"], found["node_id"]


def has_coordinators(address: str) -> bool:
    """Return True once coordinators are known."""
    return coordinator(address, "any")[0] == 0


def is_down(address: str, group: str) -> bool:
    """Return True once a broker shows no coordinator of a consumer group."""
    return coordinator(address, group)[0] == COORDINATOR_NOT_AVAILABLE


def group_at(cluster: BrokerGroups, name: str, prefix: str) -> str:
    """Return a consumer group that a broker group coordinates, as all brokers agree."""
    for number in count():
        group = f"{prefix}-{number}"
        found = {coordinator(address, group) for address in cluster.addresses.values()}
        assert len(found) == 1
        if found == {(0, cluster.nodes[name])}:
            return group
    raise AssertionError("unreachable")


def leaders(address: str, topic: str) -> list[int]:
    """Return the leaders of the partitions of a topic."""
    with Connection(address) as connection:
        [found] = connection.ask("Metadata", 8, topics=[{"name": topic}])["topics"]
    return [one["leader_id"] for one in sorted(found["partitions"], key=lambda one: one["partition_index"])]


def has_leaders(address: str, topic: str) -> bool:
    """Return True once all partitions of a topic have a leader."""
    return -1 not in leaders(address, topic)


def send(client: KafkaClient, topic: str, partitions: list[int], prefix: str) -> list[str]:
    """Send two records to each of these partitions; return the values."""
    values = [
        (partition, f"{prefix}-{partition}-{number}") for partition in partitions for number in range(2)
    ]
    client.produce(topic, [{"partition": partition, "value": value} for partition, value in values])
    return [value for _, value in values]


@pytest.mark.long
@pytest.mark.timeout(900)
@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_groups_of_other_coordinators_continue_while_the_first_broker_group_is_down(
    work: Path, programs: Programs, commands: Commands, name: str, protocol: str
) -> None:
    topic = f"{name}-topic"
    with BrokerGroups(work / name, NAMES) as cluster:
        options = ("--topic", topic, "--partitions", str(PARTITIONS))
        made = commands.run(cluster.addresses["three"], "topics", "--create", *options)
        assert made.exit == 0, made
        for address in cluster.addresses.values():
            wait_until(partial(has_coordinators, address), SECONDS, f"{address} knows coordinators")
            wait_until(partial(has_leaders, address, topic), SECONDS, f"{address} knows all leaders")
        nodes = leaders(cluster.addresses["two"], topic)
        reachable = [number for number, node in enumerate(nodes) if node != cluster.nodes["one"]]
        groups = {each: group_at(cluster, each, f"{name}-{each}") for each in NAMES}
        client = KafkaClient(CLIENT, programs.get(CLIENT), cluster.bootstrap)
        first = send(client, topic, [*range(PARTITIONS)], "first")
        join = partial(client.join, topic=topic, protocol=protocol)
        assignor = {"consumer": "uniform", "classic": "range"}[protocol]
        members = {each: join(group, assignor=assignor) for each, group in groups.items()}
        for member in members.values():
            wait_for_assignment([member], PARTITIONS)
            wait_for_values([member], first)
            member.commit()
        revoked = {each: members[each].poll().revoked for each in LEFT}
        cluster.stop("one")
        wait_until(partial(is_down, cluster.addresses["two"], groups["one"]), SECONDS, "the stop is noticed")
        second = send(client, topic, reachable, "second")
        for each in LEFT:
            assert coordinator(cluster.addresses["three"], groups[each]) == (0, cluster.nodes[each])
            wait_for_values([members[each]], [*first, *second])
            members[each].commit()
            assert members[each].assignment == [*range(PARTITIONS)]
            assert members[each].poll().revoked == revoked[each]
            members[each].close()
        third = send(client, topic, reachable, "third")
        for each in LEFT:
            read_once(join(groups[each], assignor=assignor), third)
        cluster.start("one")
        cluster.wait_for_nodes("two", NAMES)
        wait_for_values([members["one"]], [*first, *second, *third])
        members["one"].commit()
        members["one"].close()
        fourth = send(client, topic, [*range(PARTITIONS)], "fourth")
        for group in groups.values():
            read_once(join(group, assignor=assignor), fourth)


def read_once(member: Member, values: list[str]) -> None:
    """Check that a member reads these values and no others, and commit."""
    with member:
        wait_for_values([member], values)
        member.commit()
