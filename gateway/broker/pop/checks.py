"""Checks of pops and of queries about pops, made before anything else.

RocketMQ: `PopMessageProcessor`, `PeekMessageProcessor`, `NotificationProcessor`.
"""

from mqgateway.engine.errors import FilterError
from mqgateway.engine.filters import compile_expression, compile_subscription, is_tag_type
from mqgateway.engine.tables.groups import SubscriptionGroupConfig
from mqgateway.engine.tables.topics import PERM_READ, TopicConfig
from mqgateway.gateway.broker.broker import Broker
from mqgateway.gateway.broker.connection import ClientConnection
from mqgateway.gateway.broker.consume.long_polling import Wanted
from mqgateway.gateway.broker.errors import FAQ, OperationError, Reason
from mqgateway.gateway.broker.moved_partitions import check_not_moved


def checked_topic(broker: Broker, connection: ClientConnection, topic: str, queue_id: int) -> TopicConfig:
    """Return the topic if it is readable and has the queue; negative queue ids stand for all queues.

    Raises `OperationError`.
    """
    config = known_topic(broker, topic)
    if config.attributes:
        check_not_moved(config)
    if not config.perm & PERM_READ:
        raise OperationError(Reason.NO_PERMISSION, f"the topic[{topic}] peeking message is forbidden")
    if queue_id >= config.read_queue_nums:
        raise no_queue(connection, config, queue_id, Reason.INVALID_PARAMETER)
    return config


def known_topic(broker: Broker, topic: str) -> TopicConfig:
    """Return the topic. Raises `OperationError` if it does not exist."""
    config = broker.tables.topics.get(topic)
    if config is None:
        raise OperationError(Reason.TOPIC_NOT_EXIST, f"topic[{topic}] not exist, apply first please! {FAQ}")
    return config


def no_queue(
    connection: ClientConnection, config: TopicConfig, queue_id: int, reason: Reason
) -> OperationError:
    """Return the refusal of a queue that the topic does not have."""
    return OperationError(
        reason,
        f"queueId[{queue_id}] is illegal, topic:[{config.topic_name}] "
        f"topicConfig.readQueueNums:[{config.read_queue_nums}] consumer:[/{connection.address}]",
    )


def checked_group(broker: Broker, name: str) -> SubscriptionGroupConfig:
    """Return the group's settings. Raises `OperationError` if it does not exist or may not consume."""
    group = broker.tables.groups.find(name)
    if group is None:
        raise OperationError(
            Reason.SUBSCRIPTION_GROUP_NOT_EXIST, f"subscription group [{name}] does not exist, {FAQ}"
        )
    if not group.consume_enable:
        raise OperationError(Reason.NO_PERMISSION, f"subscription group no permission, {name}")
    return group


def wanted_by(broker: Broker, topic: str, expression: str | None, expression_type: str | None) -> Wanted:
    """Return the filter of a request's expression; None for no filter.

    Raises `OperationError` if the expression cannot be parsed.
    """
    if not expression:
        return None
    try:
        if is_tag_type(expression_type):
            most = broker.options.max_tags_per_subscription
            return compile_subscription(topic, expression, expression_type, 0, most).accepted_codes
        return compile_expression(expression, expression_type).choice
    except FilterError:
        raise OperationError(
            Reason.SUBSCRIPTION_PARSE_FAILED, "parse the consumer's subscription failed"
        ) from None
