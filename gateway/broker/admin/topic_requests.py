"""Requests about topics: 17, 18 and 513 create and change, 215 deletes, 351 shows one.

202 and 303 return the ends of a topic's queues, 300 its consumer groups, 305 the broker's own topics.
RocketMQ: `AdminBrokerProcessor`.
"""

from twisted.internet.defer import Deferred

from mqgateway.engine import lenient_json
from mqgateway.engine.errors import ConfigError
from mqgateway.engine.static_topics.items import MappingRefused
from mqgateway.engine.static_topics.mappings import TopicQueueMappingDetail
from mqgateway.engine.steps import Steps
from mqgateway.engine.tables.attributes import AttributeRefused, parse_changes
from mqgateway.engine.tables.topics import TopicConfig
from mqgateway.gateway.broker.admin import static_topics, topics
from mqgateway.gateway.broker.broker import Broker
from mqgateway.gateway.codec.bodies import (
    CreateTopicListRequestBody,
    GroupList,
    QueryConsumeTimeSpanBody,
    TopicList,
)
from mqgateway.gateway.codec.bodies.tables import read_list
from mqgateway.gateway.codec.codes import RequestCode, ResponseCode
from mqgateway.gateway.codec.headers import (
    CreateTopicRequestHeader,
    DeleteTopicRequestHeader,
    GetTopicConfigRequestHeader,
    GetTopicStatsInfoRequestHeader,
    QueryConsumeTimeSpanRequestHeader,
    QueryTopicConsumeByWhoRequestHeader,
)
from mqgateway.gateway.remoting.call import Call, Reply, RequestError
from mqgateway.gateway.remoting.dispatch import LongRequestFunction


def update_topic(broker: Broker, call: Call) -> Reply | Deferred[Reply]:
    """17 UPDATE_AND_CREATE_TOPIC: the whole configuration; attributes as changes, `+name=value,-name`."""
    header = call.header
    assert isinstance(header, CreateTopicRequestHeader)
    try:
        changes = parse_changes(header.attributes)
    except AttributeRefused as refusal:
        raise RequestError(ResponseCode.SYSTEM_ERROR, str(refusal)) from None
    return _once_known(topics.update_topic(broker, _config(header, changes)))


def update_topics(broker: Broker, call: Call) -> Steps[Reply | Deferred[Reply]]:
    """18 UPDATE_AND_CREATE_TOPIC_LIST, read as a cooperative task."""
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
    return _once_known((yield from topics.update_topics(broker, configs)))


def update_static_topic(broker: Broker, call: Call) -> Reply | Deferred[Reply]:
    """513 UPDATE_AND_CREATE_STATIC_TOPIC: the topic in the header, the mapping as the body."""
    header = call.header
    assert isinstance(header, CreateTopicRequestHeader)
    try:
        mapping = TopicQueueMappingDetail.from_json(lenient_json.loads(call.body))
    except (ValueError, ConfigError, MappingRefused) as error:
        raise RequestError(ResponseCode.SYSTEM_ERROR, str(error)) from None
    config = _config(header, {})
    return _once_known(static_topics.update_static_topic(broker, config, mapping, force=header.force))


def delete_topic(broker: Broker, call: Call) -> Reply:
    """215 DELETE_TOPIC_IN_BROKER."""
    header = call.header
    assert isinstance(header, DeleteTopicRequestHeader)
    topics.delete_topic(broker, header.topic)
    return Reply()


def topic_config(broker: Broker, call: Call) -> Reply:
    """351 GET_TOPIC_CONFIG; with the mapping of a static topic if `lo` is set."""
    header = call.header
    assert isinstance(header, GetTopicConfigRequestHeader)
    found = topics.topic_config(broker, header.topic, with_mapping=bool(header.lo))
    shown = found.config.to_json()
    if found.mapping is not None:
        shown["mappingDetail"] = found.mapping.to_json()
    return Reply(body=lenient_json.dumps(shown))


def topic_stats(broker: Broker, call: Call) -> Reply:
    """202 GET_TOPIC_STATS_INFO."""
    header = call.header
    assert isinstance(header, GetTopicStatsInfoRequestHeader)
    return Reply(body=topics.topic_stats(broker, header.topic).encode())


def time_spans(broker: Broker, call: Call) -> Reply:
    """303 QUERY_CONSUME_TIME_SPAN."""
    header = call.header
    assert isinstance(header, QueryConsumeTimeSpanRequestHeader)
    spans = topics.time_spans(broker, header.topic, header.group, call.now)
    return Reply(body=QueryConsumeTimeSpanBody(consume_time_span_set=spans).encode())


def groups_of_topic(broker: Broker, call: Call) -> Reply:
    """300 QUERY_TOPIC_CONSUME_BY_WHO."""
    header = call.header
    assert isinstance(header, QueryTopicConsumeByWhoRequestHeader)
    return Reply(body=GroupList(group_list=topics.groups_of_topic(broker, header.topic)).encode())


def system_topics(broker: Broker, call: Call) -> Reply:
    """305 GET_SYSTEM_TOPIC_LIST_FROM_BROKER."""
    return Reply(body=TopicList(topic_list=topics.system_topics(broker)).encode())


def _config(header: CreateTopicRequestHeader, attributes: dict[str, str]) -> TopicConfig:
    return TopicConfig(
        topic_name=header.topic,
        read_queue_nums=header.read_queue_nums,
        write_queue_nums=header.write_queue_nums,
        perm=header.perm,
        topic_filter_type=header.topic_filter_type,
        topic_sys_flag=header.topic_sys_flag or 0,
        order=header.order,
        attributes=attributes,
    )


def _once_known(known: Deferred[None]) -> Reply | Deferred[Reply]:
    return Reply() if known.called else known.addCallback(lambda _: Reply())


REQUESTS: dict[int, LongRequestFunction] = {
    RequestCode.UPDATE_AND_CREATE_TOPIC: update_topic,
    RequestCode.UPDATE_AND_CREATE_TOPIC_LIST: update_topics,
    RequestCode.UPDATE_AND_CREATE_STATIC_TOPIC: update_static_topic,
    RequestCode.DELETE_TOPIC_IN_BROKER: delete_topic,
    RequestCode.GET_TOPIC_CONFIG: topic_config,
    RequestCode.GET_TOPIC_STATS_INFO: topic_stats,
    RequestCode.QUERY_TOPIC_CONSUME_BY_WHO: groups_of_topic,
    RequestCode.QUERY_CONSUME_TIME_SPAN: time_spans,
    RequestCode.GET_SYSTEM_TOPIC_LIST_FROM_BROKER: system_topics,
}
