"""Requests to brokers about lite topics. RocketMQ: `DefaultMQAdminExtImpl`, `MQClientAPIImpl`."""

from __future__ import annotations

from mqgateway.gateway.client.admin_question import Question, asks, body_of, nothing
from mqgateway.gateway.codec import bodies
from mqgateway.gateway.codec.codes import RequestCode
from mqgateway.gateway.codec.headers import (
    GetLiteClientInfoRequestHeader,
    GetLiteGroupInfoRequestHeader,
    GetLiteTopicInfoRequestHeader,
    GetParentTopicInfoRequestHeader,
    TriggerLiteDispatchRequestHeader,
)


@asks(RequestCode.GET_BROKER_LITE_INFO)
def broker() -> Question[bodies.GetBrokerLiteInfoResponseBody]:
    """Return a broker's number of lite topics and their parents."""
    return Question(RequestCode.GET_BROKER_LITE_INFO, body_of(bodies.GetBrokerLiteInfoResponseBody))


@asks(RequestCode.GET_PARENT_TOPIC_INFO)
def parent(topic: str) -> Question[bodies.GetParentTopicInfoResponseBody]:
    """Return a parent topic and its groups."""
    header = GetParentTopicInfoRequestHeader(topic=topic)
    return Question(RequestCode.GET_PARENT_TOPIC_INFO, body_of(bodies.GetParentTopicInfoResponseBody), header)


@asks(RequestCode.GET_LITE_TOPIC_INFO)
def topic(parent: str, lite_topic: str) -> Question[bodies.GetLiteTopicInfoResponseBody]:
    """Return a lite topic and its subscribers."""
    header = GetLiteTopicInfoRequestHeader(parent_topic=parent, lite_topic=lite_topic)
    return Question(RequestCode.GET_LITE_TOPIC_INFO, body_of(bodies.GetLiteTopicInfoResponseBody), header)


@asks(RequestCode.GET_LITE_CLIENT_INFO)
def client(
    parent: str, group: str, client_id: str, most: int = 1000
) -> Question[bodies.GetLiteClientInfoResponseBody]:
    """Return a client's lite subscriptions, at most `most`."""
    header = GetLiteClientInfoRequestHeader(
        parent_topic=parent, group=group, client_id=client_id, max_count=most
    )
    return Question(RequestCode.GET_LITE_CLIENT_INFO, body_of(bodies.GetLiteClientInfoResponseBody), header)


@asks(RequestCode.GET_LITE_GROUP_INFO)
def group(
    group: str, lite_topic: str | None = None, top: int = 0
) -> Question[bodies.GetLiteGroupInfoResponseBody]:
    """Return a group's lag, in one lite topic or in the `top` lite topics with the largest."""
    header = GetLiteGroupInfoRequestHeader(group=group, lite_topic=lite_topic, top_k=top)
    return Question(RequestCode.GET_LITE_GROUP_INFO, body_of(bodies.GetLiteGroupInfoResponseBody), header)


@asks(RequestCode.TRIGGER_LITE_DISPATCH)
def dispatch(group: str, client_id: str | None = None) -> Question[None]:
    """Notify a client, or all clients of a group, of all pending messages."""
    header = TriggerLiteDispatchRequestHeader(group=group, client_id=client_id)
    return Question(RequestCode.TRIGGER_LITE_DISPATCH, nothing, header)
