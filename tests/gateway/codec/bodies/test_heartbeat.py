"""Heartbeats as Java clients of several ages send them."""

import json
from typing import Any
from unittest.mock import patch

from hypothesis import given
from hypothesis import strategies as st

from mqgateway.engine.steps import run
from mqgateway.gateway.codec.bodies import (
    CheckClientRequestBody,
    ConsumerData,
    HeartbeatData,
    ProducerData,
    SubscriptionData,
    heartbeat,
)
from mqgateway.gateway.codec.errors import BodyError


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


LEAVES = st.none() | st.booleans() | st.integers(-5, 5) | st.sampled_from(["", "T", "CLUSTERING"])
NAMES = st.sampled_from(["groupName", "subscriptionDataSet", "topic", "tagsSet", "messageModel"])
VALUES = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3),
    max_leaves=12,
)
GROUPS = st.fixed_dictionaries({"groupName": st.just("g")}, optional={"subscriptionDataSet": VALUES})
SETS = st.lists(GROUPS | VALUES, max_size=4) | VALUES


@given(
    st.fixed_dictionaries(
        {"clientID": st.just("c")},
        optional={"producerDataSet": SETS, "consumerDataSet": SETS, "withoutSub": VALUES},
    ),
    st.sampled_from(["", " ", "{0:1}", "}"]),
)
def test_a_short_heartbeat_is_read_as_a_long_one_is(value: dict[str, Any], more: str) -> None:
    data = json.dumps(value).encode() + more.encode()
    found: list[object] = []
    for short in (heartbeat.SHORT_HEARTBEAT, 0):
        with patch.object(heartbeat, "SHORT_HEARTBEAT", short):
            try:
                found.append(run(HeartbeatData.read(data, 2, 2)))
            except BodyError as error:
                found.append(error.remark)
    assert found[0] == found[1]


def test_a_check_of_an_expression() -> None:
    body = CheckClientRequestBody.decode(
        b'{"clientId":"c","group":"G",'
        b'"subscriptionData":{"expressionType":"SQL92","subString":"a > 1","topic":"T"}}'
    )
    assert body.subscription_data == SubscriptionData("T", "a > 1", expression_type="SQL92")
