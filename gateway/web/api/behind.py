"""How far groups are behind: counted from what they committed, whether anybody is connected or not."""

from __future__ import annotations

from mqgateway.gateway.broker.broker import Broker


def behind(broker: Broker, topic: str, group: str) -> int:
    """Messages of a topic that a group has not consumed, those given out by pops included."""
    store, offsets = broker.store, broker.tables.offsets.queues_of(group, topic)
    lag = sum(max(0, store.max_offset(topic, queue_id) - offset) for queue_id, offset in offsets.items())
    config = broker.tables.groups.get(group)
    if config is not None and not config.consume_message_orderly:
        in_flight = broker.pop.log.in_flight
        lag += sum(in_flight.count((topic, group, queue_id)) for queue_id in offsets)
    return lag
