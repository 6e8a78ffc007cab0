"""`mqgateway dlq`: what consumers gave up is looked at and sent again."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from mqgateway.gateway.client.message import Message
from tests.support.gateway.client.cluster import Cluster
from tests.support.gateway.mqadmin.members import connect
from tests.support.gateway.mqadmin.tool import ResourceTool


@pytest.fixture
def tool() -> Iterator[ResourceTool]:
    """Three dead letters of a group: of two topics, with tags, keys and bodies that tell them apart."""
    with Cluster() as cluster:
        for topic in ("Orders", "Bills", "%DLQ%G"):
            cluster.make_topic(topic, 1)
        producer = cluster.producer()
        for number, origin in enumerate(("Orders", "Bills", "Orders")):
            message = Message("%DLQ%G", f"letter {number}", tags=f"Tag{number}", keys=f"k{number} all")
            message.properties["RETRY_TOPIC"] = origin
            cluster.run(producer.send(message))
            cluster.settle(10.0)
        yield ResourceTool(cluster)


def _bodies(tool: ResourceTool, line: str) -> list[str]:
    return [row["body"] for row in tool.json(line)["rows"]]


def test_groups_with_dead_letters_are_listed(tool: ResourceTool) -> None:
    (row,) = tool.json("dlq list")["rows"]
    assert (row["group"], row["count"]) == ("G", 3)
    assert tool.run("dlq list Nobody") == 3
    assert "the group Nobody has no dead letters" in tool.err


@pytest.mark.parametrize(
    ("chosen", "numbers"),
    [
        ("", [0, 1, 2]),
        ("--tag Tag1", [1]),
        ("--key k2", [2]),
        ("--key k", []),
        ("--origin Orders", [0, 2]),
        ("--origin Orders --contains 2", [2]),
        ("--limit 2", [0, 1]),
        ("--until 1", []),
        ("--since now", []),
    ],
)
def test_letters_are_chosen_by_what_they_have(tool: ResourceTool, chosen: str, numbers: list[int]) -> None:
    assert _bodies(tool, f"dlq list G {chosen}") == [f"letter {number}" for number in numbers]


def test_letters_are_chosen_by_time(tool: ResourceTool) -> None:
    times = [row["storeTimestamp"] for row in tool.json("dlq list G")["rows"]]
    assert _bodies(tool, f"dlq list G --since {times[1]}") == ["letter 1", "letter 2"]
    assert _bodies(tool, f"dlq list G --until {times[1]}") == ["letter 0"]


def test_a_dry_run_sends_nothing(tool: ResourceTool) -> None:
    assert tool.run("dlq replay G --to origin --dry-run") == 0
    assert tool.out.splitlines()[1].split()[-3:] == ["be", "sent", "-"]
    assert tool.cluster.everything("Orders", 1) == []


def test_nothing_is_sent_without_consent(tool: ResourceTool) -> None:
    assert tool.run("dlq replay G --to origin") == 2
    tool.is_terminal, tool.lines = True, ["n\n"]
    assert tool.run("dlq replay G --to origin") == 2
    assert tool.cluster.everything("Orders", 1) == []


def test_chosen_letters_return_to_their_origin_topic(tool: ResourceTool) -> None:
    tool.is_terminal = True
    assert tool.run("dlq replay G --origin Orders --to origin --yes") == 0
    assert "2 of 2" in tool.err
    assert tool.cluster.everything("Orders", 1) == [b"letter 0", b"letter 2"]
    assert tool.cluster.everything("Bills", 1) == []
    letter = tool.json("dlq list G --limit 1")["rows"][0]
    (copy,) = tool.json("message find Orders k0")["rows"]
    assert copy["properties"]["REPLAY_OF"] == letter["msgId"] != copy["msgId"]


def test_by_itself_a_letter_goes_to_its_group_only(tool: ResourceTool) -> None:
    _, mine = connect(tool.cluster, "G", "Orders")
    _, others = connect(tool.cluster, "Other", "Orders")
    assert tool.run("dlq replay G --tag Tag0 --yes") == 0, tool.err
    tool.cluster.settle(30.0)
    assert (mine, others) == ([b"letter 0"], [])


@pytest.mark.parametrize("line", ["", "--to group", "--to %RETRY%G", "--dry-run"])
def test_replay_to_an_ordered_group_is_refused(tool: ResourceTool, line: str) -> None:
    connect(tool.cluster, "G", "Orders", is_ordered=True)
    assert tool.run(f"dlq replay G --yes {line}") == 2
    assert "G consumes in order, without retries: send them to their topic (--to origin)" in tool.err
    assert tool.cluster.everything("%RETRY%G", 1) == []


def test_replay_of_an_ordered_group_to_the_origin_is_sent(tool: ResourceTool) -> None:
    _, mine = connect(tool.cluster, "G", "Orders", is_ordered=True)
    assert tool.run("dlq replay G --tag Tag0 --to origin --yes") == 0, tool.err
    tool.cluster.settle(30.0)
    assert mine == [b"letter 0"]


def test_copy_to_another_topic_has_no_property_of_earlier_deliveries(tool: ResourceTool) -> None:
    assert tool.run("dlq replay G --tag Tag0 --to Bills --yes") == 0, tool.err
    (copy,) = tool.json("message find Bills k0")["rows"]
    assert "RETRY_TOPIC" not in copy["properties"], "consumers would take Orders for its topic in retries"
    assert copy["properties"]["TAGS"] == "Tag0"


def test_a_letter_that_cannot_be_sent_does_not_keep_the_others(tool: ResourceTool) -> None:
    assert ResourceTool(tool.cluster).run("topic delete Orders -c DefaultCluster") == 0
    assert tool.run("dlq replay G --to origin --yes") == 4
    assert tool.cluster.everything("Bills", 1) == [b"letter 1"]
    assert "Orders" in tool.err
