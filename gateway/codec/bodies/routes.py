"""Routes: brokers of topics, as a name server answers.

RocketMQ: the classes of the same names.
"""

from dataclasses import field
from typing import Any

from mqgateway.gateway.codec.bodies.body import Body, Int, body


@body
class QueueData(Body):
    """The queues of a topic on one broker; `perm` 4 is read, 2 write, 1 inherit."""

    broker_name: str
    read_queue_nums: Int = 0
    write_queue_nums: Int = 0
    perm: Int = 0
    topic_sys_flag: Int = 0


@body
class BrokerData(Body):
    """The addresses (`ip:port`) of a broker group by broker id; 0 is the master."""

    cluster: str
    broker_name: str
    broker_addrs: dict[int, str] = field(default_factory=dict)
    zone_name: str | None = None
    enable_acting_master: bool = False


@body
class TopicRouteData(Body):
    """Brokers and queues of a topic.

    `topic_queue_mapping_by_broker` (static topics) is carried as plain JSON values by broker name.
    """

    queue_datas: list[QueueData] = field(default_factory=list)
    broker_datas: list[BrokerData] = field(default_factory=list)
    filter_server_table: dict[str, list[str]] = field(default_factory=dict)
    order_topic_conf: str | None = None
    topic_queue_mapping_by_broker: dict[str, Any] | None = None


@body
class ClusterInfo(Body):
    """All broker groups, and the names of those in each cluster."""

    broker_addr_table: dict[str, BrokerData] = field(default_factory=dict)
    cluster_addr_table: dict[str, set[str]] = field(default_factory=dict)


@body
class BrokerMemberGroup(Body):
    """The addresses of one broker group by broker id."""

    cluster: str | None = None
    broker_name: str | None = None
    broker_addrs: dict[int, str] = field(default_factory=dict)


@body
class GetBrokerMemberGroupResponseBody(Body):
    """The requested group."""

    broker_member_group: BrokerMemberGroup | None = None


@body
class TopicList(Body):
    """Names of topics."""

    topic_list: set[str] = field(default_factory=set)
    broker_addr: str | None = None


@body
class KVTable(Body):
    """Texts by key."""

    table: dict[str, str] = field(default_factory=dict)
