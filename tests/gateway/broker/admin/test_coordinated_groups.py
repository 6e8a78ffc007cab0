"""Requests of administration about groups that a front end coordinates."""

from mqgateway.engine.tables.groups import SubscriptionGroupConfig
from mqgateway.gateway.codec.codes import RequestCode, ResponseCode
from mqgateway.gateway.codec.headers import (
    GetConsumerConnectionListRequestHeader,
    GetConsumeStatsInBrokerHeader,
    GetConsumeStatsRequestHeader,
)
from tests.support.gateway.broker.admin import AdminBroker
from tests.support.gateway.coordinated import OneGroup, kafka_group

MEMBERS = GetConsumerConnectionListRequestHeader(consumer_group="K")


def test_members_of_a_coordinated_group_are_listed() -> None:
    broker = AdminBroker()
    broker.broker.coordinated = OneGroup("K", kafka_group(assigned=((("T", 0), ("U", 1)),)))
    found = broker.json(RequestCode.GET_CONSUMER_CONNECTION_LIST, MEMBERS)
    assert found["connectionSet"] == [
        {"clientId": "app", "clientAddr": "10.0.0.9", "language": "OTHER", "version": 2**31 - 1}
    ]
    assert list(found["subscriptionTable"]) == ["T", "U"]
    assert (found["consumeType"], found["messageModel"]) == ("CONSUME_ACTIVELY", "CLUSTERING")


def test_coordinated_group_without_members_is_not_online() -> None:
    broker = AdminBroker()
    broker.broker.coordinated = OneGroup("K", kafka_group(assigned=()))
    refused = broker.refusal(RequestCode.GET_CONSUMER_CONNECTION_LIST, MEMBERS)
    assert refused[0] == ResponseCode.CONSUMER_NOT_ONLINE


def test_progress_of_a_share_group_is_that_of_its_partitions() -> None:
    broker = AdminBroker()
    broker.broker.tables.groups.put(SubscriptionGroupConfig("K"))
    broker.broker.coordinated = OneGroup("K", kafka_group("share", shared=2))
    asked = GetConsumeStatsRequestHeader(consumer_group="K")
    assert "T" in str(broker.json(RequestCode.GET_CONSUME_STATS, asked)["offsetTable"])
    other = GetConsumeStatsRequestHeader(consumer_group="K", topic="U")
    assert not broker.json(RequestCode.GET_CONSUME_STATS, other)["offsetTable"]
    every = GetConsumeStatsInBrokerHeader(is_order=False)
    found = broker.json(RequestCode.GET_BROKER_CONSUME_STATS, every)["consumeStatsList"]
    assert any(one.get("K") for one in found)


def test_records_wait_for_a_share_group_without_members_too() -> None:
    broker = AdminBroker()
    broker.broker.tables.groups.put(SubscriptionGroupConfig("K"))
    broker.broker.coordinated = OneGroup("K", kafka_group("share", "Empty", assigned=(), shared=2))
    asked = GetConsumeStatsRequestHeader(consumer_group="K")
    assert "T" in str(broker.json(RequestCode.GET_CONSUME_STATS, asked)["offsetTable"])
