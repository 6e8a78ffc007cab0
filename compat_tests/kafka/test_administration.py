"""Administration of brokers and topics, by commands and by requests: both servers answer alike."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest

from compat_tests.kafka.support.commands import Commands, check_printed
from compat_tests.kafka.support.scripts import Script
from compat_tests.kafka.support.servers import KafkaServer, Servers
from compat_tests.kafka.support.wire import Connection, create_topic
from compat_tests.support.peers import Peers

TOPIC, BROKER, LOGGER, METRICS, GROUP = 2, 4, 8, 16, 32
SET, DELETE, APPEND, SUBTRACT = range(4)


@pytest.fixture
def script(
    request: pytest.FixtureRequest, commands: Commands, server: KafkaServer, name: str
) -> Iterator[Script]:
    """Commands against the server; what they print must be what they print on Apache's."""
    script = Script(commands, server)
    yield script
    writes = server.kind == "apache" and request.config.getoption("--record-apache")
    check_printed(request.node.originalname, name, script.printed, writes=writes)


def test_leaders_need_no_election(script: Script, name: str) -> None:
    script.run("topics", "--create", "--topic", name, "--partitions", "2")
    for kind in ("preferred", "unclean"):
        elect = ("--election-type", kind)
        script.run("leader-election", *elect, "--topic", name, "--partition", "0")
        script.run("leader-election", *elect, "--topic", name, "--partition", "7", exit=1)
    script.run("leader-election", "--election-type", "preferred", "--all-topic-partitions")


def test_no_partition_is_reassigned(script: Script, name: str) -> None:
    script.run("reassign-partitions", "--list")


def test_partitions_are_healthy(script: Script, name: str) -> None:
    script.run("topics", "--create", "--topic", name, "--partitions", "2")
    described = ("topics", "--describe", "--topic", name)
    for what in ("under-replicated", "unavailable", "under-min-isr"):
        script.run(*described, f"--{what}-partitions")
    script.run(*described, "--at-min-isr-partitions")


def test_quorum_is_described(script: Script, name: str) -> None:
    status = script.run_unrecorded("metadata-quorum", "describe", "--status")
    fields = dict(line.split(": ", 1) for line in status.splitlines())
    assert fields["LeaderId"] == "1" and fields["CurrentObservers"] == "[]", status
    assert re.fullmatch(r'\[\{"id": 1, "endpoints": \["[A-Z]+://ADDRESS"\]\}\]', fields["CurrentVoters"])
    heading, *rows = script.run_unrecorded("metadata-quorum", "describe", "--replication").splitlines()
    assert [row.split()[0] for row in rows] == ["1"] and rows[0].endswith("Leader")
    script.printed += [", ".join(fields), heading]


LEVELS = {"group.version": "1", "metadata.version": "4.4-IV2", "transaction.version": "2"}
"""Features that both servers have, and their levels."""


def test_features_in_force_are_accepted(script: Script, name: str) -> None:
    described = script.run_unrecorded("features", "describe")
    for feature, level in LEVELS.items():
        [line] = [line for line in described.splitlines() if line.startswith(f"Feature: {feature} ")]
        assert f"FinalizedVersionLevel: {level} " in line
    script.run("features", "upgrade", "--feature", "transaction.version=2")
    script.run("features", "upgrade", "--feature", "transaction.version=3", exit=1)
    script.run("features", "upgrade", "--feature", "no.such=1", exit=1)
    script.run("features", "upgrade", "--feature", "transaction.version=1", exit=1)


def test_client_metrics_are_changed_and_described(script: Script, name: str) -> None:
    metrics = ("--metrics", "org.apache.kafka.producer.,org.apache.kafka.consumer.")
    script.run("client-metrics", "--alter", "--name", name, *metrics, "--interval", "30000")
    assert name in script.run_unrecorded("client-metrics", "--list").splitlines()
    script.run("client-metrics", "--describe", "--name", name)
    script.run("client-metrics", "--alter", "--name", name, "--match", "client_id=a.*", "--interval", "")
    script.run("client-metrics", "--describe", "--name", name)
    script.run("client-metrics", "--alter", "--name", name, "--interval", "99", exit=1)
    script.run("client-metrics", "--alter", "--name", name, "--match", "color=red", exit=1)
    entity = ("--entity-type", "client-metrics", "--entity-name", name)
    script.run("configs", *entity, "--describe")
    script.run("configs", *entity, "--alter", "--delete-config", "match")
    script.run("configs", *entity, "--describe")
    script.run("client-metrics", "--delete", "--name", name)
    assert name not in script.run_unrecorded("client-metrics", "--list").splitlines()


def test_levels_of_loggers_are_changed(script: Script, name: str) -> None:
    entity = ("--entity-type", "broker-loggers", "--entity-name", "1")
    assert "root=" in script.run_unrecorded("configs", *entity, "--describe")
    script.run("configs", *entity, "--alter", "--add-config", "root=WARN")
    assert "root=WARN sensitive=false synonyms={}" in script.run_unrecorded("configs", *entity, "--describe")
    script.run("configs", *entity, "--alter", "--add-config", "root=LOUD", exit=1)
    script.run("configs", *entity, "--alter", "--add-config", "no.such.logger=INFO", exit=1)
    script.run("configs", *entity, "--alter", "--delete-config", "root", exit=1)
    script.run("configs", *entity, "--alter", "--add-config", "root=ERROR")


OWN_DEFAULTS = ("min.insync.replicas", "retention.ms")
"""Settings of topics with the broker's own defaults."""


def test_all_settings_of_topics_are_described(script: Script, name: str) -> None:
    script.run("topics", "--create", "--topic", name, "--config", "cleanup.policy=compact")
    entity = ("--entity-type", "topics", "--entity-name", name)
    lines = script.run_unrecorded("configs", *entity, "--describe", "--all").splitlines()
    script.printed += [line for line in lines if not line.strip().startswith(OWN_DEFAULTS)]


def test_transactions_are_listed(script: Script, name: str) -> None:
    script.run("topics", "--create", "--topic", name)
    script.run("transactions", "describe", "--transactional-id", name, exit=1)
    script.run("transactions", "describe-producers", "--topic", name, "--partition", "0")


def requests(topic: str) -> Iterator[tuple[str, int, dict[str, Any]]]:
    """Requests of administrators: name, version and fields."""
    partitions = [{"topic": topic, "partitions": [0, 9]}, {"topic": f"{topic}-no", "partitions": [0]}]
    for version, kind in ((0, {}), (1, {"election_type": 0}), (2, {"election_type": 1})):
        yield "ElectLeaders", version, {"topic_partitions": partitions, **kind}
    yield "ElectLeaders", 2, {"topic_partitions": partitions, "election_type": 2}
    yield "ElectLeaders", 2, {"topic_partitions": []}
    listed = [{"name": topic, "partition_indexes": [0, 7]}, {"name": f"{topic}-no", "partition_indexes": [0]}]
    yield "ListPartitionReassignments", 0, {"topics": listed}
    yield "DescribeQuorum", 2, {"topics": [{"topic_name": "x", "partitions": [{"partition_index": 0}]}]}
    yield "DescribeQuorum", 0, {"topics": []}
    moved = [{"name": topic, "partitions": [0, 9]}, {"name": f"{topic}-no", "partitions": [0]}]
    yield "AlterReplicaLogDirs", 2, {"dirs": [{"path": "/no/such/folder", "topics": moved}]}
    for level, upgrade_type in ((2, 1), (1, 1), (3, 1), (-1, 1), (2, 2), (2, 0), (2, 4)):
        update = {"feature": "transaction.version", "max_version_level": level, "upgrade_type": upgrade_type}
        yield "UpdateFeatures", 2, {"feature_updates": [update], "validate_only": True}
    yield "UnregisterBroker", 0, {"broker_id": 77}
    yield "UnregisterController", 0, {"controller_id": 77}
    yield from voters()
    for types in ([METRICS], [LOGGER, BROKER], [0], [99]):
        yield "ListConfigResources", 1, {"resource_types": types}
    yield "ListConfigResources", 0, {}
    yield from settings(topic)


def voters() -> Iterator[tuple[str, int, dict[str, Any]]]:
    """Requests that would change the quorum."""
    listeners = [{"name": "CONTROLLER", "host": "h", "port": 1}]
    for cluster, voter, directory in (("x", 7, 1), (None, 7, 1), (None, 7, 0), (None, -1, 1)):
        fields = {"cluster_id": cluster, "voter_id": voter, "voter_directory_id": bytes([directory] * 16)}
        yield "AddRaftVoter", 1, {**fields, "timeout_ms": 100, "listeners": listeners}
        yield "RemoveRaftVoter", 0, fields


def settings(topic: str) -> Iterator[tuple[str, int, dict[str, Any]]]:
    """Requests that read or change settings, and what the changes leave."""
    changes = (
        (TOPIC, topic, ("cleanup.policy", APPEND, "compact")),
        (TOPIC, topic, ("cleanup.policy", SUBTRACT, "delete")),
        (TOPIC, topic, ("retention.ms", APPEND, "1")),
        (TOPIC, topic, ("no.such", SET, "1")),
        (TOPIC, topic, ("no.such", DELETE, None)),
        (TOPIC, topic, ("retention.ms", SET, "soon")),
        (TOPIC, topic, ("remote.copy.lag.ms", SET, "5")),
        (TOPIC, topic, ("remote.storage.enable", SET, "true")),
        (TOPIC, topic, ("leader.replication.throttled.replicas", SET, "0:1,1:1")),
        (TOPIC, topic, ("leader.replication.throttled.replicas", SET, "x")),
        (TOPIC, topic, ("follower.replication.throttled.replicas", SET, "*")),
        (BROKER, "one", ("log.retention.ms", SET, "1")),
        (BROKER, "2", ("log.retention.ms", SET, "1")),
        (BROKER, "1", ("node.id", SET, "3")),
        (BROKER, "1", ("no.such", DELETE, None)),
        (BROKER, "", ("no.such", DELETE, None)),
        (GROUP, topic, ("no.such", SET, "1")),
        (GROUP, topic, ("no.such", DELETE, None)),
        (LOGGER, "1", ("root", APPEND, "INFO")),
        (LOGGER, "2", ("root", SET, "INFO")),
        (LOGGER, "", ("root", SET, "INFO")),
        (METRICS, "", ("metrics", SET, "x")),
        (METRICS, topic, ("metrics", SET, "x, y")),
        (METRICS, topic, ("match", SET, "client_id = a.*")),
        (METRICS, topic, ("match", SET, "client_id=[")),
        (METRICS, topic, ("metrics", APPEND, "z")),
        (METRICS, topic, ("no.such", SET, "z")),
        (METRICS, topic, ("no.such", DELETE, None)),
        (METRICS, topic, ("interval.ms", SET, "soon")),
        (99, topic, ("x", SET, "1")),
    )
    for kind, resource, (key, operation, value) in changes:
        configs = [{"name": key, "config_operation": operation, "value": value}]
        rows = [{"resource_type": kind, "resource_name": resource, "configs": configs}]
        yield "IncrementalAlterConfigs", 1, {"resources": rows, "validate_only": False}
        yield "IncrementalAlterConfigs", 1, {"resources": rows * 2, "validate_only": True}
    for kind, resource, keys in (
        (TOPIC, topic, ["cleanup.policy", "remote.copy.lag.ms", "flush.ms", "no.such"]),
        (TOPIC, f"{topic}-no", None),
        (BROKER, "2", None),
        (LOGGER, "", None),
        (LOGGER, "2", None),
        (LOGGER, "one", None),
        (METRICS, topic, None),
        (METRICS, f"{topic}-no", []),
        (METRICS, "", None),
        (99, topic, None),
    ):
        rows = [{"resource_type": kind, "resource_name": resource, "configuration_keys": keys}]
        yield "DescribeConfigs", 4, {"resources": rows, "include_synonyms": True}
    replaced = [{"resource_type": METRICS, "resource_name": topic, "configs": []}]
    yield "AlterConfigs", 2, {"resources": replaced, "validate_only": False}


COMPARED = "administrators-of-both"
"""The topic of the requests to both servers."""
MAY_DIFFER = ("error_message", "documentation", "throttle_time_ms")


def comparable(answer: Any) -> Any:
    """Return an answer without what may differ: texts, and the order of settings."""
    if isinstance(answer, dict):
        return {name: comparable(one) for name, one in answer.items() if name not in MAY_DIFFER}
    if isinstance(answer, list | tuple):
        return sorted(map(comparable, answer), key=repr)
    return answer


@pytest.mark.both_servers
def test_both_servers_answer_administrators_alike(servers: Servers, peers: Peers) -> None:
    asked = list(requests(COMPARED))

    def answers(kind: str) -> list[Any]:
        address = servers.get(kind).address
        create_topic(address, COMPARED)
        given = []
        for api, version, fields in asked:
            with Connection(address) as connection:
                given.append(comparable(connection.ask(api, version, **fields)))
        return given

    apaches, ours = peers.transcripts.both(__name__, "administrators", answers)
    assert [one for one in zip(asked, apaches, ours, strict=True) if one[1] != one[2]] == []
