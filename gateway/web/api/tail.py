"""The live tail of a topic: its messages as they arrive.

It looks every half second, so nothing on the road of a message knows of it.
"""

from __future__ import annotations

from mqgateway.engine.store.cold import ColdRead
from mqgateway.engine.store.record import decode
from mqgateway.gateway.web import messages
from mqgateway.gateway.web.call import Call
from mqgateway.gateway.web.console import Console
from mqgateway.gateway.web.scan import Wanted
from mqgateway.gateway.web.streams import Events, Source

TAIL_SECONDS = 0.5
A_LOOK_MAX = 100
"""Messages shown of one look; how many are passed over is told."""


def tail(console: Console, call: Call) -> Source:
    """Events called `message`, and `skipped` where more arrive than a person could read."""
    broker, topic = console.broker, call.path["topic"]
    console.operations.topics.known(topic)
    wanted = Wanted(topic, tag=call.query["tag"], text=call.query["text"])
    seen = {queue: broker.store.max_offset(topic, queue) for queue in broker.store.queues().get(topic, ())}

    def look() -> Events:
        events: Events = []
        skipped, left = 0, A_LOOK_MAX
        for queue_id in sorted(broker.store.queues().get(topic, ())):
            end = broker.store.max_offset(topic, queue_id)
            begin = max(seen.get(queue_id, 0), end - left)
            skipped += begin - seen.get(queue_id, 0)
            seen[queue_id] = end
            if begin >= end:
                continue
            left -= end - begin
            try:
                units = broker.store.consume_queue_units(topic, queue_id, begin, end - begin, may_wait=False)
                records = [broker.store.record_at(place, may_wait=False) for place, _, _ in units]
            except ColdRead:
                skipped += end - begin
                continue
            found = (decode(record) for record in records if record is not None)
            events += [("message", messages.row(one)) for one in found if wanted.fits(one)]
        events.sort(key=lambda event: event[1]["storeTimestamp"])
        return [*events, ("skipped", {"messages": skipped})] if skipped else events

    return Source(TAIL_SECONDS, look)
