"""What administration asks of connected clients.

203, 204 and 328 show who is connected, 343 and 345 what a group consumes; 307 and 309 are passed on to the
consumer they name, and its answer back. Standard: `AdminBrokerProcessor`, `Broker2Client`.
"""

from typing import Any

from twisted.internet.defer import Deferred, DeferredList
from twisted.python.failure import Failure

from mqgateway.engine.message import format_host, parse_offset_message_id
from mqgateway.gateway.broker.broker import Broker
from mqgateway.gateway.broker.clients.table import Client
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
from mqgateway.gateway.codec.codes import V3_1_8_SNAPSHOT, RequestCode, ResponseCode, version_name
from mqgateway.gateway.codec.command import RemotingCommand
from mqgateway.gateway.codec.headers import (
    ConsumeMessageDirectlyResultRequestHeader,
    GetConsumerConnectionListRequestHeader,
    GetConsumerRunningInfoRequestHeader,
    GetConsumerStatusRequestHeader,
    GetProducerConnectionListRequestHeader,
    QuerySubscriptionByConsumerRequestHeader,
    QueryTopicsByConsumerRequestHeader,
)
from mqgateway.gateway.remoting.call import Call, Reply, RequestError
from mqgateway.gateway.remoting.exchange import RequestTimedOut

CLIENT_ANSWER_SECONDS = 10.0
"""How long a consumer may take to answer what is passed on to it. Standard: `Broker2Client.callClient`."""
STATUS_ANSWER_SECONDS = 5.0
"""The same for what is asked of all members. Standard: `Broker2Client.getConsumeStatus`."""


def consumer_connections(broker: Broker, call: Call) -> Reply:
    """203 GET_CONSUMER_CONNECTION_LIST: the members of a group and what it subscribes to."""
    header = call.header
    assert isinstance(header, GetConsumerConnectionListRequestHeader)
    group = broker.clients.consumer_group(header.consumer_group)
    if group is None:
        raise RequestError(
            ResponseCode.CONSUMER_NOT_ONLINE, f"the consumer group[{header.consumer_group}] not online"
        )
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
    clients = broker.clients.producer_groups.get(header.producer_group)
    if clients is None:
        raise RequestError(
            ResponseCode.SYSTEM_ERROR, f"the producer group[{header.producer_group}] not exist"
        )
    connections = [_connection(client) for client in clients.values()]
    return Reply(body=ProducerConnection(connection_set=connections).encode())


def all_producers(broker: Broker, call: Call) -> Reply:
    """328 GET_ALL_PRODUCER_INFO: every producer group with its clients."""
    data = {
        group: [
            ProducerInfo(
                client_id=client.client_id,
                remote_ip="/" + client.peer.address,  # as Java prints a socket address
                language=client.language,
                version=client.version,
                last_update_timestamp=client.last_update,
            )
            for client in clients.values()
        ]
        for group, clients in broker.clients.producer_groups.items()
    }
    return Reply(body=ProducerTableInfo(data=data).encode())


def topics_of_consumer(broker: Broker, call: Call) -> Reply:
    """343 QUERY_TOPICS_BY_CONSUMER: where a group has offsets."""
    header = call.header
    assert isinstance(header, QueryTopicsByConsumerRequestHeader)
    topics = broker.offsets.topics_of(header.group)
    return Reply(body=TopicList(topic_list=topics, broker_addr=format_host(broker.store_host)).encode())


def subscription_of_consumer(broker: Broker, call: Call) -> Reply:
    """345 QUERY_SUBSCRIPTION_BY_CONSUMER."""
    header = call.header
    assert isinstance(header, QuerySubscriptionByConsumerRequestHeader)
    subscription = broker.clients.subscription(header.group, header.topic or "")
    body = QuerySubscriptionResponseBody(
        group=header.group, topic=header.topic, subscription_data=subscription
    )
    return Reply(body=body.encode())


def consumer_running_info(broker: Broker, call: Call) -> Deferred[Reply]:
    """307 GET_CONSUMER_RUNNING_INFO: what a consumer is doing, told by itself."""
    header = call.header
    assert isinstance(header, GetConsumerRunningInfoRequestHeader)
    return _pass_on(broker, call, header.consumer_group, header.client_id, call.command.ext_fields, b"")


def consume_directly(broker: Broker, call: Call) -> Deferred[Reply]:
    """309 CONSUME_MESSAGE_DIRECTLY: a consumer is given one stored message, and tells what became of it."""
    header = call.header
    assert isinstance(header, ConsumeMessageDirectlyResultRequestHeader)
    fields = dict(call.command.ext_fields, brokerName=broker.options.broker_name)
    topic = broker.topics.get(header.topic) if header.topic else None
    if topic is not None:
        fields["topicSysFlag"] = str(topic.topic_sys_flag)
    group = broker.groups.find(header.consumer_group)
    if group is not None:
        fields["groupSysFlag"] = str(group.group_sys_flag)
    record = _record(broker, header.msg_id or "")
    return _pass_on(broker, call, header.consumer_group, header.client_id or "", fields, record)


def consumer_status(broker: Broker, call: Call) -> Deferred[Reply]:
    """223 INVOKE_BROKER_TO_GET_CONSUMER_STATUS: the offsets of a topic as each member sees them, or one does.

    Members that do not answer are left out. Standard: `Broker2Client.getConsumeStatus`.
    """
    header = call.header
    assert isinstance(header, GetConsumerStatusRequestHeader)
    group = broker.clients.consumer_group(header.group)
    if group is None:
        raise RequestError(
            ResponseCode.SYSTEM_ERROR, f"No Any Consumer online in the consumer group: [{header.group}]"
        )
    wanted = header.client_addr
    clients = [client for client in group.clients.values() if not wanted or client.client_id == wanted]
    question = GetConsumerStatusRequestHeader(topic=header.topic, group=header.group)
    asked = [
        client.peer.request(
            RemotingCommand.request(RequestCode.GET_CONSUMER_STATUS_FROM_CLIENT, question),
            STATUS_ANSWER_SECONDS,
        ).addCallback(lambda answer: GetConsumerStatusBody.decode(answer.body).message_queue_table)
        for client in clients
    ]

    def answered(outcomes: list[tuple[bool, Any]]) -> Reply:
        table = {
            client.client_id: found
            for client, (is_there, found) in zip(clients, outcomes, strict=True)
            if is_there
        }
        return Reply(body=GetConsumerStatusBody(consumer_table=table).encode())

    return DeferredList(asked, consumeErrors=True).addCallback(answered)


def _record(broker: Broker, message_id: str) -> bytes:
    try:
        offset = parse_offset_message_id(message_id)[2]
    except ValueError as error:
        raise RequestError(ResponseCode.SYSTEM_ERROR, f"msgId[{message_id}]: {error}") from None
    record = broker.store.record_at(offset)
    if record is None:
        raise RequestError(ResponseCode.SYSTEM_ERROR, f"can not find message by the offset, {offset}")
    return record


def _pass_on(
    broker: Broker, call: Call, group: str, client_id: str, fields: dict[str, str], body: bytes
) -> Deferred[Reply]:
    """Ask a consumer what we were asked, and give its answer back as it is."""
    client = broker.clients.consumer(group, client_id)
    if client is None:
        raise RequestError(ResponseCode.SYSTEM_ERROR, f"The Consumer <{group}> <{client_id}> not online")
    if client.version < V3_1_8_SNAPSHOT:
        raise RequestError(
            ResponseCode.SYSTEM_ERROR,
            f"The Consumer <{client_id}> Version <{version_name(client.version)}> too low to finish, "
            "please upgrade it to V3_1_8_SNAPSHOT",
        )
    command = RemotingCommand.request(call.command.code, body=body, ext=fields)
    return client.peer.request(command, CLIENT_ANSWER_SECONDS).addCallbacks(
        lambda answer: Reply(answer.code, body=answer.body, remark=answer.remark, ext=answer.ext_fields),
        _not_answered,
        errbackArgs=(group, client_id),
    )


def _not_answered(failure: Failure, group: str, client_id: str) -> Reply:
    error = failure.value
    name = type(error).__name__
    if isinstance(error, RequestTimedOut):
        remark = f"consumer <{group}> <{client_id}> Timeout: {name}, {error}"
        raise RequestError(ResponseCode.CONSUME_MSG_TIMEOUT, remark)
    raise RequestError(
        ResponseCode.SYSTEM_ERROR, f"invoke consumer <{group}> <{client_id}> Exception: {name}, {error}"
    )


def _connection(client: Client) -> Connection:
    return Connection(
        client_id=client.client_id,
        client_addr=client.peer.address,
        language=client.language,
        version=client.version,
    )
