"""ShareFetch: records of share groups, sessions, waits, and acknowledgements that come with it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from mqgateway.gateway.kafka.codec.error_codes import ErrorCode
from mqgateway.gateway.kafka.codec.messages.share_fetch_request import (
    AcknowledgementBatch,
    FetchPartition,
    FetchTopic,
    ForgottenTopic,
    ShareFetchRequest,
)
from mqgateway.gateway.kafka.share_groups.settings import ShareGroupSettings
from mqgateway.gateway.kafka.share_partitions.partition import ACCEPT, REJECT, RELEASE, RENEW
from tests.gateway.kafka.api.test_metadata import create
from tests.support.gateway.kafka.client import KafkaClient, KafkaScene, kafka_scene
from tests.support.gateway.kafka.requests import batch_of_values, produce_request, produced, values_in


@contextmanager
def share_scene(**settings: Any) -> Iterator[KafkaScene]:
    """Yield a test server whose share groups begin with the first record."""
    with kafka_scene() as scene:
        create(scene.client(), "other")  # the first connection starts the front end
        scene.set_share_groups(ShareGroupSettings(**{"auto_offset_reset": "earliest", **settings}))
        yield scene


def fill(scene: KafkaScene, client: KafkaClient, count: int, partition: int = 0) -> None:
    """Produce a batch of so many records."""
    values = [b"%d" % number for number in range(count)]
    data = batch_of_values(*values, now=scene.server.clock.millis())
    assert produced(client, produce_request("a", data, partition=partition)).error_code == 0


def share_fetch(
    topic_id: bytes,
    epoch: int = 0,
    *acks: tuple[int, int, int],
    member: str = "m",
    records: int = 500,
    wait: int = 0,
    mode: int = 0,
    partition: int = 0,
    **fields: Any,
) -> ShareFetchRequest:
    """Return a request for a partition, with acknowledgements of first and last offset and type."""
    batches = [AcknowledgementBatch(first, last, [kind]) for first, last, kind in acks]
    named = [FetchTopic(topic_id, [FetchPartition(partition, acknowledgement_batches=batches)])]
    return ShareFetchRequest(
        "g",
        member,
        epoch,
        max_wait_ms=wait,
        min_bytes=1,
        max_records=records,
        batch_size=500,
        share_acquire_mode=mode,
        topics=[] if epoch > 0 and not acks else named,
        **fields,
    )


def only(answer: Any) -> Any:
    """Return the one partition of an answer."""
    assert answer.error_code == 0
    [topic] = answer.responses
    [partition] = topic.partitions
    return partition


def acquired(answer: Any) -> list[tuple[int, int, int]]:
    """Return what an answer gives of one partition; none if it has no partition."""
    if not answer.responses:
        return []
    partition = only(answer)
    assert partition.error_code == partition.acknowledge_error_code == 0
    return [(one.first_offset, one.last_offset, one.delivery_count) for one in partition.acquired_records]


def test_records_are_acquired_and_acknowledged_by_the_next_request() -> None:
    with share_scene() as scene:
        client = scene.client()
        topic_id = create(client, "a")
        fill(scene, client, 3)
        first = client.ask(share_fetch(topic_id))
        assert acquired(first) == [(0, 2, 1)]
        assert values_in(only(first)) == [(0, b"0"), (1, b"1"), (2, b"2")]
        assert first.acquisition_lock_timeout_ms == 30_000
        assert acquired(client.ask(share_fetch(topic_id, 1))) == []
        again = client.ask(share_fetch(topic_id, 2, (0, 0, ACCEPT), (1, 1, RELEASE), (2, 2, REJECT)))
        assert acquired(again) == [(1, 1, 2)]
        assert client.ask(share_fetch(topic_id, 3, (1, 1, ACCEPT))).responses[0].partitions[0].records == b""


def test_members_share_a_partition() -> None:
    with share_scene() as scene:
        one, two = scene.client(), scene.client()
        topic_id = create(one, "a")
        for _ in range(2):
            fill(scene, one, 2)
        assert acquired(one.ask(share_fetch(topic_id, records=1, member="x"))) == [(0, 1, 1)]
        assert acquired(two.ask(share_fetch(topic_id, records=1, member="y"))) == [(2, 3, 1)]
        assert acquired(one.ask(share_fetch(topic_id, 1, member="x"))) == []


def test_no_more_records_come_than_wanted_in_the_mode_for_it() -> None:
    with share_scene() as scene:
        client = scene.client()
        topic_id = create(client, "a")
        fill(scene, client, 5)
        assert acquired(client.ask(share_fetch(topic_id, records=2, mode=1))) == [(0, 1, 1)]
        assert acquired(client.ask(share_fetch(topic_id, 1, records=2, mode=1))) == [(2, 3, 1)]


def test_a_fetch_waits_for_records() -> None:
    with share_scene() as scene:
        client, other = scene.client(), scene.client()
        topic_id = create(client, "a")
        request = share_fetch(topic_id, wait=5000)
        client.write(client.frame(request))
        assert client.frames(1, 1.0) == []
        fill(scene, other, 1)
        [frame] = client.frames(1, 0.5)
        assert acquired(client.decoded(request, frame)) == [(0, 0, 1)]
        late = share_fetch(topic_id, 1, wait=1000)
        client.write(client.frame(late))
        assert client.frames(1, 0.5) == []
        [frame] = client.frames(1, 1.0)
        assert not client.decoded(late, frame).responses


def test_a_fetch_waits_for_records_that_others_free() -> None:
    with share_scene() as scene:
        one, two, three = scene.client(), scene.client(), scene.client()
        topic_id = create(one, "a")
        fill(scene, one, 2)
        assert acquired(one.ask(share_fetch(topic_id, member="x"))) == [(0, 1, 1)]
        request = share_fetch(topic_id, member="y", wait=60_000)
        two.write(two.frame(request))
        assert two.frames(1, 1.0) == []
        assert acquired(one.ask(share_fetch(topic_id, 1, (0, 1, RELEASE), member="x", records=0))) == []
        [frame] = two.frames(1, 0.5)
        assert acquired(two.decoded(request, frame)) == [(0, 1, 2)]
        third = share_fetch(topic_id, member="z", wait=60_000)
        three.write(three.frame(third))
        [frame] = three.frames(1, 31.0)  # once the lock of the second member ends
        assert acquired(three.decoded(third, frame)) == [(0, 1, 3)]


def test_the_end_of_a_session_frees_records() -> None:
    with share_scene() as scene:
        one, two = scene.client(), scene.client()
        topic_id = create(one, "a")
        fill(scene, one, 3)
        assert acquired(one.ask(share_fetch(topic_id, member="x"))) == [(0, 2, 1)]
        final = one.ask(share_fetch(topic_id, -1, (0, 0, ACCEPT), member="x"))
        assert only(final).acknowledge_error_code == 0
        assert acquired(two.ask(share_fetch(topic_id, member="y"))) == [(1, 2, 2)]
        two.transport.loseConnection()
        scene.settle(0.1)
        assert acquired(one.ask(share_fetch(topic_id, member="x"))) == [(1, 2, 3)]


def test_locks_are_renewed() -> None:
    with share_scene() as scene:
        one, two = scene.client(), scene.client()
        topic_id = create(one, "a")
        fill(scene, one, 2)
        assert acquired(one.ask(share_fetch(topic_id, member="x"))) == [(0, 1, 1)]
        scene.settle(20)
        renew = share_fetch(topic_id, 1, (0, 0, RENEW), member="x", records=0, is_renew_ack=True)
        renew.max_bytes = renew.min_bytes = 0
        assert only(one.ask(renew)).acknowledge_error_code == 0
        scene.settle(15)
        assert acquired(two.ask(share_fetch(topic_id, member="y"))) == [(1, 1, 2)]
        renew.share_session_epoch, renew.max_wait_ms = 2, 1
        assert one.ask(renew).error_code == ErrorCode.INVALID_REQUEST


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"group_id": None}, ErrorCode.INVALID_REQUEST),
        ({"member_id": ""}, ErrorCode.INVALID_REQUEST),
        ({"member_id": "m" * 37}, ErrorCode.INVALID_REQUEST),
        ({"share_session_epoch": 1}, ErrorCode.SHARE_SESSION_NOT_FOUND),
        ({"share_session_epoch": -1}, ErrorCode.SHARE_SESSION_NOT_FOUND),
    ],
)
def test_wrong_requests_are_refused(change: dict[str, Any], code: ErrorCode) -> None:
    with share_scene() as scene:
        client = scene.client()
        request = share_fetch(create(client, "a"))
        for name, value in change.items():
            setattr(request, name, value)
        assert client.ask(request).error_code == code


def test_wrong_epochs_are_refused() -> None:
    with share_scene() as scene:
        client = scene.client()
        topic_id = create(client, "a")
        assert client.ask(share_fetch(topic_id)).error_code == 0
        assert client.ask(share_fetch(topic_id, 2)).error_code == ErrorCode.INVALID_SHARE_SESSION_EPOCH
        first = share_fetch(topic_id, 0, (0, 0, ACCEPT))
        assert client.ask(first).error_code == ErrorCode.INVALID_REQUEST


@pytest.mark.parametrize(
    ("acks", "code"),
    [
        ([AcknowledgementBatch(1, 0, [1])], ErrorCode.INVALID_REQUEST),
        ([AcknowledgementBatch(0, 1, [])], ErrorCode.INVALID_REQUEST),
        ([AcknowledgementBatch(0, 1, [1, 1, 1])], ErrorCode.INVALID_REQUEST),
        ([AcknowledgementBatch(0, 1, [5])], ErrorCode.INVALID_REQUEST),
        ([AcknowledgementBatch(0, 1, [-1])], ErrorCode.INVALID_REQUEST),
        ([AcknowledgementBatch(0, 1, [4])], ErrorCode.INVALID_REQUEST),
        ([AcknowledgementBatch(1, 1, [1]), AcknowledgementBatch(0, 0, [1])], ErrorCode.INVALID_REQUEST),
        ([AcknowledgementBatch(0, 9, [1])], ErrorCode.INVALID_REQUEST),
        ([AcknowledgementBatch(0, 0, [1]), AcknowledgementBatch(0, 0, [1])], ErrorCode.INVALID_RECORD_STATE),
    ],
)
def test_wrong_acknowledgements_are_refused(acks: list[AcknowledgementBatch], code: ErrorCode) -> None:
    with share_scene() as scene:
        client = scene.client()
        topic_id = create(client, "a")
        fill(scene, client, 3)
        assert acquired(client.ask(share_fetch(topic_id))) == [(0, 2, 1)]
        request = share_fetch(topic_id, 1, (0, 0, ACCEPT))
        request.topics[0].partitions[0].acknowledgement_batches = acks
        assert only(client.ask(request)).acknowledge_error_code == code


def test_unknown_topics_and_partitions_have_errors() -> None:
    with share_scene() as scene:
        client = scene.client()
        topic_id = create(client, "a")
        assert only(client.ask(share_fetch(b"x" * 16))).error_code == ErrorCode.UNKNOWN_TOPIC_ID
        wrong = client.ask(share_fetch(topic_id, partition=7, wait=60_000))
        assert only(wrong).error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def test_forgotten_partitions_are_not_fetched() -> None:
    with share_scene() as scene:
        client = scene.client()
        topic_id = create(client, "a", 2)
        client.ask(share_fetch(topic_id))
        request = share_fetch(topic_id, 1, forgotten_topics_data=[ForgottenTopic(topic_id, [0])])
        request.topics = [FetchTopic(topic_id, [FetchPartition(1)])]
        client.ask(request)
        fill(scene, client, 1)
        fill(scene, client, 2, partition=1)
        answer = client.ask(share_fetch(topic_id, 2))
        assert (only(answer).partition_index, acquired(answer)) == (1, [(0, 1, 1)])


def test_sessions_above_the_limit_of_the_broker_are_refused() -> None:
    with kafka_scene(kafka_group_share_max_share_sessions=1) as scene:
        client = scene.client()
        topic_id = create(client, "a")
        assert client.ask(share_fetch(topic_id)).error_code == ErrorCode.NONE
        other = scene.client().ask(share_fetch(topic_id, member="n"))
        assert other.error_code == ErrorCode.SHARE_SESSION_LIMIT_REACHED
