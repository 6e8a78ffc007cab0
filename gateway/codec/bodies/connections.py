"""Clients of groups and their connections.

RocketMQ: `Connection`, `ConsumerConnection`, `ProducerConnection`, `ProducerTableInfo`, `GroupList`,
`GetConsumerListByGroupResponseBody`.
"""

from dataclasses import field

from mqgateway.gateway.codec.bodies.body import Body, Int, body, wired
from mqgateway.gateway.codec.bodies.enums import ConsumeFromWhere, ConsumeType, LanguageCode, MessageModel
from mqgateway.gateway.codec.bodies.heartbeat import SubscriptionData


@body
class Connection(Body):
    """One connection; `client_addr` is `ip:port`, `language` a name, `version` an ordinal."""

    client_id: str
    client_addr: str
    language: LanguageCode | None = None
    version: Int = 0


@body
class ConsumerConnection(Body):
    """A consumer group that is online."""

    connection_set: list[Connection] = field(default_factory=list)
    subscription_table: dict[str, SubscriptionData] = field(default_factory=dict)
    consume_type: ConsumeType | None = None
    message_model: MessageModel | None = None
    consume_from_where: ConsumeFromWhere | None = None


@body
class ProducerConnection(Body):
    """A producer group that is online."""

    connection_set: list[Connection] = field(default_factory=list)


@body
class ProducerInfo(Body):
    """One producer; `last_update_timestamp` is its last heartbeat in ms since the epoch."""

    client_id: str
    remote_ip: str = field(metadata=wired("remoteIP"))
    language: LanguageCode | None = None
    version: Int = 0
    last_update_timestamp: int = 0


@body
class ProducerTableInfo(Body):
    """Producers by group."""

    data: dict[str, list[ProducerInfo]] = field(default_factory=dict)


@body
class GroupList(Body):
    """Names of consumer groups."""

    group_list: set[str] = field(default_factory=set)


@body
class GetConsumerListByGroupResponseBody(Body):
    """Client ids of a consumer group."""

    consumer_id_list: list[str] = field(default_factory=list)
