"""Administration of lite topics and their groups.

RocketMQ: `LiteManagerProcessor`.
"""

from twisted.internet.defer import Deferred

from mqgateway.engine.lite.names import lmq_name
from mqgateway.engine.lite.subscriptions import Subscriber
from mqgateway.engine.tables.groups import SubscriptionGroupConfig
from mqgateway.gateway.broker.broker import Broker
from mqgateway.gateway.broker.cluster.route_cache import Found
from mqgateway.gateway.broker.errors import OperationError, Reason
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

SHOWN_MAX = 10_000
"""Maximum number of a client's lite topics that are shown."""


def broker_info(broker: Broker) -> GetBrokerLiteInfoResponseBody:
    """Return counts, and the parent topics and their groups."""
    state = broker.lite
    parents = state.rules.parents()
    return GetBrokerLiteInfoResponseBody(
        store_type=broker.store_options.store_type,
        max_lmq_num=broker.store_options.max_lmq_consume_queue_num,
        current_lmq_num=broker.store.admin.lmq_count,
        lite_subscription_count=state.subscriptions.count,
        order_info_count=len(state.orders),
        cq_table_size=len(broker.store.queues()),
        offset_table_size=broker.tables.offsets.key_count,
        event_map_size=len(state.events),
        topic_meta={parent: state.rules.minutes_to_live(parent) for parent in parents},
        group_meta={parent: groups for parent in parents if (groups := state.rules.groups_of(parent))},
    )


def parent_info(broker: Broker, topic: str | None) -> GetParentTopicInfoResponseBody:
    """Return a parent topic with its groups, and the number of its lite topics."""
    parent = _checked_parent(broker, topic)
    state = broker.lite
    return GetParentTopicInfoResponseBody(
        topic=parent,
        ttl=state.rules.minutes_to_live(parent),
        groups=state.rules.groups_of(parent),
        lmq_num=broker.store.admin.lmq_count,
        lite_topic_count=len(state.lifetimes.queues_of(parent)),
    )


def topic_info(broker: Broker, topic: str | None, lite: str) -> Deferred[GetLiteTopicInfoResponseBody]:
    """Return a lite topic of a parent, its subscribers, and whether this broker is its home."""
    parent = _checked_parent(broker, topic)
    queue, state, store = lmq_name(parent, lite), broker.lite, broker.store
    end = state.max_offset(queue)
    ends = LiteTopicOffset()
    if end > 0:
        last = store.store_time(queue, QUEUE_ID, end - 1)
        ends = LiteTopicOffset(store.min_offset(queue, QUEUE_ID), end, last)
    readers = [
        LiteSubscriber(client_id, group)
        for group, found in state.subscriptions.readers(queue).items()
        for client_id in (["*"] if state.rules.is_wildcard(group) else [one.client_id for one in found])
    ]

    def info(found: Found) -> GetLiteTopicInfoResponseBody:
        return GetLiteTopicInfoResponseBody(parent, lite, readers, ends, state.is_home(queue, found))

    return state.route_cache.of(parent).addCallback(info)


def client_info(
    broker: Broker, topic: str | None, group: str, client_id: str, most: int
) -> GetLiteClientInfoResponseBody:
    """Return the subscriptions of a client of a group, at most `most` lite topics."""
    parent = _checked_parent(broker, topic)
    _checked_group(broker, group)
    if broker.lite.rules.bound_topic(group) != parent:
        raise _invalid(f"Subscription [{group}]-[{parent}] not match.")
    own = broker.lite.subscriptions.of(client_id)
    info = GetLiteClientInfoResponseBody(parent, group, client_id, lite_topic_count=-1)
    if own is not None:
        info.lite_topic_count = len(own.queues)
        info.lite_topic_set = set(sorted(own.queues)[: max(0, min(most, SHOWN_MAX))])
    info.last_access_time = broker.lite.events.last_pop(client_id)
    return info


def group_info(broker: Broker, group: str, lite: str | None) -> GetLiteGroupInfoResponseBody:
    """Return the lag of a group in a lite topic.

    The lag of all lite topics together is unknown, as with RocketMQ's default settings.
    """
    parent = _checked_lite_group(broker, group)
    info = GetLiteGroupInfoResponseBody(group, parent, lite)
    if not lite:
        info.total_lag_count = info.earliest_unconsumed_timestamp = 0
        info.lag_count_top_k, info.lag_timestamp_top_k = [], []
        return info
    queue, store = lmq_name(parent, lite), broker.store
    end, done = broker.lite.max_offset(queue), broker.tables.offsets.query(group, queue, QUEUE_ID)
    if end <= 0:
        info.total_lag_count = info.earliest_unconsumed_timestamp = -1
    elif done >= 0:
        info.total_lag_count = end - done
        info.earliest_unconsumed_timestamp = store.store_time(queue, QUEUE_ID, done)
        last = store.store_time(queue, QUEUE_ID, done - 1) if done > 0 else 0
        info.lite_topic_offset_wrapper = LiteOffsetWrapper(end, done, 0, last)
    return info


def trigger_dispatch(broker: Broker, group: str, client_id: str | None = None) -> None:
    """Notify a client, or all clients of a group, of all messages that wait for it."""
    _checked_lite_group(broker, group)
    if client_id:
        broker.lite.events.dispatch_all(Subscriber(client_id, group))
    else:
        broker.lite.events.dispatch_group(group)


def _checked_parent(broker: Broker, topic: str | None) -> str:
    if topic is None or topic not in broker.tables.topics:
        raise OperationError(
            Reason.TOPIC_NOT_EXIST, f"Topic [{'null' if topic is None else topic}] not exist."
        )
    if not broker.lite.rules.is_parent(topic):
        raise _invalid(f"Topic [{topic}] type not match.")
    return topic


def _checked_group(broker: Broker, group: str) -> SubscriptionGroupConfig:
    known = broker.tables.groups.find(group)
    if known is None:
        raise OperationError(Reason.SUBSCRIPTION_GROUP_NOT_EXIST, f"Group [{group}] not exist.")
    return known


def _checked_lite_group(broker: Broker, group: str) -> str:
    """Return the parent topic whose lite topics the group consumes."""
    _checked_group(broker, group)
    parent = broker.lite.rules.bound_topic(group)
    if parent is None:
        raise _invalid(f"Group [{group}] is not a LITE group.")
    return parent


def _invalid(message: str) -> OperationError:
    return OperationError(Reason.INVALID_PARAMETER, message)
