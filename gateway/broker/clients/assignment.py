"""Assignment of queues by the broker: a client queries its queues and how to read them.

An operator chooses between pulling and popping for a group in a topic. RocketMQ: `QueryAssignmentProcessor`,
`AdminBrokerProcessor.getAllMessageRequestMode`.
"""

import logging
from collections.abc import Sequence
from typing import Any, NamedTuple

from twisted.internet.defer import Deferred

from mqgateway.engine.message import RETRY_PREFIX
from mqgateway.engine.options import RequestMode
from mqgateway.engine.tables.assignment import STRATEGIES, Mode, java_order, pops_everything, shared
from mqgateway.gateway.broker.broker import Broker
from mqgateway.gateway.broker.clients.members import BROADCASTING, CLUSTERING
from mqgateway.gateway.broker.errors import OperationError, Reason
from mqgateway.gateway.codec.bodies import MessageQueue

log = logging.getLogger(__name__)

ANY_QUEUE = -1
"""The queue id of all queues of a broker, if every client pops all of them."""


class AssignmentQuery(NamedTuple):
    """Query of a group's member for its queues of a topic; `strategy` is AVG or AVG_BY_CIRCLE.

    `message_model` is BROADCASTING or CLUSTERING.
    """

    topic: str
    group: str
    client_id: str
    strategy: str | None
    message_model: str | None


class Assignment(NamedTuple):
    """The queues of a client, and whether it pulls or pops them; None lets it keep its current ones."""

    queues: Sequence[MessageQueue] | None
    mode: RequestMode


def query_assignment(broker: Broker, query: AssignmentQuery) -> Deferred[Assignment]:
    """Return the queues of one client; it keeps its current ones if topic, group or strategy are unknown.

    Raises `OperationError` for an unknown message model.
    """
    if query.message_model not in (BROADCASTING, CLUSTERING):
        raise OperationError(Reason.SYSTEM_ERROR, f"there is no message model {query.message_model!s:.100}")
    mode = _mode(broker, query.topic, query.group)

    def assigned(queues: Sequence[MessageQueue] | None) -> Assignment:
        own = None if queues is None else _own_queues(broker, query, mode, queues)
        return Assignment(own, mode.mode)

    return broker.cluster.route_cache.of(query.topic).addCallback(assigned)


def set_mode(broker: Broker, topic: str, group: str, mode: str | None, share: int) -> None:
    """Set how a group reads a topic; a retry topic is always pulled. Raises `OperationError`.

    `mode` is PULL or POP, `share` the number of clients that pop each queue; 0 is all of them.
    """
    if topic.startswith(RETRY_PREFIX):
        raise OperationError(Reason.NO_PERMISSION, "retry topic is not allowed to set mode")
    if broker.tables.topics.get(topic) is None:
        raise OperationError(Reason.TOPIC_NOT_EXIST, f"topic[{topic}] not exist")
    if broker.tables.groups.find(group) is None:
        raise OperationError(Reason.SUBSCRIPTION_GROUP_NOT_EXIST, "subscription group does not exist")
    if mode is None:
        raise OperationError(Reason.SYSTEM_ERROR, "there is no such mode")
    if not broker.tables.request_modes.set(topic, group, Mode(RequestMode(mode), share)):
        most = broker.options.max_request_modes
        raise OperationError(
            Reason.SYSTEM_ERROR, f"{most} modes are kept, no more are allowed (maxRequestModes)"
        )


def all_modes(broker: Broker) -> dict[str, Any]:
    """Return the modes set by topic and group: the content of messageRequestMode.json, for slaves."""
    return broker.tables.request_modes.to_json()


def _mode(broker: Broker, topic: str, group: str) -> Mode:
    chosen = broker.tables.request_modes.get(topic, group)
    if chosen is not None:
        return chosen
    options = broker.options
    if topic.startswith(RETRY_PREFIX):
        return Mode(RequestMode.PULL, 0)
    return Mode(options.default_message_request_mode, options.default_pop_share_queue_num)


def _own_queues(
    broker: Broker, query: AssignmentQuery, mode: Mode, queues: Sequence[MessageQueue]
) -> Sequence[MessageQueue] | None:
    """Return the client's queues; members and queues are sorted in the same order on all brokers."""
    if query.message_model == BROADCASTING or not broker.options.server_load_balancer_enable:
        return queues
    clients = sorted(broker.clients.consumer_ids(query.group), key=java_order)
    strategy = STRATEGIES.get(query.strategy or "")
    if not clients or strategy is None:
        log.info(
            "%.100s of group %s is assigned no queues of topic %s: %s",
            query.client_id,
            query.group,
            query.topic,
            "the group is not online" if not clients else f"no strategy {query.strategy!s:.100}",
        )
        return None
    ordered = sorted(queues, key=lambda queue: (java_order(queue.broker_name), queue.queue_id))
    if mode.mode is RequestMode.POP:
        if pops_everything(mode.share, clients):
            names = dict.fromkeys(queue.broker_name for queue in ordered)
            return [MessageQueue(query.topic, name, ANY_QUEUE) for name in names]
        return shared(strategy, query.client_id, ordered, clients, mode.share) if ordered else None
    return strategy(query.client_id, ordered, clients) if ordered else None
