"""Sends to static topics, and pulls from them.

A message goes to the last piece of its queue. A pull reads the piece its offset lies in, on whatever broker
that is; what is answered are offsets of the queue, and at a piece's end where the next one begins.
Standard: `SendMessageProcessor` and `PullMessageProcessor`, their `rewriteRequestForStaticTopic` and
`rewriteResponseForStaticTopic`.
"""

from collections.abc import Generator
from functools import partial
from typing import NamedTuple

from twisted.internet.defer import Deferred

from mqgateway.engine.mapping.pieces import Piece
from mqgateway.gateway.broker.broker import MASTER_ID, Broker
from mqgateway.gateway.broker.statics import Place, changed, forwarded, refused, then, then_in_steps
from mqgateway.gateway.codec.codes import RequestCode, ResponseCode
from mqgateway.gateway.codec.command import RemotingCommand
from mqgateway.gateway.codec.headers import PullMessageRequestHeader, PullMessageResponseHeader
from mqgateway.gateway.remoting.call import Call, Reply
from mqgateway.gateway.remoting.dispatch import LongRequestFunction, RequestFunction, Served

FOUND = int(ResponseCode.SUCCESS)
NOT_FOUND = int(ResponseCode.PULL_NOT_FOUND)
RETRY_AT_ONCE = int(ResponseCode.PULL_RETRY_IMMEDIATELY)
OFFSET_MOVED = int(ResponseCode.PULL_OFFSET_MOVED)
PULLED = (FOUND, NOT_FOUND, RETRY_AT_ONCE, OFFSET_MOVED)
"""Answers that tell where the queue is."""

COMMITS, WAITS = 1, 2
"""Bits of a pull's flags: an offset is committed along with it, and it waits for messages."""
CANNOT_PULL = "cannot find mapping item in request process of current broker {broker}"
"""What is said of pulls from a queue that another broker leads."""


def send(broker: Broker, call: Call, place: Place, plain: LongRequestFunction) -> Served:
    """10, 310, 320: put into the last piece; the producer is told the number and offset of the queue.

    The offset is -1 as long as nobody has said where the piece begins.
    """
    leader = place.leader

    def told(reply: Reply) -> Reply:
        if reply.ext is not None:
            offset = leader.logical_inside(int(reply.ext["queueOffset"]))
            reply.ext |= {"queueId": str(place.queue_id), "queueOffset": str(offset)}
        return reply

    reply = plain(broker, changed(call, queue_id=leader.queue_id))
    return then_in_steps(reply, told) if isinstance(reply, Generator) else then(reply, told)


class Told(NamedTuple):
    """What the broker of a piece says of its queue: where to go on, and both ends."""

    code: int
    next_offset: int
    least: int
    most: int


def pull(broker: Broker, call: Call, place: Place, plain: RequestFunction) -> Reply | Deferred[Reply]:
    """11 and 361: read the piece that the offset lies in.

    What is committed along with a pull is left to the request for that, unless it lies in the same piece.
    """
    header = call.header
    assert isinstance(header, PullMessageRequestHeader)
    piece = place.at(header.queue_offset)
    asked, later = piece.physical(header.queue_offset), place.after(piece)
    if later is not None and piece.has_end and asked >= piece.end_offset:
        return _at_the_end(place, later)
    flags = header.sys_flag
    if place.at(header.commit_offset) is not piece:
        flags &= ~COMMITS
    if later is not None:  # nothing is added to this piece any more
        flags &= ~WAITS
    inner = changed(
        call,
        queue_id=piece.queue_id,
        queue_offset=asked,
        max_msg_nums=min(header.max_msg_nums, piece.end_offset - asked)
        if piece.has_end
        else header.max_msg_nums,
        sys_flag=flags,
        commit_offset=piece.physical(header.commit_offset),
    )
    told = partial(_told, place, piece, asked)
    if place.is_here(piece):
        return then(plain(broker, inner), told)
    inner = changed(inner, sys_flag=flags & ~COMMITS & ~WAITS)
    return (
        forwarded(broker, piece, RequestCode.PULL_MESSAGE, inner)
        .addCallback(_passed_on, piece)
        .addCallback(told)
    )


def _passed_on(answer: RemotingCommand, piece: Piece) -> Reply:
    """What another broker answered, as an answer of ours. Raises `RequestError`, and `HeaderError`."""
    if answer.code not in PULLED:
        raise refused(piece, answer)
    PullMessageResponseHeader.decode(answer.ext_fields)
    return Reply(answer.code, body=answer.body, remark=answer.remark, ext=answer.ext_fields)


def _told(place: Place, piece: Piece, asked: int, reply: Reply) -> Reply:
    """An answer about a broker's queue as one about the queue that the piece is of."""
    ext = reply.ext
    if ext is None or reply.code not in PULLED:
        return reply
    told = Told(reply.code, int(ext["nextBeginOffset"]), int(ext["minOffset"]), int(ext["maxOffset"]))
    if told.code != FOUND:
        piece, told = _moved_on(place, piece, asked, told)
    reply.code = told.code
    reply.ext = ext | _offsets(place, piece, told)
    return reply


def _moved_on(place: Place, piece: Piece, asked: int, told: Told) -> tuple[Piece, Told]:
    """Where to go on when nothing was found: perhaps in the next piece."""
    is_first, is_last = piece is place.at(0), piece is place.leader
    if asked >= told.most and (is_first or not is_last):
        later = place.after(piece)
        if later is None:  # the next one's begin may not be known yet
            return piece, told._replace(code=NOT_FOUND)
        return later, _beginning(later)
    if asked < told.least:
        code = OFFSET_MOVED if is_first else RETRY_AT_ONCE
        return piece, told._replace(code=code, next_offset=told.least)
    return piece, told


def _beginning(piece: Piece) -> Told:
    return Told(RETRY_AT_ONCE, piece.start_offset, piece.start_offset, piece.start_offset)


def _at_the_end(place: Place, later: Piece) -> Reply:
    """The answer to a pull from where one piece ends and another one follows."""
    flags = {"suggestWhichBrokerId": str(MASTER_ID), "topicSysFlag": "0", "groupSysFlag": "0"}
    return Reply(RETRY_AT_ONCE, ext=flags | _offsets(place, later, _beginning(later)))


def _offsets(place: Place, piece: Piece, told: Told) -> dict[str, str]:
    """The fields of an answer that tell offsets, as those of the queue."""
    next_offset = min(told.next_offset, piece.end_offset) if piece.has_end else told.next_offset
    return {
        "nextBeginOffset": str(piece.logical(next_offset)),
        "minOffset": str(piece.logical(told.least)),
        "maxOffset": str(max(piece.logical(told.most), place.leader.logical_end)),
        "offsetDelta": str(piece.logic_offset - piece.start_offset),
    }
