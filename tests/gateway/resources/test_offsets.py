"""`mqgateway offset`: a reset shows its effect first, and can be undone."""

from __future__ import annotations

from collections.abc import Iterator

import orjson
import pytest

from mqgateway.gateway.resources.offsets import NOTES_MAX
from tests.support.gateway.client.cluster import Cluster, messages
from tests.support.gateway.mqadmin.members import connect
from tests.support.gateway.mqadmin.tool import ResourceTool


@pytest.fixture
def tool() -> Iterator[ResourceTool]:
    """Return the tool with a topic of two queues with three messages each, and a group."""
    with Cluster() as cluster:
        cluster.make_topic("T", 2)
        producer = cluster.producer()
        for one in messages("T", 6):
            cluster.run(producer.send(one))
        cluster.settle(1.0)
        tool = ResourceTool(cluster)
        assert tool.run("group create G -b 10.0.0.1:10911") == 0
        yield tool


def _offsets(tool: ResourceTool) -> list[int]:
    return [row["offset"] for row in tool.json("offset show G T")["rows"]]


def test_a_dry_run_shows_each_queue_from_where_to_where(tool: ResourceTool) -> None:
    assert tool.run("offset reset G T --to 2 --dry-run") == 0
    assert tool.out.splitlines()[0].split() == [
        "BROKER",
        "NAME",
        "QUEUE",
        "ID",
        "FROM",
        "TO",
        "COUNT",
        "STATE",
    ]
    assert [line.split()[1:5] for line in tool.out.splitlines()[1:]] == [
        ["0", "0", "2", "2"],
        ["1", "0", "2", "2"],
    ]
    assert tool.notebook.text == ""


@pytest.mark.parametrize(
    ("where", "offsets"),
    [
        ("--to last", [3, 3]),
        ("--to now", [3, 3]),
        ("--to 1", [1, 1]),
        pytest.param("--to 99", [3, 3], id="no further than the end"),
        ("--by 2", [2, 2]),
        pytest.param("--by -5", [0, 0], id="no further back than the beginning"),
        pytest.param("--to 2 -q broker-a:1", [0, 2], id="one queue"),
        pytest.param("--to 1700000000000", [0, 0], id="ms since the epoch"),
    ],
)
def test_reset_moves_the_group(tool: ResourceTool, where: str, offsets: list[int]) -> None:
    assert tool.run(f"offset reset G T {where} --yes") == 0, tool.err
    connect(tool.cluster, "Other", "T")  # time passes
    found = tool.json(f"offset reset G T {where} --dry-run")["rows"]
    wanted = found if "-q" not in where else found[-1:]
    assert [row["from"] for row in wanted] == offsets[-len(wanted) :]


def test_it_can_be_undone_and_that_too(tool: ResourceTool) -> None:
    tool.run("offset reset G T --to 1 --yes")
    tool.run("offset reset G T --to last --yes")
    assert tool.run("offset undo G T --yes") == 0
    assert [row["to"] for row in tool.json("offset undo G T --dry-run")["rows"]] == [3, 3]
    assert _offsets(tool) == [1, 1]
    tool.run("offset undo G T --yes")
    assert _offsets(tool) == [3, 3]
    assert tool.run("offset undo G Other --yes") == 3
    assert "no reset of the group G in the topic Other" in tool.err


def test_reset_fails_if_the_old_offsets_cannot_be_noted(tool: ResourceTool) -> None:
    class Full(type(tool.notebook)):  # type: ignore[misc]
        def write(self, text: str) -> None:
            from mqgateway.gateway.client.errors import ClientError

            raise ClientError("the disk is full")

    tool.notebook = Full()
    assert tool.run("offset reset G T --to last --yes") == 1
    assert "the disk is full" in tool.err
    assert _offsets(tool) == [0, 0]


def test_number_of_noted_resets_is_limited(tool: ResourceTool) -> None:
    old = {"time": 0, "group": "X", "topic": "T", "offsets": []}
    tool.notebook.text = (orjson.dumps(old).decode() + "\n") * NOTES_MAX
    tool.run("offset reset G T --to 1 --yes")
    notes = [orjson.loads(line) for line in tool.notebook.text.splitlines()]
    assert len(notes) == NOTES_MAX
    assert [one["offset"] for one in notes[-1]["offsets"]] == [0, 0]


def test_nothing_is_moved_without_consent(tool: ResourceTool) -> None:
    assert tool.run("offset reset G T --to last") == 2
    assert "use --yes" in tool.err
    tool.is_terminal, tool.lines = True, ["no\n"]
    assert tool.run("offset reset G T --to last") == 2
    assert "FROM" in tool.err
    assert "move the group G in T? [y/N]" in tool.err
    assert _offsets(tool) == [0, 0]
    tool.lines = ["y\n"]
    assert tool.run("offset reset G T --to last") == 0
    assert _offsets(tool) == [3, 3]


@pytest.mark.parametrize(
    ("where", "ended"),
    [
        ("", 2),
        ("--to 1 --by 1", 2),
        ("--to yesterday", 2),
        ("--to 1 -q broker-a:7", 3),
        ("--to 1 -q typo", 3),
    ],
)
def test_invalid_reset_positions_are_refused(tool: ResourceTool, where: str, ended: int) -> None:
    assert tool.run(f"offset reset G T {where} --yes") == ended
    assert tool.err.startswith("mqgateway: error: ")
    assert _offsets(tool) == [0, 0]


def test_members_resume_from_the_reset_offset(tool: ResourceTool) -> None:
    _, bodies = connect(tool.cluster, "G", "T")
    assert len(bodies) == 6
    assert tool.run("offset reset G T --to first --yes") == 0
    tool.cluster.settle(30.0)
    assert len(bodies) == 12


def test_offsets_are_shown_without_a_retry_topic(tool: ResourceTool) -> None:
    tool.run("offset reset G T --to 1 --yes")
    shown = tool.json("offset show G T")
    assert [(row["offset"], row["end"], row["behind"]) for row in shown["rows"]] == [(1, 3, 2), (1, 3, 2)]
    assert shown["summary"] == {"behind": 4}
    assert tool.run("offset show Nobody") == 3
    assert tool.err.startswith("mqgateway: error: there is no consumer group Nobody; see")


def test_offset_reset_of_an_unknown_group_is_not_found(tool: ResourceTool) -> None:
    assert tool.run("offset reset Nobody T --to first --yes") == 3
    assert tool.err.startswith("mqgateway: error: there is no consumer group Nobody; see")
