"""MirrorMaker 2: topics, settings and offsets of groups from one cluster to another."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from compat_tests.kafka.support.clients import KafkaClient, Programs, Received
from compat_tests.kafka.support.frameworks import Framework, class_path
from compat_tests.kafka.support.servers import KafkaServer
from compat_tests.kafka.support.wire import Connection, create_topic, end_offset, wait_for_coordinator
from compat_tests.support.processes import wait_until

pytestmark = [pytest.mark.long, pytest.mark.timeout(600)]

PARTITIONS = 2
SECONDS = 120.0
SETTINGS = {
    "clusters": "source,target",
    "source->target.enabled": "true",
    "target->source.enabled": "false",
    "sync.group.offsets.enabled": "true",
    "sync.group.offsets.interval.seconds": "1",
    "emit.checkpoints.interval.seconds": "1",
    "refresh.topics.interval.seconds": "2",
    "refresh.groups.interval.seconds": "2",
    "sync.topic.configs.interval.seconds": "2",
    "consumer.auto.offset.reset": "earliest",
    "offset.flush.interval.ms": "1000",
    "replication.factor": "1",
    **{
        f"{what}.replication.factor": "1"
        for what in (
            "checkpoints.topic",
            "heartbeats.topic",
            "offset-syncs.topic",
            "offset.storage",
            "status.storage",
            "config.storage",
        )
    },
}


class Mirror:
    """MirrorMaker 2 from one server to another, for the topics and groups that begin with a name."""

    def __init__(self, source: KafkaServer, target: KafkaServer, name: str, work: Path) -> None:
        self._work = work
        self._config = work / f"{name}.properties"
        chosen = {
            "source.bootstrap.servers": source.address,
            "target.bootstrap.servers": target.address,
            "source->target.topics": f"{name}.*",
            "source->target.groups": f"{name}.*",
            **SETTINGS,
        }
        self._config.write_text("".join(f"{key}={value}\n" for key, value in chosen.items()))

    def start(self) -> Framework:
        """Start the mirror."""
        main = "org.apache.kafka.connect.mirror.MirrorMaker"
        return Framework(self._work, class_path("connect"), main, [str(self._config)])


@pytest.fixture
def target(kind: str, work: Path) -> Iterator[KafkaServer]:
    """A second server, to which topics are copied."""
    with KafkaServer(kind, work) as server:
        wait_for_coordinator(server.address)
        yield server


def committed(address: str, group: str, topic: str) -> list[int]:
    """Return the committed offset of each partition, -1 for none."""
    asked = [{"name": topic, "partition_indexes": list(range(PARTITIONS))}]
    with Connection(address) as connection:
        answer = connection.ask("OffsetFetch", 5, group_id=group, topics=asked)
    rows = answer["topics"][0]["partitions"]
    return [row["committed_offset"] for row in sorted(rows, key=lambda row: row["partition_index"])]


def settings_of(address: str, topic: str) -> dict[str, str]:
    """Return the settings of a topic."""
    resource = {"resource_type": 2, "resource_name": topic, "configuration_keys": None}
    with Connection(address) as connection:
        answer = connection.ask("DescribeConfigs", 1, resources=[resource], include_synonyms=False)
    return {row["name"]: row["value"] for row in answer["results"][0]["configs"]}


def has_topic(address: str, topic: str) -> bool:
    """Return True if all partitions of a topic have leaders."""
    asked = [{"partition_index": partition, "timestamp": -1} for partition in range(PARTITIONS)]
    topics = [{"name": topic, "partitions": asked}]
    with Connection(address) as connection:
        answer = connection.ask("ListOffsets", 5, replica_id=-1, topics=topics)
    return not any(one["error_code"] for one in answer["topics"][0]["partitions"])


def ends(address: str, topic: str) -> list[int]:
    """Return the end offset of each partition."""
    return [end_offset(address, topic, partition) for partition in range(PARTITIONS)]


def records_of(client: KafkaClient, topic: str) -> list[Received]:
    """Return all records of a topic; a mirror that was killed writes some of them again."""
    return client.consume(topic, sum(ends(client.address, topic)), dict.fromkeys(range(PARTITIONS), 0))


def values_of(client: KafkaClient, topic: str) -> set[str | None]:
    """Return the different values of a topic."""
    return {one.value for one in records_of(client, topic)}


def check_is_mirrored(
    programs: Programs, source: KafkaServer, target: KafkaServer, name: str, work: Path
) -> None:
    """Mirror a topic; kill the mirror while records are sent. Compare records, offsets and settings."""
    program = programs.get("librdkafka")
    here, there = (KafkaClient("librdkafka", program, one.address) for one in (source, target))
    copy, group = f"source.{name}", f"{name}-group"
    create_topic(source.address, name, PARTITIONS, cleanup_policy="compact", retention_ms="7200000")
    rows = [
        {"key": f"k{n}", "value": f"v{n}", "headers": [["n", str(n)]], "partition": n % PARTITIONS}
        for n in range(300)
    ]
    here.produce(name, rows[:100])
    with here.join(group, name) as member:
        wait_until(lambda: len(member.values) == 100, SECONDS, "the group has read all")
        member.commit()
    mirror = Mirror(source, target, name, work)
    with mirror.start() as running:
        running.wait_for(lambda lines: has_topic(target.address, copy), SECONDS, "the topic")
        running.wait_for(lambda lines: ends(target.address, copy) == [50, 50], SECONDS, "the records")
        running.wait_for(
            lambda lines: committed(target.address, group, copy) == [50, 50], SECONDS, "the offsets"
        )
        here.produce(name, rows[100:200])
        running.wait_for(lambda lines: ends(target.address, copy) == [100, 100], SECONDS, "more records")
    here.produce(name, rows[200:])
    with mirror.start() as running:
        running.wait_for(lambda lines: values_of(there, copy) == values_of(here, name), SECONDS, "the rest")
    came = {one.value: one._replace(offset=0) for one in records_of(there, copy)}
    assert came == {one.value: one._replace(offset=0) for one in records_of(here, name)}
    chosen = settings_of(target.address, copy)
    assert (chosen["cleanup.policy"], chosen["retention.ms"]) == ("compact", "7200000")


def test_topics_and_offsets_of_groups_are_mirrored(
    programs: Programs, server: KafkaServer, target: KafkaServer, name: str, work: Path
) -> None:
    check_is_mirrored(programs, server, target, name, work)


@pytest.mark.both_servers
def test_topics_and_offsets_of_groups_move_from_apache_kafka(
    programs: Programs, work: Path, name: str
) -> None:
    with KafkaServer("apache", work) as source, KafkaServer("ours", work) as target:
        for one in (source, target):
            wait_for_coordinator(one.address)
        check_is_mirrored(programs, source, target, name, work)
