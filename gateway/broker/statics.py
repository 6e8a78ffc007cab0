"""Which requests are about a static topic, and how a request for one of its queues reaches a broker's queue.

A queue of a static topic lies in pieces on several brokers (`engine.mapping`). Clients ask the broker that
leads it; that broker turns number and offsets into those of a broker's queue, and serves the request itself
or lets the broker do so that has the piece. A request that says `lo=false` is of the second kind and taken
as it is. `static` puts this in front of a request function that knows nothing of it.
Standard: `TopicQueueMappingManager`, `TopicQueueMappingContext`.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from functools import wraps
from typing import Any, TypeVar

from twisted.internet.defer import Deferred

from mqgateway.engine.mapping.pieces import Piece, piece_after, piece_at
from mqgateway.engine.steps import Steps
from mqgateway.gateway.broker.broker import Broker
from mqgateway.gateway.codec.codes import ResponseCode
from mqgateway.gateway.codec.command import RemotingCommand
from mqgateway.gateway.remoting.call import Call, Reply, RequestError
from mqgateway.gateway.remoting.dispatch import LongRequestFunction, Served

NOT_HERE = "does not exit in request process of current broker {broker}"  # as the standard spells it
"""What is said of a queue that another broker leads."""


class Place:
    """A queue of a static topic that this broker leads: its number, and its pieces."""

    __slots__ = ("broker_name", "pieces", "queue_id", "topic")

    def __init__(self, topic: str, broker_name: str, queue_id: int, pieces: list[Piece]) -> None:
        self.topic = topic
        self.broker_name = broker_name
        self.queue_id = queue_id
        self.pieces = pieces

    @property
    def leader(self) -> Piece:
        """The piece that is written to."""
        return self.pieces[-1]

    @property
    def is_plain(self) -> bool:
        """Whether the queue never moved, so that its offsets are those of the broker's queue."""
        return len(self.pieces) == 1 and self.leader.logic_offset == 0

    def is_here(self, piece: Piece) -> bool:
        """Whether a piece lies on this broker."""
        return piece.broker_name == self.broker_name

    def at(self, offset: int) -> Piece:
        """The piece an offset lies in; the first for one before all. Raises `RequestError` if none is."""
        found = piece_at(self.pieces, offset)
        if found is None:
            raise RequestError(
                ResponseCode.SYSTEM_ERROR, f"it is not known where queue {self.queue_id} begins"
            )
        return found

    def after(self, piece: Piece) -> Piece | None:
        """The next piece, once it is known where that begins."""
        return piece_after(self.pieces, piece)


Plain = TypeVar("Plain", bound=LongRequestFunction)


def static(
    plain: Plain,
    mapped: Callable[[Broker, Call, Place, Plain], Served],
    *,
    refusal: str = NOT_HERE,
    chooses: bool = False,
) -> LongRequestFunction:
    """A request function that serves static topics too: by `mapped`, which is given the plain function.

    `refusal` is said of queues that others lead; with `chooses` a negative number means any queue.
    """

    @wraps(plain)
    def serve(broker: Broker, call: Call) -> Served:
        if broker.mappings.table:
            place = _place(broker, call, refusal, chooses)
            if place is not None:
                return mapped(broker, call, place, plain)
        return plain(broker, call)

    return serve


def _place(broker: Broker, call: Call, refusal: str, chooses: bool) -> Place | None:
    """The queue a request is about; None when its topic is not static. Raises 501 if others lead it."""
    header: Any = call.header
    mapping = broker.mappings.table.get(header.topic)
    if mapping is None or header.lo is False:
        return None
    queue_id = header.queue_id
    if queue_id < 0 and chooses:
        queue_id = next(filter(mapping.leads, mapping.queues), queue_id)
    if not mapping.leads(queue_id):
        why = refusal.format(broker=mapping.broker_name, code=int(call.command.code))
        raise RequestError(ResponseCode.NOT_LEADER_FOR_QUEUE, f"{header.topic}-{queue_id} {why}")
    return Place(mapping.topic, mapping.broker_name, queue_id, mapping.queues[queue_id])


def changed(call: Call, **fields: Any) -> Call:
    """The same request with other fields in its header."""
    header = copy(call.header)
    for name, value in fields.items():
        setattr(header, name, value)
    return Call(call.command, header, call.body, call.peer, call.now)


def forwarded(broker: Broker, piece: Piece, code: int, call: Call) -> Deferred[RemotingCommand]:
    """The answer of the broker that has a piece, to a request about its own queue; see `Neighbours.ask`."""
    inner = changed(call, lo=False, bname=piece.broker_name)
    command = RemotingCommand.request(code, inner.header, inner.body)
    return broker.neighbours.ask(piece.broker_name, command)


def refused(piece: Piece, answer: RemotingCommand) -> RequestError:
    """What is answered when the broker of a piece refused."""
    why = f"broker {piece.broker_name} answers {answer.code}, {answer.remark}"
    return RequestError(ResponseCode.SYSTEM_ERROR, why)


def then(reply: Reply | Deferred[Reply], change: Callable[[Reply], Reply]) -> Reply | Deferred[Reply]:
    """A reply that is changed before it is given."""
    return reply.addCallback(change) if isinstance(reply, Deferred) else change(reply)


def then_in_steps(
    steps: Steps[Reply] | Steps[Reply | Deferred[Reply]], change: Callable[[Reply], Reply]
) -> Steps[Reply | Deferred[Reply]]:
    """The same for one that comes in steps."""
    reply = yield from steps
    return then(reply, change)
