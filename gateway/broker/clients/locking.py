"""Locks and unlocks of queues by clients that consume them in order.

RocketMQ: `AdminBrokerProcessor.lockBatchMQ` and `unlockBatchMQ`.
"""

from collections.abc import Collection

from mqgateway.engine.clock import elapsed_millis
from mqgateway.gateway.broker.broker import Broker
from mqgateway.gateway.broker.errors import OperationError, Reason
from mqgateway.gateway.codec.bodies import MessageQueue


def lock_queues(
    broker: Broker, group: str, client_id: str, queues: Collection[MessageQueue]
) -> set[MessageQueue]:
    """Take or renew the locks of queues; return those that the client now has."""
    most = broker.options.max_name_length
    if max(len(group), len(client_id)) > most:
        raise OperationError(Reason.SYSTEM_ERROR, f"a group or a client id may have {most} characters")
    sane = [queue for queue in queues if len(queue.topic) + len(queue.broker_name) <= most]
    return set(broker.clients.locks.lock(group, client_id, sane, elapsed_millis(broker.clock)))


def unlock_queues(broker: Broker, group: str, client_id: str, queues: Collection[MessageQueue]) -> None:
    """Release the client's locks of queues; queues locked by other clients stay locked."""
    broker.clients.locks.unlock(group, client_id, queues)
