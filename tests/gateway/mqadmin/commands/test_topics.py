"""Topics that are made, changed and deleted on a broker in memory."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from mqgateway.gateway.mqadmin.commands.topics import attributes_of
from mqgateway.gateway.mqadmin.declaration import UsageError
from tests.support.gateway.client.cluster import Cluster
from tests.support.gateway.mqadmin.tool import MemoryTool

BROKER = "10.0.0.1:10911"


def _config(name: str, queues: int, perm: str, attributes: str = "{}", order: str = "false") -> str:
    return (
        f"TopicConfig [topicName={name}, readQueueNums={queues}, writeQueueNums={queues}, perm={perm}, "
        f"topicFilterType=SINGLE_TAG, topicSysFlag=0, order={order}, attributes={attributes}]"
    )


def test_a_topic_is_made_and_deleted() -> None:
    with Cluster() as cluster:
        tool = MemoryTool(cluster)
        assert tool.run(f"updateTopic -b {BROKER} -t T -r 4 -w 4 -a +message.type=FIFO") == 0
        made = f"create topic to {BROKER} success.\n"
        assert tool.out == made + _config("T", 4, "RW-", "{+message.type=FIFO}") + "\n"
        assert tool.run("updateTopic -c DefaultCluster -t T -r 2 -w 2 -p 4 -a -message.type") == 0
        assert tool.out == made + _config("T", 2, "R--", "{-message.type=}") + "\n"
        kept = cluster.broker.tables.topics.get("T")
        assert kept is not None and (kept.read_queue_nums, kept.perm, kept.attributes) == (2, 4, {})
        assert tool.run("deleteTopic -c DefaultCluster -t T") == 0
        assert tool.out == (
            "delete topic [T] from cluster [DefaultCluster] success.\n"
            "delete topic [T] from NameServer success.\n"
        )
        assert cluster.broker.tables.topics.get("T") is None


def test_an_ordered_topic_is_known_to_the_name_servers() -> None:
    with Cluster() as cluster:
        tool = MemoryTool(cluster)
        assert tool.run(f"updateTopic -b {BROKER} -t T -w 3 -o true") == 0
        assert tool.out.startswith("set broker orderConf. isOrder=true, orderConf=[broker-a:3]\ncreate topic")
        assert tool.run("updateOrderConf -t T -m get") == 0
        assert tool.out == "get orderConf success. topic=[T], orderConf=[broker-a:3] \n"
        assert tool.run("updateTopic -c DefaultCluster -t T -w 5 -o true") == 0
        assert "set cluster orderConf. isOrder=true, orderConf=[broker-a:5]\n" in tool.out
        assert tool.run("updateOrderConf -t T -m put -v broker-b:1") == 0
        assert tool.out == "update orderConf success. topic=[T], orderConf=[broker-b:1]\n"
        assert tool.run("updateOrderConf -t T -m delete") == 0
        assert tool.run("updateOrderConf -t T -m get") == 3 and "No config item" in tool.err
        assert tool.run("updateOrderConf -t T -m put") == tool.run("updateOrderConf -t T -m x") == 2


def test_the_topics_of_a_file(tmp_path: Path) -> None:
    with Cluster() as cluster:
        tool = MemoryTool(cluster)
        file = tmp_path / "topics.json"
        file.write_text(json.dumps([{"topicName": "A", "readQueueNums": 3}, {"topicName": "B"}]))
        assert tool.run(f"updateTopicList -c DefaultCluster -f {file}") == 0
        assert (
            tool.out == f"submit batch of topic config to {BROKER} success, please check the result later.\n"
        )
        made = cluster.broker.tables.topics.get("A")
        assert made is not None and made.read_queue_nums == 3
        for wrong in ("{}", "[1]", "no JSON", '[{"readQueueNums": 3}]'):
            file.write_text(wrong)
            assert tool.run(f"updateTopicList -b {BROKER} -f {file}") == 1
        assert tool.run(f"updateTopicList -b {BROKER} -f /no/such/file") == 1 and "/no/such/file" in tool.err


def test_permissions() -> None:
    with Cluster() as cluster:
        cluster.make_topic("T", 4)
        tool = MemoryTool(cluster)
        assert tool.run(f"updateTopicPerm -b {BROKER} -t T -p 4") == 0
        expected = f"update topic perm from 6 to 4 in {BROKER} success.\n"
        assert tool.out == f"{expected}{_config('T', 4, 'R--')}.\n"
        cluster.settle(1.0)
        assert tool.run(f"updateTopicPerm -b {BROKER} -t T -p 4") == 0
        assert tool.out == "new perm equals to the old one!\n"
        assert tool.run("updateTopicPerm -c DefaultCluster -t T -p 6") == 0
        assert tool.out == f"update topic perm from 4 to 6 in {BROKER} success.\n"
        assert tool.run("updateTopicPerm -b 10.0.0.9:1 -t T -p 6") == 3
        assert tool.run("updateTopicPerm -t T -p 6") == 2


def test_attributes_have_a_sign() -> None:
    assert attributes_of("+a=b, -c") == ({"a": "b"}, ["c"])
    assert attributes_of(None) == ({}, [])
    with pytest.raises(UsageError):
        attributes_of("a=b")
