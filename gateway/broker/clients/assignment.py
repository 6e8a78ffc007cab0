"""Queues shared out by the broker: 400 QUERY_ASSIGNMENT tells a client its own and how to read them.

401 SET_MESSAGE_REQUEST_MODE chooses between pulling and popping for a group in a topic, 402 shows what was
chosen. Standard: `QueryAssignmentProcessor`, `AdminBrokerProcessor.getAllMessageRequestMode`.
"""

import logging
from collections.abc import Sequence

from twisted.internet.defer import Deferred

from mqgateway.engine import lenient_json
from mqgateway.engine.message import RETRY_PREFIX
from mqgateway.engine.options import RequestMode
from mqgateway.engine.tables.assignment import STRATEGIES, Mode, java_order, pops_everything, shared
from mqgateway.gateway.broker.broker import Broker
from mqgateway.gateway.broker.clients.table import BROADCASTING, CLUSTERING
from mqgateway.gateway.codec.bodies import (
    MessageQueue,
    MessageQueueAssignment,
    QueryAssignmentRequestBody,
    QueryAssignmentResponseBody,
    SetMessageRequestModeRequestBody,
)
from mqgateway.gateway.codec.codes import ResponseCode
from mqgateway.gateway.remoting.call import Call, Reply, RequestError

log = logging.getLogger(__name__)

ANY_QUEUE = -1
"""The queue id that stands for all queues of a broker, where every client pops all of them."""


def query_assignment(broker: Broker, call: Call) -> Deferred[Reply]:
    """The queues of one client. An answer without any list tells it to keep those it has.

    It is given so when the topic, the group or the way to share is not known.
    """
    told = QueryAssignmentRequestBody.decode(call.body)
    if told.message_model not in (BROADCASTING, CLUSTERING):
        raise RequestError(
            ResponseCode.SYSTEM_ERROR, f"there is no message model {told.message_model!s:.100}"
        )
    mode = _mode(broker, told.topic, told.consumer_group)

    def answer(queues: Sequence[MessageQueue] | None) -> Reply:
        own = None if queues is None else _own_queues(broker, told, mode, queues)
        assignments = None
        if own is not None:
            assignments = [MessageQueueAssignment(message_queue=one, mode=mode.mode.value) for one in own]
        return Reply(body=QueryAssignmentResponseBody(message_queue_assignments=assignments).encode())

    return broker.topic_queues.of(told.topic).addCallback(answer)


def set_mode(broker: Broker, call: Call) -> Reply:
    """401: a retry topic is always pulled."""
    told = SetMessageRequestModeRequestBody.decode(call.body)
    topic, group = told.topic, told.consumer_group
    if topic.startswith(RETRY_PREFIX):
        raise RequestError(ResponseCode.NO_PERMISSION, "retry topic is not allowed to set mode")
    if broker.topics.get(topic) is None:
        raise RequestError(ResponseCode.TOPIC_NOT_EXIST, f"topic[{topic}] not exist")
    if broker.groups.find(group) is None:
        raise RequestError(ResponseCode.SUBSCRIPTION_GROUP_NOT_EXIST, "subscription group does not exist")
    if told.mode is None:
        raise RequestError(ResponseCode.SYSTEM_ERROR, "there is no such mode")
    mode = Mode(RequestMode(told.mode), told.pop_share_queue_num)
    if not broker.request_modes.set(topic, group, mode):
        most = broker.options.max_request_modes
        raise RequestError(
            ResponseCode.SYSTEM_ERROR, f"{most} modes are kept, no more are allowed (maxRequestModes)"
        )
    return Reply()


def all_modes(broker: Broker, call: Call) -> Reply:
    """402 GET_ALL_MESSAGE_REQUEST_MODE: messageRequestMode.json, for slaves."""
    return Reply(body=lenient_json.dumps(broker.request_modes.to_json()))


def _mode(broker: Broker, topic: str, group: str) -> Mode:
    chosen = broker.request_modes.get(topic, group)
    if chosen is not None:
        return chosen
    options = broker.options
    if topic.startswith(RETRY_PREFIX):
        return Mode(RequestMode.PULL, 0)
    return Mode(options.default_message_request_mode, options.default_pop_share_queue_num)


def _own_queues(
    broker: Broker, told: QueryAssignmentRequestBody, mode: Mode, queues: Sequence[MessageQueue]
) -> Sequence[MessageQueue] | None:
    """Those of the client, where the members and the queues are in the order all brokers see them in."""
    if told.message_model == BROADCASTING or not broker.options.server_load_balancer_enable:
        return queues
    clients = sorted(broker.clients.consumer_ids(told.consumer_group), key=java_order)
    strategy = STRATEGIES.get(told.strategy_name or "")
    if not clients or strategy is None:
        log.info(
            "%.100s of group %s gets no queues of topic %s: %s",
            told.client_id,
            told.consumer_group,
            told.topic,
            "the group is not online" if not clients else f"no strategy {told.strategy_name!s:.100}",
        )
        return None
    ordered = sorted(queues, key=lambda queue: (java_order(queue.broker_name), queue.queue_id))
    if mode.mode is RequestMode.POP:
        if pops_everything(mode.share, clients):
            names = dict.fromkeys(queue.broker_name for queue in ordered)
            return [MessageQueue(told.topic, name, ANY_QUEUE) for name in names]
        return shared(strategy, told.client_id, ordered, clients, mode.share) if ordered else None
    return strategy(told.client_id, ordered, clients) if ordered else None
