"""The largest offset that a consumer group can have in a queue: the end of its log, if this broker has it."""

from __future__ import annotations

from typing import Final

from mqgateway.engine.tables.partition_layout import ELSEWHERE
from mqgateway.gateway.broker.broker import Broker

OFFSET_MAX: Final = 2**63 - 1


def offset_limit(broker: Broker, topic: str, queue_id: int) -> int:
    """Return the end of a queue in the log. Other groups' partitions are not in it, and have no limit."""
    peers = broker.peers
    if peers is not None and (queue_id >= ELSEWHERE or peers.groups.may_be_foreign(topic)):
        return OFFSET_MAX
    return broker.store.max_offset(topic, queue_id)
