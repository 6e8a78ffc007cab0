"""Calls of the tool: output, error output and exit codes."""

from __future__ import annotations

import pytest

from mqgateway.engine.clock import ManualClock
from mqgateway.gateway.codec.codes import RequestCode
from mqgateway.gateway.codec.command import RemotingCommand
from mqgateway.gateway.mqadmin import main
from tests.support.gateway.client.cluster import Cluster
from tests.support.gateway.mqadmin.tool import MemoryTool, ScriptedTool


def test_exit_code_reports_the_outcome() -> None:
    with Cluster() as cluster:
        tool = MemoryTool(cluster)
        assert tool.run("topicList") == main.DONE and "TBW102\n" in tool.out
        assert tool.run("topicRoute -t Nothing") == main.NOT_FOUND
        assert tool.out == ""
        assert tool.err.startswith(
            "mqadmin: error: No topic route info in name server for the topic: Nothing; see"
        )
        assert tool.run("updateBrokerConfig -b 10.0.0.1:10911 -k brokerId -v x") == main.FAILED
        assert "10.0.0.1:10911 answered " in tool.err
        assert tool.run("topicRoute") == main.USAGE
        assert tool.err == "mqadmin: error: missing: -t (--topic); see 'mqadmin help topicRoute'\n"
        tool.environment = {}
        assert tool.run("topicList") == main.DONE, "127.0.0.1:9876 is the default"
        assert tool.run("topicList -n 10.0.0.1:9876") == main.DONE


def test_failure_of_some_servers_is_a_partial_success() -> None:
    def answer(address: str, request: RemotingCommand) -> RemotingCommand:
        return RemotingCommand.response(
            0 if address == "a:1" else 1, remark="no", ext={"wipeTopicCount": "3"}
        )

    tool = ScriptedTool(ManualClock(), answer)
    assert tool.run("wipeWritePerm -b broker-a -n a:1;b:1") == main.PARTLY
    assert tool.out == "wipe write perm of broker[broker-a] in name server[a:1] OK, 3\n"
    assert tool.err == "mqadmin: error: b:1 answered 1: no\n"
    assert tool.run("wipeWritePerm -b broker-a -n b:1") == main.FAILED
    output = tool.json("wipeWritePerm -b broker-a -n a:1;b:1")
    assert [one["nameServer"] for one in output["rows"]] == ["a:1"]
    assert output["errors"] == [{"server": "b:1", "error": "b:1 answered 1: no", "code": 1}]


def test_json_has_the_failure_too() -> None:
    with Cluster() as cluster:
        tool = MemoryTool(cluster)
        output = tool.json("topicStatus -t Nothing")
        assert output["rows"] == [] and "No topic route info" in output["errors"][0]["error"]


def test_help_and_wrong_names() -> None:
    tool = ScriptedTool(ManualClock(), lambda address, request: RemotingCommand.response(0))
    assert tool.run("") == main.DONE and "updateTopic" in tool.out
    assert tool.run("help topicList") == main.DONE and tool.out.startswith("usage: mqadmin topicList")
    usage = tool.out
    assert tool.run("topicList -h") == main.DONE and tool.out == usage
    assert tool.run("topiclist") == main.USAGE
    assert tool.out == "The sub command topiclist not exist.\n"
    assert tool.err.startswith("did you mean topicList")
    assert tool.asked == []


def test_a_batch_is_a_call_a_line_over_the_same_connections() -> None:
    tool = ScriptedTool(ManualClock(), lambda address, request: RemotingCommand.response(0))
    opened = []
    connect = tool.connect
    tool.connect = lambda *where: opened.append(where) or connect(*where)  # type: ignore[method-assign,func-returns-value]
    tool.lines = [
        "updateKvConfig -s space -k 'a key' -v 1\n",
        "\n",
        "# a remark\n",
        "deleteKvConfig -s space -k b\n",
        "deleteKvConfig -s space\n",
        "deleteKvConfig 'open\n",
    ]
    assert tool.run("--batch -n a:1") == main.USAGE
    assert [request.code for _, request in tool.asked] == [
        RequestCode.PUT_KV_CONFIG,
        RequestCode.DELETE_KV_CONFIG,
    ]
    assert tool.asked[0][1].ext_fields["key"] == "a key"
    assert len(opened) == 1
    assert "No closing quotation" in tool.err


def test_dry_run_prints_its_requests() -> None:
    with Cluster() as cluster:
        cluster.make_topic("T")
        tool = MemoryTool(cluster)
        assert tool.run("deleteTopic -c DefaultCluster -t T --dry-run") == main.DONE
        assert tool.out == (
            "would ask 10.0.0.1:10911: DELETE_TOPIC_IN_BROKER topic=T\n"
            "would ask 10.0.0.1:9876: DELETE_TOPIC_IN_NAMESRV topic=T clusterName=DefaultCluster\n"
        )
        assert tool.run("topicRoute -t T -l --dry-run") == main.DONE and "broker-a" in tool.out


def test_watch_repeats_until_it_is_interrupted() -> None:
    with Cluster() as cluster:
        tool = MemoryTool(cluster)
        waits: list[float] = []
        written: list[str] = []

        def wait(seconds: float) -> None:
            waits.append(seconds)
            if len(waits) == 3:
                raise KeyboardInterrupt

        around = main.Surroundings(
            written.append,
            written.append,
            environment=tool.environment,
            connect=tool.connect,
            clock=cluster.clock,
            wait=wait,
            is_terminal=True,
        )
        with pytest.raises(KeyboardInterrupt):
            main.Tool(around).run(["clusterList", "-i", "2"])
        assert waits == [2.0, 2.0, 2.0]
        assert "".join(written).count("\x1b[H\x1b[J#Cluster Name") == 3


def test_scripts_that_rely_on_zero_can_have_it(monkeypatch: pytest.MonkeyPatch) -> None:
    assert main.console(["bogus"]) == main.USAGE
    monkeypatch.setenv("MQADMIN_EXIT_ZERO", "1")
    assert main.console(["bogus"]) == main.DONE
