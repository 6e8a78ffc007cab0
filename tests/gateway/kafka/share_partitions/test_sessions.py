"""Share sessions: epochs, partitions, connections and limits."""

from __future__ import annotations

import pytest

from mqgateway.gateway.kafka.codec.error_codes import ErrorCode
from mqgateway.gateway.kafka.share_partitions import sessions as module
from mqgateway.gateway.kafka.share_partitions.sessions import (
    MemberKey,
    ShareSessionError,
    ShareSessions,
    TopicPartitionId,
)

KEY = MemberKey("g", "m")


def places(*numbers: int) -> list[TopicPartitionId]:
    """Partitions of a topic."""
    return [TopicPartitionId(b"t" * 16, number) for number in numbers]


def test_epochs_follow_one_another() -> None:
    sessions = ShareSessions(limit=2000)
    session = sessions.open(KEY, "c", places(0))
    assert sessions.next(KEY, 1) is session
    assert session.epoch == 2
    with pytest.raises(ShareSessionError) as caught:
        sessions.next(KEY, 1)
    assert caught.value.code == ErrorCode.INVALID_SHARE_SESSION_EPOCH
    session.epoch = 2**31 - 1
    assert sessions.next(KEY, 2**31 - 1).epoch == 1


def test_unknown_session_is_an_error() -> None:
    with pytest.raises(ShareSessionError) as caught:
        ShareSessions(limit=2000).next(KEY, 1)
    assert caught.value.code == ErrorCode.SHARE_SESSION_NOT_FOUND


def test_partitions_are_added_and_removed_and_take_turns() -> None:
    sessions = ShareSessions(limit=2000)
    session = sessions.open(KEY, "c", places(0, 1))
    sessions.change(session, places(2, 3), places(1, 9))
    assert session.rotated(0) == places(0, 2, 3)
    assert session.rotated(4) == places(2, 3, 0)
    sessions.change(session, [], places(0, 2, 3))
    assert session.rotated(5) == []


def test_sessions_of_a_connection_are_known_until_they_end() -> None:
    sessions = ShareSessions(limit=2000)
    other = MemberKey("g", "n")
    sessions.open(KEY, "c", places(0))
    sessions.open(other, "c", places(0))
    assert sorted(sessions.members("c")) == [KEY, other]
    sessions.open(KEY, "d", places(1))
    assert (sessions.members("c"), sessions.members("d")) == ([other], [KEY])
    assert sessions.remove(other) is not None
    assert sessions.remove(other) is None
    assert (len(sessions), sessions.members("c")) == (1, [])
    assert sessions.get(KEY) is not None


def test_sessions_and_their_partitions_are_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "SESSION_PARTITIONS_MAX", 3)
    monkeypatch.setattr(module, "ALL_SESSION_PARTITIONS_MAX", 4)
    sessions = ShareSessions(limit=2)

    def code(key: MemberKey, *numbers: int) -> ErrorCode:
        try:
            sessions.open(key, "c", places(*numbers))
        except ShareSessionError as error:
            return error.code
        return ErrorCode.NONE

    assert code(KEY, 0, 1, 2, 3) == ErrorCode.SHARE_SESSION_LIMIT_REACHED
    assert code(KEY, 0, 1, 2) == ErrorCode.NONE
    assert code(MemberKey("g", "n"), 0, 1) == ErrorCode.SHARE_SESSION_LIMIT_REACHED
    assert code(MemberKey("g", "n"), 0) == ErrorCode.NONE
    assert code(MemberKey("g", "o")) == ErrorCode.SHARE_SESSION_LIMIT_REACHED
    session = sessions.get(KEY)
    assert session is not None
    with pytest.raises(ShareSessionError):
        sessions.change(session, places(7), [])
    assert sessions.get(KEY) is None
    assert code(KEY, 0, 1, 2) == ErrorCode.NONE
