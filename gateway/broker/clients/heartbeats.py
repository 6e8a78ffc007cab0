"""What clients tell of themselves: heartbeats, farewells, checks of their settings; and who is in a group.

Request functions over the tables of `clients.py`. Standard: `ClientManageProcessor`,
`ConsumerManageProcessor.getConsumerListByGroup`.
"""

from mqgateway.engine.errors import FilterError
from mqgateway.engine.filters import compile_expression, is_tag_type
from mqgateway.engine.message import RETRY_PREFIX
from mqgateway.engine.steps import Steps
from mqgateway.engine.tables.groups import SubscriptionGroupConfig
from mqgateway.engine.tables.topics import PERM_READ, PERM_WRITE, UNIT_SUB_FLAG
from mqgateway.gateway.broker.broker import Broker
from mqgateway.gateway.broker.clients.table import CONSUME_ACTIVELY, Client, TooManyClients
from mqgateway.gateway.codec.bodies import (
    CheckClientRequestBody,
    ConsumerData,
    GetConsumerListByGroupResponseBody,
    HeartbeatData,
)
from mqgateway.gateway.codec.codes import ResponseCode
from mqgateway.gateway.codec.headers import GetConsumerListByGroupRequestHeader, UnregisterClientRequestHeader
from mqgateway.gateway.remoting.call import NO_REPLY, Call, Reply, RequestError


def heart_beat(broker: Broker, call: Call) -> Steps[Reply]:
    """34 HEART_BEAT, version 1 (fingerprint 0) and version 2 (subscriptions may be left out), in steps.

    A consumer group that is not known and may not be created is passed over without a word.
    """
    options = broker.options
    told = yield from HeartbeatData.read(
        call.body, options.max_groups_per_client, options.max_subscriptions_per_group
    )
    _check_limits(broker, told)
    call.peer.on_lost(broker.clients.lost)
    is_first_version = told.heartbeat_fingerprint == 0
    is_outdated = is_first_version
    try:
        for data in told.consumer_data_set:
            yield
            if not call.peer.is_open:
                return NO_REPLY
            is_outdated |= _take_consumer(broker, call, told, data)
        for producer in told.producer_data_set:
            _take_producer(broker, producer.group_name, _client(call, told.client_id))
    except TooManyClients as refusal:
        raise RequestError(ResponseCode.SYSTEM_ERROR, str(refusal)) from None
    changed = "true" if is_outdated else "false"
    return Reply(ext={"IS_SUPPORT_HEART_BEAT_V2": "true", "IS_SUB_CHANGE": changed})


def unregister_client(broker: Broker, call: Call) -> Reply:
    """35 UNREGISTER_CLIENT: a client leaves by itself, so its queue locks are free at once."""
    header = call.header
    assert isinstance(header, UnregisterClientRequestHeader)
    if header.producer_group is not None:
        broker.clients.unregister_producer(header.producer_group, call.peer)
    if header.consumer_group is not None:
        broker.clients.unregister_consumer(header.consumer_group, call.peer)
        broker.locks.release_client(header.consumer_group, header.client_id)
    return Reply()


def consumer_list(broker: Broker, call: Call) -> Reply:
    """38 GET_CONSUMER_LIST_BY_GROUP: the client ids a rebalance shares the queues among."""
    header = call.header
    assert isinstance(header, GetConsumerListByGroupRequestHeader)
    client_ids = broker.clients.consumer_ids(header.consumer_group)
    if not client_ids:
        raise RequestError(ResponseCode.SYSTEM_ERROR, f"no consumer for this group, {header.consumer_group}")
    return Reply(body=GetConsumerListByGroupResponseBody(consumer_id_list=client_ids).encode())


def check_client_config(broker: Broker, call: Call) -> Reply:
    """46 CHECK_CLIENT_CONFIG: whether the broker understands a subscription; of tags it understands all."""
    subscription = CheckClientRequestBody.decode(call.body).subscription_data
    if subscription is None or is_tag_type(subscription.expression_type):
        return Reply()
    if not broker.options.enable_property_filter:
        raise RequestError(
            ResponseCode.SYSTEM_ERROR,
            f"The broker does not support consumer to filter message by {subscription.expression_type}",
        )
    try:
        compile_expression(subscription.sub_string, subscription.expression_type)
    except FilterError as error:
        raise RequestError(ResponseCode.SUBSCRIPTION_PARSE_FAILED, str(error)) from None
    return Reply()


def _check_limits(broker: Broker, told: HeartbeatData) -> None:
    options = broker.options
    names = [told.client_id, *(producer.group_name for producer in told.producer_data_set)]
    if max(map(len, names)) > options.max_name_length:
        raise RequestError(
            ResponseCode.SYSTEM_ERROR, f"a group or a client id may have {options.max_name_length} characters"
        )
    groups = len(told.consumer_data_set) + len(told.producer_data_set)
    if groups > options.max_groups_per_client:
        raise RequestError(
            ResponseCode.SYSTEM_ERROR,
            f"client {told.client_id} is in {groups} groups, more than maxGroupsPerClient allows",
        )
    for data in told.consumer_data_set:
        if len(data.subscription_data_set) > options.max_subscriptions_per_group:
            raise RequestError(
                ResponseCode.SYSTEM_ERROR,
                f"group {data.group_name} subscribes to {len(data.subscription_data_set)} topics, "
                "more than maxSubscriptionsPerGroup allows",
            )
        tags = max(
            (max(len(one.tags_set), len(one.code_set)) for one in data.subscription_data_set), default=0
        )
        if tags > options.max_tags_per_subscription:
            raise RequestError(
                ResponseCode.SYSTEM_ERROR,
                f"group {data.group_name} names {tags} tags, more than maxTagsPerSubscription allows",
            )
        length = _length(data)
        if length > options.max_subscription_text:
            raise RequestError(
                ResponseCode.SYSTEM_ERROR,
                f"the subscriptions of group {data.group_name} have {length} characters, "
                "more than maxSubscriptionText allows",
            )


def _length(data: ConsumerData) -> int:
    """Characters that are kept of what a group subscribes to."""
    said = [data.consume_type or "", data.message_model or "", data.consume_from_where or ""]
    for one in data.subscription_data_set:
        said += [one.topic, one.sub_string or "", one.expression_type or "", *one.tags_set]
    return sum(map(len, said))


def _client(call: Call, client_id: str) -> Client:
    command = call.command
    return Client(call.peer, client_id, command.language.name, command.version)


def _take_consumer(broker: Broker, call: Call, told: HeartbeatData, data: ConsumerData) -> bool:
    if broker.options.reject_pull_consumer_enable and data.consume_type == CONSUME_ACTIVELY:
        return False
    group = broker.groups.find(data.group_name)
    if group is None:
        return False
    _create_retry_topic(broker, data, group)
    left_out = told.without_sub and told.heartbeat_fingerprint != 0
    outdated = broker.clients.register_consumer(
        data,
        _client(call, told.client_id),
        fingerprint=told.heartbeat_fingerprint,
        subscriptions_left_out=left_out,
        notify=group.notify_consumer_ids_changed_enable,
    )
    if not left_out:
        broker.filters.register(data.group_name, data.subscription_data_set)
    return outdated


def _take_producer(broker: Broker, group: str, client: Client) -> None:
    options = broker.options
    # As with the standard, who wants neither the table nor transactions gets no replies through either.
    if options.enable_register_producer or not options.reject_transaction_message:
        broker.clients.register_producer(group, client)


def _create_retry_topic(broker: Broker, data: ConsumerData, group: SubscriptionGroupConfig) -> None:
    broker.topics.create_for_send_back(
        RETRY_PREFIX + data.group_name,
        group.retry_queue_nums,
        PERM_READ | PERM_WRITE,
        UNIT_SUB_FLAG if data.unit_mode else 0,
    )
