"""`mqgateway send`, with a whole broker in memory."""

from __future__ import annotations

import json
from pathlib import Path

import click
import pytest
from click.testing import CliRunner, Result

from mqgateway.gateway.cli.main import main
from mqgateway.gateway.cli.send import millis_of
from tests.support.gateway.client.cluster import NAMESRV, Cluster
from tests.support.gateway.client.facing import faced


def send(*arguments: str, text: str | bytes = "") -> Result:
    return CliRunner().invoke(main, ["send", "T", "-n", NAMESRV, *arguments], input=text)


def test_bodies_from_arguments(monkeypatch: pytest.MonkeyPatch) -> None:
    with faced(monkeypatch) as cluster:
        cluster.make_topic("T", queues=1)
        result = send("one", "two", "-t", "A", "-k", "k1 k2", "-p", "colour=blue")
        assert result.exit_code == 0, result.output
        first, second = result.output.splitlines()
        assert first.startswith("SEND_OK") and first.endswith("broker-a/0@0") and second.endswith("@1")
        assert cluster.stored("T") == [b"one", b"two"]
        (stored, _) = read(cluster)
        assert (stored["TAGS"], stored["KEYS"], stored["colour"]) == ("A", "k1 k2", "blue")


def read(cluster: Cluster) -> list[dict[str, str]]:
    from tests.support.gateway.broker.helpers import split_records

    found = cluster.broker.store.get("T", 0, 0, 10, accept=None)
    return [one.properties for one in split_records(found.body)]


def test_lines_from_standard_input_and_files(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "lines").write_text("c\n\nd\n")
    with faced(monkeypatch) as cluster:
        cluster.make_topic("T", queues=1)
        assert send(text="a\nb\n").exit_code == 0
        assert send("-f", str(tmp_path / "lines"), "--progress").exit_code == 0
        assert cluster.stored("T") == [b"a", b"b", b"c", b"d"]


def test_bodies_of_any_bytes(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "bin.dat").write_bytes(octets := bytes(range(256)))
    with faced(monkeypatch) as cluster:
        cluster.make_topic("T", queues=1)
        result = send("-f", str(tmp_path / "bin.dat"))
        assert result.exit_code == 0 and "is not text, and each line" in result.stderr
        assert send("-f", str(tmp_path / "bin.dat"), "--whole").stderr == ""
        assert send(text=b"\xff\x00\r\n\xfe").exit_code == 0
        assert send("--whole", text=b"\xff\n\n").exit_code == 0
        lines = octets.split(b"\n")
        assert cluster.stored("T") == [*lines, octets, b"\xff\x00\r", b"\xfe", b"\xff\n\n"]
        result = send("x", "--whole")
        assert result.exit_code == 2 and "--whole requires a file" in result.output


def test_results_as_json(monkeypatch: pytest.MonkeyPatch) -> None:
    with faced(monkeypatch, recall_message_enable=True) as cluster:
        cluster.make_topic("T", queues=1)
        result = send("later", "--delay", "30s", "--json")
        (line,) = result.output.splitlines()
        shown = json.loads(line)
        assert (shown["status"], shown["brokerName"], shown["queueId"]) == ("SEND_OK", "broker-a", 0)
        assert shown["recallHandle"] and len(shown["messageId"]) == 32


def test_order_and_oneway(monkeypatch: pytest.MonkeyPatch) -> None:
    with faced(monkeypatch) as cluster:
        cluster.make_topic("T")
        assert send("a", "b", "c", "--order", "key").exit_code == 0
        assert [cluster.stored("T", number) for number in range(4)].count([b"a", b"b", b"c"]) == 1
        assert send("d", "--oneway").output == ""
        cluster.settle()
        assert len(cluster.everything("T")) == 4


def test_failures_are_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    with faced(monkeypatch, auto_create_topic_enable=False):
        result = send("x")
        assert (result.exit_code, result.stdout, result.stderr.count("\n")) == (1, "", 1)
        assert result.stderr.startswith("mqgateway: error: there is no topic T; see")
        result = send("x", "y", "--json")
        assert ["no route" in json.loads(line)["error"] for line in result.stdout.splitlines()] == [
            True,
            True,
        ]
        first, second = result.stderr.splitlines()
        assert "there is no topic T" in first
        assert second == "mqgateway: error: 2 of 2 messages were not stored"


def test_send_splits_lines_of_other_systems_without_stray_characters(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "lines").write_bytes(b"\xef\xbb\xbfone\r\ntwo\r\n\r\nthree")
    with faced(monkeypatch) as cluster:
        cluster.make_topic("T", queues=1)
        assert send("-f", str(tmp_path / "lines")).exit_code == 0
        assert cluster.stored("T") == [b"one", b"two", b"three"]


def test_send_rejects_empty_bodies_and_reports_empty_input(monkeypatch: pytest.MonkeyPatch) -> None:
    with faced(monkeypatch) as cluster:
        cluster.make_topic("T", queues=1)
        for bodies in (("",), ("a", "", "b")):
            result = send(*bodies)
            assert result.exit_code == 2 and "a body is empty" in result.stderr
        for more in ((), ("--whole",)):
            assert "nothing was sent" in send(*more, text="").stderr
        assert cluster.everything("T") == []


@pytest.mark.parametrize(
    "wrong", [("-p", "colour"), ("-p", "=x"), ("--delay", "soon"), ("--delay-level", "19")]
)
def test_wrong_usage(monkeypatch: pytest.MonkeyPatch, wrong: tuple[str, str]) -> None:
    with faced(monkeypatch):
        assert send("x", *wrong).exit_code == 2


def test_times() -> None:
    assert [millis_of(text) for text in ("5ms", "30s", "2m", "1h")] == [5, 30_000, 120_000, 3_600_000]
    for wrong in ("", "s", "10", "5d", "-1s"):
        with pytest.raises(click.BadParameter):
            millis_of(wrong)
