"""The live tail of a topic: its messages as they arrive.

It polls every half second, so that sends do not depend on it.
"""

from __future__ import annotations

from mqgateway.gateway.broker.operations import Use
from mqgateway.gateway.web import messages
from mqgateway.gateway.web.call import WebCall
from mqgateway.gateway.web.console import Console
from mqgateway.gateway.web.scan import SearchCriteria
from mqgateway.gateway.web.streams import Events, EventSource

TAIL_SECONDS = 0.5
A_LOOK_MAX = 100
"""Maximum number of messages shown of one poll; the number of the others is shown."""


def tail(console: Console, call: WebCall) -> EventSource:
    """Events called `message`, and `skipped` where more arrive than a person could read."""
    operations, topic = console.operations, call.path["topic"]
    operations.topics.known(topic)
    permit = console.permit(call, Use.QUERY)
    wanted = SearchCriteria(topic, tag=call.query["tag"], text=call.query["text"])
    seen = {queue: operations.offsets.range(topic, queue).end for queue in operations.topics.queues(topic)}

    def look() -> Events:
        events: Events = []
        skipped, left = 0, A_LOOK_MAX
        for queue_id in operations.topics.queues(topic):
            end = operations.offsets.range(topic, queue_id).end
            begin = max(seen.get(queue_id, 0), end - left)
            skipped += begin - seen.get(queue_id, 0)
            seen[queue_id] = end
            if begin >= end:
                continue
            left -= end - begin
            found = operations.queries.messages_in_memory(permit, topic, queue_id, begin, end)
            if found is None:
                skipped += end - begin
                continue
            events += [("message", messages.row(one)) for one in found if wanted.fits(one)]
        events.sort(key=lambda event: event[1]["storeTimestamp"])
        return [*events, ("skipped", {"messages": skipped})] if skipped else events

    return EventSource(TAIL_SECONDS, look)
