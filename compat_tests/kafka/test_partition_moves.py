"""Partitions that move between broker groups by `kafka-reassign-partitions`, under Kafka's Java client.

Only this server has such groups: Apache Kafka's brokers are nodes of one cluster anyway.
"""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path

import pytest

from compat_tests.kafka.support.broker_groups import BrokerGroups
from compat_tests.kafka.support.clients import KafkaClient, Programs, wait_for_values
from compat_tests.kafka.support.commands import Commands
from compat_tests.kafka.support.sending import Sender
from compat_tests.kafka.test_several_groups import (
    FLIGHT,
    THREE,
    create,
    name_in,
    spread_from,
    wait_for_leaders,
)
from compat_tests.support.processes import wait_until

CLIENT = "java-4.4.0"
SECONDS = 120
PARTITIONS = 6
LEFT = "three"
"""The group whose partitions move to the others."""


def is_complete(commands: Commands, address: str, plan: Path) -> bool:
    """Return True once `--verify` reports that all partitions of a plan are moved."""
    result = commands.run(address, "reassign-partitions", "--reassignment-json-file", str(plan), "--verify")
    assert result.exit == 0, result
    lines = [line for line in result.out.splitlines() if line.startswith("Reassignment of partition")]
    assert len(lines) == len(json.loads(plan.read_text())["partitions"]), result
    return all(line.endswith("is completed.") for line in lines)


@pytest.mark.long
@pytest.mark.timeout(900)
def test_drained_group_loses_and_repeats_nothing(
    work: Path, programs: Programs, commands: Commands, name: str
) -> None:
    """All partitions of one group move to the two others while an idempotent producer writes to them and a
    consumer reads; then back, and away again."""
    topic = name_in("two", name, THREE)
    with BrokerGroups(work / name, THREE) as cluster:
        create(commands, cluster.addresses["one"], topic, PARTITIONS)
        before = spread_from("two", THREE, cluster.nodes, PARTITIONS)
        wait_for_leaders(cluster, commands, topic, before)
        client = KafkaClient(CLIENT, programs.get(CLIENT), cluster.bootstrap)
        sender = Sender(client, topic, FLIGHT, partitions=PARTITIONS)
        member = client.join(f"{name}-group", topic)
        sender.start()
        sender.wait_for_flights(3)
        moved = [number for number, node in enumerate(before) if node == cluster.nodes[LEFT]]
        targets = dict(zip(moved, (cluster.nodes["one"], cluster.nodes["two"]), strict=True))
        plan = work / f"{name}.json"
        for wanted in (targets, dict.fromkeys(moved, cluster.nodes[LEFT]), targets):
            partitions = [
                {"topic": topic, "partition": number, "replicas": [node]} for number, node in wanted.items()
            ]
            plan.write_text(json.dumps({"version": 1, "partitions": partitions}))
            arguments = ("--reassignment-json-file", str(plan), "--execute")
            begun = commands.run(cluster.addresses["one"], "reassign-partitions", *arguments)
            assert begun.exit == 0 and "Successfully started partition reassignments" in begun.out, begun
            wait_until(
                partial(is_complete, commands, cluster.addresses["two"], plan),
                SECONDS,
                "the partitions moved",
            )
            sender.wait_for_flights(3)
        listed = commands.run(cluster.addresses["one"], "reassign-partitions", "--list")
        assert "No partition reassignments found." in listed.out, listed
        after = [targets.get(number, node) for number, node in enumerate(before)]
        wait_for_leaders(cluster, commands, topic, after)
        sender.stop()
        wait_until(lambda: len(member.values) >= len(sender.acknowledged), SECONDS, "all is received")
        received = [((one.partition, one.offset), str(one.value)) for one in member.poll().records]
        assert dict(received) == sender.acknowledged and len(received) == len(sender.acknowledged)
        for partition in range(PARTITIONS):
            own = [(offset, value) for (number, offset), value in received if number == partition]
            assert [value for _, value in own] == sorted(value for _, value in own)
            if partition not in moved:
                assert [offset for offset, _ in own] == list(range(len(own)))
        member.commit()
        member.close()
        client.produce(topic, [{"value": f"last-{number}", "partition": number} for number in range(6)])
        with client.join(f"{name}-group", topic) as member:
            wait_for_values([member], [f"last-{number}" for number in range(6)])
