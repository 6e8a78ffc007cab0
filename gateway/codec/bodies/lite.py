"""Lite topics: subscriptions and their administration.

Times are ms since the epoch; a lag or an offset that was not computed is None. RocketMQ: the classes of the
same names.
"""

from dataclasses import field

from mqgateway.gateway.codec.bodies.body import Body, Int, body
from mqgateway.gateway.codec.bodies.enums import LiteSubscriptionAction, OffsetOptionType


@body
class OffsetOption(Body):
    """Start of a new subscription; `type` is POLICY, OFFSET, TAIL_N or TIMESTAMP."""

    type: OffsetOptionType = "POLICY"
    value: int = 0


@body
class LiteSubscription(Body):
    """A change; `action` is PARTIAL_ or COMPLETE_ with ADD or REMOVE, `topic` the parent."""

    action: LiteSubscriptionAction
    client_id: str | None = None
    group: str | None = None
    topic: str | None = None
    lite_topic_set: set[str] = field(default_factory=set)
    offset_option: OffsetOption | None = None
    version: int = 0


@body
class LiteSubscriptionCtlRequestBody(Body):
    """Changes of subscriptions."""

    subscription_set: list[LiteSubscription] = field(default_factory=list)


@body
class GetBrokerLiteInfoResponseBody(Body):
    """Counts of a broker; by parent topic, `topic_meta` is minutes to live, `group_meta` the groups."""

    store_type: str | None = None
    max_lmq_num: Int = 0
    current_lmq_num: Int = 0
    lite_subscription_count: Int = 0
    order_info_count: Int = 0
    cq_table_size: Int = 0
    offset_table_size: Int = 0
    event_map_size: Int = 0
    topic_meta: dict[str, Int] = field(default_factory=dict)
    group_meta: dict[str, set[str]] = field(default_factory=dict)


@body
class GetParentTopicInfoResponseBody(Body):
    """A parent topic; `ttl` is minutes. RocketMQ omits `groups` if there are none."""

    topic: str
    ttl: Int = -1
    groups: set[str] | None = None
    lmq_num: Int = 0
    lite_topic_count: Int = 0


@body
class LiteSubscriber(Body):
    """A client that subscribes; `*` if its group consumes every lite topic."""

    client_id: str
    group: str


@body
class LiteTopicOffset(Body):
    """The ends of a lite topic's queue."""

    min_offset: int = 0
    max_offset: int = 0
    last_update_timestamp: int = 0


@body
class GetLiteTopicInfoResponseBody(Body):
    """One lite topic."""

    parent_topic: str
    lite_topic: str
    subscriber: list[LiteSubscriber] = field(default_factory=list)
    topic_offset: LiteTopicOffset | None = None
    sharding_to_broker: bool = False


@body
class GetLiteClientInfoResponseBody(Body):
    """The subscriptions of a client; without any there is no set, and counts and times are -1."""

    parent_topic: str | None = None
    group: str | None = None
    client_id: str | None = None
    lite_topic_set: set[str] | None = None
    lite_topic_count: Int = 0
    last_access_time: int = 0
    last_consume_time: int = 0


@body
class LiteLagInfo(Body):
    """The lag of one lite topic."""

    lite_topic: str
    lag_count: int = 0
    earliest_unconsumed_timestamp: int = -1


@body
class LiteOffsetWrapper(Body):
    """A group's progress on a lite topic."""

    broker_offset: int = 0
    consumer_offset: int = 0
    pull_offset: int = 0
    last_timestamp: int = 0


@body
class GetLiteGroupInfoResponseBody(Body):
    """The lag of a group."""

    group: str
    parent_topic: str | None = None
    lite_topic: str | None = None
    total_lag_count: int | None = None
    earliest_unconsumed_timestamp: int | None = None
    lite_topic_offset_wrapper: LiteOffsetWrapper | None = None
    lag_count_top_k: list[LiteLagInfo] | None = None
    lag_timestamp_top_k: list[LiteLagInfo] | None = None
