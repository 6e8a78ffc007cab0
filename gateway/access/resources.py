"""Needs of a broker's request codes: resources, with the actions of which one must be allowed.

Two tables together cover every code that a broker serves: `BY_HEADER` for resources in header fields,
`BY_BODY` for those in bodies. Each need must be met. `BY_RECORD` is for requests that lead to a record of any
topic, whose needs are known only after it was read. `UNCHECKED_BY_STANDARD` lists the codes that RocketMQ
allows every authenticated user. RocketMQ has no equivalent of `BY_RECORD`; neither is it used with
`authorizationProfile=standard`.

A retry topic counts as its group. RocketMQ: `DefaultAuthorizationContextBuilder`, and the annotations
`RocketMQAction` and `RocketMQResource` of the header classes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import orjson

from mqgateway.engine.json_members import read_name
from mqgateway.engine.options import BrokerOptions
from mqgateway.engine.steps import Steps
from mqgateway.gateway.access.needs import (
    CLUSTER_CHANGED,
    CLUSTER_SHOWN,
    CREATE,
    DELETE,
    FREE,
    GET,
    PUB,
    SUB,
    UPDATE,
    USERS,
    Fields,
    Need,
    Row,
    group_in,
    needs_in,
    topic_in,
)
from mqgateway.gateway.access.policies import RETRY_PREFIX, Action, group, topic
from mqgateway.gateway.codec.bodies import (
    HeartbeatData,
    LockBatchRequestBody,
    QueryAssignmentRequestBody,
)
from mqgateway.gateway.codec.bodies.body import Body
from mqgateway.gateway.codec.bodies.lite import LiteSubscriptionCtlRequestBody
from mqgateway.gateway.codec.bodies.pop import BatchAckMessageRequestBody
from mqgateway.gateway.codec.bodies.tables import CreateTopicListRequestBody, SubscriptionGroupList, read_list
from mqgateway.gateway.codec.codes import RequestCode

BodyReader = Callable[[bytes, BrokerOptions], Steps[list[Need]]]


def _sent(field: str) -> Row:
    """Return the row of a send to the topic in a field.

    A retry topic is sent to by its group, whatever group the header names, and needs `Sub`.
    """

    def needs(fields: Fields, cluster_name: str) -> Iterable[Need]:
        name = fields.get(field, "")
        return [Need(topic(name), (SUB if name.startswith(RETRY_PREFIX) else PUB,))]

    return (needs,)


def _message_by_offset(fields: Fields, cluster_name: str) -> Iterable[Need]:
    """Need of a read by commit-log offset; older clients do not send the topic."""
    name = fields.get("topic")
    return [] if name is None else [Need(topic(name), (GET,))]


def _transaction(fields: Fields, cluster_name: str) -> Iterable[Need]:
    """Need of a transaction's end; clients of version 4 do not send the topic."""
    name = fields.get("topic", "")
    return [Need(topic(name), (PUB,))] if name.strip() else []


def _unregistered(fields: Fields, cluster_name: str) -> Iterable[Need]:
    name = fields.get("consumerGroup", "")
    return [Need(group(name), (SUB,))] if name.strip() else []


def _popped(group_name: str, topic_name: str) -> list[Need]:
    """Return the needs of an acknowledgement, whose topic may be the group's own retry topic of a topic.

    RocketMQ parses that as the retry topic of a group with a longer name, and refuses it.
    """
    for between in "_+":
        name = topic_name.removeprefix(f"{RETRY_PREFIX}{group_name}{between}")
        if name != topic_name:
            topic_name = name
            break
    return [Need(group(group_name), (SUB,)), Need(topic(topic_name), (SUB,))]


def _given_back(fields: Fields, cluster_name: str) -> Iterable[Need]:
    return _popped(fields.get("consumerGroup", ""), fields.get("topic", ""))


PULLED: Row = (topic_in("topic", SUB, skip_retry=True), group_in("consumerGroup", SUB))
POPPED: Row = (group_in("consumerGroup", SUB), topic_in("topic", SUB))
TOPIC_SHOWN: Row = (topic_in("topic", GET),)

BY_HEADER: dict[int, Row] = {
    # Messages
    RequestCode.SEND_MESSAGE: _sent("topic"),
    RequestCode.SEND_MESSAGE_V2: _sent("b"),
    RequestCode.SEND_BATCH_MESSAGE: _sent("b"),
    RequestCode.SEND_REPLY_MESSAGE: _sent("topic"),
    RequestCode.SEND_REPLY_MESSAGE_V2: _sent("b"),
    RequestCode.RECALL_MESSAGE: (topic_in("topic", PUB),),
    RequestCode.END_TRANSACTION: (_transaction,),
    RequestCode.CONSUMER_SEND_MSG_BACK: (group_in("group", SUB),),
    RequestCode.PULL_MESSAGE: PULLED,
    RequestCode.LITE_PULL_MESSAGE: PULLED,
    RequestCode.QUERY_MESSAGE: (topic_in("topic", SUB, GET),),
    RequestCode.VIEW_MESSAGE_BY_ID: (_message_by_offset,),
    RequestCode.RESUME_CHECK_HALF_MESSAGE: (topic_in("topic", UPDATE),),
    # Pops
    RequestCode.POP_MESSAGE: POPPED,
    RequestCode.POP_LITE_MESSAGE: POPPED,
    RequestCode.PEEK_MESSAGE: POPPED,
    RequestCode.NOTIFICATION: POPPED,
    RequestCode.ACK_MESSAGE: (_given_back,),
    RequestCode.CHANGE_MESSAGE_INVISIBLETIME: (_given_back,),
    RequestCode.POLLING_INFO: (group_in("consumerGroup", GET), topic_in("topic", GET)),
    RequestCode.POP_ROLLBACK: CLUSTER_CHANGED,
    # Consumers
    RequestCode.QUERY_CONSUMER_OFFSET: (
        topic_in("topic", SUB, GET, skip_retry=True),
        group_in("consumerGroup", SUB, GET),
    ),
    RequestCode.UPDATE_CONSUMER_OFFSET: (
        topic_in("topic", SUB, UPDATE, skip_retry=True),
        group_in("consumerGroup", SUB, UPDATE),
    ),
    RequestCode.UNREGISTER_CLIENT: (_unregistered,),
    RequestCode.GET_CONSUMER_LIST_BY_GROUP: (group_in("consumerGroup", SUB, GET),),
    RequestCode.CHECK_CLIENT_CONFIG: FREE,
    # Topics
    RequestCode.UPDATE_AND_CREATE_TOPIC: (topic_in("topic", CREATE),),
    RequestCode.UPDATE_AND_CREATE_STATIC_TOPIC: CLUSTER_CHANGED,
    RequestCode.DELETE_TOPIC_IN_BROKER: (topic_in("topic", DELETE),),
    RequestCode.GET_TOPIC_CONFIG: TOPIC_SHOWN,
    RequestCode.GET_ALL_TOPIC_CONFIG: CLUSTER_SHOWN,
    RequestCode.GET_SYSTEM_TOPIC_LIST_FROM_BROKER: CLUSTER_SHOWN,
    RequestCode.GET_TOPIC_STATS_INFO: TOPIC_SHOWN,
    RequestCode.CHECK_ROCKSDB_CQ_WRITE_PROGRESS: TOPIC_SHOWN,
    RequestCode.QUERY_TOPIC_CONSUME_BY_WHO: TOPIC_SHOWN,
    RequestCode.SEARCH_OFFSET_BY_TIMESTAMP: TOPIC_SHOWN,
    RequestCode.GET_MAX_OFFSET: TOPIC_SHOWN,
    RequestCode.GET_MIN_OFFSET: TOPIC_SHOWN,
    RequestCode.GET_EARLIEST_MSG_STORETIME: TOPIC_SHOWN,
    RequestCode.QUERY_CONSUME_QUEUE: (group_in("consumerGroup", GET), topic_in("topic", GET)),
    # Groups
    RequestCode.DELETE_SUBSCRIPTIONGROUP: (group_in("groupName", DELETE),),
    RequestCode.GET_SUBSCRIPTIONGROUP_CONFIG: (group_in("group", GET),),
    RequestCode.GET_ALL_SUBSCRIPTIONGROUP_CONFIG: CLUSTER_SHOWN,
    RequestCode.UPDATE_AND_GET_GROUP_FORBIDDEN: (group_in("group", UPDATE), topic_in("topic", UPDATE)),
    RequestCode.SET_MESSAGE_REQUEST_MODE: CLUSTER_CHANGED,
    RequestCode.GET_ALL_MESSAGE_REQUEST_MODE: CLUSTER_SHOWN,
    RequestCode.GET_CONSUMER_CONNECTION_LIST: (group_in("consumerGroup", GET),),
    RequestCode.GET_CONSUMER_RUNNING_INFO: (group_in("consumerGroup", GET),),
    RequestCode.QUERY_TOPICS_BY_CONSUMER: (group_in("group", GET),),
    RequestCode.QUERY_SUBSCRIPTION_BY_CONSUMER: (group_in("group", GET), topic_in("topic", GET)),
    RequestCode.CONSUME_MESSAGE_DIRECTLY: (group_in("consumerGroup", SUB), topic_in("topic", SUB)),
    # Progress of groups
    RequestCode.GET_CONSUME_STATS: (
        group_in("consumerGroup", GET),
        topic_in("topic", GET),
        topic_in("topicList", GET, between=";"),
    ),
    RequestCode.QUERY_CONSUME_TIME_SPAN: (group_in("group", GET), topic_in("topic", GET)),
    RequestCode.QUERY_CORRECTION_OFFSET: (
        group_in("filterGroups", GET, between=","),
        group_in("compareGroup", GET),
        topic_in("topic", GET),
    ),
    RequestCode.INVOKE_BROKER_TO_RESET_OFFSET: (group_in("group", UPDATE), topic_in("topic", UPDATE)),
    RequestCode.INVOKE_BROKER_TO_GET_CONSUMER_STATUS: (group_in("group", GET), topic_in("topic", GET)),
    RequestCode.CLONE_GROUP_OFFSET: (group_in("destGroup", UPDATE), topic_in("topic", UPDATE)),
    RequestCode.GET_ALL_CONSUMER_OFFSET: CLUSTER_SHOWN,
    RequestCode.GET_ALL_DELAY_OFFSET: CLUSTER_SHOWN,
    # Lite topics
    RequestCode.GET_BROKER_LITE_INFO: CLUSTER_SHOWN,
    RequestCode.GET_PARENT_TOPIC_INFO: TOPIC_SHOWN,
    RequestCode.GET_LITE_TOPIC_INFO: (topic_in("parentTopic", GET),),
    RequestCode.GET_LITE_CLIENT_INFO: (topic_in("parentTopic", GET), group_in("group", GET)),
    RequestCode.GET_LITE_GROUP_INFO: (group_in("group", GET),),
    RequestCode.TRIGGER_LITE_DISPATCH: (group_in("group", UPDATE),),
    # The broker itself
    RequestCode.UPDATE_BROKER_CONFIG: CLUSTER_CHANGED,
    RequestCode.GET_BROKER_CONFIG: CLUSTER_SHOWN,
    RequestCode.GET_BROKER_RUNTIME_INFO: CLUSTER_SHOWN,
    RequestCode.GET_PRODUCER_CONNECTION_LIST: CLUSTER_SHOWN,
    RequestCode.GET_ALL_PRODUCER_INFO: CLUSTER_SHOWN,
    RequestCode.VIEW_BROKER_STATS_DATA: CLUSTER_SHOWN,
    RequestCode.EXPORT_ROCKSDB_CONFIG_TO_JSON: CLUSTER_SHOWN,
    RequestCode.GET_BROKER_CONSUME_STATS: CLUSTER_SHOWN,
    RequestCode.GET_TIMER_CHECK_POINT: CLUSTER_SHOWN,
    RequestCode.GET_TIMER_METRICS: CLUSTER_SHOWN,
    RequestCode.SWITCH_TIMER_ENGINE: CLUSTER_CHANGED,
    RequestCode.CLEAN_EXPIRED_CONSUMEQUEUE: CLUSTER_CHANGED,
    RequestCode.CLEAN_UNUSED_TOPIC: CLUSTER_CHANGED,
    RequestCode.DELETE_EXPIRED_COMMITLOG: CLUSTER_CHANGED,
    RequestCode.UPDATE_COLD_DATA_FLOW_CTR_CONFIG: CLUSTER_CHANGED,
    RequestCode.REMOVE_COLD_DATA_FLOW_CTR_CONFIG: CLUSTER_CHANGED,
    RequestCode.GET_COLD_DATA_FLOW_CTR_INFO: CLUSTER_SHOWN,
    RequestCode.SET_COMMITLOG_READ_MODE: CLUSTER_CHANGED,
    # Replication
    RequestCode.NOTIFY_MIN_BROKER_ID_CHANGE: CLUSTER_CHANGED,
    RequestCode.EXCHANGE_BROKER_HA_INFO: CLUSTER_CHANGED,
    RequestCode.RESET_MASTER_FLUSH_OFFSET: CLUSTER_CHANGED,
    RequestCode.NOTIFY_BROKER_ROLE_CHANGED: CLUSTER_CHANGED,
    RequestCode.GET_BROKER_HA_STATUS: CLUSTER_SHOWN,
    RequestCode.GET_BROKER_EPOCH_CACHE: CLUSTER_SHOWN,
    # Users and policies
    **USERS,
}


def _heart_beat(body: bytes, options: BrokerOptions) -> Steps[list[Need]]:
    """Return the needs of a heartbeat: the group and topics of each consumer, none for producers."""
    heartbeat = yield from HeartbeatData.read(
        body, options.max_groups_per_client, options.max_subscriptions_per_group
    )
    needs = []
    for consumer in heartbeat.consumer_data_set:
        needs.append(Need(group(consumer.group_name), (SUB,)))
        names = (subscription.topic for subscription in consumer.subscription_data_set)
        needs += [Need(topic(name), (SUB,)) for name in names if not name.startswith(RETRY_PREFIX)]
    return needs


def _listed(kind: type[Body], member: str, name: str, need: Callable[[str], Need]) -> BodyReader:
    """Return a reader with one need for each entry of a body's list, by the member that names it."""

    def read(body: bytes, options: BrokerOptions) -> Steps[list[Need]]:
        needs: list[Need] = []
        yield from read_list(kind, member, body, lambda value: needs.append(need(read_name(value, name))))
        return needs

    return read


def _at_once(read: Callable[[bytes], list[Need]]) -> BodyReader:
    """Wrap a reader of short bodies, which is not incremental."""

    def read_in_steps(body: bytes, options: BrokerOptions) -> Steps[list[Need]]:
        return read(body)
        yield

    return read_in_steps


def _locked(body: bytes) -> list[Need]:
    lock = LockBatchRequestBody.decode(body)
    names = {queue.topic for queue in lock.mq_set if not queue.topic.startswith(RETRY_PREFIX)}
    return [Need(group(lock.consumer_group), (SUB,)), *(Need(topic(name), (SUB,)) for name in sorted(names))]


def _assigned(body: bytes) -> list[Need]:
    asked = QueryAssignmentRequestBody.decode(body)
    return [Need(group(asked.consumer_group), (SUB,)), Need(topic(asked.topic), (SUB,))]


def _acknowledged(body: bytes) -> list[Need]:
    acks = BatchAckMessageRequestBody.decode(body).acks
    pairs = dict.fromkeys((ack.consumer_group, ack.topic) for ack in acks)
    return [need for pair in pairs for need in _popped(*pair)]


def _lite_subscribed(body: bytes) -> list[Need]:
    changes = LiteSubscriptionCtlRequestBody.decode(body).subscription_set
    pairs = dict.fromkeys((change.group or "", change.topic or "") for change in changes)
    return [need for pair in pairs for need in _popped(*pair)]


def _topic_created(name: str) -> Need:
    return Need(topic(name), (CREATE,))


def _group_created(name: str) -> Need:
    return Need(group(name), (CREATE,))


BY_BODY: dict[int, BodyReader] = {
    RequestCode.HEART_BEAT: _heart_beat,
    RequestCode.LOCK_BATCH_MQ: _at_once(_locked),
    RequestCode.UNLOCK_BATCH_MQ: _at_once(_locked),
    RequestCode.QUERY_ASSIGNMENT: _at_once(_assigned),
    RequestCode.UPDATE_AND_CREATE_TOPIC_LIST: _listed(
        CreateTopicListRequestBody, "topicConfigList", "topicName", _topic_created
    ),
    RequestCode.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP: _at_once(
        lambda body: [_group_created(read_name(orjson.loads(body), "groupName"))]
    ),
    RequestCode.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP_LIST: _listed(
        SubscriptionGroupList, "groupConfigList", "groupName", _group_created
    ),
    RequestCode.BATCH_ACK_MESSAGE: _at_once(_acknowledged),
    RequestCode.LITE_SUBSCRIPTION_CTL: _at_once(_lite_subscribed),
}

UNCHECKED_BY_STANDARD = frozenset(
    {
        RequestCode.UPDATE_AND_CREATE_TOPIC_LIST,
        RequestCode.GET_ALL_TOPIC_CONFIG,
        RequestCode.UPDATE_BROKER_CONFIG,
        RequestCode.GET_BROKER_CONFIG,
        RequestCode.GET_BROKER_RUNTIME_INFO,
        RequestCode.GET_ALL_CONSUMER_OFFSET,
        RequestCode.GET_ALL_DELAY_OFFSET,
        RequestCode.GET_TIMER_CHECK_POINT,
        RequestCode.GET_TIMER_METRICS,
        RequestCode.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP,
        RequestCode.GET_ALL_SUBSCRIPTIONGROUP_CONFIG,
        RequestCode.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP_LIST,
        RequestCode.GET_SYSTEM_TOPIC_LIST_FROM_BROKER,
        RequestCode.CLEAN_EXPIRED_CONSUMEQUEUE,
        RequestCode.CLEAN_UNUSED_TOPIC,
        RequestCode.SEND_REPLY_MESSAGE,
        RequestCode.SEND_REPLY_MESSAGE_V2,
        RequestCode.DELETE_EXPIRED_COMMITLOG,
        RequestCode.LITE_PULL_MESSAGE,
        RequestCode.QUERY_ASSIGNMENT,
        RequestCode.SET_MESSAGE_REQUEST_MODE,
        RequestCode.GET_ALL_MESSAGE_REQUEST_MODE,
        RequestCode.UPDATE_AND_CREATE_STATIC_TOPIC,
        RequestCode.GET_BROKER_HA_STATUS,
        RequestCode.GET_BROKER_EPOCH_CACHE,
        RequestCode.UPDATE_COLD_DATA_FLOW_CTR_CONFIG,
        RequestCode.REMOVE_COLD_DATA_FLOW_CTR_CONFIG,
        RequestCode.GET_COLD_DATA_FLOW_CTR_INFO,
        RequestCode.SET_COMMITLOG_READ_MODE,
        RequestCode.SWITCH_TIMER_ENGINE,
        RequestCode.POP_ROLLBACK,
        RequestCode.POP_LITE_MESSAGE,
        RequestCode.LITE_SUBSCRIPTION_CTL,
        RequestCode.GET_BROKER_LITE_INFO,
        RequestCode.GET_PARENT_TOPIC_INFO,
        RequestCode.GET_LITE_TOPIC_INFO,
        RequestCode.GET_LITE_CLIENT_INFO,
        RequestCode.GET_LITE_GROUP_INFO,
        RequestCode.TRIGGER_LITE_DISPATCH,
        RequestCode.BATCH_ACK_MESSAGE,
    }
)
"""Codes that version 5.5.0 was observed to allow every user, or whose headers it has no rule for."""


BY_RECORD: dict[int, tuple[tuple[Action, ...], str]] = {
    RequestCode.VIEW_MESSAGE_BY_ID: ((GET, SUB), ""),
    RequestCode.CONSUMER_SEND_MSG_BACK: ((SUB,), "group"),
    RequestCode.CONSUME_MESSAGE_DIRECTLY: ((SUB,), "consumerGroup"),
    RequestCode.END_TRANSACTION: ((PUB,), ""),
    RequestCode.RESUME_CHECK_HALF_MESSAGE: ((UPDATE,), ""),
    # Producers receive half messages in transaction checks.
    RequestCode.HEART_BEAT: ((PUB,), ""),
}
"""Codes whose requests lead to a record by more than topic and queue.

Each has the actions of which one is needed on the topic that the record belongs to, whatever topic the
request names, and the header field of the group.
"""


def needs_of_record(topic_name: str, actions: tuple[Action, ...], group_name: str) -> list[Need]:
    """Return the needs of a record; one of a retry topic needs `Sub` on its group.

    A retry topic of POP belongs to a group and a topic. If the group is unknown, only the spelling with `+`
    separates them.
    """
    if not topic_name.startswith(RETRY_PREFIX):
        return [Need(topic(topic_name), actions)]
    if not group_name:
        group_name = topic_name.removeprefix(RETRY_PREFIX).partition("+")[0]
    return list(dict.fromkeys(_popped(group_name, topic_name)))


def needs_of_header(code: int, fields: Fields, cluster_name: str) -> list[Need]:
    """Return the needs of a request's header fields; empty if `BY_BODY` has the code."""
    return needs_in(BY_HEADER, code, fields, cluster_name)


def standard_needs_of_header(code: int, fields: Fields, cluster_name: str) -> list[Need]:
    """Return the needs of a request's header fields, except of the codes that RocketMQ does not check."""
    return [] if code in UNCHECKED_BY_STANDARD else needs_of_header(code, fields, cluster_name)
