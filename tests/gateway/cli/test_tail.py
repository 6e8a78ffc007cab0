"""`mqgateway tail`, with a whole broker in memory."""

from __future__ import annotations

import json
from typing import Any

import pytest
from click.testing import CliRunner, Result

from mqgateway.gateway.cli.main import main
from mqgateway.gateway.client.blocking import LitePullConsumer
from mqgateway.gateway.client.message import Message
from tests.support.gateway.client.cluster import NAMESRV, Cluster
from tests.support.gateway.client.facing import faced


def tail(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["tail", "T", "-n", NAMESRV, *arguments])


def fill(cluster: Cluster, count: int) -> None:
    cluster.make_topic("T", queues=3)
    producer = cluster.producer()
    for number in range(count):
        cluster.run(producer.send(Message("T", f"{number}", tags=f"tag{number % 2}")))
        cluster.net.advance(0.01)


def bodies(result: Result) -> list[str]:
    assert result.exit_code == 0, result.output
    return [line.split("  ")[3] for line in result.output.splitlines()]


def test_the_newest_of_all_queues_in_order(monkeypatch: pytest.MonkeyPatch) -> None:
    with faced(monkeypatch) as cluster:
        fill(cluster, 30)
        assert bodies(tail()) == [str(number) for number in range(20, 30)]
        assert bodies(tail("-l", "3")) == ["27", "28", "29"]
        assert bodies(tail("-l", "0")) == []
        assert bodies(tail("-l", "100")) == [str(number) for number in range(30)]
        assert not cluster.broker.tables.offsets.topics_of("TOOLS_CONSUMER")


def test_tags_and_json(monkeypatch: pytest.MonkeyPatch) -> None:
    with faced(monkeypatch) as cluster:
        fill(cluster, 8)
        result = tail("--tags", "tag1", "--json")
        assert [json.loads(line)["body"] for line in result.output.splitlines()] == ["1", "3", "5", "7"]


def test_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    with faced(monkeypatch) as cluster:
        cluster.make_topic("T", queues=1)
        cluster.run(cluster.producer().send(Message("T", b"\xff\x1b[2J")))
        assert bodies(tail()) == ["\\xff\\x1b[2J"]
        assert json.loads(tail("--json").output)["bodyBase64"] == "/xtbMko="
        assert tail("--raw").stdout_bytes == b"\xff\x1b[2J"


def test_following(monkeypatch: pytest.MonkeyPatch) -> None:
    with faced(monkeypatch) as cluster:
        fill(cluster, 2)
        producer = cluster.producer("Another")
        really = LitePullConsumer.poll
        polls: list[int] = []

        def poll(consumer: Any, timeout: float | None = None) -> Any:
            polls.append(1)
            if len(polls) == 1:
                cluster.run(producer.send(Message("T", "new")))
            if len(polls) > 6:
                raise KeyboardInterrupt
            return really(consumer, timeout)

        monkeypatch.setattr(LitePullConsumer, "poll", poll)
        result = tail("-f", "-l", "1")
        assert result.exit_code == 130
        assert [line.split("  ")[3] for line in result.output.splitlines()] == ["1", "new"]


def test_a_topic_that_is_not_there(monkeypatch: pytest.MonkeyPatch) -> None:
    with faced(monkeypatch):
        result = tail()
        assert result.exit_code == 3
        assert result.stderr.startswith("mqgateway: error: there is no topic T; see")
