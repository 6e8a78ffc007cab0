"""How far groups are behind: counted from what they committed, whether anybody is connected or not."""

from __future__ import annotations

from mqgateway.gateway.broker.broker import Broker


def behind(broker: Broker, topic: str, group: str) -> int:
    """Messages of a topic that a group has not consumed, those given out by pops included."""
    ends, offsets = broker.store.max_offsets(topic), broker.tables.offsets.queues_of(group, topic)
    lag = sum([max(0, ends.get(queue_id, 0) - offset) for queue_id, offset in offsets.items()])
    in_flight = broker.pop.log.in_flight
    if len(in_flight):
        config = broker.tables.groups.get(group)
        if config is not None and not config.consume_message_orderly:
            lag += sum(in_flight.count((topic, group, queue_id)) for queue_id in offsets)
    return lag
