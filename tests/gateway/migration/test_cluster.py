"""Queries about a group, and the entries that one broker lacks of another's tables."""

import pytest

from mqgateway.gateway.migration import cluster
from mqgateway.gateway.migration.cluster import TableContents
from mqgateway.gateway.migration.plan import MigrationError
from tests.support.gateway.migration.clusters import NEW, OLD, FakeCluster

TABLES = TableContents({"T": {"perm": 6}}, {"G": {}}, {"T@G": {"0": 7}}, {"T": ["G"]})


def test_queries_return_members_master_and_log_range() -> None:
    servers = FakeCluster()
    assert cluster.members(servers, "a") == {0: OLD}  # type: ignore[arg-type]
    assert cluster.members(servers, "z") == {}  # type: ignore[arg-type]
    assert cluster.id_of(servers, "a", OLD) == 0  # type: ignore[arg-type]
    assert cluster.id_of(servers, "a", NEW) is None  # type: ignore[arg-type]
    assert cluster.master_of(servers, "a") == OLD  # type: ignore[arg-type]
    assert cluster.is_up(servers, OLD)  # type: ignore[arg-type]
    assert not cluster.is_up(servers, NEW)  # type: ignore[arg-type]
    assert cluster.span(servers, OLD) == (0, 1000)  # type: ignore[arg-type]
    servers.members.clear()
    with pytest.raises(MigrationError, match="no master"):
        cluster.master_of(servers, "a")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("text", "version"),
    [("V5_5_0", (5, 5, 0)), ("V4_9_7", (4, 9, 7)), ("V5_0_0_SNAPSHOT", (5, 0, 0)), ("", ())],
)
def test_versions(text: str, version: tuple[int, ...]) -> None:
    assert cluster.version({"brokerVersionDesc": text}) == version


def test_equal_or_newer_tables_lack_nothing() -> None:
    farther = TableContents(
        {**TABLES.topics, "more": {}}, TABLES.groups, {"T@G": {"0": 9, "1": 1}, "x@y": {"0": 1}}, TABLES.modes
    )
    assert cluster.lacks(farther, TABLES) == ""


@pytest.mark.parametrize(
    ("has", "said"),
    [
        (
            TableContents({"T": {"perm": 4}}, TABLES.groups, TABLES.offsets, TABLES.modes),
            "topics T are not the same (1)",
        ),
        (TableContents(TABLES.topics, {}, TABLES.offsets, TABLES.modes), "groups G are not the same (1)"),
        (TableContents(TABLES.topics, TABLES.groups, TABLES.offsets, {}), "modes of T are not the same (1)"),
        (
            TableContents(TABLES.topics, TABLES.groups, {"T@G": {"0": 6}}, TABLES.modes),
            "offsets of T@G queue 0 are behind (1)",
        ),
        (
            TableContents(TABLES.topics, TABLES.groups, {}, TABLES.modes),
            "offsets of T@G queue 0 are behind (1)",
        ),
    ],
)
def test_missing_or_stale_entries_are_named(has: TableContents, said: str) -> None:
    assert cluster.lacks(has, TABLES) == said
