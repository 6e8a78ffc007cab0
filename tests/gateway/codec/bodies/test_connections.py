"""Connections and members of groups."""

from mqgateway.gateway.codec.bodies import (
    Connection,
    ConsumerConnection,
    GetConsumerListByGroupResponseBody,
    GroupList,
    ProducerInfo,
    ProducerTableInfo,
    SubscriptionData,
)


def test_a_consumer_group() -> None:
    body = ConsumerConnection(
        [Connection("c@1", "10.0.0.9:5", "JAVA", 513)],
        {"T": SubscriptionData("T", "*", 5)},
        "CONSUME_PASSIVELY",
        "CLUSTERING",
        "CONSUME_FROM_LAST_OFFSET",
    )
    assert body.encode() == (
        b'{"connectionSet":[{"clientAddr":"10.0.0.9:5","clientId":"c@1","language":"JAVA","version":513}],'
        b'"consumeFromWhere":"CONSUME_FROM_LAST_OFFSET","consumeType":"CONSUME_PASSIVELY",'
        b'"messageModel":"CLUSTERING","subscriptionTable":{"T":{"classFilterMode":false,"codeSet":[],'
        b'"expressionType":"TAG","subString":"*","subVersion":5,"tagsSet":[],"topic":"T"}}}'
    )


def test_producers_by_group() -> None:
    body = ProducerTableInfo({"P": [ProducerInfo("c@1", "10.0.0.9:5", "GO", 317, 1700000000000)]})
    assert body.encode() == (
        b'{"data":{"P":[{"clientId":"c@1","language":"GO","lastUpdateTimestamp":1700000000000,'
        b'"remoteIP":"10.0.0.9:5","version":317}]}}'
    )


def test_members_keep_their_order_and_groups_are_sorted() -> None:
    assert GetConsumerListByGroupResponseBody(["c2", "c1"]).encode() == b'{"consumerIdList":["c2","c1"]}'
    assert GroupList({"b", "a"}).encode() == b'{"groupList":["a","b"]}'
