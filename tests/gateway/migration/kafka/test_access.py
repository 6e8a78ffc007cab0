"""Access control lists of a cluster."""

from __future__ import annotations

from typing import Any, cast

from mqgateway.gateway.kafka.codec.schema import Message
from mqgateway.gateway.migration.kafka.access import create_acls, read_acls, scram_users
from mqgateway.gateway.migration.kafka.cluster import KafkaCluster
from tests.gateway.kafka.api.test_acls import broker, create, row
from tests.support.gateway.kafka.broker import KafkaBroker
from tests.support.gateway.migration.kafka_clusters import kafka_clusters


def test_cluster_without_access_control_has_no_lists() -> None:
    with kafka_clusters() as two:
        assert read_acls(two.source.cluster) == [] and scram_users(two.source.cluster) == []
        row: dict[str, Any] = {"type": 2, "name": "a", "pattern": 3, "principal": "User:x"}
        row |= {"host": "*", "operation": 3, "permission": 3}
        [refusal] = create_acls(two.target.cluster, [row])
        assert refusal.startswith("rule for User:x on a: ")
        assert create_acls(two.target.cluster, []) == []


class BrokerAsCluster:
    """A cluster of one broker, which is asked without a connection."""

    def __init__(self, kafka: KafkaBroker) -> None:
        self._kafka = kafka

    def controller(self) -> str:
        """See `KafkaCluster`."""
        return ""

    def ask_any(self, request: Message) -> Any:
        """See `KafkaCluster`."""
        return self._kafka.ask(request)

    def ask_at(self, address: str, request: Message) -> Any:
        """See `KafkaCluster`."""
        return self._kafka.ask(request)


def test_lists_are_made_as_they_were_read() -> None:
    source, target = broker(), broker()
    assert create(source, row(), row("p", kind=3, pattern=4, host="10.0.0.1", operation=8, permission=2)) == [
        0,
        0,
    ]
    old, new = (cast(KafkaCluster, BrokerAsCluster(one)) for one in (source, target))
    rows = read_acls(old)
    assert len(rows) == 2
    assert create_acls(new, rows) == [] == create_acls(new, rows)
    assert sorted(map(str, read_acls(new))) == sorted(map(str, rows))
    [refusal] = create_acls(new, [{**rows[0], "principal": "nobody"}])
    assert refusal.startswith("rule for nobody on t: ")
