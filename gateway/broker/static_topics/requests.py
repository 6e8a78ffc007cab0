"""Sends to static topics: 10, 310 and 320.

A message goes to the last piece of its queue; the producer is told the number and offset of the queue.
Standard: `SendMessageProcessor`, its `rewriteRequestForStaticTopic` and `rewriteResponseForStaticTopic`.
"""

from __future__ import annotations

from collections.abc import Generator
from functools import partial, wraps
from typing import Any

from mqgateway.engine.static_topics.pieces import Piece
from mqgateway.gateway.broker.broker import Broker
from mqgateway.gateway.broker.outcomes import then, then_in_steps
from mqgateway.gateway.broker.static_topics.state import LogicalQueue, changed, led_queue
from mqgateway.gateway.remoting.call import Call, Reply
from mqgateway.gateway.remoting.dispatch import LongRequestFunction, Served


def sending(plain: LongRequestFunction) -> LongRequestFunction:
    """A request function for sends that serves static topics, too."""

    @wraps(plain)
    def send(broker: Broker, call: Call) -> Served:
        header: Any = call.header
        if not broker.mappings.table or header.lo is False:
            return plain(broker, call)
        queue = led_queue(broker.mappings, header.topic, header.queue_id, chooses=True)
        if queue is None:
            return plain(broker, call)
        leader = queue.leader
        inner = changed(header, queue_id=leader.queue_id)
        reply = plain(broker, Call(call.command, inner, call.body, call.peer, call.now))
        as_logical = partial(_as_logical, queue, leader)
        return then_in_steps(reply, as_logical) if isinstance(reply, Generator) else then(reply, as_logical)

    return send


def _as_logical(queue: LogicalQueue, leader: Piece, reply: Reply) -> Reply:
    """The offset is -1 as long as nobody has said where the piece begins."""
    if reply.ext is not None:
        offset = leader.logical_inside(int(reply.ext["queueOffset"]))
        reply.ext |= {"queueId": str(queue.queue_id), "queueOffset": str(offset)}
    return reply
