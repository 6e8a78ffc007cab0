"""Wire format of a DLedger group: JSON in the bodies of requests and answers.

Requests have no header fields. The response code is always 200; the result is in the body. Bytes are base64.
RocketMQ: `DLedgerRpcNettyService`, `DLedgerRequestCode`, `RequestOrResponse` and its subclasses.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable
from dataclasses import field
from enum import IntEnum
from typing import Annotated, Any

from mqgateway.engine.raft.log import HEADER_SIZE, MAGIC, NO_INDEX, Entry
from mqgateway.engine.raft.messages import (
    Answer,
    Append,
    AppendAnswer,
    Code,
    Get,
    GetAnswer,
    HeartBeat,
    HeartBeatAnswer,
    LeadershipTransfer,
    MetadataAnswer,
    Push,
    PushAnswer,
    PushType,
    RaftMetadata,
    Request,
    TransferAnswer,
    Vote,
    VoteAnswer,
    VoteResult,
)
from mqgateway.gateway.codec.bodies.body import Body, Int, Names, body
from mqgateway.gateway.codec.errors import BodyError


class RaftCode(IntEnum):
    """Codes of requests of members and of clients of the group."""

    METADATA = 50000
    APPEND = 50001
    GET = 50002
    VOTE = 51001
    HEART_BEAT = 51002
    PUSH = 51004
    LEADERSHIP_TRANSFER = 51005


@body
class Base(Body):
    """Common fields of requests and answers: the group, the receiver (`remote_id`) and the sender
    (`local_id`) of the request."""

    group: str | None = None
    remote_id: str | None = None
    local_id: str | None = None
    code: Int = Code.SUCCESS
    leader_id: str | None = None
    term: int = -1


@body
class EntryBody(Body):
    """An entry; `body` is base64."""

    index: int = 0
    term: int = 0
    pos: int = 0
    size: Int = 0
    magic: Int = 0
    channel: Int = 0
    chain_crc: Int = 0
    body_crc: Int = 0
    body: str | None = None


@body
class VoteBody(Base):
    """Request for a vote."""

    ledger_end_index: int = -1
    ledger_end_term: int = -1


@body
class VoteAnswerBody(Base):
    """A vote."""

    vote_result: Annotated[str, Names(tuple(VoteResult.__members__))] = "UNKNOWN"


@body
class PushBody(Base):
    """Entries for a follower. `batch`, `count` and the two indexes are written, but not read."""

    batch: bool = False
    batch_entry: list[EntryBody] = field(default_factory=list)
    commit_index: int = -1
    count: Int = 0
    entry: EntryBody | None = None
    first_entry_index: int = -1
    last_entry_index: int = -1
    total_size: int = 0
    type: Annotated[str, Names(tuple(PushType.__members__))] = "APPEND"


@body
class PushAnswerBody(Base):
    """Log range or index of a follower."""

    begin_index: int = 0
    count: Int = 0
    end_index: int = 0
    index: int | None = None


@body
class TransferBody(Base):
    """Request to transfer the leadership."""

    transfer_id: str | None = None
    transferee_id: str | None = None
    take_leadership_ledger_index: int = 0


@body
class AppendBody(Base):
    """A client's entry, as base64."""

    body: str | None = None


@body
class AppendAnswerBody(Base):
    """Index and position of an appended entry."""

    index: int = -1
    pos: int = -1


@body
class GetBody(Base):
    """Request for an entry."""

    begin_index: int | None = None
    max_size: Int = 0


@body
class GetAnswerBody(Base):
    """The requested entries."""

    entries: list[EntryBody] = field(default_factory=list)


@body
class MetadataAnswerBody(Base):
    """Leader, and addresses of all members."""

    peers: dict[str, str] | None = None


def _entry_body(entry: Entry) -> EntryBody:
    text = base64.b64encode(entry.body).decode("ascii")
    return EntryBody(
        entry.index, entry.term, entry.position, entry.size, entry.magic, entry.channel, body=text
    )


def _bytes(text: str | None, name: str) -> bytes:
    try:
        return base64.b64decode(text or "", validate=True)
    except (binascii.Error, ValueError):
        raise BodyError(name, f"the member {name} is not base64") from None


def _entry(body: EntryBody) -> Entry:
    data = _bytes(body.body, "body")
    if body.size != HEADER_SIZE + len(data) or body.magic != MAGIC or body.pos < 0 or body.index < 0:
        raise BodyError(
            "entry", f"entry {body.index} is invalid: its size, magic, position or index is wrong"
        )
    return Entry(body.index, body.term, body.pos, data, body.magic, body.channel)


# Requests.


def encode_request(group: str, sender: str, receiver: str, request: Request) -> tuple[RaftCode, bytes]:
    """Return the code and body of a member's request."""
    parties = (group, receiver, sender)
    match request:
        case Vote():
            return RaftCode.VOTE, VoteBody(
                *parties,
                leader_id=request.candidate,
                term=request.term,
                ledger_end_index=request.end_index,
                ledger_end_term=request.end_term,
            ).encode()
        case HeartBeat():
            return RaftCode.HEART_BEAT, Base(*parties, leader_id=request.leader, term=request.term).encode()
        case Push():
            return RaftCode.PUSH, _push_body(parties, request).encode()
        case LeadershipTransfer():
            return RaftCode.LEADERSHIP_TRANSFER, TransferBody(
                *parties,
                leader_id=request.transferor,
                term=request.term,
                transfer_id=request.transferor,
                transferee_id=request.transferee,
                take_leadership_ledger_index=request.index,
            ).encode()
    raise TypeError(f"{type(request).__name__} is for clients")


def _push_body(parties: tuple[str, str, str], push: Push) -> PushBody:
    entries = [_entry_body(entry) for entry in push.entries]
    return PushBody(
        *parties,
        leader_id=push.leader,
        term=push.term,
        batch=push.is_batch,
        batch_entry=entries if push.is_batch else [],
        commit_index=push.commit_index,
        count=len(entries),
        entry=None if push.is_batch or not entries else entries[0],
        first_entry_index=push.first_index,
        last_entry_index=push.last_index,
        total_size=sum(entry.size for entry in entries) if push.is_batch else 0,
        type=push.type.value,
    )


def _read_vote(body: VoteBody) -> Request:
    return Vote(body.leader_id or "", body.term, body.ledger_end_index, body.ledger_end_term)


def _read_heartbeat(body: Base) -> Request:
    return HeartBeat(body.leader_id or "", body.term)


def _read_push(body: PushBody) -> Request:
    is_batch = bool(body.batch_entry)
    entries = body.batch_entry if is_batch else [] if body.entry is None else [body.entry]
    kind = PushType[body.type]
    return Push(
        kind,
        body.leader_id or "",
        body.term,
        body.commit_index,
        () if kind is PushType.COMMIT else tuple(map(_entry, entries)),
        is_batch,
    )


def _read_transfer(body: TransferBody) -> Request:
    index = body.take_leadership_ledger_index
    return LeadershipTransfer(body.transfer_id or "", body.transferee_id or "", body.term, index)


def _read_append(body: AppendBody) -> Request:
    return Append(_bytes(body.body, "body"))


def _read_get(body: GetBody) -> Request:
    return Get(NO_INDEX if body.begin_index is None else body.begin_index)


def _read_metadata(_body: Base) -> Request:
    return RaftMetadata()


_REQUESTS: dict[RaftCode, tuple[type[Base], Callable[[Any], Request]]] = {
    RaftCode.METADATA: (Base, _read_metadata),
    RaftCode.APPEND: (AppendBody, _read_append),
    RaftCode.GET: (GetBody, _read_get),
    RaftCode.VOTE: (VoteBody, _read_vote),
    RaftCode.HEART_BEAT: (Base, _read_heartbeat),
    RaftCode.PUSH: (PushBody, _read_push),
    RaftCode.LEADERSHIP_TRANSFER: (TransferBody, _read_transfer),
}


def decode_request(code: RaftCode, data: bytes) -> tuple[Base, Request]:
    """Return the common fields of a request, and the request. Raises `BodyError`."""
    kind, read = _REQUESTS[code]
    body = kind.decode(data)
    return body, read(body)


# Answers.


def encode_refusal(request: Base, code: Code, leader: str) -> bytes:
    """Return the body that refuses a request to another group or member."""
    return Base(
        request.group, request.remote_id, request.local_id, code, leader or None, request.term
    ).encode()


def encode_answer(request: Base, answer: Answer) -> bytes:
    """Return the body that answers a request."""
    group = request.group
    match answer:
        case VoteAnswer():
            return VoteAnswerBody(
                group,
                request.remote_id,
                request.local_id,
                leader_id=request.leader_id,
                term=answer.term,
                vote_result=answer.result.value,
            ).encode()
        case HeartBeatAnswer() | TransferAnswer():
            return Base(code=answer.code, term=answer.term).encode()
        case PushAnswer():
            return PushAnswerBody(
                group,
                code=answer.code,
                term=answer.term,
                begin_index=answer.begin_index,
                count=answer.count,
                end_index=answer.end_index,
                index=answer.index,
            ).encode()
        case AppendAnswer():
            return AppendAnswerBody(
                group,
                code=answer.code,
                leader_id=answer.leader or None,
                term=answer.term,
                index=answer.index,
                pos=answer.position,
            ).encode()
        case GetAnswer():
            entries = [_entry_body(entry) for entry in answer.entries]
            return GetAnswerBody(group, code=answer.code, entries=entries).encode()
        case MetadataAnswer():
            return MetadataAnswerBody(
                group, code=answer.code, leader_id=answer.leader or None, peers=answer.peers
            ).encode()


def decode_answer(request: Request, data: bytes) -> Answer:
    """Return a member's answer to a request of another member. Raises `BodyError`."""
    match request:
        case Vote():
            vote = VoteAnswerBody.decode(data)
            return VoteAnswer(VoteResult[vote.vote_result], vote.term)
        case Push():
            push = PushAnswerBody.decode(data)
            code = _code(push.code)
            return PushAnswer(code, push.term, push.index, push.count, push.begin_index, push.end_index)
    base = Base.decode(data)
    if isinstance(request, HeartBeat):
        return HeartBeatAnswer(_code(base.code), base.term)
    return TransferAnswer(_code(base.code), base.term)


def _code(number: int) -> Code:
    """Return the code of a number; `INTERNAL_ERROR` for an unknown one."""
    return Code(number) if number in Code.__members__.values() else Code.INTERNAL_ERROR
