"""ShareAcknowledge: outcomes without a fetch, the session, and errors."""

from __future__ import annotations

from typing import Any

import pytest

from mqgateway.gateway.kafka.codec.error_codes import ErrorCode
from mqgateway.gateway.kafka.codec.messages.share_acknowledge_request import (
    AcknowledgementBatch,
    AcknowledgePartition,
    AcknowledgeTopic,
    ShareAcknowledgeRequest,
)
from mqgateway.gateway.kafka.share_partitions.partition import ACCEPT, RELEASE, RENEW
from tests.gateway.kafka.api.test_metadata import create
from tests.gateway.kafka.api.test_share_fetch import acquired, fill, only, share_fetch, share_scene


def acknowledge(
    topic_id: bytes, epoch: int, *acks: tuple[int, int, int], member: str = "m", **fields: Any
) -> ShareAcknowledgeRequest:
    """Return a request with acknowledgements of first and last offset and type."""
    batches = [AcknowledgementBatch(first, last, [kind]) for first, last, kind in acks]
    topics = [AcknowledgeTopic(topic_id, [AcknowledgePartition(0, batches)])]
    return ShareAcknowledgeRequest("g", member, epoch, topics=topics, **fields)


def test_acknowledgements_count_and_the_session_continues() -> None:
    with share_scene() as scene:
        client = scene.client()
        topic_id = create(client, "a")
        fill(scene, client, 3)
        assert acquired(client.ask(share_fetch(topic_id))) == [(0, 2, 1)]
        answer = client.ask(acknowledge(topic_id, 1, (0, 1, ACCEPT), (2, 2, RELEASE)))
        assert (only(answer).error_code, answer.acquisition_lock_timeout_ms) == (0, 30_000)
        assert acquired(client.ask(share_fetch(topic_id, 2))) == [(2, 2, 2)]


def test_the_last_request_of_a_session_frees_what_is_left() -> None:
    with share_scene() as scene:
        client = scene.client()
        topic_id = create(client, "a")
        fill(scene, client, 3)
        assert acquired(client.ask(share_fetch(topic_id))) == [(0, 2, 1)]
        assert only(client.ask(acknowledge(topic_id, -1, (1, 1, ACCEPT)))).error_code == 0
        answer = client.ask(acknowledge(topic_id, 1, (0, 0, ACCEPT)))
        assert answer.error_code == ErrorCode.SHARE_SESSION_NOT_FOUND
        assert acquired(client.ask(share_fetch(topic_id))) == [(0, 0, 2), (2, 2, 2)]


@pytest.mark.parametrize(
    ("epoch", "code"),
    [
        (0, ErrorCode.INVALID_SHARE_SESSION_EPOCH),
        (2, ErrorCode.INVALID_SHARE_SESSION_EPOCH),
    ],
)
def test_wrong_epochs_are_refused(epoch: int, code: ErrorCode) -> None:
    with share_scene() as scene:
        client = scene.client()
        topic_id = create(client, "a")
        client.ask(share_fetch(topic_id))
        assert client.ask(acknowledge(topic_id, epoch, (0, 0, ACCEPT))).error_code == code


def test_records_of_another_member_cannot_be_acknowledged() -> None:
    with share_scene() as scene:
        client, other = scene.client(), scene.client()
        topic_id = create(client, "a")
        fill(scene, client, 1)
        client.ask(share_fetch(topic_id, member="x"))
        other.ask(share_fetch(topic_id, member="y"))
        answer = only(other.ask(acknowledge(topic_id, 1, (0, 0, ACCEPT), member="y")))
        assert answer.error_code == ErrorCode.INVALID_RECORD_STATE
        assert answer.error_message == "Member is not the owner of batch record"


def test_unknown_places_have_errors() -> None:
    with share_scene() as scene:
        client = scene.client()
        topic_id = create(client, "a")
        other_id = create(client, "b")
        client.ask(share_fetch(topic_id))
        unknown = only(client.ask(acknowledge(b"x" * 16, 1, (0, 0, ACCEPT))))
        assert unknown.error_code == ErrorCode.UNKNOWN_TOPIC_ID
        unshared = only(client.ask(acknowledge(other_id, 2, (0, 0, ACCEPT))))
        assert unshared.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def test_old_versions_cannot_renew() -> None:
    with share_scene() as scene:
        client = scene.client()
        topic_id = create(client, "a")
        fill(scene, client, 1)
        client.ask(share_fetch(topic_id))
        old = only(client.ask(acknowledge(topic_id, 1, (0, 0, RENEW)), 1))
        assert old.error_code == ErrorCode.INVALID_REQUEST
        unsaid = only(client.ask(acknowledge(topic_id, 2, (0, 0, RENEW))))
        assert unsaid.error_code == ErrorCode.INVALID_REQUEST
        assert only(client.ask(acknowledge(topic_id, 3, (0, 0, RENEW), is_renew_ack=True))).error_code == 0
