"""Fetch sessions: what is answered, and what a request must say."""

from __future__ import annotations

import random

import pytest

from mqgateway.gateway.kafka import fetch_sessions
from mqgateway.gateway.kafka.codec.error_codes import ErrorCode
from mqgateway.gateway.kafka.codec.messages.fetch_request import (
    FetchPartition,
    FetchRequest,
    FetchTopic,
    ForgottenTopic,
)
from mqgateway.gateway.kafka.codec.schema import NO_UUID
from mqgateway.gateway.kafka.fetch_sessions import (
    EPOCH_MAX,
    AnsweredOffsets,
    FetchContext,
    FetchSessions,
    Key,
    SessionError,
    TopicName,
)


def request(
    session_id: int, epoch: int, *numbers: int, forgotten: tuple[int, ...] = (), offset: int = 0
) -> FetchRequest:
    """Return a request for partitions of a topic."""
    partitions = [FetchPartition(number, fetch_offset=offset) for number in numbers]
    return FetchRequest(
        session_id=session_id,
        session_epoch=epoch,
        topics=[FetchTopic("a", partitions=partitions)] if numbers else [],
        forgotten_topics_data=[ForgottenTopic("a", partitions=forgotten)] if forgotten else [],
    )


def key(number: int) -> Key:
    """Return the key of a partition."""
    return TopicName("a", NO_UUID), number


def numbers(context: FetchContext) -> list[int]:
    """Return the partitions of a context."""
    return [number for (_, number), _ in context.partitions]


def begun(sessions: FetchSessions, *wanted: int) -> int:
    """Begin a session and return its id."""
    context = sessions.context(request(0, 0, *wanted), False, 0)
    assert context.session is not None and not context.is_incremental
    return context.session.id


def test_a_request_without_a_session_has_its_partitions_only() -> None:
    sessions = FetchSessions()
    context = sessions.context(request(0, -1, 1, 2), False, 0)
    assert numbers(context) == [1, 2] and context.session is None and len(sessions) == 0
    assert context.needs(key(1), AnsweredOffsets(0, 0), False)


def test_a_session_remembers_partitions_that_are_added_changed_and_forgotten() -> None:
    sessions = FetchSessions()
    one = begun(sessions, 1, 2)
    assert numbers(sessions.context(request(one, 1), False, 0)) == [1, 2]
    context = sessions.context(request(one, 2, 3, 1, forgotten=(2,), offset=7), False, 0)
    assert numbers(context) == [1, 3]
    assert all(partition.fetch_offset == 7 for _, partition in context.partitions)


def test_an_answer_leaves_out_partitions_without_news() -> None:
    sessions = FetchSessions()
    context = sessions.context(request(0, 0, 1), False, 0)
    assert context.session is not None
    assert context.needs(key(1), AnsweredOffsets(5, 0), False)  # the first answer has all
    later = sessions.context(request(context.session.id, 1), False, 0)
    assert not later.needs(key(1), AnsweredOffsets(5, 0), False)
    assert later.needs(key(1), AnsweredOffsets(5, 0), True)
    assert later.needs(key(1), AnsweredOffsets(6, 0), False)
    assert not later.needs(key(1), AnsweredOffsets(6, 0), False)
    assert later.needs(key(1), AnsweredOffsets(6, 2), False)


def test_partitions_that_gave_records_come_last_next_time() -> None:
    sessions = FetchSessions()
    one = begun(sessions, 1, 2, 3)
    sessions.context(request(one, 1), False, 0).last([key(1)])
    assert numbers(sessions.context(request(one, 2), False, 0)) == [2, 3, 1]


def test_a_request_that_does_not_fit_is_refused() -> None:
    sessions = FetchSessions()
    one = begun(sessions, 1)
    for session_id, epoch, by_id, code in (
        (one + 1, 1, False, ErrorCode.FETCH_SESSION_ID_NOT_FOUND),
        (one, 2, False, ErrorCode.INVALID_FETCH_SESSION_EPOCH),
        (one, 1, True, ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR),
    ):
        with pytest.raises(SessionError) as refused:
            sessions.context(request(session_id, epoch), by_id, 0)
        assert refused.value.code is code
    assert numbers(sessions.context(request(one, 1), False, 0)) == [1]


def test_a_session_ends_with_the_final_epoch_or_a_new_beginning() -> None:
    sessions = FetchSessions()
    one = begun(sessions, 1)
    assert sessions.context(request(one, -1), False, 0).session is None and len(sessions) == 0
    two = begun(sessions, 1)
    again = sessions.context(request(two, 0, 2), False, 0)
    assert again.session is not None and numbers(again) == [2] and len(sessions) == 1


def test_the_epoch_begins_again_after_the_largest() -> None:
    sessions = FetchSessions()
    context = sessions.context(request(0, 0, 1), False, 0)
    assert context.session is not None
    context.session.epoch = EPOCH_MAX
    sessions.context(request(context.session.id, EPOCH_MAX), False, 0)
    assert context.session.epoch == 1


def test_a_full_cache_gives_no_session_until_one_is_idle(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fetch_sessions, "SESSIONS_MAX", 2)
    sessions = FetchSessions(random.Random(1))
    first, second = begun(sessions, 1), begun(sessions, 1)
    assert sessions.context(request(0, 0, 1), False, 1000).session is None
    sessions.context(request(first, 1), False, 119_000)
    assert sessions.context(request(0, 0, 1), False, 120_000).session is not None
    with pytest.raises(SessionError):
        sessions.context(request(second, 1), False, 120_000)
    assert numbers(sessions.context(request(first, 2), False, 120_000)) == [1]


def test_a_full_cache_evicts_its_smallest_session_for_a_larger_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fetch_sessions, "SESSIONS_MAX", 2)
    sessions = FetchSessions()
    large, small = begun(sessions, 0, 1), begun(sessions, 0)
    settled = fetch_sessions.EVICTION_MILLIS
    for one in (large, small):
        sessions.context(request(one, 1), False, settled - 1)
    assert sessions.context(request(0, 0, 0, 1), False, settled - 1).session is None
    assert sessions.context(request(0, 0, 0), False, settled).session is None
    assert sessions.context(request(0, 0, 0, 1), False, settled).session is not None
    assert sessions.context(request(large, 2), False, settled).is_incremental
    with pytest.raises(SessionError):
        sessions.context(request(small, 2), False, settled)


def test_partitions_of_all_sessions_together_are_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fetch_sessions, "PARTITIONS_MAX", 5)
    sessions = FetchSessions(random.Random(1))
    first, second = begun(sessions, 0, 1), begun(sessions, 0, 1)
    assert sessions.context(request(0, 0, 0, 1), False, 0).session is None
    sessions.context(request(first, 1, 2), False, 0)
    with pytest.raises(SessionError) as refused:
        sessions.context(request(second, 1, 2), False, 0)
    assert refused.value.code == ErrorCode.FETCH_SESSION_ID_NOT_FOUND
    assert len(sessions) == 1
    sessions.context(request(first, 2, forgotten=(2,)), False, 0)
    begun(sessions, 0, 1, 2)
    assert sessions.context(request(0, 0, 0, 1, 2), False, fetch_sessions.EVICTION_MILLIS).session is not None


def test_partitions_of_one_session_are_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fetch_sessions, "SESSION_PARTITIONS_MAX", 3)
    sessions = FetchSessions()
    first = begun(sessions, 0, 1)
    assert numbers(sessions.context(request(first, 1, 2), False, 0)) == [0, 1, 2]
    with pytest.raises(SessionError) as refused:
        sessions.context(request(first, 2, 3), False, 0)
    assert refused.value.code == ErrorCode.FETCH_SESSION_ID_NOT_FOUND
    assert not len(sessions)


def test_more_partitions_than_all_sessions_may_have_are_fetched_without_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(fetch_sessions, "PARTITIONS_MAX", 2)
    sessions = FetchSessions()
    context = sessions.context(request(0, 0, 0, 1, 2), False, 0)
    assert context.session is None
    assert numbers(context) == [0, 1, 2]
