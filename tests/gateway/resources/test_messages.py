"""`mqgateway message get` and `find`."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from mqgateway.gateway.client.message import Message
from mqgateway.gateway.resources.messages import BODY_SHOWN, brief
from tests.support.gateway.client.cluster import Cluster
from tests.support.gateway.mqadmin.tool import ResourceTool


@pytest.fixture
def tool() -> Iterator[ResourceTool]:
    with Cluster() as cluster:
        cluster.make_topic("T", 1)
        producer = cluster.producer()
        for number in range(3):
            cluster.run(producer.send(Message("T", f"book\x1b{number}", keys=f"k{number % 2}")))
        yield ResourceTool(cluster)


def test_messages_are_found_by_key_and_by_id(tool: ResourceTool) -> None:
    found = tool.json("message find T k0")["rows"]
    assert [row["body"] for row in found] == ["book\x1b0", "book\x1b2"]
    assert tool.run(f"message get T {found[1]['msgId']}") == 0
    assert tool.out.endswith("\nbook\\x1b2\n")
    assert tool.json(f"message get T {found[0]['offsetId']}")["rows"][0]["body"] == "book\x1b0"


def test_missing_messages_exit_with_three(tool: ResourceTool) -> None:
    assert tool.run("message find T typo") == 3
    assert tool.run("message find T k0 --until 1") == 3
    assert tool.run(f"message get T {'0' * 32}") == 3


def test_a_long_body_is_cut_on_a_line() -> None:
    row = {"msgId": "m", "topic": "T", "tags": None, "keys": None, "reconsumeTimes": 0, "brokerName": "b"}
    row |= {"queueId": 1, "queueOffset": 2, "storeTimestamp": 3, "body": "x" * 100}
    shown = brief(row)
    assert shown["body"] == "x" * BODY_SHOWN + " ... 100 bytes"
    assert shown["place"] == "b:1@2"
