"""Requests and answers between members, as values.

Each request has an answer; `NO_ANSWER` replaces it if the connection ended or the time was up. An unknown
term is -1. RocketMQ: `protocol` of DLedger, `DLedgerResponseCode`.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, IntEnum

from mqgateway.engine.raft.log import NO_INDEX, Entry


class Code(IntEnum):
    """Result of a request."""

    SUCCESS = 200
    NETWORK_ERROR = 302
    UNKNOWN_GROUP = 400
    UNKNOWN_MEMBER = 401
    UNEXPECTED_MEMBER = 402
    EXPIRED_TERM = 403
    NOT_LEADER = 404
    NOT_FOLLOWER = 405
    INCONSISTENT_STATE = 406
    INCONSISTENT_TERM = 407
    INCONSISTENT_LEADER = 409
    INDEX_OUT_OF_RANGE = 410
    UNEXPECTED_ARGUMENT = 411
    REPEATED_PUSH = 413
    DISK_ERROR = 414
    DISK_FULL = 415
    TERM_NOT_READY = 416
    FALL_BEHIND_TOO_MUCH = 417
    TAKE_LEADERSHIP_FAILED = 418
    INDEX_LESS_THAN_LOCAL_BEGIN = 419
    REQUEST_WITH_EMPTY_BODYS = 420
    INTERNAL_ERROR = 500
    TERM_CHANGED = 501
    WAIT_QUORUM_ACK_TIMEOUT = 502
    LEADER_PENDING_FULL = 503
    LEADER_TRANSFERRING = 506


class VoteResult(Enum):
    """A voter's answer."""

    UNKNOWN = "UNKNOWN"
    ACCEPT = "ACCEPT"
    REJECT_UNKNOWN_LEADER = "REJECT_UNKNOWN_LEADER"
    REJECT_UNEXPECTED_LEADER = "REJECT_UNEXPECTED_LEADER"
    REJECT_EXPIRED_VOTE_TERM = "REJECT_EXPIRED_VOTE_TERM"
    REJECT_ALREADY_VOTED = "REJECT_ALREADY_VOTED"
    REJECT_ALREADY_HAS_LEADER = "REJECT_ALREADY_HAS_LEADER"
    REJECT_TERM_NOT_READY = "REJECT_TERM_NOT_READY"
    REJECT_TERM_SMALL_THAN_LEDGER = "REJECT_TERM_SMALL_THAN_LEDGER"
    REJECT_EXPIRED_LEDGER_TERM = "REJECT_EXPIRED_LEDGER_TERM"
    REJECT_SMALL_LEDGER_END_INDEX = "REJECT_SMALL_LEDGER_END_INDEX"
    REJECT_TAKING_LEADERSHIP = "REJECT_TAKING_LEADERSHIP"


class PushType(Enum):
    """Kind of a leader's push."""

    APPEND = "APPEND"
    COMMIT = "COMMIT"
    COMPARE = "COMPARE"
    TRUNCATE = "TRUNCATE"


@dataclass(frozen=True, slots=True)
class Vote:
    """`candidate` requests a vote in `term`; its last entry has the given index and term."""

    candidate: str
    term: int
    end_index: int
    end_term: int


@dataclass(frozen=True, slots=True)
class VoteAnswer:
    """`term` is the voter's."""

    result: VoteResult
    term: int


@dataclass(frozen=True, slots=True)
class HeartBeat:
    """`leader` leads in `term`."""

    leader: str
    term: int


@dataclass(frozen=True, slots=True)
class HeartBeatAnswer:
    """`term` is the member's if its own is newer."""

    code: Code
    term: int = -1


@dataclass(frozen=True, slots=True)
class Push:
    """A leader's log to a follower: no entry with COMMIT, one with COMPARE and TRUNCATE, some with APPEND.
    Several entries are a batch; `is_batch` makes a single one a batch too.
    """

    type: PushType
    leader: str
    term: int
    commit_index: int
    entries: tuple[Entry, ...] = ()
    is_batch: bool = False

    @property
    def first_index(self) -> int:
        """Index of the first entry; -1 without entries."""
        return self.entries[0].index if self.entries else NO_INDEX

    @property
    def last_index(self) -> int:
        """Index of the last entry; -1 without entries."""
        return self.entries[-1].index if self.entries else NO_INDEX


@dataclass(frozen=True, slots=True)
class PushAnswer:
    """`index` is the first one pushed, None with COMMIT; the follower's log has entries from `begin_index` to
    `end_index`.
    """

    code: Code
    term: int
    index: int | None = None
    count: int = 0
    begin_index: int = 0
    end_index: int = 0


@dataclass(frozen=True, slots=True)
class LeadershipTransfer:
    """`transferee` is to lead in place of `transferor`. An administrator sends this to the leader, and the
    leader to the transferee, which takes over once it has `index`.
    """

    transferor: str
    transferee: str
    term: int
    index: int = 0


@dataclass(frozen=True, slots=True)
class TransferAnswer:
    """`code` is SUCCESS if the transferee leads now."""

    code: Code
    term: int = -1


@dataclass(frozen=True, slots=True)
class Append:
    """A client's entry for the log."""

    body: bytes


@dataclass(frozen=True, slots=True)
class AppendAnswer:
    """Position of the entry once a majority has it; `leader` is the leader known to this member."""

    code: Code
    term: int = -1
    index: int = NO_INDEX
    position: int = -1
    leader: str = ""


@dataclass(frozen=True, slots=True)
class Get:
    """A client requests an entry."""

    index: int


@dataclass(frozen=True, slots=True)
class GetAnswer:
    """The entry, if it exists."""

    code: Code
    entries: tuple[Entry, ...] = ()


@dataclass(frozen=True, slots=True)
class RaftMetadata:
    """A client queries the leader."""


@dataclass(frozen=True, slots=True)
class MetadataAnswer:
    """The leader ("" if there is none), and the members' addresses by id."""

    code: Code
    leader: str
    peers: dict[str, str]


Request = Vote | HeartBeat | Push | LeadershipTransfer | Append | Get | RaftMetadata
Answer = (
    VoteAnswer | HeartBeatAnswer | PushAnswer | TransferAnswer | AppendAnswer | GetAnswer | MetadataAnswer
)

NO_ANSWER = None
"""Answer to a request without an answer."""
