"""Requests about lite topics: 200074 to 200079. RocketMQ: `LiteManagerProcessor`."""

from twisted.internet.defer import Deferred

from mqgateway.gateway.broker.admin import lite
from mqgateway.gateway.broker.broker import Broker
from mqgateway.gateway.codec.codes import RequestCode
from mqgateway.gateway.codec.headers import (
    GetLiteClientInfoRequestHeader,
    GetLiteGroupInfoRequestHeader,
    GetLiteTopicInfoRequestHeader,
    GetParentTopicInfoRequestHeader,
    TriggerLiteDispatchRequestHeader,
)
from mqgateway.gateway.remoting.call import Call, Reply
from mqgateway.gateway.remoting.dispatch import LongRequestFunction


def broker_info(broker: Broker, call: Call) -> Reply:
    """200074 GET_BROKER_LITE_INFO."""
    return Reply(body=lite.broker_info(broker).encode())


def parent_info(broker: Broker, call: Call) -> Reply:
    """200075 GET_PARENT_TOPIC_INFO."""
    header = call.header
    assert isinstance(header, GetParentTopicInfoRequestHeader)
    return Reply(body=lite.parent_info(broker, header.topic).encode())


def topic_info(broker: Broker, call: Call) -> Deferred[Reply]:
    """200076 GET_LITE_TOPIC_INFO."""
    header = call.header
    assert isinstance(header, GetLiteTopicInfoRequestHeader)
    found = lite.topic_info(broker, header.parent_topic, header.lite_topic or "")
    return found.addCallback(lambda info: Reply(body=info.encode()))


def client_info(broker: Broker, call: Call) -> Reply:
    """200077 GET_LITE_CLIENT_INFO."""
    header = call.header
    assert isinstance(header, GetLiteClientInfoRequestHeader)
    group, client_id = header.group or "", header.client_id or ""
    info = lite.client_info(broker, header.parent_topic, group, client_id, header.max_count)
    return Reply(body=info.encode())


def group_info(broker: Broker, call: Call) -> Reply:
    """200078 GET_LITE_GROUP_INFO."""
    header = call.header
    assert isinstance(header, GetLiteGroupInfoRequestHeader)
    return Reply(body=lite.group_info(broker, header.group, header.lite_topic).encode())


def trigger_dispatch(broker: Broker, call: Call) -> Reply:
    """200079 TRIGGER_LITE_DISPATCH."""
    header = call.header
    assert isinstance(header, TriggerLiteDispatchRequestHeader)
    lite.trigger_dispatch(broker, header.group, header.client_id)
    return Reply()


REQUESTS: dict[int, LongRequestFunction] = {
    RequestCode.GET_BROKER_LITE_INFO: broker_info,
    RequestCode.GET_PARENT_TOPIC_INFO: parent_info,
    RequestCode.GET_LITE_TOPIC_INFO: topic_info,
    RequestCode.GET_LITE_CLIENT_INFO: client_info,
    RequestCode.GET_LITE_GROUP_INFO: group_info,
    RequestCode.TRIGGER_LITE_DISPATCH: trigger_dispatch,
}
