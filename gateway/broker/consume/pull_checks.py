"""Checks of a pull before it reads, and its message filter.

RocketMQ: `PullMessageProcessor.processRequest`.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from mqgateway.engine.errors import FilterError
from mqgateway.engine.filters import (
    ALL,
    Expression,
    compile_expression,
    compile_subscription,
    is_tag_type,
    takes_all,
)
from mqgateway.engine.message import RETRY_PREFIX
from mqgateway.engine.names import is_system_group
from mqgateway.engine.store.results import Accept
from mqgateway.engine.tables.groups import SubscriptionGroupConfig
from mqgateway.engine.tables.topics import PERM_READ, TopicConfig
from mqgateway.gateway.broker.clients.members import BROADCASTING
from mqgateway.gateway.broker.connection import ClientConnection
from mqgateway.gateway.broker.consume.long_polling import Wanted
from mqgateway.gateway.broker.consume.pull_request import (
    ForbiddenType,
    PullForbidden,
    PullRequest,
)
from mqgateway.gateway.broker.errors import FAQ, OperationError, Reason, filter_not_allowed
from mqgateway.gateway.broker.moved_partitions import check_not_moved
from mqgateway.gateway.codec.bodies.heartbeat import SubscriptionData

if TYPE_CHECKING:
    from mqgateway.gateway.broker.broker import Broker


def checked_group(broker: Broker, request: PullRequest) -> SubscriptionGroupConfig:
    """Return the group's settings.

    Raises `OperationError` if the group does not exist, `PullForbidden` if broker or group forbid the pull.
    """
    options = broker.options
    if not options.broker_permission & PERM_READ:
        raise PullForbidden(
            ForbiddenType.BROKER_FORBIDDEN, f"the broker[{options.broker_ip1}] pulling message is forbidden"
        )
    if request.is_lite and not options.lite_pull_message_enable:
        raise PullForbidden(
            ForbiddenType.BROKER_FORBIDDEN,
            f"the broker[{options.broker_ip1}] for lite pull consumer is forbidden",
        )
    group = broker.tables.groups.find(request.group)
    if group is None:
        raise OperationError(
            Reason.SUBSCRIPTION_GROUP_NOT_EXIST,
            f"subscription group [{request.group}] does not exist, {FAQ}",
        )
    if not group.consume_enable:
        raise PullForbidden(
            ForbiddenType.GROUP_FORBIDDEN, f"subscription group no permission, {request.group}"
        )
    return group


def checked_queue(broker: Broker, request: PullRequest, connection: ClientConnection) -> TopicConfig:
    """Return the topic's settings.

    Raises `OperationError` if the topic or the queue does not exist, `PullForbidden` if the topic is not
    readable.
    """
    topic = broker.tables.topics.get(request.topic)
    if topic is None:
        raise OperationError(
            Reason.TOPIC_NOT_EXIST, f"topic[{request.topic}] not exist, apply first please! {FAQ}"
        )
    if topic.attributes:
        check_not_moved(topic)
    if not topic.perm & PERM_READ:
        raise PullForbidden(
            ForbiddenType.TOPIC_FORBIDDEN, f"the topic[{request.topic}] pulling message is forbidden"
        )
    if not 0 <= request.queue_id < topic.read_queue_nums:
        raise OperationError(
            Reason.INVALID_PARAMETER,
            f"queueId[{request.queue_id}] is illegal, topic:[{request.topic}] "
            f"topicConfig.readQueueNums:[{topic.read_queue_nums}] consumer:[/{connection.address}]",
        )
    return topic


def wanted_by(broker: Broker, request: PullRequest, group: SubscriptionGroupConfig) -> Wanted:
    """Return the message filter of the request, or of the group's last heartbeat."""
    if not request.is_subscribed:
        return _wanted_by_request(broker, request)
    subscription = _subscription(broker, request, group)
    if not is_tag_type(subscription.expression_type):
        return _wanted_by_group(broker, request, subscription)
    everything = subscription.class_filter_mode or subscription.sub_string == ALL
    return None if everything else frozenset(subscription.code_set)


def _wanted_by_request(broker: Broker, request: PullRequest) -> Wanted:
    """Return the filter of the request's expression; raise `OperationError` if it cannot be parsed.

    RocketMQ lets all messages pass in that case.
    """
    by_tags = is_tag_type(request.expression_type)
    if by_tags and takes_all(request.expression):
        return None
    try:
        given = compile_subscription(
            request.topic,
            request.expression,
            request.expression_type,
            request.subscription_version,
            broker.options.max_tags_per_subscription,
        )
        if by_tags:
            return given.accepted_codes
        _check_expressions(broker, request.expression_type)
        expression = compile_expression(request.expression, request.expression_type)
    except FilterError as error:
        raise OperationError(
            Reason.SUBSCRIPTION_PARSE_FAILED,
            f"parse the consumer's subscription failed{'' if by_tags else f': {error}'}",
        ) from None
    return _chosen(broker, request, expression)


def _wanted_by_group(broker: Broker, request: PullRequest, subscription: SubscriptionData) -> Wanted:
    data = broker.tables.filters.get(request.topic, request.group)
    if data is None:
        reason = broker.tables.filters.refusal(request.topic, request.group)
        raise OperationError(
            Reason.FILTER_DATA_NOT_EXIST,
            f"The broker's consumer filter data is not exist!Your expression may be wrong! {reason}".rstrip(),
        )
    if data.client_version < request.subscription_version:
        raise OperationError(Reason.FILTER_DATA_NOT_LATEST, "the consumer's consumer filter data not latest")
    _check_expressions(broker, subscription.expression_type)
    return None if subscription.class_filter_mode else _chosen(broker, request, data.expression)


def _check_expressions(broker: Broker, expression_type: str | None) -> None:
    if not broker.options.enable_property_filter:
        raise filter_not_allowed(expression_type)


def _chosen(broker: Broker, request: PullRequest, expression: Expression) -> Accept:
    """Return the filter by expression.

    With `filterSupportRetry` a retried message is filtered by the expression for its original topic.
    """
    if broker.options.filter_support_retry and request.topic.startswith(RETRY_PREFIX):
        return partial(broker.tables.filters.matches_retried, request.group)
    return expression.choice


def _subscription(broker: Broker, request: PullRequest, group: SubscriptionGroupConfig) -> SubscriptionData:
    """Return the subscription of a connected group to the topic.

    Raises `OperationError` if there is none or it is older than requested, `PullForbidden` if the group may
    not read the topic.
    """
    name = request.group
    members = broker.clients.consumer_group(name)
    if members is None:
        raise OperationError(Reason.SUBSCRIPTION_NOT_EXIST, f"the consumer's group info not exist{FAQ}")
    if not group.consume_broadcast_enable and members.message_model == BROADCASTING:
        raise PullForbidden(
            ForbiddenType.BROADCASTING_DISABLE_FORBIDDEN,
            f"the consumer group[{name}] can not consume by broadcast way",
        )
    if broker.tables.groups.is_read_forbidden(name, request.topic):
        raise PullForbidden(
            ForbiddenType.SUBSCRIPTION_FORBIDDEN,
            f"the consumer group[{name}] is forbidden for topic[{request.topic}]",
        )
    subscription = members.subscriptions.get(request.topic)
    if subscription is None:
        raise OperationError(Reason.SUBSCRIPTION_NOT_EXIST, f"the consumer's subscription not exist{FAQ}")
    if subscription.sub_version < request.subscription_version:
        raise OperationError(Reason.SUBSCRIPTION_NOT_LATEST, "the consumer's subscription not latest")
    return subscription


def check_pull_consumer(broker: Broker, request: PullRequest, connection: ClientConnection) -> None:
    """Raise `OperationError` for a pull consumer that is not a member of a connected group.

    System groups are exempt. Called with `rejectPullConsumerEnable` only.
    """
    name = request.group
    members = broker.clients.consumer_group(name)
    if members is not None and (members.consume_type != "CONSUME_ACTIVELY" or connection in members.clients):
        return
    if not is_system_group(name):
        raise OperationError(
            Reason.SUBSCRIPTION_NOT_EXIST,
            f"the consumer's group info not exist, or the pull consumer is rejected by server.{FAQ}",
        )
