"""Heartbeats as Java clients of several ages send them."""

from mqgateway.gateway.codec.bodies import (
    CheckClientRequestBody,
    ConsumerData,
    HeartbeatData,
    ProducerData,
    SubscriptionData,
)


def test_a_heartbeat_of_java() -> None:
    text = (
        b'{"clientID":"10.0.0.9@1#5","consumerDataSet":[{"consumeFromWhere":"CONSUME_FROM_LAST_OFFSET",'
        b'"consumeType":"CONSUME_PASSIVELY","groupName":"G","messageModel":"CLUSTERING","subscriptionDataSet":'
        b'[{"classFilterMode":false,"codeSet":[2567159],"expressionType":"TAG","subString":"TagA","subVersion":'
        b'1700000000000,"tagsSet":["TagA"],"topic":"T"}],"unitMode":false}],"heartbeatFingerprint":0,'
        b'"producerDataSet":[{"groupName":"CLIENT_INNER_PRODUCER"}],"withoutSub":false}'
    )
    heartbeat = HeartbeatData(
        "10.0.0.9@1#5",
        [ProducerData("CLIENT_INNER_PRODUCER")],
        [
            ConsumerData(
                "G",
                "CONSUME_PASSIVELY",
                "CLUSTERING",
                "CONSUME_FROM_LAST_OFFSET",
                [SubscriptionData("T", "TagA", 1700000000000, "TAG", ["TagA"], [2567159])],
            )
        ],
    )
    assert HeartbeatData.decode(text) == heartbeat
    assert heartbeat.encode() == text


def test_a_heartbeat_of_an_old_client() -> None:
    heartbeat = HeartbeatData.decode(
        b'{"clientID":"c","producerDataSet":[],"consumerDataSet":[{"groupName":"G"}]}'
    )
    assert heartbeat.consumer_data_set == [ConsumerData("G")]
    assert (heartbeat.heartbeat_fingerprint, heartbeat.without_sub) == (0, False)


def test_a_check_of_an_expression() -> None:
    body = CheckClientRequestBody.decode(
        b'{"clientId":"c","group":"G",'
        b'"subscriptionData":{"expressionType":"SQL92","subString":"a > 1","topic":"T"}}'
    )
    assert body.subscription_data == SubscriptionData("T", "a > 1", expression_type="SQL92")
