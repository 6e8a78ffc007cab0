"""Candidates for the next word of a command line."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from mqgateway.engine.clock import ManualClock
from mqgateway.gateway.codec.command import RemotingCommand
from mqgateway.gateway.mqadmin.commands import PLACES
from mqgateway.gateway.mqadmin.completion import Candidate, offered
from mqgateway.gateway.mqadmin.declaration import GivenOptions, NameKind, every
from tests.support.gateway.client.cluster import Cluster
from tests.support.gateway.mqadmin.tool import MemoryTool, ScriptedTool


def words(typed: str, names: Sequence[str] = ()) -> list[str]:
    """Return the words offered at the end of a line, to complete its last word."""
    *before, current = typed.split(" ")
    return [one.word for one in offered(before, current, lambda kind, given: names).candidates]


def test_commands_come_first() -> None:
    assert words("topicR") == ["topicRoute"]
    assert words("help topicRo") == ["topicRoute"]
    assert len(words("")) == len(every()) + 2
    assert words("--") == ["--batch"]
    assert words("nothing -") == []
    found = offered([], "topicRo", lambda kind, given: ()).candidates
    assert found == [Candidate("topicRoute", PLACES["topicRoute"].about)]


def test_options_that_are_needed_come_first_and_none_twice() -> None:
    assert words("topicRoute ")[:3] == ["-t", "-l", "-h"]
    assert "-t" not in words("topicRoute -t Orders ")
    assert "--topic" in words("topicRoute --") and "-t" not in words("topicRoute --")
    assert "--json" in words("topicRoute ") and "--json" not in words("topicRoute --json ")
    assert words("topicRoute -t Orders --bogus --js") == ["--json"]


def test_of_a_group_of_options_one_is_offered() -> None:
    assert {"-b", "-c"} <= set(words("updateTopic "))
    assert not {"-b", "-c"} & set(words("updateTopic -b a:1 "))


def test_long_names_with_blanks_are_not_offered_in_two_words() -> None:
    assert "--beginTimestamp" in words("printMsgByQueue --")
    assert not [one for one in words("printMsgByQueue --") if " " in one]


def test_values_are_words_or_names() -> None:
    assert words("updateTopicPerm -p ") == ["2", "4", "6"]
    assert words("updateOrderConf -m p") == ["put"]
    assert words("topicRoute -t Or", ["Orders", "Other", "%RETRY%g"]) == ["Orders"]
    assert words("topicRoute -t ", ["Orders", "%RETRY%g"]) == ["Orders"]
    assert words("topicRoute -t %", ["Orders", "%RETRY%g"]) == ["%RETRY%g"]
    assert words("topicRoute --topic=Or", ["Orders"]) == ["--topic=Orders"]
    assert words("topicRoute --bogus=Or", ["Orders"]) == []
    assert words("queryMsgById -i ", ["Orders"]) == []
    assert offered(["updateTopicList", "-f"], "x", lambda kind, given: ()).has_files
    assert words("--batch --tl") == ["--tls", "--tls-ca"]


def test_names_are_queried_with_the_options_given_so_far() -> None:
    asked: list[tuple[NameKind, str | None]] = []

    def ask(kind: NameKind, given: GivenOptions) -> list[str]:
        asked.append((kind, given.text("n")))
        return []

    offered(["consumerProgress", "-n", "a:1", "-g"], "", ask)
    assert asked == [(NameKind.GROUP, "a:1")]


def test_names_are_those_of_the_name_server() -> None:
    with Cluster() as cluster:
        tool = MemoryTool(cluster)
        tool.run("updateTopic -b 10.0.0.1:10911 -t Orders -r 1 -w 1")
        tool.run("updateTopic -b 10.0.0.1:10911 -t %RETRY%billing -r 1 -w 1")
        for typed, expected in {
            "topicRoute -t Ord": "Orders\n",
            "consumerProgress -g b": "billing\n",
            "clusterList -c ": "DefaultCluster\n",
            "wipeWritePerm -b ": "broker-a\n",
            "brokerStatus -b ": "10.0.0.1:10911\n",
        }.items():
            assert tool.run("--complete fish", *typed.split(" ")) == 0
            assert tool.out == expected, typed


def test_no_names_are_offered_without_an_answer() -> None:
    tool = ScriptedTool(ManualClock(), lambda address, request: RemotingCommand.response(1, remark="no"))
    assert (tool.run("--complete fish topicRoute -t ", "x"), tool.out, tool.err) == (0, "", "")
    tool.environment = {}
    assert (tool.run("--complete fish topicRoute -t ", "x"), tool.out, tool.err) == (0, "", "")

    def silent(host: str, port: int, seconds: float) -> None:
        waited.append(seconds)
        raise TimeoutError

    waited: list[float] = []
    tool.files = {"/x/mqgateway/profiles.toml": "[profiles.live]\n[profiles.test]\n"}
    tool.environment = {"XDG_CONFIG_HOME": "/x"}
    assert tool.run("--complete fish topicList --profile l") == 0 and tool.out == "live\n"
    tool.connect = silent  # type: ignore[method-assign,assignment]
    assert tool.run("--complete fish topicRoute -n a:1;b:1;c:1 -t ", "x") == 0
    assert waited == [0.5, 0.5], "nobody waits long for a key"


@pytest.mark.parametrize(
    "long", ["topic", "topicName", "consumerGroup", "groupName", "clusterName", "brokerAddr"]
)
def test_option_for_a_name_is_declared_as_one(long: str) -> None:
    options = [(command.name, one) for command in every() for one in command.options if one.long == long]
    assert [name for name, one in options if one.takes_value and not isinstance(one.values, NameKind)] == []
