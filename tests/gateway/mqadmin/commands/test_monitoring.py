"""Monitoring of groups, one round a minute."""

from __future__ import annotations

import json

import pytest

from tests.support.gateway.client.cluster import Cluster, messages
from tests.support.gateway.mqadmin.members import connect
from tests.support.gateway.mqadmin.tool import MemoryTool


def test_undone_messages_of_an_online_group_are_reported() -> None:
    with Cluster() as cluster:
        cluster.make_topic("T", 1)
        producer = cluster.producer()
        cluster.run(producer.send(messages("T", 1)[0]))
        connect(cluster, "G", "T")
        cluster.settle(30)
        tool = MemoryTool(cluster)
        tool.is_impatient = True
        with pytest.raises(KeyboardInterrupt):
            tool.run("startMonitoring")
        assert tool.waited == [60.0]
        lines = tool.out.splitlines()
        assert lines[0] == f"[MONITOR] {'=' * 41}beginRound" and lines[-1] == f"[MONITOR] {'=' * 41}endRound"
        shown = "UndoneMsgs [consumerGroup=G, topic=T, undoneMsgsTotal=0, undoneMsgsSingleMQ=0, "
        assert f"[MONITOR] reportUndoneMsgs: {shown}undoneMsgsDelayTimeMills=0]" in lines
        with pytest.raises(KeyboardInterrupt):
            tool.run("startMonitoring --json --watch 5")
        assert tool.waited == [60.0, 5.0]
        rows = json.loads(tool.out)["rows"]
        assert {
            "report": "undone",
            "group": "G",
            "topic": "T",
            "total": 0,
            "singleMax": 0,
            "delayMillis": 0,
        } in rows


def test_differing_subscriptions_are_reported() -> None:
    with Cluster() as cluster:
        cluster.make_topic("T", 1)
        connect(cluster, "G", "T")
        connect(cluster, "G", "T", "TagA")
        cluster.settle(200)
        tool = MemoryTool(cluster)
        tool.is_impatient = True
        with pytest.raises(KeyboardInterrupt):
            tool.run("startMonitoring")
        notify = "[MONITOR]  [NOTIFY] reportConsumerRunningInfo: ConsumerGroup: G, Subscription different"
        assert notify in tool.out.splitlines()
