"""Requests to brokers about topics. RocketMQ: `DefaultMQAdminExtImpl`, `MQClientAPIImpl`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from mqgateway.engine.errors import ConfigError
from mqgateway.engine.lenient_json import dumps
from mqgateway.gateway.client.admin_question import Question, asks, body_of, json_of, nothing, topics_of
from mqgateway.gateway.client.answers import decode_body
from mqgateway.gateway.client.errors import ClientError
from mqgateway.gateway.codec import bodies
from mqgateway.gateway.codec.codes import RequestCode, ResponseCode
from mqgateway.gateway.codec.command import RemotingCommand
from mqgateway.gateway.codec.headers import (
    CreateTopicListRequestHeader,
    DeleteTopicRequestHeader,
    GetTopicConfigRequestHeader,
    GetTopicStatsInfoRequestHeader,
    QueryConsumeTimeSpanRequestHeader,
    QueryTopicConsumeByWhoRequestHeader,
)
from mqgateway.gateway.codec.topic_header import create_topic_header

if TYPE_CHECKING:
    from mqgateway.engine.tables.topics import TopicConfig


@asks(RequestCode.UPDATE_AND_CREATE_TOPIC)
def update(config: TopicConfig, *, without: Iterable[str] = ()) -> Question[None]:
    """Create or update a topic.

    Its attributes are merged with the existing ones; those in `without` are deleted.
    """
    changes = _added(config) | {f"-{name}": "" for name in without}
    return Question(RequestCode.UPDATE_AND_CREATE_TOPIC, nothing, create_topic_header(config, changes))


@asks(RequestCode.UPDATE_AND_CREATE_STATIC_TOPIC)
def update_static(
    config: TopicConfig, mapping: Mapping[str, Any], *, is_forced: bool = False
) -> Question[None]:
    """Create or update a static topic.

    `mapping` lists its queues on this broker, in the form of `TopicQueueMappingDetail`.
    """
    header = create_topic_header(config, _added(config))
    header.force = is_forced
    body = dumps(mapping)
    return Question(RequestCode.UPDATE_AND_CREATE_STATIC_TOPIC, nothing, header, body)


@asks(RequestCode.UPDATE_AND_CREATE_TOPIC_LIST)
def update_many(configs: Iterable[TopicConfig]) -> Question[None]:
    """Create or update several topics, all or none."""
    shapes = []
    for config in configs:
        shape = config.to_json()
        shape["attributes"] = _added(config)
        shapes.append(shape)
    body = bodies.CreateTopicListRequestBody(topic_config_list=shapes).encode()
    return Question(RequestCode.UPDATE_AND_CREATE_TOPIC_LIST, nothing, CreateTopicListRequestHeader(), body)


@asks(RequestCode.DELETE_TOPIC_IN_BROKER)
def delete(topic: str) -> Question[None]:
    """Delete a topic with its queues and offsets. Succeeds if it does not exist."""
    return Question(RequestCode.DELETE_TOPIC_IN_BROKER, nothing, DeleteTopicRequestHeader(topic=topic))


@asks(RequestCode.GET_TOPIC_CONFIG)
def config(topic: str) -> Question[TopicConfig]:
    """Return the configuration of a topic."""
    header = GetTopicConfigRequestHeader(topic=topic)
    return Question(RequestCode.GET_TOPIC_CONFIG, lambda answer: _config(json_of(answer)), header)


def config_and_mapping(topic: str) -> Question[tuple[TopicConfig, Mapping[str, Any] | None] | None]:
    """Return the configuration of a topic and the broker's part of its static mapping.

    The mapping has the form of `TopicQueueMappingDetail` and is None for topics that are not static. The
    answer is None if the broker does not have the topic.
    """

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
    """Return the configuration of every topic by name."""

    def read(answer: RemotingCommand) -> dict[str, TopicConfig]:
        table = decode_body(bodies.TopicConfigSerializeWrapper, answer).topic_config_table
        return {name: _config(shape) for name, shape in table.items()}

    return Question(RequestCode.GET_ALL_TOPIC_CONFIG, read)


@asks(RequestCode.GET_TOPIC_STATS_INFO)
def stats(topic: str) -> Question[bodies.TopicStatsTable]:
    """Return the minimum and maximum offset of each queue and the time of its last message."""
    header = GetTopicStatsInfoRequestHeader(topic=topic)
    return Question(RequestCode.GET_TOPIC_STATS_INFO, body_of(bodies.TopicStatsTable), header)


@asks(RequestCode.QUERY_TOPIC_CONSUME_BY_WHO)
def groups(topic: str) -> Question[set[str]]:
    """Return the groups that consume a topic."""

    def read(answer: RemotingCommand) -> set[str]:
        return decode_body(bodies.GroupList, answer).group_list

    header = QueryTopicConsumeByWhoRequestHeader(topic=topic)
    return Question(RequestCode.QUERY_TOPIC_CONSUME_BY_WHO, read, header)


@asks(RequestCode.QUERY_CONSUME_TIME_SPAN)
def time_spans(topic: str, group: str) -> Question[list[bodies.QueueTimeSpan]]:
    """Return the store times of the first, the last and the last consumed message of each queue."""

    def read(answer: RemotingCommand) -> list[bodies.QueueTimeSpan]:
        return decode_body(bodies.QueryConsumeTimeSpanBody, answer).consume_time_span_set

    header = QueryConsumeTimeSpanRequestHeader(topic=topic, group=group)
    return Question(RequestCode.QUERY_CONSUME_TIME_SPAN, read, header)


@asks(RequestCode.GET_SYSTEM_TOPIC_LIST_FROM_BROKER)
def system_topics() -> Question[set[str]]:
    """Return the system topics of the broker."""
    return Question(RequestCode.GET_SYSTEM_TOPIC_LIST_FROM_BROKER, topics_of)


def _config(shape: Mapping[str, object]) -> TopicConfig:
    # Imported late: the broker's tables are slow to import, and few answers need them.
    from mqgateway.engine.tables.topics import TopicConfig

    try:
        return TopicConfig.from_json(shape)
    except ConfigError as error:
        raise ClientError(f"an answer that cannot be read: {error}") from None


def _added(config: TopicConfig) -> dict[str, str]:
    """Return the attributes of a topic as changes."""
    return {f"+{name}": value for name, value in config.attributes.items()}
