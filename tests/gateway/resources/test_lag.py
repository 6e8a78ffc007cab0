"""The lag of a group in one queue."""

from mqgateway.gateway.codec.bodies import OffsetWrapper
from mqgateway.gateway.resources.lag import ahead, behind
from tests.support.gateway.client.cluster import Cluster, messages, queue_of
from tests.support.gateway.mqadmin.tool import ResourceTool


def test_lag_of_a_queue_is_never_negative() -> None:
    wrappers = [OffsetWrapper(broker_offset=10, consumer_offset=at) for at in (-1, 4, 10, 15)]
    assert [behind(one) for one in wrappers] == [10, 6, 0, 0]
    assert [ahead(one) for one in wrappers] == [0, 0, 0, 5]


def test_queue_past_its_end_does_not_hide_messages_that_wait_in_another() -> None:
    with Cluster() as cluster:
        cluster.make_topic("T", 2)
        tool = ResourceTool(cluster)
        assert tool.run("group create G -c DefaultCluster") == 0
        for number, one in enumerate(messages("T", 8)):
            cluster.run(cluster.producer().send(one, queue=queue_of("T", number % 2)))
        cluster.broker.tables.offsets.commit("G", "T", 0, 1000)
        cluster.broker.tables.offsets.commit("G", "T", 1, 0)
        waiting = cluster.broker.store.max_offset("T", 1)
        for call in ("top", "offset show G", "group list"):
            rows = [row for row in tool.json(call)["rows"] if row.get("topic") in (None, "T")]
            assert sum(row["behind"] for row in rows) == waiting > 0, call
            assert sum(row["ahead"] for row in rows) == 1000 - cluster.broker.store.max_offset("T", 0), call
            assert tool.run(call) == 0
            assert tool.out.count("anomaly: G is ") == 1 and "see mqgateway doctor G" in tool.out, call


def test_retries_that_wait_are_counted_and_found() -> None:
    """As apache/rocketmq#5701: the whole backlog of a group is in its retry topic."""
    with Cluster() as cluster:
        cluster.make_topic("T", 1)
        cluster.make_topic("%RETRY%G", 1)
        tool = ResourceTool(cluster)
        assert tool.run("group create G -c DefaultCluster") == 0
        for one in messages("%RETRY%G", 5):
            cluster.run(cluster.producer().send(one))
        cluster.broker.tables.offsets.commit("G", "T", 0, 0)
        cluster.broker.tables.offsets.commit("G", "%RETRY%G", 0, 0)
        rows = {row["topic"]: row["behind"] for row in tool.json("top")["rows"]}
        assert rows == {"T": 0, "%RETRY%G": 5}
        output = tool.json("doctor G")
        assert output["summary"]["behind"] == 5
        assert [(row["check"], row["weight"]) for row in output["rows"]] == [
            ("no-member", "cause"),
            ("retries-waiting", "warning"),
        ]
