"""The ends, times and consumer offsets of queues of static topics, put together from those of their pieces.

Departs from the standard where that asks a piece for a queue of another piece (30, 32), and by which piece
a time is found in (29): here the first that has a message of that time or later.
Standard: `rewriteRequestForStaticTopic` of `AdminBrokerProcessor` and `ConsumerManageProcessor`.
"""

from collections.abc import Generator
from typing import Any, TypeVar

from twisted.internet.defer import Deferred, inlineCallbacks, succeed

from mqgateway.engine.static_topics.pieces import Piece
from mqgateway.gateway.broker.broker import Broker
from mqgateway.gateway.broker.static_topics.state import Place, changed, forwarded, refused
from mqgateway.gateway.codec.codes import RequestCode, ResponseCode
from mqgateway.gateway.codec.command import RemotingCommand
from mqgateway.gateway.codec.fields import BoundaryType, Header
from mqgateway.gateway.codec.headers import (
    GetEarliestMsgStoretimeResponseHeader,
    GetMaxOffsetRequestHeader,
    GetMaxOffsetResponseHeader,
    GetMinOffsetResponseHeader,
    QueryConsumerOffsetResponseHeader,
    SearchOffsetRequestHeader,
    SearchOffsetResponseHeader,
    UpdateConsumerOffsetRequestHeader,
)
from mqgateway.gateway.remoting.call import Call, Reply, RequestError
from mqgateway.gateway.remoting.dispatch import RequestFunction

H = TypeVar("H", bound=Header)

END_OF_ALL = 2**63 - 1
NOT_LED = "is not leader in broker {broker}, request code {code}"
"""What is said of the first offset of a queue that another broker leads."""


def max_offset(broker: Broker, call: Call, place: Place, plain: RequestFunction) -> Deferred[Reply]:
    """30 GET_MAX_OFFSET."""
    last = place.at(END_OF_ALL)

    def told(answer: GetMaxOffsetResponseHeader) -> Reply:
        return Reply(header=GetMaxOffsetResponseHeader(offset=last.logical(answer.offset)))

    return _ask(broker, call, place, last, plain, GetMaxOffsetResponseHeader).addCallback(told)


def min_offset(broker: Broker, call: Call, place: Place, plain: RequestFunction) -> Deferred[Reply]:
    """31 GET_MIN_OFFSET."""
    first = place.at(0)

    def told(answer: GetMinOffsetResponseHeader) -> Reply:
        return Reply(header=GetMinOffsetResponseHeader(offset=first.logical_inside(answer.offset)))

    return _ask(broker, call, place, first, plain, GetMinOffsetResponseHeader).addCallback(told)


def earliest_store_time(broker: Broker, call: Call, place: Place, plain: RequestFunction) -> Deferred[Reply]:
    """32 GET_EARLIEST_MSG_STORETIME."""
    asked = _ask(broker, call, place, place.at(0), plain, GetEarliestMsgStoretimeResponseHeader)
    return asked.addCallback(lambda answer: Reply(header=answer))


@inlineCallbacks
def search_offset(
    broker: Broker, call: Call, place: Place, plain: RequestFunction
) -> Generator[Deferred[Any], Any, Reply]:
    """29 SEARCH_OFFSET_BY_TIMESTAMP: the first piece with a message so late, or the last."""
    header = call.header
    assert isinstance(header, SearchOffsetRequestHeader)
    upper = header.boundary_type is BoundaryType.UPPER
    pieces = [piece for piece in place.pieces if piece.logic_offset >= 0]
    offset = -1
    for piece in reversed(pieces) if upper else pieces:
        answer = yield _ask(broker, call, place, piece, plain, SearchOffsetResponseHeader)
        offset = piece.logical_inside(max(0, answer.offset))
        if upper:
            is_outside = answer.offset <= piece.start_offset
        else:
            is_outside = piece is not pieces[-1] and answer.offset >= (yield _end(broker, place, piece))
        if not is_outside:
            break
    return Reply(header=SearchOffsetResponseHeader(offset=offset))


def query_offset(broker: Broker, call: Call, place: Place, plain: RequestFunction) -> Reply | Deferred[Reply]:
    """14 QUERY_CONSUMER_OFFSET: what was committed in the last piece in which anything was."""
    if not place.is_plain:
        found: Deferred[Reply] = _last_committed(broker, call, place, plain)
        return found
    return plain(broker, changed(call, queue_id=place.leader.queue_id))


@inlineCallbacks
def _last_committed(
    broker: Broker, call: Call, place: Place, plain: RequestFunction
) -> Generator[Deferred[Any], Any, Reply]:
    for piece in reversed(place.pieces):
        try:
            answer = yield _ask(
                broker,
                call,
                place,
                piece,
                plain,
                QueryConsumerOffsetResponseHeader,
                set_zero_if_not_found=False,
            )
        except RequestError as refusal:
            if refusal.code != ResponseCode.QUERY_NOT_FOUND:
                raise
        else:
            return Reply(header=QueryConsumerOffsetResponseHeader(offset=piece.logical(answer.offset)))
    raise RequestError(ResponseCode.QUERY_NOT_FOUND, "Not found, maybe this group consumer boot first")


def update_offset(
    broker: Broker, call: Call, place: Place, plain: RequestFunction
) -> Reply | Deferred[Reply]:
    """15 UPDATE_CONSUMER_OFFSET: committed where the piece lies that the offset is in."""
    header = call.header
    assert isinstance(header, UpdateConsumerOffsetRequestHeader)
    piece = place.at(header.commit_offset)
    inner = changed(call, queue_id=piece.queue_id, commit_offset=piece.physical(header.commit_offset))
    if place.is_here(piece):
        return plain(broker, inner)
    asked = forwarded(broker, piece, call.command.code, inner)
    return asked.addCallback(lambda answer: Reply(answer.code, remark=answer.remark))


@inlineCallbacks
def _ask(
    broker: Broker,
    call: Call,
    place: Place,
    piece: Piece,
    plain: RequestFunction,
    kind: type[H],
    **fields: Any,
) -> Generator[Deferred[Any], Any, H]:
    """What the broker of a piece, this or another, says of its queue. Fails with `RequestError`."""
    inner = changed(call, queue_id=piece.queue_id, **fields)
    if place.is_here(piece):
        reply = plain(broker, inner)
        assert isinstance(reply, Reply) and isinstance(reply.header, kind)
        return reply.header
    answer: RemotingCommand = yield forwarded(broker, piece, call.command.code, inner)
    return _read(answer, piece, kind)


def _end(broker: Broker, place: Place, piece: Piece) -> Deferred[int]:
    """Where a piece ends in its broker's queue; the standard's tools do not say."""
    topic = place.topic
    if piece.has_end:
        return succeed(piece.end_offset)
    if place.is_here(piece):
        return succeed(broker.store.max_offset(topic, piece.queue_id))
    header = GetMaxOffsetRequestHeader(
        topic=topic, queue_id=piece.queue_id, lo=False, bname=piece.broker_name
    )
    command = RemotingCommand.request(RequestCode.GET_MAX_OFFSET, header)
    asked = broker.neighbours.ask(piece.broker_name, command)
    return asked.addCallback(_read, piece, GetMaxOffsetResponseHeader).addCallback(lambda told: told.offset)


def _read(answer: RemotingCommand, piece: Piece, kind: type[H]) -> H:
    if answer.code == ResponseCode.QUERY_NOT_FOUND:
        raise RequestError(answer.code, answer.remark or "")
    if answer.code != ResponseCode.SUCCESS:
        raise refused(piece, answer)
    return kind.decode(answer.ext_fields)
