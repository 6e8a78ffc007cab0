"""`mqgateway kafka`: output and exit codes."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from click.testing import CliRunner, Result

from mqgateway.gateway.cli.main import main
from mqgateway.gateway.migration.kafka.cluster import Partition
from mqgateway.gateway.migration.kafka.groups import CommittedOffset, commit_offsets
from mqgateway.gateway.mqadmin import connection
from tests.support.gateway.kafka.client import kafka_scene
from tests.support.gateway.kafka.requests import batch_of_values, produce_request, produced
from tests.support.gateway.kafka.transactions import TxnProducer
from tests.support.gateway.migration.kafka_clusters import Side


@pytest.fixture
def side(monkeypatch: pytest.MonkeyPatch) -> Iterator[Side]:
    """A cluster with the topic `a`, to which the commands connect."""
    with kafka_scene() as scene:
        made = Side(scene)
        made.create("a")
        monkeypatch.setattr(connection, "plain", made.connect)
        monkeypatch.setattr("mqgateway.gateway.cli.kafka.SystemClock", lambda: made.scene.server.clock)
        yield made


def run(*arguments: object) -> Result:
    return CliRunner().invoke(main, ["kafka", *(str(each) for each in arguments)])


def rows(*arguments: object) -> list[Any]:
    """Return the JSON objects that a command prints."""
    result = run(*arguments, "--json")
    assert result.exit_code == 0, result.output
    return [json.loads(line) for line in result.stdout.splitlines()]


def test_groups_are_listed_and_shown_with_offsets(side: Side) -> None:
    assert run("groups").stdout == "no groups\n"
    side.produce("a", b"1", b"2")
    commit_offsets(side.cluster, "g", {Partition("a", 0): CommittedOffset(1, "")})
    row = {"group": "g", "type": "classic", "state": "Empty", "assignor": "", "members": 0, "lag": 1}
    assert rows("groups") == [row]
    positions = [{"topic": "a", "partition": 0, "offset": 1, "lag": 1}]
    assert rows("group", "g") == [row | {"members": [], "offsets": positions}]
    shown = run("group", "g").stdout
    assert "no members" in shown and shown.splitlines()[-1].split() == ["a", "0", "1", "1"]
    missing = run("group", "unknown")
    assert missing.exit_code == 3 and "there is no group unknown" in missing.stderr


def test_transactions_and_producers_are_listed(side: Side) -> None:
    assert run("transactions").stdout == "no transactions\n"
    assert run("producers", "a").stdout == "no producers\n"
    producer = TxnProducer(side.scene).begun()
    producer.send("a", b"1")
    [row] = rows("transactions")
    assert (row["transactionalId"], row["state"], row["partitions"]) == ("t", "Ongoing", ["a-0"])
    [row] = rows("producers", "a")
    assert (row["producer"], row["openSince"]) == (producer.producer_id, 0)
    producer.end(False)
    side.scene.settle(1)
    assert [row["state"] for row in rows("transactions", "--all")] == ["CompleteAbort"]


def test_records_are_shown_as_text_or_in_hexadecimal(side: Side) -> None:
    side.produce("a", b'{"n": 1}', b"\xff\x00")
    first, second = rows("records", "a")
    assert (first["value"], first["key"], first["headers"], first["offset"]) == ('{"n": 1}', "k", [], 0)
    assert second["valueHex"] == "ff00" and "producer" not in first
    lines = run("records", "a", "-o", "1").stdout.splitlines()
    assert len(lines) == 1 and lines[0].endswith("k: 0xff00")
    assert run("records", "a", "-l", "1").stdout.splitlines() == lines


def test_record_line_has_headers_producer_and_transaction(side: Side) -> None:
    data = batch_of_values(b"v", now=1000, producer_id=7, producer_epoch=0, base_sequence=4)
    assert produced(side.client, produce_request("a", data)).error_code == 0
    producer = TxnProducer(side.scene).begun()
    producer.send("a", b"x")
    producer.end(True)
    side.scene.settle(1)
    lines = run("records", "a", "-o", "0").stdout.splitlines()
    assert lines[0].endswith("k: v  producer=7/0/4")
    assert "transaction=committed" in lines[1]
    assert "marker: committed" in lines[2]


def test_doctor_finds_waiting_groups_and_hanging_transactions(side: Side) -> None:
    assert run("doctor", "--watch", "0.1").stdout == "nothing was found\n"
    side.produce("a", b"1", b"2")
    commit_offsets(side.cluster, "g", {Partition("a", 0): CommittedOffset(1, "")})
    producer = TxnProducer(side.scene).begun()
    producer.send("a", b"3")
    found = run("doctor", "--watch", "0.1")
    assert found.exit_code == 5 and found.stdout.startswith("no-member: group g (classic)")
    assert len(found.stdout.splitlines()) == 2
    side.scene.transactions.table.discard("t")
    found = run("doctor", "g", "--watch", "0.1", "--json")
    assert found.exit_code == 5
    checks = [json.loads(line)["check"] for line in found.stdout.splitlines()]
    assert checks == ["hanging-transaction", "no-member"]


def test_unreachable_cluster_is_an_error(side: Side) -> None:
    side.refusals = 1
    failed = run("groups")
    assert failed.exit_code == 1 and "cannot connect to 127.0.0.1:9092" in failed.stderr
