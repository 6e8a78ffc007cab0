"""Requests about connected clients.

203, 204 and 328 list clients, 343 and 345 a group's topics; 223 queries members for their offsets; 307 and
309 are forwarded to the consumer that they name, and its answer is returned. RocketMQ:
`AdminBrokerProcessor`.
"""

from twisted.internet.defer import Deferred

from mqgateway.engine.message import format_host
from mqgateway.gateway.broker.admin import consumers, coordinated_groups
from mqgateway.gateway.broker.broker import Broker
from mqgateway.gateway.broker.clients.members import GroupClient
from mqgateway.gateway.broker.clients.outgoing import ClientAnswer
from mqgateway.gateway.codec.bodies import (
    Connection,
    ConsumerConnection,
    GetConsumerStatusBody,
    ProducerConnection,
    ProducerInfo,
    ProducerTableInfo,
    QuerySubscriptionResponseBody,
    TopicList,
)
from mqgateway.gateway.codec.codes import RequestCode
from mqgateway.gateway.codec.headers import (
    ConsumeMessageDirectlyResultRequestHeader,
    GetConsumerConnectionListRequestHeader,
    GetConsumerRunningInfoRequestHeader,
    GetConsumerStatusRequestHeader,
    GetProducerConnectionListRequestHeader,
    QuerySubscriptionByConsumerRequestHeader,
    QueryTopicsByConsumerRequestHeader,
)
from mqgateway.gateway.remoting.call import Call, Reply
from mqgateway.gateway.remoting.dispatch import LongRequestFunction
from mqgateway.gateway.runtime.outcomes import then


def consumer_connections(broker: Broker, call: Call) -> Reply:
    """203 GET_CONSUMER_CONNECTION_LIST."""
    header = call.header
    assert isinstance(header, GetConsumerConnectionListRequestHeader)
    coordinated = coordinated_groups.coordinated_group(broker, header.consumer_group)
    if coordinated is not None:
        return Reply(body=coordinated_groups.connections(coordinated).encode())
    group = consumers.consumer_group(broker, header.consumer_group)
    body = ConsumerConnection(
        connection_set=[_connection(client) for client in group.clients.values()],
        subscription_table=dict(group.subscriptions),
        consume_type=group.consume_type,
        message_model=group.message_model,
        consume_from_where=group.consume_from_where,
    )
    return Reply(body=body.encode())


def producer_connections(broker: Broker, call: Call) -> Reply:
    """204 GET_PRODUCER_CONNECTION_LIST."""
    header = call.header
    assert isinstance(header, GetProducerConnectionListRequestHeader)
    clients = consumers.producers(broker, header.producer_group)
    connections = [_connection(client) for client in clients]
    return Reply(body=ProducerConnection(connection_set=connections).encode())


def all_producers(broker: Broker, call: Call) -> Reply:
    """328 GET_ALL_PRODUCER_INFO."""
    data = {
        group: [_producer(client) for client in clients]
        for group, clients in consumers.all_producers(broker).items()
    }
    return Reply(body=ProducerTableInfo(data=data).encode())


def topics_of_consumer(broker: Broker, call: Call) -> Reply:
    """343 QUERY_TOPICS_BY_CONSUMER."""
    header = call.header
    assert isinstance(header, QueryTopicsByConsumerRequestHeader)
    topics = consumers.topics_of_consumer(broker, header.group)
    return Reply(body=TopicList(topic_list=topics, broker_addr=format_host(broker.store_host)).encode())


def subscription_of_consumer(broker: Broker, call: Call) -> Reply:
    """345 QUERY_SUBSCRIPTION_BY_CONSUMER."""
    header = call.header
    assert isinstance(header, QuerySubscriptionByConsumerRequestHeader)
    subscription = consumers.subscription_of_consumer(broker, header.group, header.topic or "")
    body = QuerySubscriptionResponseBody(
        group=header.group, topic=header.topic, subscription_data=subscription
    )
    return Reply(body=body.encode())


def running_info(broker: Broker, call: Call) -> Deferred[Reply]:
    """307 GET_CONSUMER_RUNNING_INFO."""
    header = call.header
    assert isinstance(header, GetConsumerRunningInfoRequestHeader)
    asked = consumers.running_info(
        broker,
        header.consumer_group,
        header.client_id,
        jstack=header.jstack_enable,
        fields=call.command.ext_fields,
    )
    return asked.addCallback(_reply)


def consume_directly(broker: Broker, call: Call) -> Reply | Deferred[Reply]:
    """309 CONSUME_MESSAGE_DIRECTLY."""
    header = call.header
    assert isinstance(header, ConsumeMessageDirectlyResultRequestHeader)
    asked = consumers.consume_directly(
        broker,
        header.consumer_group,
        header.client_id or "",
        header.topic,
        header.msg_id or "",
        call.command.ext_fields,
        may_use=call.may_use,
    )
    return then(asked, _reply)


def consumer_status(broker: Broker, call: Call) -> Deferred[Reply]:
    """223 INVOKE_BROKER_TO_GET_CONSUMER_STATUS."""
    header = call.header
    assert isinstance(header, GetConsumerStatusRequestHeader)
    asked = consumers.consumer_status(broker, header.group, header.topic, header.client_addr)
    return asked.addCallback(lambda table: Reply(body=GetConsumerStatusBody(consumer_table=table).encode()))


def _reply(answer: ClientAnswer) -> Reply:
    return Reply(answer.code, body=answer.body, remark=answer.remark, ext=answer.fields)


def _connection(client: GroupClient) -> Connection:
    return Connection(
        client_id=client.client_id,
        client_addr=client.peer.address,
        language=client.language,
        version=client.version,
    )


def _producer(client: GroupClient) -> ProducerInfo:
    return ProducerInfo(
        client_id=client.client_id,
        remote_ip="/" + client.peer.address,  # as Java prints a socket address
        language=client.language,
        version=client.version,
        last_update_timestamp=client.last_update,
    )


REQUESTS: dict[int, LongRequestFunction] = {
    RequestCode.GET_CONSUMER_CONNECTION_LIST: consumer_connections,
    RequestCode.GET_PRODUCER_CONNECTION_LIST: producer_connections,
    RequestCode.GET_ALL_PRODUCER_INFO: all_producers,
    RequestCode.QUERY_TOPICS_BY_CONSUMER: topics_of_consumer,
    RequestCode.QUERY_SUBSCRIPTION_BY_CONSUMER: subscription_of_consumer,
    RequestCode.INVOKE_BROKER_TO_GET_CONSUMER_STATUS: consumer_status,
    RequestCode.GET_CONSUMER_RUNNING_INFO: running_info,
    RequestCode.CONSUME_MESSAGE_DIRECTLY: consume_directly,
}
