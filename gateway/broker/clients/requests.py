"""Requests of clients: 34 heartbeats, 35 unregistrations, 38 members of a group, 46 checks of expressions.

41 and 42 lock and unlock queues; 400 returns a client's queues, 401 and 402 set and return how groups read
topics. RocketMQ: `ClientManageProcessor`, `ConsumerManageProcessor`, `AdminBrokerProcessor`,
`QueryAssignmentProcessor`.
"""

from twisted.internet.defer import Deferred

from mqgateway.engine import lenient_json
from mqgateway.engine.steps import Steps
from mqgateway.gateway.broker.clients.outgoing_requests import RemotingOutgoing
from mqgateway.gateway.broker.operations import (
    Assignment,
    AssignmentQuery,
    GroupClient,
    Operations,
    Permit,
    Use,
)
from mqgateway.gateway.broker.translated import Translated
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


def heart_beat(operations: Operations, permit: Permit, call: Call) -> Steps[Reply]:
    """34 HEART_BEAT, read as a cooperative task; `IS_SUB_CHANGE` requests one with all subscriptions."""
    options, command, peer = operations.options, call.command, call.peer
    heartbeat = yield from HeartbeatData.read(
        call.body, options.max_groups_per_client, options.max_subscriptions_per_group
    )
    outgoing = RemotingOutgoing(peer, command.version)

    def new_client(client_id: str) -> GroupClient:
        return GroupClient(
            peer, client_id, command.language.name, command.version, outgoing, may_use=call.may_use
        )

    is_outdated = yield from operations.clients.registering(permit, peer, heartbeat, new_client)
    if is_outdated is None:
        return NO_REPLY
    changed = "true" if is_outdated else "false"
    return Reply(ext={"IS_SUPPORT_HEART_BEAT_V2": "true", "IS_SUB_CHANGE": changed})


def unregister_client(operations: Operations, permit: Permit, call: Call) -> Reply:
    """35 UNREGISTER_CLIENT, of a producer group, a consumer group, or both."""
    header = call.header
    assert isinstance(header, UnregisterClientRequestHeader)
    clients, peer = operations.clients, call.peer
    if header.producer_group is not None:
        clients.leave_producers(permit, peer, header.producer_group)
    if header.consumer_group is not None:
        clients.leave_consumers(permit, peer, header.client_id, header.consumer_group)
    return Reply()


def consumer_ids(operations: Operations, permit: Permit, call: Call) -> Reply:
    """38 GET_CONSUMER_LIST_BY_GROUP."""
    header = call.header
    assert isinstance(header, GetConsumerListByGroupRequestHeader)
    client_ids = operations.clients.members(permit, header.consumer_group)
    return Reply(body=GetConsumerListByGroupResponseBody(consumer_id_list=client_ids).encode())


def check_client_config(operations: Operations, permit: Permit, call: Call) -> Reply:
    """46 CHECK_CLIENT_CONFIG."""
    if not is_null(call.body):
        subscription = CheckClientRequestBody.decode(call.body).subscription_data
        if subscription is not None:
            operations.clients.check_subscription(permit, subscription)
    return Reply()


def lock_queues(operations: Operations, permit: Permit, call: Call) -> Reply:
    """41 LOCK_BATCH_MQ: return the queues the client now has."""
    body = LockBatchRequestBody.decode(call.body)
    locked = operations.clients.lock_queues(permit, body.consumer_group, body.client_id, body.mq_set)
    return Reply(body=LockBatchResponseBody(lock_ok_mq_set=locked).encode())


def unlock_queues(operations: Operations, permit: Permit, call: Call) -> Reply:
    """42 UNLOCK_BATCH_MQ: always succeeds; only the owner's locks are released."""
    body = UnlockBatchRequestBody.decode(call.body)
    operations.clients.unlock_queues(permit, body.consumer_group, body.client_id, body.mq_set)
    return Reply()


def query_assignment(operations: Operations, permit: Permit, call: Call) -> Deferred[Reply]:
    """400 QUERY_ASSIGNMENT: an answer without any list lets the client keep its current queues."""
    body = QueryAssignmentRequestBody.decode(call.body)
    query = AssignmentQuery(
        body.topic, body.consumer_group, body.client_id, body.strategy_name, body.message_model
    )
    return operations.clients.assignment(permit, query).addCallback(_assigned)


def set_mode(operations: Operations, permit: Permit, call: Call) -> Reply:
    """401 SET_MESSAGE_REQUEST_MODE."""
    body = SetMessageRequestModeRequestBody.decode(call.body)
    operations.clients.set_mode(permit, body.topic, body.consumer_group, body.mode, body.pop_share_queue_num)
    return Reply()


def all_modes(operations: Operations, permit: Permit, call: Call) -> Reply:
    """402 GET_ALL_MESSAGE_REQUEST_MODE: the content of messageRequestMode.json, for slaves."""
    return Reply(body=lenient_json.dumps(operations.clients.modes(permit)))


def _assigned(found: Assignment) -> Reply:
    assignments = None
    if found.queues is not None:
        assignments = [
            MessageQueueAssignment(message_queue=one, mode=found.mode.value) for one in found.queues
        ]
    return Reply(body=QueryAssignmentResponseBody(message_queue_assignments=assignments).encode())


REQUESTS: dict[int, Translated] = {
    RequestCode.HEART_BEAT: Translated(heart_beat, Use.CONNECT),
    RequestCode.UNREGISTER_CLIENT: Translated(unregister_client, Use.CONNECT),
    RequestCode.GET_CONSUMER_LIST_BY_GROUP: Translated(consumer_ids, Use.QUERY),
    RequestCode.CHECK_CLIENT_CONFIG: Translated(check_client_config, Use.QUERY),
    RequestCode.LOCK_BATCH_MQ: Translated(lock_queues, Use.LOCK),
    RequestCode.UNLOCK_BATCH_MQ: Translated(unlock_queues, Use.CONNECT),
    RequestCode.QUERY_ASSIGNMENT: Translated(query_assignment, Use.QUERY),
    RequestCode.SET_MESSAGE_REQUEST_MODE: Translated(set_mode, Use.ADMINISTER),
    RequestCode.GET_ALL_MESSAGE_REQUEST_MODE: Translated(all_modes, Use.QUERY),
}
"""Requests of clients by code."""
