"""Clients by request: 34 heartbeats, 35 farewells, 38 who is in a group, 46 expressions tried.

41 and 42 lock and unlock queues; 400 tells a client its queues, 401 and 402 set and show how groups read
topics. Standard: `ClientManageProcessor`, `ConsumerManageProcessor`, `AdminBrokerProcessor`,
`QueryAssignmentProcessor`.
"""

from twisted.internet.defer import Deferred

from mqgateway.engine import lenient_json
from mqgateway.engine.steps import Steps
from mqgateway.gateway.broker.broker import Broker
from mqgateway.gateway.broker.clients import assignment, heartbeats, locking
from mqgateway.gateway.broker.clients.outgoing_requests import RemotingOutgoing
from mqgateway.gateway.broker.clients.table import Client
from mqgateway.gateway.broker.needs import Needs, Request
from mqgateway.gateway.codec.bodies import (
    CheckClientRequestBody,
    GetConsumerListByGroupResponseBody,
    HeartbeatData,
    LockBatchRequestBody,
    LockBatchResponseBody,
    MessageQueueAssignment,
    QueryAssignmentRequestBody,
    QueryAssignmentResponseBody,
    SetMessageRequestModeRequestBody,
    UnlockBatchRequestBody,
)
from mqgateway.gateway.codec.bodies.body import is_null
from mqgateway.gateway.codec.codes import RequestCode
from mqgateway.gateway.codec.headers import GetConsumerListByGroupRequestHeader, UnregisterClientRequestHeader
from mqgateway.gateway.remoting.call import NO_REPLY, Call, Reply


def heart_beat(broker: Broker, call: Call) -> Steps[Reply]:
    """34 HEART_BEAT, read in steps; `IS_SUB_CHANGE` asks for a heartbeat with all subscriptions."""
    options, command, peer = broker.options, call.command, call.peer
    heartbeat = yield from HeartbeatData.read(
        call.body, options.max_groups_per_client, options.max_subscriptions_per_group
    )
    outgoing = RemotingOutgoing(peer, command.version)

    def new_client(client_id: str) -> Client:
        return Client(peer, client_id, command.language.name, command.version, outgoing, may_use=call.may_use)

    is_outdated = yield from heartbeats.heart_beat(broker, peer, heartbeat, new_client)
    if is_outdated is None:
        return NO_REPLY
    changed = "true" if is_outdated else "false"
    return Reply(ext={"IS_SUPPORT_HEART_BEAT_V2": "true", "IS_SUB_CHANGE": changed})


def unregister_client(broker: Broker, call: Call) -> Reply:
    """35 UNREGISTER_CLIENT, of a producer group, a consumer group, or both."""
    header = call.header
    assert isinstance(header, UnregisterClientRequestHeader)
    if header.producer_group is not None:
        heartbeats.unregister_producer(broker, call.peer, header.producer_group)
    if header.consumer_group is not None:
        heartbeats.unregister_consumer(broker, call.peer, header.client_id, header.consumer_group)
    return Reply()


def consumer_ids(broker: Broker, call: Call) -> Reply:
    """38 GET_CONSUMER_LIST_BY_GROUP."""
    header = call.header
    assert isinstance(header, GetConsumerListByGroupRequestHeader)
    client_ids = heartbeats.consumer_ids(broker, header.consumer_group)
    return Reply(body=GetConsumerListByGroupResponseBody(consumer_id_list=client_ids).encode())


def check_client_config(broker: Broker, call: Call) -> Reply:
    """46 CHECK_CLIENT_CONFIG."""
    if not is_null(call.body):
        subscription = CheckClientRequestBody.decode(call.body).subscription_data
        if subscription is not None:
            heartbeats.check_subscription(broker, subscription)
    return Reply()


def lock_queues(broker: Broker, call: Call) -> Reply:
    """41 LOCK_BATCH_MQ: answers the queues the client now has."""
    body = LockBatchRequestBody.decode(call.body)
    locked = locking.lock_queues(broker, body.consumer_group, body.client_id, body.mq_set)
    return Reply(body=LockBatchResponseBody(lock_ok_mq_set=locked).encode())


def unlock_queues(broker: Broker, call: Call) -> Reply:
    """42 UNLOCK_BATCH_MQ: always succeeds; only the owner's locks go."""
    body = UnlockBatchRequestBody.decode(call.body)
    locking.unlock_queues(broker, body.consumer_group, body.client_id, body.mq_set)
    return Reply()


def query_assignment(broker: Broker, call: Call) -> Deferred[Reply]:
    """400 QUERY_ASSIGNMENT: an answer without any list tells the client to keep the queues it has."""
    body = QueryAssignmentRequestBody.decode(call.body)
    query = assignment.AssignmentQuery(
        body.topic, body.consumer_group, body.client_id, body.strategy_name, body.message_model
    )
    return assignment.query_assignment(broker, query).addCallback(_assigned)


def set_mode(broker: Broker, call: Call) -> Reply:
    """401 SET_MESSAGE_REQUEST_MODE."""
    body = SetMessageRequestModeRequestBody.decode(call.body)
    assignment.set_mode(broker, body.topic, body.consumer_group, body.mode, body.pop_share_queue_num)
    return Reply()


def all_modes(broker: Broker, call: Call) -> Reply:
    """402 GET_ALL_MESSAGE_REQUEST_MODE: messageRequestMode.json, for slaves."""
    return Reply(body=lenient_json.dumps(assignment.all_modes(broker)))


def _assigned(found: assignment.Assignment) -> Reply:
    assignments = None
    if found.queues is not None:
        assignments = [
            MessageQueueAssignment(message_queue=one, mode=found.mode.value) for one in found.queues
        ]
    return Reply(body=QueryAssignmentResponseBody(message_queue_assignments=assignments).encode())


REQUESTS: dict[int, Request] = {
    RequestCode.HEART_BEAT: Request(heart_beat, Needs.NOTHING),
    RequestCode.UNREGISTER_CLIENT: Request(unregister_client, Needs.NOTHING),
    RequestCode.GET_CONSUMER_LIST_BY_GROUP: Request(consumer_ids, Needs.NOTHING),
    RequestCode.CHECK_CLIENT_CONFIG: Request(check_client_config, Needs.NOTHING),
    RequestCode.LOCK_BATCH_MQ: Request(lock_queues, Needs.NOT_FENCED),
    RequestCode.UNLOCK_BATCH_MQ: Request(unlock_queues, Needs.NOTHING),
    RequestCode.QUERY_ASSIGNMENT: Request(query_assignment, Needs.NOTHING),
    RequestCode.SET_MESSAGE_REQUEST_MODE: Request(set_mode, Needs.NOT_FENCED),
    RequestCode.GET_ALL_MESSAGE_REQUEST_MODE: Request(all_modes, Needs.NOTHING),
}
