"""Committed offsets of consumer groups.

RocketMQ: `ConsumerManageProcessor`, `AdminBrokerProcessor.cloneGroupOffset` and `getAllConsumerOffset`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mqgateway.gateway.broker.consume.initial_offset import begins_fresh
from mqgateway.gateway.broker.errors import OperationError, Reason

if TYPE_CHECKING:
    from mqgateway.gateway.broker.broker import Broker


def query_offset(
    broker: Broker, group: str, topic: str, queue_id: int, *, set_zero_if_not_found: bool = True
) -> int:
    """Return the queue offset that the group has committed.

    A group that never committed starts at 0 if the queue still has its first message and that is probably in
    memory. Otherwise, and always without `set_zero_if_not_found`, `OperationError` (QUERY_NOT_FOUND) is
    raised, and the client's own settings decide.
    """
    offset = broker.tables.offsets.query(group, topic, queue_id)
    if offset >= 0:
        return offset
    if not set_zero_if_not_found:
        raise OperationError(
            Reason.QUERY_NOT_FOUND, "Not found, do not set to zero, maybe this group boot first"
        )
    if not begins_fresh(broker, topic, queue_id):
        raise OperationError(
            Reason.QUERY_NOT_FOUND, "Not found, V3_0_6_SNAPSHOT maybe this group consumer boot first"
        )
    return 0


def update_offset(broker: Broker, group: str, topic: str, queue_id: int, offset: int) -> bool:
    """Commit an offset; return False, without a commit, while an administrator's reset is pending.

    The group's next pull takes the reset. Raises `OperationError` if the group or topic does not exist, or if
    `maxOffsets` offsets are stored.
    """
    check_names(broker, group, topic)
    offsets = broker.tables.offsets
    if broker.options.use_server_side_reset_offset and offsets.has_reset(group, topic, queue_id):
        return False
    if not offsets.commit(group, topic, queue_id, offset):
        most = broker.options.max_offsets
        raise OperationError(
            Reason.SYSTEM_ERROR, f"{most} offsets are kept, no more are allowed (maxOffsets)"
        )
    return True


def check_names(broker: Broker, group: str, topic: str) -> None:
    """Raise `OperationError` for a group or topic that does not exist."""
    if group not in broker.tables.groups:
        raise OperationError(Reason.SUBSCRIPTION_GROUP_NOT_EXIST, f"Group {group} not exist!")
    if broker.tables.topics.get(topic) is None and not _is_foreign(broker, topic):
        raise OperationError(Reason.TOPIC_NOT_EXIST, f"Topic {topic} not exist!")


def _is_foreign(broker: Broker, topic: str) -> bool:
    """Return True for a topic of another group of the Kafka cluster, whose offsets are committed here."""
    return broker.peers is not None and broker.peers.groups.foreign(topic) is not None


def clone_offset(
    broker: Broker, source: str, destination: str, topic: str | None = None, *, is_offline: bool = False
) -> None:
    """Copy the offsets of one group to another, of one topic or of all topics that the source consumes.

    Topics that do not exist are skipped. Unless `is_offline`, so are topics to which a connected source group
    does not subscribe.
    """
    for name in [topic] if topic else sorted(broker.tables.offsets.topics_of(source)):
        if broker.tables.topics.get(name) is None:
            continue
        left = broker.clients.subscription_count(source) > 0 and (
            broker.clients.subscription(source, name) is None
        )
        if is_offline or not left:
            broker.tables.offsets.clone(source, destination, name)


def all_offsets(broker: Broker) -> dict[str, Any]:
    """Return the whole table, in the form of consumerOffset.json."""
    return broker.tables.offsets.to_json()
