"""Topics and groups that only the broker has are created at others."""

from __future__ import annotations

from unittest.mock import patch

import pytest
from twisted.internet.defer import Deferred, succeed

from mqgateway.engine.static_topics.mappings import TopicQueueMappingDetail
from mqgateway.engine.tables.attributes import KAFKA_FORMAT, MESSAGE_FORMAT
from mqgateway.engine.tables.groups import SubscriptionGroupConfig
from mqgateway.engine.tables.topics import TopicConfig
from mqgateway.gateway.broker.broker import Broker
from mqgateway.gateway.broker.cluster.table_copies import copy_tables, shared_topics
from mqgateway.gateway.codec.codes import ResponseCode
from mqgateway.gateway.codec.command import RemotingCommand
from mqgateway.gateway.remoting.call import RequestError
from tests.support.gateway.client.cluster import Cluster


def copy(cluster: Cluster, source: Broker, *names: str) -> None:
    copied = copy_tables(source.cluster.broker_directory, source.tables, names)
    cluster.run(Deferred.fromCoroutine(copied))


def test_other_brokers_receive_what_they_lack() -> None:
    with Cluster() as cluster:
        source = cluster.add_broker("broker-b", 20911).broker
        target = cluster.broker
        orders = TopicConfig("Orders", 4, 4, attributes={"message.type": "FIFO"})
        source.tables.topics.put(orders, TopicConfig("Both", 2, 2))
        target.tables.topics.put(TopicConfig("Both", 8, 8))
        source.tables.groups.put(SubscriptionGroupConfig("readers", retry_max_times=3))
        cluster.settle(1)
        copy(cluster, source, "broker-a")
        assert target.tables.topics.get("Orders") == orders
        assert target.tables.topics.get("Both") == TopicConfig("Both", 8, 8)
        assert target.tables.groups.get("readers") == source.tables.groups.get("readers")


def test_topics_that_belong_to_a_broker_are_not_shared() -> None:
    with Cluster() as cluster:
        tables = cluster.broker.tables
        kafka = TopicConfig("Kafka", attributes={MESSAGE_FORMAT: KAFKA_FORMAT})
        tables.topics.put(kafka, TopicConfig("Static"), TopicConfig("%RETRY%g"), TopicConfig("Mine"))
        tables.mappings.put(TopicQueueMappingDetail("Static", "broker-a", 8, 1))
        assert [one.topic_name for one in shared_topics(tables.topics, tables.mappings)] == ["Mine"]


def test_broker_that_does_not_answer_is_named() -> None:
    with Cluster() as cluster, pytest.raises(RequestError, match="gone"):
        copy(cluster, cluster.broker, "gone")


@pytest.mark.parametrize(
    ("body", "reason"),
    [(b"no JSON", "broker-b: .* is not JSON"), (None, "broker-b: the broker answers 1, refused")],
)
def test_broker_with_an_answer_that_is_not_valid_is_named(body: bytes | None, reason: str) -> None:
    with Cluster() as cluster:
        source = cluster.broker
        cluster.add_broker("broker-b", 20911)
        cluster.settle(1)
        answer = (
            RemotingCommand(ResponseCode.SYSTEM_ERROR, remark="refused")
            if body is None
            else RemotingCommand(ResponseCode.SUCCESS, body=body)
        )
        with (
            patch.object(source.cluster.broker_directory, "_send", lambda *_: succeed(answer)),
            pytest.raises(RequestError, match=reason),
        ):
            copy(cluster, source, "broker-b")
