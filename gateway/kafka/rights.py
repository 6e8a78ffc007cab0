"""The rights that requests of Kafka need, and the operations that a client is allowed as Kafka's bits.

Standard: `AclOperation`, `AclEntry.supportedOperations`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final

from mqgateway.gateway.access.bindings import ACTIONS
from mqgateway.gateway.access.needs import Need
from mqgateway.gateway.access.operations import AclOperation
from mqgateway.gateway.access.policies import ResourceType, any_one, cluster, group, literal, topic
from mqgateway.gateway.broker.operations import NotAdmitted, Operations, Permit, Use
from mqgateway.gateway.kafka.call import KafkaCall
from mqgateway.gateway.kafka.codec.error_codes import ErrorCode
from mqgateway.gateway.kafka.group_names import store_group

NOT_ASKED = -(2**31)
"""Stands for allowed operations that were not asked for."""

BITS: Final = {operation: code for code, operation in enumerate(AclOperation, start=2)}
"""The codes of operations, which are the numbers of their bits."""

_TOPIC: Final = (
    AclOperation.READ,
    AclOperation.WRITE,
    AclOperation.CREATE,
    AclOperation.DELETE,
    AclOperation.ALTER,
    AclOperation.DESCRIBE,
    AclOperation.DESCRIBE_CONFIGS,
    AclOperation.ALTER_CONFIGS,
)
_GROUP: Final = (
    AclOperation.READ,
    AclOperation.DELETE,
    AclOperation.DESCRIBE,
    AclOperation.DESCRIBE_CONFIGS,
    AclOperation.ALTER_CONFIGS,
)
_CLUSTER: Final = (
    AclOperation.CREATE,
    AclOperation.ALTER,
    AclOperation.DESCRIBE,
    AclOperation.CLUSTER_ACTION,
    AclOperation.DESCRIBE_CONFIGS,
    AclOperation.ALTER_CONFIGS,
    AclOperation.IDEMPOTENT_WRITE,
)

READING: Final = AclOperation.READ
WRITING: Final = AclOperation.WRITE
VISIBLE: Final = AclOperation.DESCRIBE
"""Allows a client to know of a topic: who may read or write it may."""


def on_topic(store_name: str, operation: AclOperation) -> Need:
    """Return the need of an operation on a topic, by RocketMQ's name."""
    return Need(topic(store_name), ACTIONS[operation], operation)


def on_group(store_name: str, operation: AclOperation) -> Need:
    """Return the need of an operation on a group, by RocketMQ's name."""
    return Need(group(store_name), ACTIONS[operation], operation)


def on_transactional_id(transactional_id: str, operation: AclOperation) -> Need:
    """Return the need of an operation on a transactional id."""
    return on_named(ResourceType.TRANSACTIONAL_ID, transactional_id, operation)


def on_named(kind: ResourceType, name: str, operation: AclOperation) -> Need:
    """Return the need of an operation on a transactional id, a delegation token, or a user (`User:NAME`)."""
    return Need(literal(kind, store_group(name)), ACTIONS[operation], operation)


def on_cluster(operations: Operations, operation: AclOperation) -> Need:
    """Return the need of an operation on the cluster."""
    return Need(cluster(operations.options.broker_cluster_name), ACTIONS[operation], operation)


def on_any_topic(operation: AclOperation) -> Need:
    """Return the need of an operation on any one topic."""
    return Need(any_one(ResourceType.TOPIC), ACTIONS[operation], operation)


def cluster_refusal(
    call: KafkaCall, operations: Operations, operation: AclOperation
) -> tuple[ErrorCode, str] | None:
    """Return code and reason if a client may not do this to the cluster, None if it may."""
    try:
        call.admit(Use.QUERY, on_cluster(operations, operation))
    except NotAdmitted as error:
        return ErrorCode.CLUSTER_AUTHORIZATION_FAILED, str(error)
    return None


def admit_one(call: KafkaCall, use: Use, *needs: Need) -> Permit:
    """Admit a request that needs one of these rights. Raises `NotAdmitted`, `OperationError`."""
    *others, last = needs
    for need in others:
        try:
            return call.admit(use, need)
        except NotAdmitted:
            continue
    return call.admit(use, last)


def shows_topic(call: KafkaCall, store_name: str) -> bool:
    """Return True if the client may know of a topic."""
    return may(call, on_topic(store_name, VISIBLE))


def reads_topic(call: KafkaCall, store_name: str) -> bool:
    """Return True if the client may read a topic."""
    return may(call, on_topic(store_name, READING))


def topic_bits(call: KafkaCall, store_name: str) -> int:
    """Return the operations that a client is allowed on a topic."""
    return _bits(call, _TOPIC, lambda one: on_topic(store_name, one))


def group_bits(call: KafkaCall, store_name: str) -> int:
    """Return the operations that a client is allowed on a group."""
    return _bits(call, _GROUP, lambda one: on_group(store_name, one))


def cluster_bits(call: KafkaCall, operations: Operations) -> int:
    """Return the operations that a client is allowed on the cluster."""
    return _bits(call, _CLUSTER, lambda one: on_cluster(operations, one))


def _bits(
    call: KafkaCall, operations: Iterable[AclOperation], need_of: Callable[[AclOperation], Need]
) -> int:
    return sum(1 << BITS[operation] for operation in operations if may(call, need_of(operation)))


def may(call: KafkaCall, need: Need) -> bool:
    """Return True if the client has a right."""
    try:
        call.admit(Use.QUERY, need)
    except NotAdmitted:
        return False
    return True
