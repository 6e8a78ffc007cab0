"""`mqgateway migrate kafka`: its files, output and exit codes."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from mqgateway.engine.real_disk import RealDisk
from mqgateway.gateway.cli.main import main
from mqgateway.gateway.migration.kafka.cluster import KafkaCluster, Partition
from mqgateway.gateway.migration.kafka.group_settings import set_group_settings
from mqgateway.gateway.mqadmin import connection
from mqgateway.gateway.mqadmin.connection import SocketStream
from tests.support.gateway.migration.kafka_clusters import Clusters, kafka_clusters

SOURCE, TARGET = "source:1", "target:1"


@pytest.fixture
def two(monkeypatch: pytest.MonkeyPatch) -> Iterator[Clusters]:
    """Yield two clusters, to which the command connects by the addresses above."""
    with kafka_clusters() as two:

        def connect(host: str, port: int, seconds: float) -> SocketStream:
            side = two.target if host == "target" else two.source
            return side.connect(host, port, seconds)

        leaders = KafkaCluster.by_leader

        def by_leader(cluster: KafkaCluster, partitions: Iterable[Partition]) -> dict[str, list[Partition]]:
            found = [one for led in leaders(cluster, partitions).values() for one in led]
            return {cluster.bootstrap[0]: found} if found else {}

        # Both servers have one address in memory, so that each is reached by the first one only.
        monkeypatch.setattr(KafkaCluster, "by_leader", by_leader)
        monkeypatch.setattr(KafkaCluster, "nodes", lambda cluster: cluster.bootstrap)
        monkeypatch.setattr(KafkaCluster, "controller", lambda cluster: cluster.bootstrap[0])
        monkeypatch.setattr(KafkaCluster, "coordinator", lambda cluster, _: cluster.bootstrap[0])
        monkeypatch.setattr(connection, "plain", connect)
        yield two


def run(*arguments: object) -> Result:
    return CliRunner().invoke(main, ["migrate", "kafka", *(str(each) for each in arguments)])


def test_cluster_is_moved(two: Clusters, tmp_path: Path) -> None:
    path = tmp_path / "moving.json"
    two.source.create("a")
    two.source.produce("a", b"1", b"2")
    planned = run("plan", path, "--from", SOURCE, "--to", TARGET)
    assert (planned.exit_code, planned.stdout) == (
        0,
        "1 topics  1 partitions  0 groups  0 acls  0 users  0 quotas  0 groups with settings\n",
    ), planned.output
    assert run("verify", path).stdout == "a-0  it was not copied\n"
    copied = run("run", path, "--once")
    assert copied.exit_code == 0 and "copied: 2 records, lag 0" in copied.stdout
    two.source.produce("a", b"3")
    finished = run("run", path, "--finish", "--json")
    rows = [json.loads(line) for line in finished.stdout.splitlines()]
    assert rows[0] == {"subject": "copied", "what": "1 records, lag 0"}
    assert rows[1]["subject"] == "finished" and two.target.values("a") == [b"1", b"2", b"3"]
    verified = run("verify", path)
    assert verified.exit_code == 0 and verified.stdout.startswith("a-0  3 records, ")
    again = run("run", path)
    assert again.exit_code == 1 and "this migration is finished" in again.stderr


def test_settings_of_groups_are_moved_and_verified(two: Clusters, tmp_path: Path) -> None:
    path = tmp_path / "moving.json"
    settings = {"g": {"share.auto.offset.reset": "earliest"}}
    assert set_group_settings(two.source.cluster, settings) == {}
    assert run("plan", path, "--from", SOURCE, "--to", TARGET).exit_code == 0
    verified = run("verify", path)
    assert verified.exit_code == 3
    assert verified.stdout == "group g  share.auto.offset.reset is not set, not earliest\n"
    assert run("run", path, "--finish").exit_code == 0
    verified = run("verify", path)
    assert (verified.exit_code, verified.stdout) == (0, "group g  settings are equal\n")
    assert json.loads(run("verify", path, "--json").stdout) == {"group": "g", "problem": ""}


def test_remarks_and_differences_are_an_exit_code(two: Clusters, tmp_path: Path) -> None:
    path = tmp_path / "moving.json"
    two.source.create("a")
    planned = run("plan", path, "--from", SOURCE, "--to", TARGET, "--topic", "b", "--topic", "a", "--json")
    assert planned.exit_code == 3
    assert json.loads(planned.stdout)["problems"] == ["the source has no topic b"]
    verified = run("verify", path, "--json")
    assert verified.exit_code == 3
    assert json.loads(verified.stdout) == {"partition": "a-0", "problem": "it was not copied"}


def test_unreachable_cluster_is_an_error(two: Clusters, tmp_path: Path) -> None:
    two.source.refusals = 9
    planned = run("plan", tmp_path / "x", "--from", SOURCE, "--to", TARGET)
    assert planned.exit_code == 1 and "cannot connect to source:1" in planned.stderr
    (tmp_path / "x").write_text("{}")
    assert run("run", tmp_path / "x").exit_code == 1


def test_second_run_of_a_plan_is_refused(
    two: Clusters, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "moving.json"
    two.source.create("a")
    run("plan", path, "--from", SOURCE, "--to", TARGET)

    def refuse(disk: RealDisk, name: str) -> None:
        assert name == f"{path}.lock"
        raise BlockingIOError(11, "Resource temporarily unavailable")

    with monkeypatch.context() as patched:
        patched.setattr(RealDisk, "lock", refuse)
        refused = run("run", path, "--once")
    assert refused.exit_code == 1 and "is run by another process already" in refused.stderr
    assert run("run", path, "--once").exit_code == 0
