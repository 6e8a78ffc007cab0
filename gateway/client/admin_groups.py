"""Requests to brokers about consumer groups: settings, progress, offsets.

RocketMQ: `DefaultMQAdminExtImpl`, `MQClientAPIImpl`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from mqgateway.engine.errors import ConfigError
from mqgateway.engine.lenient_json import dumps
from mqgateway.gateway.client.admin_question import (
    Question,
    asks,
    body_of,
    field_of,
    json_of,
    nothing,
    topics_of,
)
from mqgateway.gateway.client.answers import decode_body
from mqgateway.gateway.client.errors import ClientError
from mqgateway.gateway.codec import bodies
from mqgateway.gateway.codec.codes import RequestCode, ResponseCode
from mqgateway.gateway.codec.command import RemotingCommand
from mqgateway.gateway.codec.headers import (
    CloneGroupOffsetRequestHeader,
    DeleteSubscriptionGroupRequestHeader,
    GetConsumeStatsInBrokerHeader,
    GetConsumeStatsRequestHeader,
    GetSubscriptionGroupConfigRequestHeader,
    QueryConsumerOffsetRequestHeader,
    QueryConsumerOffsetResponseHeader,
    QueryCorrectionOffsetHeader,
    QuerySubscriptionByConsumerRequestHeader,
    QueryTopicsByConsumerRequestHeader,
    ResetOffsetRequestHeader,
    UpdateConsumerOffsetRequestHeader,
    UpdateGroupForbiddenRequestHeader,
)

if TYPE_CHECKING:
    from mqgateway.engine.tables.groups import SubscriptionGroupConfig

LATEST, EARLIEST = -1, 0
"""Timestamps for offset resets: after the last message, before the first."""

# Settings


@asks(RequestCode.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP)
def update(config: SubscriptionGroupConfig, *, without: Iterable[str] = ()) -> Question[None]:
    """Create or update a group.

    Its attributes are merged with the existing ones; those in `without` are deleted.
    """
    document = _as_json(config)
    document["attributes"] |= {f"-{name}": "" for name in without}
    return Question(RequestCode.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP, nothing, body=dumps(document))


@asks(RequestCode.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP_LIST)
def update_many(configs: Iterable[SubscriptionGroupConfig]) -> Question[None]:
    """Create or update several groups, all or none."""
    body = bodies.SubscriptionGroupList(group_config_list=[_as_json(config) for config in configs])
    return Question(RequestCode.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP_LIST, nothing, body=body.encode())


@asks(RequestCode.DELETE_SUBSCRIPTIONGROUP)
def delete(group: str, *, with_offsets: bool = False) -> Question[None]:
    """Delete a group. Succeeds if it does not exist."""
    header = DeleteSubscriptionGroupRequestHeader(group_name=group, clean_offset=with_offsets)
    return Question(RequestCode.DELETE_SUBSCRIPTIONGROUP, nothing, header)


@asks(RequestCode.GET_SUBSCRIPTIONGROUP_CONFIG)
def config(group: str) -> Question[SubscriptionGroupConfig]:
    """Return the configuration of a group. Where groups are created on first use, this request creates it."""
    header = GetSubscriptionGroupConfigRequestHeader(group=group)
    return Question(RequestCode.GET_SUBSCRIPTIONGROUP_CONFIG, lambda answer: _config(json_of(answer)), header)


@asks(RequestCode.GET_ALL_SUBSCRIPTIONGROUP_CONFIG)
def all_configs() -> Question[dict[str, SubscriptionGroupConfig]]:
    """Return the configuration of every group by name."""

    def read(answer: RemotingCommand) -> dict[str, SubscriptionGroupConfig]:
        table = decode_body(bodies.SubscriptionGroupWrapper, answer).subscription_group_table
        return {name: _config(shape) for name, shape in table.items()}

    return Question(RequestCode.GET_ALL_SUBSCRIPTIONGROUP_CONFIG, read)


@asks(RequestCode.UPDATE_AND_GET_GROUP_FORBIDDEN)
def allow_reading(group: str, topic: str, is_allowed: bool | None = None) -> Question[bool]:
    """Allow or forbid a group to read a topic, or with None only query it.

    Returns True if reading is allowed.
    """

    def read(answer: RemotingCommand) -> bool:
        return decode_body(bodies.GroupForbidden, answer).readable is not False

    header = UpdateGroupForbiddenRequestHeader(group=group, topic=topic, readable=is_allowed)
    return Question(RequestCode.UPDATE_AND_GET_GROUP_FORBIDDEN, read, header)


@asks(RequestCode.SET_MESSAGE_REQUEST_MODE)
def set_mode(group: str, topic: str, mode: str, pop_share_queue_num: int = 0) -> Question[None]:
    """Set the request mode of a group for a topic to PULL or POP.

    With `pop_share_queue_num`, a member also pops the queues of that many other members.
    """
    body = bodies.SetMessageRequestModeRequestBody(topic, group, mode, pop_share_queue_num)
    return Question(RequestCode.SET_MESSAGE_REQUEST_MODE, nothing, body=body.encode())


@asks(RequestCode.GET_ALL_MESSAGE_REQUEST_MODE)
def all_modes() -> Question[dict[str, dict[str, bodies.SetMessageRequestModeRequestBody]]]:
    """Return the configured request modes by topic and group."""

    def read(answer: RemotingCommand) -> dict[str, dict[str, bodies.SetMessageRequestModeRequestBody]]:
        return decode_body(bodies.MessageRequestModeSerializeWrapper, answer).message_request_mode_map

    return Question(RequestCode.GET_ALL_MESSAGE_REQUEST_MODE, read)


# Progress


@asks(RequestCode.GET_CONSUME_STATS)
def progress(group: str, topics: Sequence[str] = ()) -> Question[bodies.ConsumeStats]:
    """Return the progress of a group in the given topics, or in all topics it consumes."""
    header = GetConsumeStatsRequestHeader(
        consumer_group=group,
        topic=topics[0] if len(topics) == 1 else "",
        topic_list=";".join(topics) if len(topics) > 1 else None,
    )
    return Question(RequestCode.GET_CONSUME_STATS, body_of(bodies.ConsumeStats), header)


@asks(RequestCode.GET_BROKER_CONSUME_STATS)
def all_progress(*, only_ordered: bool = False) -> Question[bodies.ConsumeStatsList]:
    """Return the progress of every group in every topic it consumes.

    `only_ordered` selects ordered consumption.
    """
    header = GetConsumeStatsInBrokerHeader(is_order=only_ordered)
    return Question(RequestCode.GET_BROKER_CONSUME_STATS, body_of(bodies.ConsumeStatsList), header)


@asks(RequestCode.QUERY_TOPICS_BY_CONSUMER)
def topics(group: str) -> Question[set[str]]:
    """Return the topics in which a group has offsets."""
    header = QueryTopicsByConsumerRequestHeader(group=group)
    return Question(RequestCode.QUERY_TOPICS_BY_CONSUMER, topics_of, header)


@asks(RequestCode.QUERY_SUBSCRIPTION_BY_CONSUMER)
def subscription(group: str, topic: str) -> Question[bodies.SubscriptionData | None]:
    """Return a connected group's subscription to a topic; None if it has none or is not connected."""

    def read(answer: RemotingCommand) -> bodies.SubscriptionData | None:
        return decode_body(bodies.QuerySubscriptionResponseBody, answer).subscription_data

    header = QuerySubscriptionByConsumerRequestHeader(group=group, topic=topic)
    return Question(RequestCode.QUERY_SUBSCRIPTION_BY_CONSUMER, read, header)


# Offsets


@asks(RequestCode.QUERY_CONSUMER_OFFSET)
def offset(group: str, queue: bodies.MessageQueue) -> Question[int]:
    """Return a group's committed offset of a queue; -1 if there is none."""

    def read(answer: RemotingCommand) -> int:
        if answer.code != ResponseCode.SUCCESS:
            return -1
        found: int = field_of(QueryConsumerOffsetResponseHeader, "offset")(answer)
        return found

    header = QueryConsumerOffsetRequestHeader(
        consumer_group=group, topic=queue.topic, queue_id=queue.queue_id, bname=queue.broker_name
    )
    never = (ResponseCode.QUERY_NOT_FOUND,)
    return Question(RequestCode.QUERY_CONSUMER_OFFSET, read, header, nothing_codes=never)


@asks(RequestCode.UPDATE_CONSUMER_OFFSET)
def set_offset(group: str, queue: bodies.MessageQueue, offset: int) -> Question[None]:
    """Set a group's committed offset of a queue. Connected members are not affected."""
    header = UpdateConsumerOffsetRequestHeader(
        consumer_group=group,
        topic=queue.topic,
        queue_id=queue.queue_id,
        commit_offset=offset,
        bname=queue.broker_name,
    )
    return Question(RequestCode.UPDATE_CONSUMER_OFFSET, nothing, header)


@asks(RequestCode.GET_ALL_CONSUMER_OFFSET)
def all_offsets() -> Question[dict[str, dict[int, int]]]:
    """Return all committed offsets of a broker: by `topic@group`, then by queue id."""

    def read(answer: RemotingCommand) -> dict[str, dict[int, int]]:
        return decode_body(bodies.ConsumerOffsetSerializeWrapper, answer).offset_table

    return Question(RequestCode.GET_ALL_CONSUMER_OFFSET, read)


@asks(RequestCode.CLONE_GROUP_OFFSET)
def clone_offsets(group: str, to_group: str, topic: str) -> Question[None]:
    """Copy the offsets of one group in a topic to another group."""
    header = CloneGroupOffsetRequestHeader(src_group=group, dest_group=to_group, topic=topic)
    return Question(RequestCode.CLONE_GROUP_OFFSET, nothing, header)


@asks(RequestCode.INVOKE_BROKER_TO_RESET_OFFSET)
def reset_offsets(
    group: str,
    topic: str,
    timestamp: int,
    *,
    queue_id: int = -1,
    offset: int | None = None,
    is_forced: bool = True,
) -> Question[dict[bodies.MessageQueue, int]]:
    """Reset a group's offsets in a topic and return the new ones; connected members are notified.

    All queues are reset to a time (ms since the epoch, LATEST or EARLIEST), or `queue_id` to `offset`.
    Without `is_forced`, no queue is moved forward.
    """

    def read(answer: RemotingCommand) -> dict[bodies.MessageQueue, int]:
        return decode_body(bodies.ResetOffsetBody, answer).offset_table if answer.body else {}

    header = ResetOffsetRequestHeader(
        group=group, topic=topic, queue_id=queue_id, offset=offset, timestamp=timestamp, is_force=is_forced
    )
    return Question(RequestCode.INVOKE_BROKER_TO_RESET_OFFSET, read, header)


@asks(RequestCode.QUERY_CORRECTION_OFFSET)
def correction_offsets(
    topic: str, compared_group: str, without: Sequence[str] = ()
) -> Question[dict[int, int]]:
    """Return the minimum offset over all groups by queue id, where the compared group is ahead of it."""

    def read(answer: RemotingCommand) -> dict[int, int]:
        return decode_body(bodies.QueryCorrectionOffsetBody, answer).correction_offsets

    header = QueryCorrectionOffsetHeader(
        topic=topic, compare_group=compared_group, filter_groups=",".join(without) or None
    )
    return Question(RequestCode.QUERY_CORRECTION_OFFSET, read, header)


def _as_json(config: SubscriptionGroupConfig) -> dict[str, Any]:
    shape = config.to_json()
    shape["attributes"] = {f"+{name}": value for name, value in config.attributes.items()}
    return shape


def _config(shape: Mapping[str, Any]) -> SubscriptionGroupConfig:
    # Imported late: the broker's tables are slow to import, and few answers need them.
    from mqgateway.engine.tables.groups import SubscriptionGroupConfig

    try:
        return SubscriptionGroupConfig.from_json(shape)
    except ConfigError as error:
        raise ClientError(f"an answer that cannot be read: {error}") from None
