"""Share sessions: a member names its partitions once, then only what changes. Pure.

A session belongs to a group, a member and the connection that opened it. Its epoch grows with each request.
Standard: KIP-932, `ShareSessionCache`, `SharePartitionManager.newContext`.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, NamedTuple

from mqgateway.gateway.kafka.codec.error_codes import ErrorCode
from mqgateway.gateway.kafka.share_partitions.settings import (
    ALL_SESSION_PARTITIONS_MAX,
    SESSION_PARTITIONS_MAX,
)

OPENING_EPOCH: Final = 0
CLOSING_EPOCH: Final = -1
_EPOCH_MAX: Final = 2**31 - 1


class TopicPartitionId(NamedTuple):
    """A partition by the id of its topic."""

    topic_id: bytes
    partition: int


class MemberKey(NamedTuple):
    """A member of a share group."""

    group: str
    member: str


class ShareSession:
    """A session. `partitions` are in the order in which they are to be answered."""

    __slots__ = ("connection", "epoch", "key", "partitions")

    def __init__(self, key: MemberKey, connection: object) -> None:
        self.key = key
        self.connection = connection
        self.epoch = 1
        self.partitions: dict[TopicPartitionId, None] = {}

    def rotated(self, epoch: int) -> list[TopicPartitionId]:
        """Return the partitions, another one first with each request, so that each has its turn."""
        listed = list(self.partitions)
        turn = epoch % len(listed) if listed else 0
        return listed[turn:] + listed[:turn]


class ShareSessionError(Exception):
    """A request that does not fit its session; the client opens a new one."""

    def __init__(self, code: ErrorCode) -> None:
        super().__init__(code.name)
        self.code = code


class ShareSessions:
    """The share sessions of one broker, `limit` at most."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._sessions: dict[MemberKey, ShareSession] = {}
        self._by_connection: dict[object, set[MemberKey]] = {}
        self._partitions = 0

    def __len__(self) -> int:
        return len(self._sessions)

    def get(self, key: MemberKey) -> ShareSession | None:
        """Return the session of a member, None if it has none."""
        return self._sessions.get(key)

    def members(self, connection: object) -> list[MemberKey]:
        """Return the members whose sessions a connection has opened."""
        return list(self._by_connection.get(connection, ()))

    def open(
        self, key: MemberKey, connection: object, partitions: Iterable[TopicPartitionId]
    ) -> ShareSession:
        """Open a session in place of the one that the member has. Raises `ShareSessionError`."""
        self.remove(key)
        session = ShareSession(key, connection)
        session.partitions = dict.fromkeys(partitions)
        if len(self._sessions) >= self._limit or self._is_too_large(session):
            raise ShareSessionError(ErrorCode.SHARE_SESSION_LIMIT_REACHED)
        self._sessions[key] = session
        self._by_connection.setdefault(connection, set()).add(key)
        self._partitions += len(session.partitions)
        return session

    def next(self, key: MemberKey, epoch: int) -> ShareSession:
        """Return the session for a request with its next epoch. Raises `ShareSessionError`."""
        session = self.found(key)
        if session.epoch != epoch:
            raise ShareSessionError(ErrorCode.INVALID_SHARE_SESSION_EPOCH)
        session.epoch = 1 if epoch == _EPOCH_MAX else epoch + 1
        return session

    def found(self, key: MemberKey) -> ShareSession:
        """Return the session of a member. Raises `ShareSessionError`."""
        session = self._sessions.get(key)
        if session is None:
            raise ShareSessionError(ErrorCode.SHARE_SESSION_NOT_FOUND)
        return session

    def change(
        self,
        session: ShareSession,
        added: Iterable[TopicPartitionId],
        removed: Iterable[TopicPartitionId],
    ) -> None:
        """Add and remove partitions. Raises `ShareSessionError` if they are too many: the session ends."""
        self._partitions -= len(session.partitions)
        session.partitions |= dict.fromkeys(added)
        for one in removed:
            session.partitions.pop(one, None)
        is_too_large = self._is_too_large(session)
        self._partitions += len(session.partitions)
        if is_too_large:
            self.remove(session.key)
            raise ShareSessionError(ErrorCode.SHARE_SESSION_LIMIT_REACHED)

    def remove(self, key: MemberKey) -> ShareSession | None:
        """Remove the session of a member, and return it."""
        session = self._sessions.pop(key, None)
        if session is None:
            return None
        self._partitions -= len(session.partitions)
        keys = self._by_connection[session.connection]
        keys.discard(key)
        if not keys:
            del self._by_connection[session.connection]
        return session

    def _is_too_large(self, session: ShareSession) -> bool:
        count = len(session.partitions)
        return count > SESSION_PARTITIONS_MAX or self._partitions + count > ALL_SESSION_PARTITIONS_MAX
