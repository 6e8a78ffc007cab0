"""Questions to brokers about topics. Standard: `DefaultMQAdminExtImpl`, `MQClientAPIImpl`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from mqgateway.engine.errors import ConfigError
from mqgateway.engine.lenient_json import dumps
from mqgateway.engine.message import DEFAULT_TOPIC
from mqgateway.gateway.client.admin_question import Question, asks, body_of, json_of, nothing, topics_of
from mqgateway.gateway.client.answers import decode_body
from mqgateway.gateway.client.errors import ClientError
from mqgateway.gateway.codec import bodies
from mqgateway.gateway.codec.codes import RequestCode, ResponseCode
from mqgateway.gateway.codec.command import RemotingCommand
from mqgateway.gateway.codec.headers import (
    CreateTopicListRequestHeader,
    CreateTopicRequestHeader,
    DeleteTopicRequestHeader,
    GetTopicConfigRequestHeader,
    GetTopicStatsInfoRequestHeader,
    QueryConsumeTimeSpanRequestHeader,
    QueryTopicConsumeByWhoRequestHeader,
)

if TYPE_CHECKING:
    from mqgateway.engine.tables.topics import TopicConfig


@asks(RequestCode.UPDATE_AND_CREATE_TOPIC)
def update(config: TopicConfig, *, without: Iterable[str] = ()) -> Question[None]:
    """Create a topic, or change it to this; attributes are added to those it has, `without` some."""
    return Question(RequestCode.UPDATE_AND_CREATE_TOPIC, nothing, _header(config, without))


@asks(RequestCode.UPDATE_AND_CREATE_STATIC_TOPIC)
def update_static(
    config: TopicConfig, mapping: Mapping[str, Any], *, is_forced: bool = False
) -> Question[None]:
    """Create or change a static topic: `mapping` says which of its queues lie on this broker, in the
    standard's shape (`TopicQueueMappingDetail`)."""
    header = _header(config, ())
    header.force = is_forced
    body = dumps(mapping)
    return Question(RequestCode.UPDATE_AND_CREATE_STATIC_TOPIC, nothing, header, body)


@asks(RequestCode.UPDATE_AND_CREATE_TOPIC_LIST)
def update_many(configs: Iterable[TopicConfig]) -> Question[None]:
    """The same for many, all or none."""
    told = []
    for config in configs:
        shape = config.to_json()
        shape["attributes"] = {f"+{name}": value for name, value in config.attributes.items()}
        told.append(shape)
    body = bodies.CreateTopicListRequestBody(topic_config_list=told).encode()
    return Question(RequestCode.UPDATE_AND_CREATE_TOPIC_LIST, nothing, CreateTopicListRequestHeader(), body)


@asks(RequestCode.DELETE_TOPIC_IN_BROKER)
def delete(topic: str) -> Question[None]:
    """Delete a topic with its queues and offsets; that there is none is no error."""
    return Question(RequestCode.DELETE_TOPIC_IN_BROKER, nothing, DeleteTopicRequestHeader(topic=topic))


@asks(RequestCode.GET_TOPIC_CONFIG)
def config(topic: str) -> Question[TopicConfig]:
    """How a topic is configured."""
    header = GetTopicConfigRequestHeader(topic=topic)
    return Question(RequestCode.GET_TOPIC_CONFIG, lambda answer: _config(json_of(answer)), header)


def config_and_mapping(topic: str) -> Question[tuple[TopicConfig, Mapping[str, Any] | None] | None]:
    """The same with what the broker has of a static topic, in the standard's shape
    (`TopicQueueMappingDetail`), which is None of others; None where the broker does not have the topic."""

    def read(answer: RemotingCommand) -> tuple[TopicConfig, Mapping[str, Any] | None] | None:
        if answer.code == ResponseCode.TOPIC_NOT_EXIST:
            return None
        shape = json_of(answer)
        return _config(shape), shape.get("mappingDetail")

    header = GetTopicConfigRequestHeader(topic=topic, lo=True)
    nowhere = (ResponseCode.TOPIC_NOT_EXIST,)
    return Question(RequestCode.GET_TOPIC_CONFIG, read, header, nothing_codes=nowhere)


@asks(RequestCode.GET_ALL_TOPIC_CONFIG)
def all_configs() -> Question[dict[str, TopicConfig]]:
    """How all topics are configured, by name."""

    def read(answer: RemotingCommand) -> dict[str, TopicConfig]:
        table = decode_body(bodies.TopicConfigSerializeWrapper, answer).topic_config_table
        return {name: _config(shape) for name, shape in table.items()}

    return Question(RequestCode.GET_ALL_TOPIC_CONFIG, read)


@asks(RequestCode.GET_TOPIC_STATS_INFO)
def stats(topic: str) -> Question[bodies.TopicStatsTable]:
    """The ends of each queue, and when its last message came."""
    header = GetTopicStatsInfoRequestHeader(topic=topic)
    return Question(RequestCode.GET_TOPIC_STATS_INFO, body_of(bodies.TopicStatsTable), header)


@asks(RequestCode.QUERY_TOPIC_CONSUME_BY_WHO)
def groups(topic: str) -> Question[set[str]]:
    """The groups that consume a topic."""

    def read(answer: RemotingCommand) -> set[str]:
        return decode_body(bodies.GroupList, answer).group_list

    header = QueryTopicConsumeByWhoRequestHeader(topic=topic)
    return Question(RequestCode.QUERY_TOPIC_CONSUME_BY_WHO, read, header)


@asks(RequestCode.QUERY_CONSUME_TIME_SPAN)
def time_spans(topic: str, group: str) -> Question[list[bodies.QueueTimeSpan]]:
    """When the first, the last and the last consumed message of each queue were stored."""

    def read(answer: RemotingCommand) -> list[bodies.QueueTimeSpan]:
        return decode_body(bodies.QueryConsumeTimeSpanBody, answer).consume_time_span_set

    header = QueryConsumeTimeSpanRequestHeader(topic=topic, group=group)
    return Question(RequestCode.QUERY_CONSUME_TIME_SPAN, read, header)


@asks(RequestCode.GET_SYSTEM_TOPIC_LIST_FROM_BROKER)
def system_topics() -> Question[set[str]]:
    """Topics that the broker has for purposes of its own."""
    return Question(RequestCode.GET_SYSTEM_TOPIC_LIST_FROM_BROKER, topics_of)


def _config(shape: Mapping[str, object]) -> TopicConfig:
    # The tables of a broker are slow to load, and few questions are answered by one of their entries.
    from mqgateway.engine.tables.topics import TopicConfig

    try:
        return TopicConfig.from_json(shape)
    except ConfigError as error:
        raise ClientError(f"an answer that cannot be read: {error}") from None


def _header(config: TopicConfig, without: Iterable[str]) -> CreateTopicRequestHeader:
    changes = [f"+{name}={value}" for name, value in config.attributes.items()]
    changes += [f"-{name}" for name in without]
    return CreateTopicRequestHeader(
        topic=config.topic_name,
        default_topic=DEFAULT_TOPIC,
        read_queue_nums=config.read_queue_nums,
        write_queue_nums=config.write_queue_nums,
        perm=config.perm,
        topic_filter_type=config.topic_filter_type,
        topic_sys_flag=config.topic_sys_flag,
        order=config.order,
        attributes=",".join(changes) or None,
    )
