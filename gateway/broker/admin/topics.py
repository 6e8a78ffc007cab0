"""What administration asks and changes of topics.

17 and 18 create and change, 215 deletes, 351 shows one; 202 and 303 tell how far a topic's queues reach, 300
which groups consume it, 305 which topics are the broker's own.
Standard: `AdminBrokerProcessor`.
"""

from collections.abc import Sequence

from twisted.internet.defer import Deferred

from mqgateway.engine import lenient_json
from mqgateway.engine.errors import ConfigError
from mqgateway.engine.message import SYSTEM_TOPICS
from mqgateway.engine.pop import retry_topic
from mqgateway.engine.steps import Steps, in_parts, run
from mqgateway.engine.tables.attributes import AttributeRefused, parse_changes
from mqgateway.engine.tables.topics import TopicConfig
from mqgateway.gateway.broker.broker import Broker
from mqgateway.gateway.broker.cluster.registration import once_known
from mqgateway.gateway.codec.bodies import (
    CreateTopicListRequestBody,
    GroupList,
    MessageQueue,
    QueryConsumeTimeSpanBody,
    QueueTimeSpan,
    TopicList,
    TopicOffset,
    TopicStatsTable,
)
from mqgateway.gateway.codec.bodies.tables import read_list
from mqgateway.gateway.codec.codes import ResponseCode
from mqgateway.gateway.codec.headers import (
    CreateTopicRequestHeader,
    DeleteTopicRequestHeader,
    GetTopicConfigRequestHeader,
    GetTopicStatsInfoRequestHeader,
    QueryConsumeTimeSpanRequestHeader,
    QueryTopicConsumeByWhoRequestHeader,
)
from mqgateway.gateway.remoting.call import Call, Reply, RequestError


def update_topic(broker: Broker, call: Call) -> Reply | Deferred[Reply]:
    """17 UPDATE_AND_CREATE_TOPIC: the whole configuration; attributes as changes, `+name=value,-name`.

    Answered once the name servers know, so that who asks them next finds the topic.
    """
    header = call.header
    assert isinstance(header, CreateTopicRequestHeader)
    try:
        changes = parse_changes(header.attributes)
    except AttributeRefused as refusal:
        raise RequestError(ResponseCode.SYSTEM_ERROR, str(refusal)) from None
    config = TopicConfig(
        topic_name=header.topic,
        read_queue_nums=header.read_queue_nums,
        write_queue_nums=header.write_queue_nums,
        perm=header.perm,
        topic_filter_type=header.topic_filter_type,
        topic_sys_flag=header.topic_sys_flag or 0,
        order=header.order,
        attributes=changes,
    )
    run(_update(broker, [config]))
    return once_known(broker)


def update_topics(broker: Broker, call: Call) -> Steps[Reply | Deferred[Reply]]:
    """18 UPDATE_AND_CREATE_TOPIC_LIST: all of them or none, read in steps.

    Departs from the standard, where one topic that is as asked for already ends the whole request.
    """
    configs: list[TopicConfig] = []
    try:
        yield from read_list(
            CreateTopicListRequestBody,
            "topicConfigList",
            call.body,
            lambda value: configs.append(TopicConfig.from_json(value)),
        )
    except ConfigError as error:
        raise RequestError(ResponseCode.SYSTEM_ERROR, str(error)) from None
    yield from _update(broker, configs)
    return once_known(broker)


def delete_topic(broker: Broker, call: Call) -> Reply:
    """215 DELETE_TOPIC_IN_BROKER: settings, offsets, queues, counts; that there is none is no error."""
    header = call.header
    assert isinstance(header, DeleteTopicRequestHeader)
    topic = header.topic
    if not topic.strip():
        raise RequestError(ResponseCode.INVALID_PARAMETER, "The specified topic is blank.")
    if broker.options.validate_system_topic_when_update_topic and broker.topics.is_system(topic):
        raise RequestError(
            ResponseCode.INVALID_PARAMETER, f"The topic[{topic}] is conflict with system topic."
        )
    broker.lites.delete_parent(topic)
    if broker.options.clear_retry_topic_when_delete_topic:
        for group in broker.offsets.groups_of(topic):
            for is_v2 in (False, True):
                if broker.topics.get(again := retry_topic(topic, group, is_v2)) is not None:
                    _delete(broker, again)
    _delete(broker, topic)
    return Reply()


def _delete(broker: Broker, topic: str) -> None:
    """Forget one topic."""
    broker.topics.delete(topic)
    broker.mappings.delete(topic)
    broker.offsets.remove_topic(topic)
    broker.pops.forget_topic(topic)
    broker.request_modes.remove_topic(topic)
    broker.store.delete_topics([topic])
    broker.transactions.topic_deleted(topic)
    if broker.options.auto_delete_unused_stats:
        broker.stats.topic_deleted(topic)


def topic_config(broker: Broker, call: Call) -> Reply:
    """351 GET_TOPIC_CONFIG; of a static topic also which queues it has where, if `lo` asks for that."""
    header = call.header
    assert isinstance(header, GetTopicConfigRequestHeader)
    config = broker.topics.get(header.topic)
    if config is None:
        raise RequestError(ResponseCode.TOPIC_NOT_EXIST, f"No topic in this broker. topic: {header.topic}")
    shown = config.to_json()
    mapping = broker.mappings.table.get(header.topic)
    if header.lo and mapping is not None:
        shown["mappingDetail"] = mapping.to_json()
    return Reply(body=lenient_json.dumps(shown))


def topic_stats(broker: Broker, call: Call) -> Reply:
    """202 GET_TOPIC_STATS_INFO: both ends of each queue, and when its last message came."""
    header = call.header
    assert isinstance(header, GetTopicStatsInfoRequestHeader)
    topic, store = header.topic, broker.store
    config = _existing(broker, topic)
    body = TopicStatsTable(topic_put_tps=broker.stats.put_tps(topic))
    for queue_id in range(max(config.write_queue_nums, config.read_queue_nums)):
        most = max(0, store.max_offset(topic, queue_id))
        body.offset_table[_queue(broker, topic, queue_id)] = TopicOffset(
            min_offset=max(0, store.min_offset(topic, queue_id)),
            max_offset=most,
            last_update_timestamp=store.store_time(topic, queue_id, most - 1) if most > 0 else 0,
        )
    return Reply(body=body.encode())


def time_spans(broker: Broker, call: Call) -> Reply:
    """303 QUERY_CONSUME_TIME_SPAN: the times of each queue's first, last and last consumed message."""
    header = call.header
    assert isinstance(header, QueryConsumeTimeSpanRequestHeader)
    topic, group, store = header.topic, header.group, broker.store
    config = _existing(broker, topic)
    body = QueryConsumeTimeSpanBody()
    for queue_id in range(config.write_queue_nums):
        first = store.store_time(topic, queue_id, store.min_offset(topic, queue_id))
        most = store.max_offset(topic, queue_id)
        consumed = broker.offsets.query(group, topic, queue_id)
        span = QueueTimeSpan(
            message_queue=_queue(broker, topic, queue_id),
            min_time_stamp=first,
            max_time_stamp=store.store_time(topic, queue_id, most - 1),
            consume_time_stamp=store.store_time(topic, queue_id, consumed - 1) if consumed > 0 else first,
        )
        if consumed < most:
            span.delay_time = call.now - store.store_time(topic, queue_id, consumed)
        body.consume_time_span_set.append(span)
    return Reply(body=body.encode())


def groups_of_topic(broker: Broker, call: Call) -> Reply:
    """300 QUERY_TOPIC_CONSUME_BY_WHO: the groups that subscribe to a topic now or have offsets in it."""
    header = call.header
    assert isinstance(header, QueryTopicConsumeByWhoRequestHeader)
    groups = broker.clients.groups_subscribed_to(header.topic) | set(broker.offsets.groups_of(header.topic))
    return Reply(body=GroupList(group_list=groups).encode())


def system_topics(broker: Broker, call: Call) -> Reply:
    """305 GET_SYSTEM_TOPIC_LIST_FROM_BROKER."""
    own = {name for name in broker.topics.names() if broker.topics.is_system(name)}
    return Reply(body=TopicList(topic_list={*SYSTEM_TOPICS, *own}).encode())


def _update(broker: Broker, configs: Sequence[TopicConfig]) -> Steps[None]:
    """Create or change topics, all or none; keys of their attributes are changes."""
    topics, most = broker.topics, broker.options.max_topics
    for part in in_parts(configs):
        for problem in map(topics.why_not, part):
            if problem is not None:
                raise RequestError(ResponseCode.INVALID_PARAMETER, problem)
        yield
    new = {config.topic_name for config in configs if config.topic_name not in topics}
    if new and len(topics) + len(new) > most:
        raise RequestError(
            ResponseCode.SYSTEM_ERROR, f"there are {len(topics)} topics, maxTopics allows no more than {most}"
        )
    try:
        yield from topics.update_in_steps(configs)
    except AttributeRefused as refusal:
        raise RequestError(ResponseCode.SYSTEM_ERROR, str(refusal)) from None


def _existing(broker: Broker, topic: str) -> TopicConfig:
    config = broker.topics.get(topic)
    if config is None:
        raise RequestError(ResponseCode.TOPIC_NOT_EXIST, f"topic[{topic}] not exist")
    return config


def _queue(broker: Broker, topic: str, queue_id: int) -> MessageQueue:
    return MessageQueue(topic, broker.options.broker_name, queue_id)
