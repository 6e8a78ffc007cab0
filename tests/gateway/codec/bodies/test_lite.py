"""Lite topics."""

from mqgateway.gateway.codec.bodies import GetLiteGroupInfoResponseBody, LiteSubscriptionCtlRequestBody


def test_a_change_of_lite_subscriptions() -> None:
    body = LiteSubscriptionCtlRequestBody.decode(
        b'{"subscriptionSet":[{"action":"PARTIAL_ADD","clientId":"c","group":"G","liteTopicSet":["x"],'
        b'"offsetOption":{"type":"POLICY","value":0},"topic":"P","version":0}]}'
    )
    (change,) = body.subscription_set
    assert (change.action, change.lite_topic_set, change.topic) == ("PARTIAL_ADD", {"x"}, "P")


def test_values_that_were_not_computed_are_omitted() -> None:
    assert GetLiteGroupInfoResponseBody("G", "P", total_lag_count=3).encode() == (
        b'{"group":"G","parentTopic":"P","totalLagCount":3}'
    )
