"""Heartbeats and unregistrations of clients, checks of their expressions, queries of a group's members.

Operations on the tables of `table.py`. RocketMQ: `ClientManageProcessor`,
`ConsumerManageProcessor.getConsumerListByGroup`.
"""

import logging
from collections.abc import Callable

from mqgateway.engine.errors import FilterError
from mqgateway.engine.filters import compile_expression, is_tag_type
from mqgateway.engine.message import RETRY_PREFIX
from mqgateway.engine.steps import Steps
from mqgateway.engine.tables.groups import SubscriptionGroupConfig
from mqgateway.engine.tables.topics import PERM_READ, PERM_WRITE, UNIT_SUB_FLAG
from mqgateway.gateway.broker.broker import Broker
from mqgateway.gateway.broker.clients.members import CONSUME_ACTIVELY, GroupClient
from mqgateway.gateway.broker.clients.table import TooManyClients
from mqgateway.gateway.broker.connection import ClientConnection
from mqgateway.gateway.broker.errors import OperationError, Reason, filter_not_allowed
from mqgateway.gateway.codec.bodies import ConsumerData, HeartbeatData, SubscriptionData

log = logging.getLogger(__name__)

NewClient = Callable[[str], GroupClient]
"""Factory by which a front end makes the entry of a client in a group, from the client id."""


def heart_beat(
    broker: Broker, connection: ClientConnection, heartbeat: HeartbeatData, new_client: NewClient
) -> Steps[bool | None]:
    """Register a client in its groups; True if its last heartbeat is outdated, None if it has left.

    Heartbeats are of version 1 (fingerprint 0) or version 2 (subscriptions may be left out). A consumer group
    that does not exist and may not be created is skipped silently. A group whose members use another protocol
    is skipped with a warning. Raises `OperationError`.
    """
    _check_limits(broker, heartbeat)
    connection.on_lost(broker.clients.lost)
    is_outdated = heartbeat.heartbeat_fingerprint == 0
    try:
        for data in heartbeat.consumer_data_set:
            yield
            if not connection.is_open:
                return None
            is_outdated |= _take_consumer(broker, heartbeat, data, new_client)
        for producer in heartbeat.producer_data_set:
            _take_producer(broker, producer.group_name, new_client(heartbeat.client_id))
    except TooManyClients as refusal:
        raise OperationError(Reason.SYSTEM_ERROR, str(refusal)) from None
    return is_outdated


def unregister_producer(broker: Broker, connection: ClientConnection, group: str) -> None:
    """Remove a client from a producer group."""
    broker.clients.unregister_producer(group, connection)


def unregister_consumer(broker: Broker, connection: ClientConnection, client_id: str, group: str) -> None:
    """Remove a client that leaves a consumer group by itself, and release its queue locks at once."""
    broker.clients.unregister_consumer(group, connection)
    broker.clients.locks.release_client(group, client_id)


def consumer_ids(broker: Broker, group: str) -> list[str]:
    """Return the client ids among which a rebalance distributes the queues.

    Raises `OperationError` if the group has no members.
    """
    client_ids = broker.clients.consumer_ids(group)
    if not client_ids:
        raise OperationError(Reason.SYSTEM_ERROR, f"no consumer for this group, {group}")
    return client_ids


def check_subscription(broker: Broker, subscription: SubscriptionData) -> None:
    """Raise `OperationError` for a subscription that the broker cannot parse; tags are always valid."""
    if is_tag_type(subscription.expression_type):
        return
    if not broker.options.enable_property_filter:
        raise filter_not_allowed(subscription.expression_type)
    try:
        compile_expression(subscription.sub_string, subscription.expression_type)
    except FilterError as error:
        raise OperationError(Reason.SUBSCRIPTION_PARSE_FAILED, str(error)) from None


def _check_limits(broker: Broker, heartbeat: HeartbeatData) -> None:
    options = broker.options
    names = [heartbeat.client_id, *(producer.group_name for producer in heartbeat.producer_data_set)]
    if max(map(len, names)) > options.max_name_length:
        raise _too_much(f"a group or a client id may have {options.max_name_length} characters")
    groups = len(heartbeat.consumer_data_set) + len(heartbeat.producer_data_set)
    if groups > options.max_groups_per_client:
        raise _too_much(
            f"client {heartbeat.client_id} is in {groups} groups, more than maxGroupsPerClient allows"
        )
    for data in heartbeat.consumer_data_set:
        _check_subscriptions(broker, data)


def _check_subscriptions(broker: Broker, data: ConsumerData) -> None:
    options, name, subscriptions = broker.options, data.group_name, data.subscription_data_set
    if len(subscriptions) > options.max_subscriptions_per_group:
        raise _too_much(
            f"group {name} subscribes to {len(subscriptions)} topics, "
            "more than maxSubscriptionsPerGroup allows"
        )
    tags = max((max(len(one.tags_set), len(one.code_set)) for one in subscriptions), default=0)
    if tags > options.max_tags_per_subscription:
        raise _too_much(f"group {name} names {tags} tags, more than maxTagsPerSubscription allows")
    length = _length(data)
    if length > options.max_subscription_text:
        raise _too_much(
            f"the subscriptions of group {name} have {length} characters, "
            "more than maxSubscriptionText allows"
        )


def _too_much(message: str) -> OperationError:
    return OperationError(Reason.SYSTEM_ERROR, message)


def _length(data: ConsumerData) -> int:
    """Return the number of characters kept of a group's subscriptions."""
    kept = [data.consume_type or "", data.message_model or "", data.consume_from_where or ""]
    for one in data.subscription_data_set:
        kept += [one.topic, one.sub_string or "", one.expression_type or "", *one.tags_set]
    return sum(map(len, kept))


def _take_consumer(
    broker: Broker, heartbeat: HeartbeatData, data: ConsumerData, new_client: NewClient
) -> bool:
    if broker.options.reject_pull_consumer_enable and data.consume_type == CONSUME_ACTIVELY:
        return False
    group = broker.tables.groups.find(data.group_name)
    if group is None:
        return False
    if broker.coordinated is not None and broker.coordinated.has_members(data.group_name):
        log.warning(
            "client %s cannot join group %s, which has members of another protocol: it gets no messages "
            "until they have left",
            heartbeat.client_id,
            data.group_name,
        )
        return False
    _create_retry_topic(broker, data, group)
    left_out = heartbeat.without_sub and heartbeat.heartbeat_fingerprint != 0
    outdated = broker.clients.register_consumer(
        data,
        new_client(heartbeat.client_id),
        fingerprint=heartbeat.heartbeat_fingerprint,
        subscriptions_left_out=left_out,
        notify=group.notify_consumer_ids_changed_enable,
    )
    if not left_out:
        broker.tables.filters.register(data.group_name, data.subscription_data_set)
    return outdated


def _take_producer(broker: Broker, group: str, client: GroupClient) -> None:
    options = broker.options
    # As in RocketMQ, a producer that needs neither the table nor transactions gets no replies through either.
    if options.enable_register_producer or not options.reject_transaction_message:
        broker.clients.register_producer(group, client)


def _create_retry_topic(broker: Broker, data: ConsumerData, group: SubscriptionGroupConfig) -> None:
    broker.tables.topics.create_for_send_back(
        RETRY_PREFIX + data.group_name,
        group.retry_queue_nums,
        PERM_READ | PERM_WRITE,
        UNIT_SUB_FLAG if data.unit_mode else 0,
    )
