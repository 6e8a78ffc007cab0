"""Requests to name servers: routes, clusters, permissions, key-value pairs, settings.

Name servers do not share state, so changes must be sent to all of them (`Admin.ask_name_servers`).
RocketMQ: `DefaultMQAdminExtImpl`, `MQClientAPIImpl`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from mqgateway.gateway.client.admin_question import (
    Question,
    as_properties,
    asks,
    body_of,
    field_of,
    note_of,
    nothing,
    settings_of,
    topics_of,
)
from mqgateway.gateway.client.answers import decode_body
from mqgateway.gateway.codec import bodies
from mqgateway.gateway.codec.codes import RequestCode, ResponseCode
from mqgateway.gateway.codec.command import RemotingCommand
from mqgateway.gateway.codec.headers import (
    AddWritePermOfBrokerRequestHeader,
    AddWritePermOfBrokerResponseHeader,
    DeleteKVConfigRequestHeader,
    DeleteTopicFromNamesrvRequestHeader,
    GetBrokerMemberGroupRequestHeader,
    GetKVConfigRequestHeader,
    GetKVListByNamespaceRequestHeader,
    GetRouteInfoRequestHeader,
    GetTopicsByClusterRequestHeader,
    PutKVConfigRequestHeader,
    RegisterTopicRequestHeader,
    WipeWritePermOfBrokerRequestHeader,
    WipeWritePermOfBrokerResponseHeader,
)

# Routes and brokers


@asks(RequestCode.GET_ROUTEINFO_BY_TOPIC)
def route(topic: str) -> Question[bodies.TopicRouteData | None]:
    """Return the brokers and queues of a topic; None if the topic does not exist."""

    def read(answer: RemotingCommand) -> bodies.TopicRouteData | None:
        return decode_body(bodies.TopicRouteData, answer) if answer.body else None

    header = GetRouteInfoRequestHeader(topic=topic)
    unknown = (ResponseCode.TOPIC_NOT_EXIST,)
    return Question(RequestCode.GET_ROUTEINFO_BY_TOPIC, read, header, nothing_codes=unknown)


@asks(RequestCode.GET_BROKER_CLUSTER_INFO)
def cluster_info() -> Question[bodies.ClusterInfo]:
    """Return all clusters, their broker groups and the broker addresses."""
    return Question(RequestCode.GET_BROKER_CLUSTER_INFO, body_of(bodies.ClusterInfo))


@asks(RequestCode.GET_BROKER_MEMBER_GROUP)
def member_group(cluster: str, broker_name: str) -> Question[bodies.BrokerMemberGroup | None]:
    """Return the registered brokers of a group by id; None if there are none."""

    def read(answer: RemotingCommand) -> bodies.BrokerMemberGroup | None:
        return decode_body(bodies.GetBrokerMemberGroupResponseBody, answer).broker_member_group

    header = GetBrokerMemberGroupRequestHeader(cluster_name=cluster, broker_name=broker_name)
    return Question(RequestCode.GET_BROKER_MEMBER_GROUP, read, header)


@asks(RequestCode.WIPE_WRITE_PERM_OF_BROKER)
def forbid_writing(broker_name: str) -> Question[int]:
    """Remove the write permission of a broker on this name server. Returns the number of topics affected."""
    read = field_of(WipeWritePermOfBrokerResponseHeader, "wipe_topic_count")
    header = WipeWritePermOfBrokerRequestHeader(broker_name=broker_name)
    return Question(RequestCode.WIPE_WRITE_PERM_OF_BROKER, read, header)


@asks(RequestCode.ADD_WRITE_PERM_OF_BROKER)
def allow_writing(broker_name: str) -> Question[int]:
    """Restore the write permission of a broker on this name server. Returns the number of topics affected."""
    read = field_of(AddWritePermOfBrokerResponseHeader, "add_topic_count")
    header = AddWritePermOfBrokerRequestHeader(broker_name=broker_name)
    return Question(RequestCode.ADD_WRITE_PERM_OF_BROKER, read, header)


# Topics


@asks(RequestCode.GET_ALL_TOPIC_LIST_FROM_NAMESERVER)
def all_topics() -> Question[set[str]]:
    """Return the names of all topics."""
    return Question(RequestCode.GET_ALL_TOPIC_LIST_FROM_NAMESERVER, topics_of)


@asks(RequestCode.GET_TOPICS_BY_CLUSTER)
def topics_of_cluster(cluster: str) -> Question[set[str]]:
    """Return the names of the topics of a cluster."""
    header = GetTopicsByClusterRequestHeader(cluster=cluster)
    return Question(RequestCode.GET_TOPICS_BY_CLUSTER, topics_of, header)


@asks(RequestCode.GET_SYSTEM_TOPIC_LIST_FROM_NS)
def system_topics() -> Question[set[str]]:
    """Return the system topics, which are named after clusters and brokers."""
    return Question(RequestCode.GET_SYSTEM_TOPIC_LIST_FROM_NS, topics_of)


@asks(RequestCode.GET_UNIT_TOPIC_LIST)
def unit_topics() -> Question[set[str]]:
    """Return the topics that belong to units."""
    return Question(RequestCode.GET_UNIT_TOPIC_LIST, topics_of)


@asks(RequestCode.GET_HAS_UNIT_SUB_TOPIC_LIST)
def topics_with_unit_readers() -> Question[set[str]]:
    """Return the topics that units subscribe to."""
    return Question(RequestCode.GET_HAS_UNIT_SUB_TOPIC_LIST, topics_of)


@asks(RequestCode.GET_HAS_UNIT_SUB_UNUNIT_TOPIC_LIST)
def plain_topics_with_unit_readers() -> Question[set[str]]:
    """Return the topics outside units that units subscribe to."""
    return Question(RequestCode.GET_HAS_UNIT_SUB_UNUNIT_TOPIC_LIST, topics_of)


@asks(RequestCode.REGISTER_TOPIC_IN_NAMESRV)
def register_topic(topic: str, queues: Sequence[bodies.QueueData]) -> Question[None]:
    """Register a topic with the given queues of brokers."""
    body = bodies.TopicRouteData(queue_datas=list(queues)).encode()
    header = RegisterTopicRequestHeader(topic=topic)
    return Question(RequestCode.REGISTER_TOPIC_IN_NAMESRV, nothing, header, body)


@asks(RequestCode.DELETE_TOPIC_IN_NAMESRV)
def forget_topic(topic: str, cluster: str | None = None) -> Question[None]:
    """Remove a topic everywhere or from one cluster. Brokers that still have it register it again."""
    header = DeleteTopicFromNamesrvRequestHeader(topic=topic, cluster_name=cluster)
    return Question(RequestCode.DELETE_TOPIC_IN_NAMESRV, nothing, header)


# Key-value pairs


@asks(RequestCode.PUT_KV_CONFIG)
def put_value(namespace: str, key: str, value: str) -> Question[None]:
    """Set the value of a key."""
    header = PutKVConfigRequestHeader(namespace=namespace, key=key, value=value)
    return Question(RequestCode.PUT_KV_CONFIG, nothing, header)


@asks(RequestCode.GET_KV_CONFIG)
def value(namespace: str, key: str) -> Question[str | None]:
    """Return the value of a key; None if it is not set."""

    def read(answer: RemotingCommand) -> str | None:
        return answer.ext_fields.get("value")

    header = GetKVConfigRequestHeader(namespace=namespace, key=key)
    return Question(RequestCode.GET_KV_CONFIG, read, header, nothing_codes=(ResponseCode.QUERY_NOT_FOUND,))


@asks(RequestCode.DELETE_KV_CONFIG)
def delete_value(namespace: str, key: str) -> Question[None]:
    """Delete a key. Succeeds if it does not exist."""
    header = DeleteKVConfigRequestHeader(namespace=namespace, key=key)
    return Question(RequestCode.DELETE_KV_CONFIG, nothing, header)


@asks(RequestCode.GET_KVLIST_BY_NAMESPACE)
def values(namespace: str) -> Question[dict[str, str]]:
    """Return all keys of a namespace with their values."""

    def read(answer: RemotingCommand) -> dict[str, str]:
        return decode_body(bodies.KVTable, answer).table if answer.body else {}

    header = GetKVListByNamespaceRequestHeader(namespace=namespace)
    return Question(
        RequestCode.GET_KVLIST_BY_NAMESPACE, read, header, nothing_codes=(ResponseCode.QUERY_NOT_FOUND,)
    )


# Settings


@asks(RequestCode.GET_NAMESRV_CONFIG)
def settings() -> Question[dict[str, str]]:
    """Return all settings of a name server by RocketMQ's names."""
    return Question(RequestCode.GET_NAMESRV_CONFIG, settings_of)


@asks(RequestCode.UPDATE_NAMESRV_CONFIG)
def update_settings(changed: Mapping[str, str]) -> Question[str]:
    """Update settings atomically: all of them or none. Returns the server's remark."""
    return Question(RequestCode.UPDATE_NAMESRV_CONFIG, note_of, body=as_properties(changed))
