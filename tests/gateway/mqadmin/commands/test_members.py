"""Running information of consumer group members."""

from __future__ import annotations

from pathlib import Path

import pytest

from mqgateway.gateway.codec.bodies import (
    ConsumerRunningInfo,
    ConsumeStatus,
    MessageQueue,
    PopProcessQueueInfo,
    ProcessQueueInfo,
    SubscriptionData,
)
from mqgateway.gateway.mqadmin.commands.members import complaints, running_text, subscribes_the_same
from tests.support.gateway.client.cluster import Cluster, messages
from tests.support.gateway.mqadmin.members import connect
from tests.support.gateway.mqadmin.tool import MemoryTool

NOW = 1_700_000_000_000
QUEUE = MessageQueue("T", "broker-a", 0)


def _info(**properties: str) -> ConsumerRunningInfo:
    return ConsumerRunningInfo(
        properties={
            "PROP_CONSUME_TYPE": "CONSUME_PASSIVELY",
            "PROP_CONSUMER_START_TIMESTAMP": "0",
            **properties,
        },
        subscription_set=[SubscriptionData(topic="T", sub_string="*")],
        mq_table={QUEUE: ProcessQueueInfo(commit_offset=5, cached_msg_count=1)},
        mq_pop_table={QUEUE: PopProcessQueueInfo(wait_ack_count=2)},
        status_table={"T": ConsumeStatus(pull_rt=1.5, consume_failed_msgs=3)},
        user_consumer_info={"mine": "yes"},
        jstack="stack",
    )


def test_text_has_every_section_of_the_running_info() -> None:
    text = running_text(_info())
    assert text.startswith(f"#Consumer Properties#\n{'PROP_CONSUMER_START_TIMESTAMP':<40}: 0\n")
    assert (
        f"\n\n#Consumer Subscription#\n001 Topic: {'T':<40} ClassFilter: {'false':<8} SubExpression: *\n"
        in text
    )
    assert f"{'T':<32}  {'broker-a':<32}  {0:<4}  {5:<20}\n" in text
    assert "  ProcessQueueInfo [commitOffset=5, cachedMsgMinOffset=0, cachedMsgMaxOffset=0, " in text
    assert "PopProcessQueueInfo [waitAckCount:2, droped:false, lastPopTimestamp:0]\n" in text
    assert f"{'T':<32}  {1.5:>14.2f} {0:>14.2f} {0:>14.2f} {0:>14.2f} {0:>18.2f} {3:>25}\n" in text
    assert text.endswith(f"{'mine':<40}: yes\n\n\n#Consumer jstack#\nstack")


def test_complaints_name_blocked_and_unlocked_queues() -> None:
    place = "c1 MessageQueue [topic=T, brokerName=broker-a, queueId=0]"
    assert list(complaints("c1", _info(), NOW)) == [
        f"{place} can't consume for a while, maybe blocked, {NOW}ms\n"
    ]
    ordered = _info(PROP_CONSUMEORDERLY="true")
    assert list(complaints("c1", ordered, NOW)) == [f"{place} can't lock for a while, {NOW}ms\n"]
    ordered.mq_table[QUEUE] = ProcessQueueInfo(locked=True, droped=True, try_unlock_times=2)
    assert list(complaints("c1", ordered, NOW)) == [f"{place} unlock 2 times, still failed\n"]
    assert not list(complaints("c1", _info(PROP_CONSUME_TYPE="CONSUME_ACTIVELY"), NOW))


def test_subscriptions_are_compared_once_members_have_settled() -> None:
    other = _info()
    other.subscription_set = []
    assert subscribes_the_same([_info(), _info()], NOW)
    assert not subscribes_the_same([_info(), other], NOW)
    young = _info(PROP_CONSUMER_START_TIMESTAMP=str(NOW))
    assert subscribes_the_same([young, other], NOW)


def test_status_of_a_connected_member(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with Cluster() as cluster:
        cluster.make_topic("T", 1)
        cluster.run(cluster.producer().send(messages("T", 1)[0]))
        consumer, _ = connect(cluster, "G", "T")
        client_id = consumer.client.client_id
        tool = MemoryTool(cluster)
        assert tool.run("consumerStatus -g G") == 0
        (path,) = tmp_path.glob("*/*")
        assert path.name == client_id and path.read_text().startswith("#Consumer Properties#\n")
        lines = tool.out.split("\n")
        assert lines[1].split()[:2] == ["1", client_id] and lines[1].endswith(f"/{client_id}")
        assert "Same subscription in the same group of consumer\n\nRebalance OK\n" in tool.out
        assert tool.run(f"consumerStatus -g G -i {client_id}") == 0
        assert tool.out.startswith("#Consumer Properties#\n")
        assert tool.run("consumerStatus -g G -i nobody") == 1
        assert tool.run("consumerStatus -g Nobody") == 3
