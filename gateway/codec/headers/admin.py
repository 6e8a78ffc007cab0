"""Administration of a broker: topics, groups, statistics, queues.

The two paged requests (21 and 201) declare their start as required, but Apache's broker accepts them without
it: clients before 5.5 send none of the fields and get everything.

RocketMQ: the classes of the same names.
"""

from mqgateway.gateway.codec.codes import RequestCode
from mqgateway.gateway.codec.fields import Bool, Header, Int, Long, RpcRequestHeader, TopicRequestHeader


class CreateTopicRequestHeader(
    TopicRequestHeader,
    code=(RequestCode.UPDATE_AND_CREATE_TOPIC, RequestCode.UPDATE_AND_CREATE_STATIC_TOPIC),
):
    """Create or change a topic."""

    topic: str
    default_topic: str = ""  # the topic a new one is copied from
    read_queue_nums: Int
    write_queue_nums: Int
    perm: Int  # 4 read, 2 write, 1 inherit
    topic_filter_type: str
    topic_sys_flag: Int | None = None
    order: Bool = False
    attributes: str | None = None  # +name=value,-name
    force: Bool = False


class CreateTopicListRequestHeader(RpcRequestHeader, code=RequestCode.UPDATE_AND_CREATE_TOPIC_LIST):
    """Create or change the topics in the body."""


class DeleteTopicRequestHeader(TopicRequestHeader, code=RequestCode.DELETE_TOPIC_IN_BROKER):
    """Delete a topic with its queues."""

    topic: str = ""


class DeleteSubscriptionGroupRequestHeader(RpcRequestHeader, code=RequestCode.DELETE_SUBSCRIPTIONGROUP):
    """Delete a consumer group."""

    group_name: str
    clean_offset: Bool = False


class GetAllTopicConfigRequestHeader(Header, code=RequestCode.GET_ALL_TOPIC_CONFIG):
    """A page of the topics from `topic_seq` on; all topics without any field."""

    topic_seq: Int | None = None
    data_version: str | None = None  # JSON text
    max_topic_num: Int | None = None


class GetAllTopicConfigResponseHeader(Header):
    """The number of topics."""

    total_topic_num: Int | None = None


class GetAllSubscriptionGroupRequestHeader(Header, code=RequestCode.GET_ALL_SUBSCRIPTIONGROUP_CONFIG):
    """A page of the consumer groups from `group_seq` on; all groups without any field."""

    group_seq: Int | None = None
    data_version: str | None = None  # JSON text
    max_group_num: Int | None = None


class GetAllSubscriptionGroupResponseHeader(Header):
    """The number of groups."""

    total_group_num: Int


class GetTopicConfigRequestHeader(TopicRequestHeader, code=RequestCode.GET_TOPIC_CONFIG):
    """One topic."""

    topic: str


class GetSubscriptionGroupConfigRequestHeader(
    RpcRequestHeader, code=RequestCode.GET_SUBSCRIPTIONGROUP_CONFIG
):
    """One consumer group."""

    group: str


class GetTopicStatsInfoRequestHeader(TopicRequestHeader, code=RequestCode.GET_TOPIC_STATS_INFO):
    """Offsets of the queues of a topic."""

    topic: str


class GetConsumeStatsRequestHeader(TopicRequestHeader, code=RequestCode.GET_CONSUME_STATS):
    """Progress of a group, on one topic, several (joined by `;`), or all it consumes."""

    consumer_group: str
    topic: str | None = None
    topic_list: str | None = None


class GetConsumeStatsInBrokerHeader(Header, code=RequestCode.GET_BROKER_CONSUME_STATS):
    """Progress of all groups."""

    is_order: Bool = False


class QueryConsumeQueueRequestHeader(TopicRequestHeader, code=RequestCode.QUERY_CONSUME_QUEUE):
    """Entries of a consume queue."""

    topic: str | None = None
    queue_id: Int = 0
    index: Long = 0
    count: Int = 0
    consumer_group: str | None = None


class QueryConsumeTimeSpanRequestHeader(TopicRequestHeader, code=RequestCode.QUERY_CONSUME_TIME_SPAN):
    """First and last times of a group's messages."""

    topic: str
    group: str = ""


class QueryTopicConsumeByWhoRequestHeader(TopicRequestHeader, code=RequestCode.QUERY_TOPIC_CONSUME_BY_WHO):
    """The groups that consume a topic."""

    topic: str


class QueryTopicsByConsumerRequestHeader(RpcRequestHeader, code=RequestCode.QUERY_TOPICS_BY_CONSUMER):
    """The topics a group consumes."""

    group: str


class QuerySubscriptionByConsumerRequestHeader(
    TopicRequestHeader, code=RequestCode.QUERY_SUBSCRIPTION_BY_CONSUMER
):
    """The subscription of a group to a topic."""

    group: str
    topic: str | None = None


class UpdateGroupForbiddenRequestHeader(TopicRequestHeader, code=RequestCode.UPDATE_AND_GET_GROUP_FORBIDDEN):
    """Forbid or allow a group to read a topic."""

    group: str
    topic: str
    readable: Bool | None = None


class ViewBrokerStatsDataRequestHeader(Header, code=RequestCode.VIEW_BROKER_STATS_DATA):
    """Counters of a broker by name and key."""

    stats_name: str
    stats_key: str


class GetBrokerConfigResponseHeader(Header):
    """The version of the configuration in the body."""

    version: str


class CheckRocksdbCqWriteProgressRequestHeader(Header, code=RequestCode.CHECK_ROCKSDB_CQ_WRITE_PROGRESS):
    """Compare two kinds of consume queue."""

    topic: str
    check_store_time: Long = 0  # ms since the epoch


class ExportRocksDBConfigToJsonRequestHeader(Header, code=RequestCode.EXPORT_ROCKSDB_CONFIG_TO_JSON):
    """Write tables kept in RocksDB as JSON files."""

    config_type: str
