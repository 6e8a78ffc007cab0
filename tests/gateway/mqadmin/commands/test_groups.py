"""Consumer groups created, shown and deleted on a broker in memory."""

from __future__ import annotations

import json
from pathlib import Path

from tests.support.gateway.client.cluster import Cluster
from tests.support.gateway.mqadmin.tool import MemoryTool

BROKER = "10.0.0.1:10911"
CONFIG = (
    "SubscriptionGroupConfig{groupName=G, consumeEnable=true, consumeFromMinEnable=false, "
    "consumeBroadcastEnable=false, consumeMessageOrderly=false, retryQueueNums=2, retryMaxTimes=3, "
    "groupRetryPolicy=GroupRetryPolicy{type=CUSTOMIZED, exponentialRetryPolicy=null, "
    "customizedRetryPolicy=CustomizedRetryPolicy{next=[1000, 5000]}}, brokerId=0, "
    "whichBrokerWhenConsumeSlowly=1, notifyConsumerIdsChangedEnable=true, groupSysFlag=0, "
    "consumeTimeoutMinute=15, subscriptionDataSet=null, attributes={}}\n"
)


def test_a_group_is_made_shown_and_deleted() -> None:
    with Cluster() as cluster:
        tool = MemoryTool(cluster)
        policy = '{"type":"CUSTOMIZED","customizedRetryPolicy":{"next":[1000,5000]}}'
        assert tool.run(f"updateSubGroup -b {BROKER} -g G -r 3 -q 2 -p", policy) == 0
        assert tool.out == f"create subscription group to {BROKER} success.\n{CONFIG}"
        assert tool.run("getConsumerConfig -g G") == 0
        line = "=" * 29
        assert tool.out.startswith(f"{line}DefaultCluster:broker-a{line}\n{'groupName':<40}=  G\n")
        assert f"{'subscriptionDataSet':<40}=  \n" in tool.out
        assert f"{'retryMaxTimes':<40}=  3\n" in tool.out
        assert tool.run(f"deleteSubGroup -b {BROKER} -g G") == 0
        assert tool.out == f"delete subscription group [G] from broker [{BROKER}] success.\n"
        assert "G" not in cluster.broker.tables.groups


def test_group_deletion_in_a_cluster_deletes_the_retry_topic() -> None:
    with Cluster() as cluster:
        tool = MemoryTool(cluster)
        cluster.make_topic("%RETRY%G")
        assert tool.run("updateSubGroup -c DefaultCluster -g G -s false") == 0
        assert tool.run("deleteSubGroup -c DefaultCluster -g G -r true") == 0
        assert tool.out == (
            f"delete subscription group [G] from broker [{BROKER}] in cluster [DefaultCluster] success.\n"
        )
        assert cluster.broker.tables.topics.get("%RETRY%G") is None


def test_refusals_are_reported() -> None:
    with Cluster() as cluster:
        tool = MemoryTool(cluster)
        assert tool.run(f"updateSubGroup -b {BROKER} -g G --attributes +x=y") == 1
        assert "unsupported key: x" in tool.err
        assert tool.run(f"updateSubGroup -b {BROKER} -g G -p nothing") == 2
        assert tool.run("updateSubGroup -g G") == 2


def test_the_groups_of_a_file(tmp_path: Path) -> None:
    with Cluster() as cluster:
        tool = MemoryTool(cluster)
        file = tmp_path / "groups.json"
        file.write_text(json.dumps([{"groupName": "A", "retryMaxTimes": 5}]))
        assert tool.run(f"updateSubGroupList -b {BROKER} -f {file}") == 0
        expected = f"config to {BROKER} success, please check the result later.\n"
        assert tool.out == f"submit batch of group {expected}"
        assert tool.run(f"updateSubGroupList -c DefaultCluster -f {file}") == 0
        assert tool.out == f"submit batch of subscription group {expected}"
        file.write_text('[{"retryMaxTimes": 5}]')
        assert tool.run(f"updateSubGroupList -b {BROKER} -f {file}") == 1


def test_consume_mode_is_set() -> None:
    with Cluster() as cluster:
        cluster.make_topic("T")
        tool = MemoryTool(cluster)
        assert tool.run("setConsumeMode -c DefaultCluster -t T -g G -m POP -q 2") == 0
        assert tool.out == (
            f"set consume mode to {BROKER} success.\n"
            "topic[T] group[G] consume mode[POP] popShareQueueNum[2]\n"
        )
        assert tool.run(f"setConsumeMode -b {BROKER} -t T -g G -m pop") == 2


def test_asking_for_a_group_does_not_create_it() -> None:
    with Cluster() as cluster:
        tool = MemoryTool(cluster)
        for _ in range(2):
            assert tool.run("getConsumerConfig -g Nobody") == 3 and tool.out == ""
        assert tool.err == "mqadmin: error: no broker knows the consumer group Nobody\n"
