"""200074 to 200079: what administration asks about lite topics, and has done for their groups.

Standard: `LiteManagerProcessor`.
"""

from twisted.internet.defer import Deferred

from mqgateway.engine.lite.names import light_queue
from mqgateway.engine.lite.subscriptions import Subscriber
from mqgateway.engine.tables.groups import SubscriptionGroupConfig
from mqgateway.gateway.broker.broker import Broker
from mqgateway.gateway.broker.cluster.route_cache import Found
from mqgateway.gateway.broker.lite.state import QUEUE_ID
from mqgateway.gateway.codec.bodies.lite import (
    GetBrokerLiteInfoResponseBody,
    GetLiteClientInfoResponseBody,
    GetLiteGroupInfoResponseBody,
    GetLiteTopicInfoResponseBody,
    GetParentTopicInfoResponseBody,
    LiteOffsetWrapper,
    LiteSubscriber,
    LiteTopicOffset,
)
from mqgateway.gateway.codec.codes import ResponseCode
from mqgateway.gateway.codec.headers import (
    GetLiteClientInfoRequestHeader,
    GetLiteGroupInfoRequestHeader,
    GetLiteTopicInfoRequestHeader,
    GetParentTopicInfoRequestHeader,
    TriggerLiteDispatchRequestHeader,
)
from mqgateway.gateway.remoting.call import Call, Reply, RequestError

SHOWN_MAX = 10_000
"""Lite topics of a client that are shown."""


def broker_info(broker: Broker, call: Call) -> Reply:
    """200074 GET_BROKER_LITE_INFO: counts, and which parents and groups there are."""
    lites = broker.lites
    parents = lites.rules.parents()
    body = GetBrokerLiteInfoResponseBody(
        store_type=broker.store_options.store_type,
        max_lmq_num=broker.store_options.max_lmq_consume_queue_num,
        current_lmq_num=broker.store.lmq_count,
        lite_subscription_count=lites.subscriptions.count,
        order_info_count=len(lites.orders),
        cq_table_size=len(broker.store.queues()),
        offset_table_size=broker.offsets.key_count,
        event_map_size=len(lites.events),
        topic_meta={parent: lites.rules.minutes_to_live(parent) for parent in parents},
        group_meta={parent: groups for parent in parents if (groups := lites.rules.groups_of(parent))},
    )
    return Reply(body=body.encode())


def parent_info(broker: Broker, call: Call) -> Reply:
    """200075 GET_PARENT_TOPIC_INFO: a parent with its groups, and how many lite topics it has."""
    header = call.header
    assert isinstance(header, GetParentTopicInfoRequestHeader)
    parent = _checked_parent(broker, header.topic)
    lites = broker.lites
    body = GetParentTopicInfoResponseBody(
        topic=parent,
        ttl=lites.rules.minutes_to_live(parent),
        groups=lites.rules.groups_of(parent),
        lmq_num=broker.store.lmq_count,
        lite_topic_count=len(lites.lifetimes.queues_of(parent)),
    )
    return Reply(body=body.encode())


def topic_info(broker: Broker, call: Call) -> Deferred[Reply]:
    """200076 GET_LITE_TOPIC_INFO: a lite topic, who reads it, and whether it is at home here."""
    header = call.header
    assert isinstance(header, GetLiteTopicInfoRequestHeader)
    parent, lite = _checked_parent(broker, header.parent_topic), header.lite_topic or ""
    queue, lites, store = light_queue(parent, lite), broker.lites, broker.store
    end = lites.max_offset(queue)
    ends = LiteTopicOffset()
    if end > 0:
        last = store.store_time(queue, QUEUE_ID, end - 1)
        ends = LiteTopicOffset(store.min_offset(queue, QUEUE_ID), end, last)
    readers = [
        LiteSubscriber(client_id, group)
        for group, found in lites.subscriptions.readers(queue).items()
        for client_id in (["*"] if lites.rules.is_wildcard(group) else [one.client_id for one in found])
    ]

    def answer(found: Found) -> Reply:
        is_home = lites.is_home(queue, found)
        return Reply(body=GetLiteTopicInfoResponseBody(parent, lite, readers, ends, is_home).encode())

    return lites.homes.of(parent).addCallback(answer)


def client_info(broker: Broker, call: Call) -> Reply:
    """200077 GET_LITE_CLIENT_INFO: what a client subscribes to."""
    header = call.header
    assert isinstance(header, GetLiteClientInfoRequestHeader)
    parent = _checked_parent(broker, header.parent_topic)
    group, client_id = header.group or "", header.client_id or ""
    _checked_group(broker, group)
    if broker.lites.rules.bound_topic(group) != parent:
        raise _invalid(f"Subscription [{group}]-[{parent}] not match.")
    own = broker.lites.subscriptions.of(client_id)
    body = GetLiteClientInfoResponseBody(parent, group, client_id, lite_topic_count=-1)
    if own is not None:
        body.lite_topic_count = len(own.queues)
        body.lite_topic_set = set(sorted(own.queues)[: max(0, min(header.max_count, SHOWN_MAX))])
    body.last_access_time = broker.lites.events.last_pop(client_id)
    return Reply(body=body.encode())


def group_info(broker: Broker, call: Call) -> Reply:
    """200078 GET_LITE_GROUP_INFO: how far a group is behind in a lite topic.

    Of all lite topics together nothing is known, as with the standard's settings.
    """
    header = call.header
    assert isinstance(header, GetLiteGroupInfoRequestHeader)
    group, lite = header.group, header.lite_topic
    parent = _checked_lite_group(broker, group)
    body = GetLiteGroupInfoResponseBody(group, parent, lite)
    if not lite:
        body.total_lag_count = body.earliest_unconsumed_timestamp = 0
        body.lag_count_top_k, body.lag_timestamp_top_k = [], []
        return Reply(body=body.encode())
    queue, store = light_queue(parent, lite), broker.store
    end, done = broker.lites.max_offset(queue), broker.offsets.query(group, queue, QUEUE_ID)
    if end <= 0:
        body.total_lag_count = body.earliest_unconsumed_timestamp = -1
    elif done >= 0:
        body.total_lag_count = end - done
        body.earliest_unconsumed_timestamp = store.store_time(queue, QUEUE_ID, done)
        last = store.store_time(queue, QUEUE_ID, done - 1) if done > 0 else 0
        body.lite_topic_offset_wrapper = LiteOffsetWrapper(end, done, 0, last)
    return Reply(body=body.encode())


def trigger_dispatch(broker: Broker, call: Call) -> Reply:
    """200079 TRIGGER_LITE_DISPATCH: tell a client, or all of a group, of all messages that wait for it."""
    header = call.header
    assert isinstance(header, TriggerLiteDispatchRequestHeader)
    _checked_lite_group(broker, header.group)
    if header.client_id:
        broker.lites.events.dispatch_all(Subscriber(header.client_id, header.group))
    else:
        broker.lites.events.dispatch_group(header.group)
    return Reply()


def _checked_parent(broker: Broker, topic: str | None) -> str:
    if topic is None or topic not in broker.topics:
        raise RequestError(
            ResponseCode.TOPIC_NOT_EXIST, f"Topic [{'null' if topic is None else topic}] not exist."
        )
    if not broker.lites.rules.is_parent(topic):
        raise _invalid(f"Topic [{topic}] type not match.")
    return topic


def _checked_group(broker: Broker, group: str) -> SubscriptionGroupConfig:
    known = broker.groups.find(group)
    if known is None:
        raise RequestError(ResponseCode.SUBSCRIPTION_GROUP_NOT_EXIST, f"Group [{group}] not exist.")
    return known


def _checked_lite_group(broker: Broker, group: str) -> str:
    """The parent whose lite topics the group consumes."""
    _checked_group(broker, group)
    parent = broker.lites.rules.bound_topic(group)
    if parent is None:
        raise _invalid(f"Group [{group}] is not a LITE group.")
    return parent


def _invalid(remark: str) -> RequestError:
    return RequestError(ResponseCode.INVALID_PARAMETER, remark)
