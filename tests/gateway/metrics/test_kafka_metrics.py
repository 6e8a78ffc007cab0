"""The names of `kafka_exporter`, with its labels."""

from __future__ import annotations

import pytest

from mqgateway.engine.ha.group_nodes import GroupNode, NodeState, NodesView
from mqgateway.engine.tables.groups import SubscriptionGroupConfig
from mqgateway.gateway.broker.operations import CoordinatedGroup, CoordinatedMember
from mqgateway.gateway.metrics.kafka_metrics import KAFKA_METRICS
from mqgateway.gateway.metrics.observed import KAFKA
from tests.support.gateway.metrics import ExportingBroker, types

PARTITION, OFFSET, SUM = "partition topic", "consumergroup partition topic", "consumergroup topic"
NAMES = {
    "kafka_brokers": "",
    "kafka_broker_info": "address id",
    "kafka_topic_partitions": "topic",
    "kafka_topic_partition_current_offset": PARTITION,
    "kafka_topic_partition_oldest_offset": PARTITION,
    "kafka_topic_partition_leader": PARTITION,
    "kafka_topic_partition_leader_is_preferred": PARTITION,
    "kafka_topic_partition_replicas": PARTITION,
    "kafka_topic_partition_in_sync_replica": PARTITION,
    "kafka_topic_partition_under_replicated_partition": PARTITION,
    "kafka_consumergroup_members": "consumergroup",
    "kafka_consumergroup_current_offset": OFFSET,
    "kafka_consumergroup_lag": OFFSET,
    "kafka_consumergroup_current_offset_sum": SUM,
    "kafka_consumergroup_lag_sum": SUM,
}


class Groups:
    """A view of groups that a front end coordinates: `G` has two members."""

    def group(self, name: str) -> CoordinatedGroup | None:
        """See `CoordinatorView`."""
        member = CoordinatedMember("m", "c", "h", "", (), ())
        return (
            CoordinatedGroup("consumer", "Stable", "uniform", (member, member), ())
            if name == "G%2E1"
            else None
        )

    def has_members(self, name: str) -> bool:
        """See `CoordinatorView`."""
        return self.group(name) is not None

    def transactions(self) -> tuple[()]:
        """See `CoordinatorView`."""
        return ()

    def hanging_transactions(self) -> tuple[()]:
        """See `CoordinatorView`."""
        return ()


def host() -> ExportingBroker:
    """Return a broker with a topic of three records, of which a group has consumed one."""
    made = ExportingBroker()
    made.add_topic("a|b", queues=2)
    made.add_topic("%RETRY%G")
    made.broker.tables.groups.put(SubscriptionGroupConfig(group_name="G%2E1"))
    for _ in range(3):
        made.send("a|b")
    made.broker.tables.offsets.commit("G%2E1", "a|b", 0, 1)
    return made


def test_names_and_labels() -> None:
    assert {metric.name: " ".join(sorted(metric.labels)) for metric in KAFKA_METRICS} == NAMES
    assert types(host().scrape(KAFKA)) == dict.fromkeys(NAMES, "gauge")


def test_partitions_have_their_offsets() -> None:
    broker = host()
    assert broker.values("kafka_topic_partitions", KAFKA) == {(("topic", "a.b"),): 2}
    ends = {
        broker.value("kafka_topic_partition_current_offset", KAFKA, topic="a.b", partition=one)
        for one in "01"
    }
    assert ends == {3, 0}
    assert broker.value("kafka_topic_partition_oldest_offset", KAFKA, topic="a.b", partition="0") == 0


def test_groups_have_offsets_lag_and_members() -> None:
    broker = host()
    labels = {"consumergroup": "G.1", "topic": "a.b"}
    assert broker.value("kafka_consumergroup_current_offset", KAFKA, partition="0", **labels) == 1
    assert broker.value("kafka_consumergroup_lag", KAFKA, partition="0", **labels) == 2
    assert broker.value("kafka_consumergroup_current_offset_sum", KAFKA, **labels) == 1
    assert broker.value("kafka_consumergroup_lag_sum", KAFKA, **labels) == 2
    assert broker.value("kafka_consumergroup_members", KAFKA, consumergroup="G.1") == 0
    broker.context.operations.coordinated.attach(Groups())
    assert broker.value("kafka_consumergroup_members", KAFKA, consumergroup="G.1") == 2


def test_single_broker_leads_and_is_in_sync() -> None:
    broker = host()
    own = broker.context.operations.replicas.own_id
    assert broker.value("kafka_brokers", KAFKA) == 1
    assert broker.value("kafka_topic_partition_leader", KAFKA, topic="a.b", partition="1") == own
    for name, value in (("replicas", 1), ("in_sync_replica", 1), ("under_replicated_partition", 0)):
        found = broker.values(f"kafka_topic_partition_{name}", KAFKA)
        assert set(found.values()) == {value} and len(found) == 2


def test_members_of_a_group_are_brokers(monkeypatch: pytest.MonkeyPatch) -> None:
    broker = host()
    nodes = (
        NodeState(GroupNode(1, 1, "h1", 9092), True, True),
        NodeState(GroupNode(2, 2, "h2", 9092), True, False),
        NodeState(GroupNode(3, 3, "h3", 9092), False, False),
    )
    operations = broker.context.operations
    monkeypatch.setattr(operations.replicas, "nodes", lambda: NodesView(4, 2, nodes))
    assert broker.values("kafka_broker_info", KAFKA) == {
        (("address", "h1:9092"), ("id", "1")): 1,
        (("address", "h2:9092"), ("id", "2")): 1,
    }
    for name, value in (
        ("leader", 2),
        ("replicas", 3),
        ("in_sync_replica", 1),
        ("under_replicated_partition", 1),
    ):
        assert set(broker.values(f"kafka_topic_partition_{name}", KAFKA).values()) == {value}
