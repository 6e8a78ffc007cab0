"""The rights that requests of Kafka need, and the operations that a client is allowed as Kafka's bits.

Standard: `AclOperation`, `AclEntry.supportedOperations`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from mqgateway.gateway.access.needs import Need
from mqgateway.gateway.access.policies import Action, cluster, group, topic
from mqgateway.gateway.broker.operations import NotAdmitted, Operations, Use
from mqgateway.gateway.kafka.call import KafkaCall
from mqgateway.gateway.kafka.codec.error_codes import ErrorCode

NOT_ASKED = -(2**31)
"""Stands for allowed operations that were not asked for."""

_READ, _WRITE, _CREATE, _DELETE, _ALTER, _DESCRIBE = 3, 4, 5, 6, 7, 8
_CLUSTER_ACTION, _DESCRIBE_CONFIGS, _ALTER_CONFIGS, _IDEMPOTENT_WRITE = 9, 10, 11, 12

_TOPIC = {
    _READ: Action.SUB,
    _WRITE: Action.PUB,
    _CREATE: Action.CREATE,
    _DELETE: Action.DELETE,
    _ALTER: Action.UPDATE,
    _DESCRIBE: Action.GET,
    _DESCRIBE_CONFIGS: Action.GET,
    _ALTER_CONFIGS: Action.UPDATE,
}
_GROUP = {
    _READ: Action.SUB,
    _DELETE: Action.DELETE,
    _DESCRIBE: Action.GET,
    _DESCRIBE_CONFIGS: Action.GET,
    _ALTER_CONFIGS: Action.UPDATE,
}
_CLUSTER = {
    _CREATE: Action.CREATE,
    _ALTER: Action.UPDATE,
    _DESCRIBE: Action.GET,
    _CLUSTER_ACTION: Action.UPDATE,
    _DESCRIBE_CONFIGS: Action.GET,
    _ALTER_CONFIGS: Action.UPDATE,
    _IDEMPOTENT_WRITE: Action.CREATE,
}


READING = (Action.SUB,)
WRITING = (Action.PUB,)
VISIBLE = (Action.GET, Action.SUB, Action.PUB)
"""One of them allows a client to know of a topic: who may read or write it may."""


def on_topic(store_name: str, *actions: Action) -> Need:
    """Return the need of one of the actions on a topic, by RocketMQ's name."""
    return Need(topic(store_name), actions)


def on_group(store_name: str, *actions: Action) -> Need:
    """Return the need of one of the actions on a group, by RocketMQ's name."""
    return Need(group(store_name), actions)


def on_cluster(operations: Operations, *actions: Action) -> Need:
    """Return the need of one of the actions on the cluster."""
    return Need(cluster(operations.options.broker_cluster_name), actions)


def cluster_refusal(call: KafkaCall, operations: Operations, action: Action) -> tuple[ErrorCode, str] | None:
    """Return code and reason if a client may not do this to the cluster, None if it may."""
    try:
        call.admit(Use.QUERY, on_cluster(operations, action))
    except NotAdmitted as error:
        return ErrorCode.CLUSTER_AUTHORIZATION_FAILED, str(error)
    return None


def shows_topic(call: KafkaCall, store_name: str) -> bool:
    """Return True if the client may know of a topic."""
    return _may(call, on_topic(store_name, *VISIBLE))


def reads_topic(call: KafkaCall, store_name: str) -> bool:
    """Return True if the client may read a topic."""
    return _may(call, on_topic(store_name, *READING))


def topic_bits(call: KafkaCall, store_name: str) -> int:
    """Return the operations that a client is allowed on a topic."""
    return _bits(call, _TOPIC, lambda action: on_topic(store_name, action))


def group_bits(call: KafkaCall, store_name: str) -> int:
    """Return the operations that a client is allowed on a group."""
    return _bits(call, _GROUP, lambda action: on_group(store_name, action))


def cluster_bits(call: KafkaCall, operations: Operations) -> int:
    """Return the operations that a client is allowed on the cluster."""
    return _bits(call, _CLUSTER, lambda action: on_cluster(operations, action))


def _bits(call: KafkaCall, operations: Mapping[int, Action], need_of: Callable[[Action], Need]) -> int:
    allowed = {action: _may(call, need_of(action)) for action in set(operations.values())}
    return sum(1 << operation for operation, action in operations.items() if allowed[action])


def _may(call: KafkaCall, need: Need) -> bool:
    try:
        call.admit(Use.QUERY, need)
    except NotAdmitted:
        return False
    return True
