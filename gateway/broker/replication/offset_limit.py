"""The largest offset that a consumer group can have in a queue: the end of its log, if this broker has it."""

from __future__ import annotations

from typing import Final

from mqgateway.engine.tables.attributes import KAFKA_PARTITIONS
from mqgateway.engine.tables.partition_layout import ELSEWHERE, parse_layout
from mqgateway.gateway.broker.broker import Broker

OFFSET_MAX: Final = 2**63 - 1


def offset_limit(broker: Broker, topic: str, queue_id: int) -> int:
    """Return the end of a queue in the log. Other groups' partitions are not in it, and have no limit."""
    peers = broker.peers
    if peers is not None and (queue_id >= ELSEWHERE or peers.groups.may_be_foreign(topic)):
        return OFFSET_MAX
    if peers is not None and _has_left(broker, topic, queue_id):
        return OFFSET_MAX
    return broker.store.max_offset(topic, queue_id)


def _has_left(broker: Broker, topic: str, queue_id: int) -> bool:
    """Return True if the partition whose offsets are kept by a queue is not that queue any more."""
    config = broker.tables.topics.get(topic)
    layout = None if config is None else parse_layout(config.attributes.get(KAFKA_PARTITIONS, ""))
    if layout is None or not layout.moves:
        return False
    own = broker.options.broker_name
    return queue_id in layout.first_partitions(own) and queue_id not in layout.partitions(own)
