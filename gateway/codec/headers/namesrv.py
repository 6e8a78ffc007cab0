"""The name server: brokers that register, routes, key-value configuration.

RocketMQ: the classes of the same names.
"""

from mqgateway.gateway.codec.codes import RequestCode
from mqgateway.gateway.codec.fields import Bool, Header, Int, Long, TopicRequestHeader


class RegisterBrokerRequestHeader(Header, code=RequestCode.REGISTER_BROKER):
    """A broker registers; its topics are in the body."""

    broker_name: str
    broker_addr: str
    cluster_name: str
    ha_server_addr: str = ""
    broker_id: Long
    heartbeat_timeout_millis: Long | None = None  # ms of silence after which the broker is gone
    enable_acting_master: Bool | None = None
    compressed: Bool = False
    body_crc32: Int | None = None  # 0 or absent: not checked


class RegisterBrokerResponseHeader(Header):
    """The master of the broker's group."""

    ha_server_addr: str | None = None
    master_addr: str | None = None


class UnRegisterBrokerRequestHeader(Header, code=RequestCode.UNREGISTER_BROKER):
    """A broker unregisters."""

    broker_name: str = ""
    broker_addr: str = ""
    cluster_name: str = ""
    broker_id: Long | None = None


class BrokerHeartbeatRequestHeader(Header, code=RequestCode.BROKER_HEARTBEAT):
    """A broker is alive; controllers need the second half."""

    cluster_name: str
    broker_addr: str
    broker_name: str = ""
    broker_id: Long | None = None
    epoch: Int | None = None
    max_offset: Long | None = None
    confirm_offset: Long | None = None
    heartbeat_timeout_mills: Long | None = None  # ms
    election_priority: Int | None = None


class QueryDataVersionRequestHeader(Header, code=RequestCode.QUERY_DATA_VERSION):
    """Query if the broker's topics, by the version in the body, have changed."""

    broker_name: str = ""
    broker_addr: str
    cluster_name: str
    broker_id: Long = 0


class QueryDataVersionResponseHeader(Header):
    """True if they have changed."""

    changed: Bool


class GetBrokerMemberGroupRequestHeader(Header, code=RequestCode.GET_BROKER_MEMBER_GROUP):
    """The addresses of a broker group."""

    cluster_name: str = ""
    broker_name: str = ""


class GetRouteInfoRequestHeader(TopicRequestHeader, code=RequestCode.GET_ROUTEINFO_BY_TOPIC):
    """The brokers and queues of a topic."""

    topic: str = ""
    accept_standard_json_only: Bool | None = None  # no bare integer keys in the answer


class GetTopicsByClusterRequestHeader(Header, code=RequestCode.GET_TOPICS_BY_CLUSTER):
    """The topics of a cluster."""

    cluster: str = ""


class RegisterTopicRequestHeader(TopicRequestHeader, code=RequestCode.REGISTER_TOPIC_IN_NAMESRV):
    """The queues of a topic, in the body."""

    topic: str


class DeleteTopicFromNamesrvRequestHeader(TopicRequestHeader, code=RequestCode.DELETE_TOPIC_IN_NAMESRV):
    """Delete a topic, everywhere or in one cluster."""

    topic: str = ""
    cluster_name: str | None = None


class RegisterOrderTopicRequestHeader(Header):
    """The queues of an ordered topic."""

    topic: str
    order_topic_string: str


class WipeWritePermOfBrokerRequestHeader(Header, code=RequestCode.WIPE_WRITE_PERM_OF_BROKER):
    """Withdraw the write permission of a broker's topics."""

    broker_name: str = ""


class WipeWritePermOfBrokerResponseHeader(Header):
    """The number of these topics."""

    wipe_topic_count: Int


class AddWritePermOfBrokerRequestHeader(Header, code=RequestCode.ADD_WRITE_PERM_OF_BROKER):
    """Restore the permissions of a broker's topics."""

    broker_name: str = ""


class AddWritePermOfBrokerResponseHeader(Header):
    """The number of these topics."""

    add_topic_count: Int


class PutKVConfigRequestHeader(Header, code=RequestCode.PUT_KV_CONFIG):
    """Set a key."""

    namespace: str
    key: str
    value: str


class GetKVConfigRequestHeader(Header, code=RequestCode.GET_KV_CONFIG):
    """Read a key."""

    namespace: str = ""
    key: str = ""


class GetKVConfigResponseHeader(Header):
    """The value of the key."""

    value: str | None = None


class DeleteKVConfigRequestHeader(Header, code=RequestCode.DELETE_KV_CONFIG):
    """Delete a key."""

    namespace: str = ""
    key: str = ""


class GetKVListByNamespaceRequestHeader(Header, code=RequestCode.GET_KVLIST_BY_NAMESPACE):
    """Read all keys of a namespace."""

    namespace: str = ""
