"""Fetch sessions: a consumer names its partitions once, then only what changes. Pure.

A session has an id and an epoch, which grows with each request. Its answers leave out partitions without
news. Standard: KIP-227, `FetchSession`, `FetchManager`.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from mqgateway.gateway.kafka.codec.error_codes import ErrorCode
from mqgateway.gateway.kafka.codec.messages.fetch_request import (
    FetchPartition,
    FetchRequest,
    FetchTopic,
)

SESSIONS_MAX: Final = 1000
"""`max.incremental.fetch.session.cache.slots`."""
EVICTION_MILLIS: Final = 120_000
"""Time after which an idle session makes room for a new one, and a small one for a larger one
(`min.incremental.fetch.session.eviction.ms`)."""
PARTITIONS_MAX: Final = 100_000
"""Partitions of all sessions together."""
SESSION_PARTITIONS_MAX: Final = 30_000
"""Partitions of one session, as many as one request may name."""
NO_SESSION: Final = 0
INITIAL_EPOCH: Final = 0
FINAL_EPOCH: Final = -1
EPOCH_MAX: Final = 2**31 - 1


class TopicName(NamedTuple):
    """A topic as a request names it: by its name, or from version 13 on by its id."""

    name: str
    id: bytes


Key = tuple[TopicName, int]


class AnsweredOffsets(NamedTuple):
    """Offsets of a partition in the last answer that had it."""

    high_watermark: int
    log_start: int


class SessionPartition:
    """A partition of a session: the client's wish, and the last answer."""

    __slots__ = ("partition", "seen")

    def __init__(self, partition: FetchPartition) -> None:
        self.partition = partition
        self.seen: AnsweredOffsets | None = None


class FetchSession:
    """A session."""

    __slots__ = ("by_id", "created_at", "epoch", "id", "used_at", "wanted")

    def __init__(self, session_id: int, by_id: bool, now: int) -> None:
        self.id = session_id
        self.by_id = by_id
        self.epoch = 1
        self.created_at = self.used_at = now
        self.wanted: dict[Key, SessionPartition] = {}

    def change(self, topics: Iterable[FetchTopic], forgotten: Iterable[Key]) -> None:
        """Add or change partitions, and remove others."""
        for key in forgotten:
            self.wanted.pop(key, None)
        for key, partition in partitions_in(topics):
            known = self.wanted.get(key)
            if known is not None:
                known.partition = partition
            else:
                self.wanted[key] = SessionPartition(partition)


class SessionError(Exception):
    """A request that does not fit its session; the client begins a new one."""

    def __init__(self, code: ErrorCode) -> None:
        super().__init__(code.name)
        self.code = code


class FetchContext(NamedTuple):
    """The partitions that a request is for. Without a session, or for its first answer, all are answered."""

    session: FetchSession | None
    is_incremental: bool
    partitions: Sequence[tuple[Key, FetchPartition]]

    def needs(self, key: Key, seen: AnsweredOffsets, has_news: bool) -> bool:
        """Return True if the answer must have a partition, and remember what it tells."""
        wanted = None if self.session is None else self.session.wanted.get(key)
        if wanted is None:
            return not self.is_incremental
        is_changed = wanted.seen != seen
        wanted.seen = seen
        return has_news or is_changed or not self.is_incremental

    def last(self, keys: Iterable[Key]) -> None:
        """Move partitions that gave records to the end, so that others come first with the next request."""
        if self.session is not None:
            for key in keys:
                wanted = self.session.wanted.pop(key, None)
                if wanted is not None:
                    self.session.wanted[key] = wanted


class FetchSessions:
    """The sessions of one broker. A client that finds no room for one names all its partitions each time."""

    def __init__(self, new_id: random.Random | None = None) -> None:
        self._random = random.SystemRandom() if new_id is None else new_id
        self._sessions: dict[int, FetchSession] = {}  # the one that was used longest ago first
        self._partitions = 0

    def __len__(self) -> int:
        return len(self._sessions)

    def context(self, request: FetchRequest, by_id: bool, now: int) -> FetchContext:
        """Return what a request is for; `by_id` if it names topics by their ids. Raises `SessionError`."""
        session_id, epoch = request.session_id, request.session_epoch
        if epoch in (INITIAL_EPOCH, FINAL_EPOCH):
            self._remove(session_id)
            partitions = list(partitions_in(request.topics))
            if epoch == FINAL_EPOCH or not partitions:
                return FetchContext(None, False, partitions)
            session = self._new(by_id, len(partitions), now)
            if session is not None:
                self._change(session, request.topics, ())
            return FetchContext(session, False, partitions)
        session = self._sessions.pop(session_id, None)
        if session is None:
            raise SessionError(ErrorCode.FETCH_SESSION_ID_NOT_FOUND)
        self._sessions[session_id] = session
        if session.by_id != by_id:
            raise SessionError(ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR)
        if session.epoch != epoch:
            raise SessionError(ErrorCode.INVALID_FETCH_SESSION_EPOCH)
        session.epoch = 1 if epoch == EPOCH_MAX else epoch + 1
        session.used_at = now
        forgotten = [
            (TopicName(topic.topic, topic.topic_id), number)
            for topic in request.forgotten_topics_data
            for number in topic.partitions
        ]
        self._change(session, request.topics, forgotten)
        if self._partitions > PARTITIONS_MAX or len(session.wanted) > SESSION_PARTITIONS_MAX:
            self._remove(session_id)  # it may find room again as a new one
            raise SessionError(ErrorCode.FETCH_SESSION_ID_NOT_FOUND)
        return FetchContext(
            session, True, [(key, wanted.partition) for key, wanted in session.wanted.items()]
        )

    def _change(self, session: FetchSession, topics: Iterable[FetchTopic], forgotten: Iterable[Key]) -> None:
        self._partitions -= len(session.wanted)
        session.change(topics, forgotten)
        self._partitions += len(session.wanted)

    def _remove(self, session_id: int) -> None:
        session = self._sessions.pop(session_id, None)
        if session is not None:
            self._partitions -= len(session.wanted)

    def _has_room(self, count: int, now: int) -> bool:
        """Return True if there is room for a session of so many partitions; idle sessions are evicted for it.

        Without an idle one the smallest session is evicted, if it is smaller and was not created just now.
        """
        while len(self._sessions) >= SESSIONS_MAX or self._partitions + count > PARTITIONS_MAX:
            oldest = next(iter(self._sessions.values()), None)
            if oldest is None or now - oldest.used_at < EVICTION_MILLIS:
                break
            self._remove(oldest.id)
        if self._partitions + count > PARTITIONS_MAX:
            return False
        if len(self._sessions) < SESSIONS_MAX:
            return True
        settled = [one for one in self._sessions.values() if now - one.created_at >= EVICTION_MILLIS]
        smallest = min(settled, key=lambda one: len(one.wanted), default=None)
        if smallest is None or len(smallest.wanted) >= count:
            return False
        self._remove(smallest.id)
        return True

    def _new(self, by_id: bool, count: int, now: int) -> FetchSession | None:
        """Return a new session, None if there is no room."""
        if not self._has_room(count, now):
            return None
        while True:
            session_id = self._random.randint(1, EPOCH_MAX)
            if session_id not in self._sessions:
                break
        session = self._sessions[session_id] = FetchSession(session_id, by_id, now)
        return session


def partitions_in(topics: Iterable[FetchTopic]) -> Iterable[tuple[Key, FetchPartition]]:
    """Yield the partitions that a request names."""
    for topic in topics:
        name = TopicName(topic.topic, topic.topic_id)
        for partition in topic.partitions:
            yield (name, partition.partition), partition
