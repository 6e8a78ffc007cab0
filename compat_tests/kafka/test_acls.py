"""Access control lists: they are shown, changed and obeyed alike by both servers."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from compat_tests.kafka.support.access import (
    ADMIN,
    USERS,
    AclCommands,
    client_file,
    guarded_server,
    signed_in,
)
from compat_tests.kafka.support.commands import check_printed, normalised
from compat_tests.kafka.support.servers import KafkaServer
from compat_tests.kafka.support.wire import Connection
from compat_tests.support.peers import Peers

TOPIC, GROUP, CLUSTER, ID = 2, 3, 4, 5
BROKER, GROUP_CONFIG, METRICS = 4, 32, 16
ANY, MATCH, LITERAL, PREFIXED = 1, 2, 3, 4
ALL, READ, WRITE, CREATE, DELETE, ALTER, DESCRIBE = 2, 3, 4, 5, 6, 7, 8
DENY, ALLOW = 2, 3
Row = tuple[int, str, int, str, str, int, int]
ROW = ("resource_type", "resource_name", "resource_pattern_type", "principal", "host", "operation")
FILTER = ("resource_type_filter", "resource_name_filter", "pattern_type_filter", "principal_filter")
CLUSTER_NAME = "kafka-cluster"
LOADING = {14, 15, 16}
"""Codes of a coordinator that is not ready."""


@pytest.fixture(scope="module")
def guarded(kind: str, work: Path) -> Iterator[KafkaServer]:
    """A server with access control."""
    with guarded_server(kind, work) as server:
        yield server


@pytest.fixture(scope="module")
def acl_commands(peers: Peers) -> Iterator[AclCommands]:
    """A JVM with `kafka-acls.sh`."""
    commands = AclCommands(peers.runtime)
    yield commands
    commands.close()


def created(connection: Connection, *rows: Row) -> list[int]:
    """Create bindings; return the error codes."""
    creations = [dict(zip((*ROW, "permission_type"), row, strict=True)) for row in rows]
    return [one["error_code"] for one in connection.ask("CreateAcls", 3, creations=creations)["results"]]


def filter_of(*given: Any) -> dict[str, Any]:
    """Return a filter: type, name and pattern of the resource, principal, host, operation, permission."""
    names = (*FILTER, "host_filter", "operation", "permission_type")
    return dict(zip(names, given, strict=True))


def described(connection: Connection, *given: Any) -> list[Row]:
    """Return the bindings that a filter has, sorted."""
    answer = connection.ask("DescribeAcls", 3, **filter_of(*given))
    assert answer["error_code"] == 0, answer
    return sorted(
        (
            resource["resource_type"],
            resource["resource_name"],
            resource["pattern_type"],
            acl["principal"],
            acl["host"],
            acl["operation"],
            acl["permission_type"],
        )
        for resource in answer["resources"]
        for acl in resource["acls"]
    )


def test_filters_choose_bindings(guarded: KafkaServer, name: str) -> None:
    user = f"User:{name}"
    rows: list[Row] = [
        (TOPIC, name, LITERAL, user, "*", READ, ALLOW),
        (TOPIC, name, LITERAL, user, "10.0.0.1", READ, DENY),
        (TOPIC, name, LITERAL, "User:*", "*", DESCRIBE, ALLOW),
        (TOPIC, name[:-1], PREFIXED, user, "*", WRITE, ALLOW),
        (GROUP, name, LITERAL, user, "*", ALL, ALLOW),
        (ID, "*", LITERAL, user, "*", WRITE, ALLOW),
    ]
    with signed_in(guarded.address, ADMIN) as admin:
        assert created(admin, *rows, rows[0]) == [0] * 7
        assert described(admin, ANY, None, ANY, user, None, ANY, ANY) == sorted(
            row for row in rows if row[3] == user
        )
        assert described(admin, TOPIC, name, LITERAL, None, None, ANY, ANY) == sorted(rows[:3])
        assert described(admin, TOPIC, name, MATCH, None, None, ANY, ANY) == sorted(rows[:4])
        assert described(admin, TOPIC, name, ANY, user, "*", ANY, ALLOW) == [rows[0]]
        assert described(admin, ANY, name, ANY, None, None, READ, DENY) == [rows[1]]
        assert described(admin, ID, "anything", MATCH, user, None, ANY, ANY) == [rows[5]]
        filters = [
            filter_of(TOPIC, name, LITERAL, None, None, ANY, ANY),
            filter_of(ANY, None, ANY, user, None, ANY, ANY),
        ]
        answer = admin.ask("DeleteAcls", 3, filters=filters)
        assert [len(result["matching_acls"]) for result in answer["filter_results"]] == [3, 5]
        assert described(admin, ANY, None, ANY, user, None, ANY, ANY) == []


def test_invalid_bindings_are_refused(guarded: KafkaServer, name: str) -> None:
    user = f"User:{name}"
    rows: list[Row] = [
        (TOPIC, "", LITERAL, user, "*", READ, ALLOW),
        (CLUSTER, "other", LITERAL, user, "*", READ, ALLOW),
        (TOPIC, name, LITERAL, name, "*", READ, ALLOW),
        (TOPIC, name, LITERAL, user, "", READ, ALLOW),
        (TOPIC, name, LITERAL, user, "*", 99, ALLOW),
        (99, name, LITERAL, user, "*", READ, ALLOW),
    ]
    with signed_in(guarded.address, ADMIN) as admin:
        assert created(admin, *rows) == [42] * 6
        assert described(admin, ANY, None, ANY, user, None, ANY, ANY) == []
    for broken in ((0, name, LITERAL, user, "*", READ, ALLOW), (TOPIC, name, LITERAL, user, "*", READ, 0)):
        with signed_in(guarded.address, ADMIN) as admin, pytest.raises(ConnectionError):
            created(admin, broken)
    with signed_in(guarded.address, ADMIN) as admin, pytest.raises(ConnectionError):
        described(admin, ANY, None, 0, None, None, ANY, ANY)


def test_commands_show_and_change_lists(
    request: pytest.FixtureRequest, acl_commands: AclCommands, guarded: KafkaServer, name: str, work: Path
) -> None:
    config = client_file(work, ADMIN)
    printed = []

    def run(*arguments: str, user_file: str = config) -> None:
        output = acl_commands.run_acls(guarded.address, "--command-config", user_file, *arguments)
        lines = normalised(output.out + "\n" + output.err).splitlines()
        # The order of bindings is not defined.
        printed.append(f"{' '.join(arguments)}: {output.exit}\n" + "\n".join(sorted(lines)))

    alice, topic, group = f"User:{name}", f"{name}.topic", f"{name}.group"
    run("--add", "--allow-principal", alice, "--producer", "--topic", topic)
    run("--add", "--allow-principal", alice, "--consumer", "--topic", topic, "--group", group)
    prefixed = ("--topic", name, "--resource-pattern-type", "prefixed")
    run("--add", "--deny-principal", alice, "--deny-host", "10.0.0.1", "--operation", "Write", *prefixed)
    run("--list", "--principal", alice)
    run("--list", "--topic", topic, "--resource-pattern-type", "match")
    run("--remove", "--force", "--allow-principal", alice, "--operation", "Write", "--topic", topic)
    run("--list", "--topic", topic)
    run("--remove", "--force", "--topic", topic, "--resource-pattern-type", "match")
    run("--remove", "--force", "--group", group)
    run("--list", "--principal", alice)
    run("--add", "--allow-principal", name, "--operation", "Read", "--topic", topic)
    writes = guarded.kind == "apache" and request.config.getoption("--record-apache")
    check_printed(request.node.originalname, name, printed, writes=writes)


class Rights(NamedTuple):
    """Names of a topic, a group and a transactional id, on which users have rights."""

    topic: str
    group: str
    id: str

    def bindings(self) -> list[Row]:
        """Return the bindings of all users; `stranger` has none."""
        on_topic, on_group = (TOPIC, self.topic, LITERAL), (GROUP, self.group, LITERAL)
        on_id, on_cluster = (ID, self.id, LITERAL), (CLUSTER, CLUSTER_NAME, LITERAL)
        names = (TOPIC, self.topic[:-1], PREFIXED), (GROUP, "*", LITERAL), (ID, "*", LITERAL)
        return [
            *((*one, "User:reader", "*", READ, ALLOW) for one in (on_topic, on_group)),
            *((*one, "User:writer", "*", WRITE, ALLOW) for one in (on_topic, on_id)),
            *((*one, "User:owner", "127.0.0.1", ALL, ALLOW) for one in names),
            *((*on_cluster, "User:manager", "*", one, ALLOW) for one in (CREATE, ALTER)),
            *((*one, "User:denied", "*", ALL, ALLOW) for one in (*names, on_cluster)),
            *((*one, "User:denied", "*", READ, DENY) for one in (on_topic, on_group)),
            (*on_cluster, "User:denied", "*", DESCRIBE, DENY),
        ]

    def wait_for_coordinators(self, connection: Connection) -> None:
        """Wait until group and transactional id have coordinators that have read their state."""
        for api, version, fields in (
            ("FindCoordinator", 3, {"key": self.group, "key_type": 0}),
            ("FindCoordinator", 3, {"key": self.id, "key_type": 1}),
            ("OffsetFetch", 5, {"group_id": self.group, "topics": None}),
            ("EndTxn", 3, {"transactional_id": self.id, "producer_id": 5, "producer_epoch": 0}),
        ):
            while codes(connection.ask(api, version, **fields)) & LOADING:
                time.sleep(0.1)

    def requests(self) -> Iterator[tuple[str, int, dict[str, Any]]]:
        """Yield requests that change nothing, with name, version and fields."""
        topic, group, txn = self.topic, self.group, self.id
        partition = {"name": topic, "partitions": [{"partition_index": 0}]}
        yield "Metadata", 9, {"topics": [{"name": topic}], "allow_auto_topic_creation": False}
        missing = {"name": f"{topic}-missing"}
        yield "Metadata", 9, {"topics": [missing], "allow_auto_topic_creation": False}
        yield "DescribeTopicPartitions", 0, {"topics": [{"name": topic}], "cursor": None}
        yield "ListOffsets", 5, {"replica_id": -1, "topics": [partition]}
        yield (
            "OffsetForLeaderEpoch",
            3,
            {
                "replica_id": -2,
                "topics": [{"topic": topic, "partitions": [{"partition": 0, "leader_epoch": 0}]}],
            },
        )
        yield (
            "Fetch",
            12,
            {
                "replica_id": -1,
                "topics": [{"topic": topic, "partitions": [{"partition": 0, "partition_max_bytes": 100}]}],
            },
        )
        yield "DescribeProducers", 0, {"topics": [{"name": topic, "partition_indexes": [0]}]}
        yield "FindCoordinator", 3, {"key": group, "key_type": 0}
        yield "FindCoordinator", 3, {"key": txn, "key_type": 1}
        yield (
            "JoinGroup",
            6,
            {
                "group_id": group,
                "session_timeout_ms": 10_000,
                "protocol_type": "consumer",
                "protocols": [{"name": "range", "metadata": b""}],
            },
        )
        yield "Heartbeat", 4, {"group_id": group, "member_id": "none"}
        yield (
            "OffsetCommit",
            8,
            {
                "group_id": group,
                "generation_id_or_member_epoch": 5,
                "member_id": "none",
                "topics": [partition],
            },
        )
        yield "OffsetFetch", 7, {"group_id": group, "topics": [{"name": topic, "partition_indexes": [0]}]}
        yield "DescribeGroups", 5, {"groups": [group]}
        yield "DeleteGroups", 2, {"groups_names": [group]}
        yield "InitProducerId", 4, {"transactional_id": txn, "transaction_timeout_ms": 10**9}
        yield "EndTxn", 3, {"transactional_id": txn, "producer_id": 5, "producer_epoch": 0}
        yield "AddOffsetsToTxn", 3, {"transactional_id": txn, "producer_id": 5, "group_id": group}
        yield "DescribeTransactions", 0, {"transactional_ids": [txn]}
        new = {"name": f"{topic}-new", "num_partitions": 1, "replication_factor": 1}
        yield "CreateTopics", 6, {"topics": [new], "timeout_ms": 9_000, "validate_only": True}
        yield "CreateTopics", 6, {"topics": [{**new, "name": topic}], "timeout_ms": 9_000}
        yield "DeleteTopics", 6, {"topics": [missing], "timeout_ms": 9_000}
        more = {"name": topic, "count": 9, "assignments": None}
        yield "CreatePartitions", 3, {"topics": [more], "timeout_ms": 9_000, "validate_only": True}
        for kind, resource in ((TOPIC, topic), (BROKER, ""), (GROUP_CONFIG, group)):
            named = {"resource_type": kind, "resource_name": resource}
            yield "DescribeConfigs", 4, {"resources": [{**named, "configuration_keys": None}]}
            yield (
                "IncrementalAlterConfigs",
                1,
                {"resources": [{**named, "configs": []}], "validate_only": True},
            )
        yield "ListConfigResources", 1, {"resource_types": [METRICS]}
        yield "DescribeLogDirs", 4, {"topics": [{"topic": topic, "partitions": [0]}]}
        yield "ListPartitionReassignments", 0, {"timeout_ms": 9_000, "topics": None}
        yield "DescribeAcls", 3, filter_of(TOPIC, topic, LITERAL, None, None, ANY, ANY)
        yield (
            "CreateAcls",
            3,
            {"creations": [{"resource_type": TOPIC, "operation": READ, "permission_type": ALLOW}]},
        )
        yield "DeleteAcls", 3, {"filters": [filter_of(7, "none", LITERAL, None, None, ANY, ANY)]}


def codes(value: Any) -> set[int]:
    """Return all error codes in an answer."""
    if isinstance(value, dict):
        own = {value["error_code"]} if "error_code" in value else set()
        return own.union(*map(codes, value.values()))
    return set().union(*map(codes, value)) if isinstance(value, list) else set()


def test_requests_need_the_same_rights(
    request: pytest.FixtureRequest, guarded: KafkaServer, name: str
) -> None:
    rights = Rights(f"{name}-topic", f"{name}-group", f"{name}-id")
    new = {"name": rights.topic, "num_partitions": 1, "replication_factor": 1}
    with signed_in(guarded.address, ADMIN) as admin:
        answer = admin.ask("CreateTopics", 6, topics=[new], timeout_ms=20_000)
        assert codes(answer) == {0}, answer
        assert set(created(admin, *rights.bindings())) == {0}
        rights.wait_for_coordinators(admin)
    connections = {user: signed_in(guarded.address, user) for user in USERS}
    printed = []
    for api, version, fields in rights.requests():
        found = {}
        for user, connection in connections.items():
            answer = connection.ask(api, version, **fields)
            found[user] = ",".join(str(code) for code in sorted(codes(answer) - {0})) or "0"
        printed.append(f"{api}: {' '.join(f'{user}={code}' for user, code in found.items())}")
    for connection in connections.values():
        connection.close()
    writes = guarded.kind == "apache" and request.config.getoption("--record-apache")
    check_printed(request.node.originalname, name, printed, writes=writes)
