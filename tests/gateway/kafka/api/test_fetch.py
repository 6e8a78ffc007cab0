"""Fetch: batches from topics of both kinds, with its limits and waits."""

from __future__ import annotations

from typing import Any

import pytest

from mqgateway.gateway.broker.operations import Use
from mqgateway.gateway.client.message import Message
from mqgateway.gateway.kafka.codec.apis import FETCH
from mqgateway.gateway.kafka.codec.error_codes import ErrorCode
from mqgateway.gateway.kafka.codec.messages.fetch_request import FetchPartition, FetchRequest, FetchTopic
from mqgateway.gateway.kafka.dispatch import ELEMENTS_MAX
from tests.gateway.kafka.api.test_metadata import ACCESS, create
from tests.support.gateway.kafka.client import KafkaClient, KafkaScene, kafka_scene
from tests.support.gateway.kafka.requests import (
    batch_of_values,
    batches_in,
    end_transaction,
    fetch_request,
    fetched,
    in_transaction,
    produce_request,
    produced,
    values_in,
)


def filled(scene: KafkaScene, client: KafkaClient, count: int, partition: int = 0) -> list[bytes]:
    """Produce batches of two records, and return them."""
    sent = []
    for number in range(count):
        now = scene.server.clock.millis()
        data = batch_of_values(b"%d" % number, b"x" * 5000, now=now)
        assert produced(client, produce_request("a", data, partition=partition)).error_code == 0
        sent.append(bytes(data))
    return sent


@pytest.mark.parametrize("version", range(4, 19))
def test_batches_are_given_as_they_were_sent_but_for_offset_and_epoch(version: int) -> None:
    with kafka_scene() as scene:
        client = scene.client()
        topic_id = create(client, "a")
        sent = filled(scene, client, 2)
        answer = fetched(client, fetch_request("a", 0, topic_id=topic_id), version)
        assert (answer.error_code, answer.high_watermark, answer.last_stable_offset) == (0, 4, 4)
        found = batches_in(answer)
        assert [bytes(batch.data[16:]) for batch in found] == [data[16:] for data in sent]
        assert [(batch.base_offset, batch.leader_epoch) for batch in found] == [(0, 0), (2, 0)]


def test_the_batch_with_the_offset_comes_whole() -> None:
    with kafka_scene() as scene:
        client = scene.client()
        create(client, "a")
        filled(scene, client, 2)
        offsets = [offset for offset, _ in values_in(fetched(client, fetch_request("a", 1)))]
        assert offsets == [0, 1, 2, 3]
        small = fetched(client, fetch_request("a", 3, max_bytes=1, partition_bytes=1))
        assert [offset for offset, _ in values_in(small)] == [2, 3]


def test_limits_of_bytes_apply_after_the_first_batch() -> None:
    with kafka_scene() as scene:
        client = scene.client()
        create(client, "a", 2)
        size = len(filled(scene, client, 3)[0]) + 300  # the record around a batch counts too
        filled(scene, client, 3, partition=1)
        both = [FetchPartition(number, partition_max_bytes=2 * size) for number in (1, 0)]
        request = FetchRequest(
            max_bytes=3 * size, session_epoch=-1, topics=[FetchTopic("a", partitions=both)]
        )
        [topic] = client.ask(request, 12).responses
        found = {one.partition_index: len(batches_in(one)) for one in topic.partitions}
        assert found == {1: 2, 0: 1}


def test_answer_is_limited_by_the_broker_too() -> None:
    with kafka_scene(kafka_fetch_max_bytes=6000) as scene:
        client = scene.client()
        create(client, "a")
        filled(scene, client, 2)
        offsets = [offset for offset, _ in values_in(fetched(client, fetch_request("a", 0)))]
        assert offsets == [0, 1]


@pytest.mark.parametrize("offset", [-1, 5, 100])
def test_an_offset_out_of_range_is_an_error_at_once(offset: int) -> None:
    with kafka_scene() as scene:
        client = scene.client()
        create(client, "a")
        filled(scene, client, 2)
        answer = fetched(client, fetch_request("a", offset, max_wait=60_000))
        assert answer.error_code == ErrorCode.OFFSET_OUT_OF_RANGE
        assert (answer.high_watermark, answer.last_stable_offset, answer.log_start_offset) == (-1, -1, -1)


@pytest.mark.parametrize(("topic", "partition"), [("a", 9), ("unknown", 0)])
def test_fetch_with_refused_partition_does_not_wait(topic: str, partition: int) -> None:
    with kafka_scene() as scene:
        client = scene.client()
        create(client, "a")
        request = fetch_request("a", 0, max_wait=60_000)
        refused = FetchTopic(topic, partitions=[FetchPartition(partition, partition_max_bytes=1)])
        request.topics = [*request.topics, refused]
        answers = [one for found in client.ask(request, 12).responses for one in found.partitions]
        codes = sorted(one.error_code for one in answers)
        assert codes == [0, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION]


def test_a_fetch_at_the_end_waits_for_records_or_its_time() -> None:
    with kafka_scene() as scene:
        client, other = scene.client(), scene.client()
        create(client, "a")
        request = fetch_request("a", 0, max_wait=2000)
        client.write(client.frame(request, 12))
        assert client.frames(1, 1.0) == []
        filled(scene, other, 1)
        [frame] = client.frames(1, 0.5)
        [topic] = client.decoded(request, frame, 12).responses
        assert len(values_in(topic.partitions[0])) == 2
        late = fetch_request("a", 2, max_wait=2000)
        client.write(client.frame(late, 12))
        assert client.frames(1, 1.5) == []
        [frame] = client.frames(1, 1.5)
        [topic] = client.decoded(late, frame, 12).responses
        assert topic.partitions[0].error_code == 0 and not topic.partitions[0].records


def test_a_fetch_waits_for_messages_of_rocketmq_too() -> None:
    with kafka_scene() as scene:
        client = scene.client()
        create(client, "a")
        request = fetch_request("a", 0, max_wait=5000)
        client.write(client.frame(request, 12))
        scene.settle(0.1)
        scene.hands.send(scene.hands.producer(), Message("a", b"hello", tags="T", keys="k"))
        [frame] = client.frames(1, 2.0)
        [topic] = client.decoded(request, frame, 12).responses
        assert values_in(topic.partitions[0]) == [(0, b"hello")]


def test_a_deleted_topic_ends_the_wait() -> None:
    with kafka_scene() as scene:
        client = scene.client()
        create(client, "a")
        request = fetch_request("a", 0, max_wait=60_000)
        client.write(client.frame(request, 12))
        scene.settle(0.1)
        permit = scene.operations.gate.internal(Use.ADMINISTER)
        scene.operations.administration.delete_topic(permit, "a")
        [frame] = client.frames(1, 2.0)
        [topic] = client.decoded(request, frame, 12).responses
        assert topic.partitions[0].error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def test_unknown_topics_partitions_and_epochs_have_their_errors() -> None:
    with kafka_scene() as scene:
        client = scene.client()
        create(client, "a")

        def code(name: str = "a", version: int = 12, **more: Any) -> int:
            request = fetch_request(name, 0, max_wait=60_000, **more)
            found: int = fetched(client, request, version).error_code
            return found

        assert code("none") == code(partition=1) == code(partition=-1) == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        assert code(version=13, topic_id=b"\1" * 16) == ErrorCode.UNKNOWN_TOPIC_ID
        request = fetch_request("a", 0)
        request.topics[0].partitions[0].current_leader_epoch = 1
        assert fetched(client, request).error_code == ErrorCode.UNKNOWN_LEADER_EPOCH
        request.topics[0].partitions[0].current_leader_epoch = 0
        assert fetched(client, request).error_code == 0


def test_readers_of_committed_records_get_an_empty_list_of_aborted_transactions() -> None:
    with kafka_scene() as scene:
        client = scene.client()
        create(client, "a")
        assert fetched(client, fetch_request("a", 0, isolation_level=1)).aborted_transactions == ()
        assert fetched(client, fetch_request("a", 0)).aborted_transactions is None


def test_readers_of_committed_records_stop_at_an_open_transaction() -> None:
    with kafka_scene() as scene:
        client = scene.client()
        create(client, "a")
        filled(scene, client, 1)
        in_transaction(scene, client, 7, b"x", b"y")
        filled(scene, client, 1)
        committed = fetched(client, fetch_request("a", 0, isolation_level=1))
        everything = fetched(client, fetch_request("a", 0))
        ends = [(one.high_watermark, one.last_stable_offset) for one in (committed, everything)]
        assert ends == [(6, 2), (6, 2)]
        assert (len(values_in(committed)), len(values_in(everything))) == (2, 6)
        request = fetch_request("a", 2, isolation_level=1, max_wait=4000)
        client.write(client.frame(request, 12))
        assert not client.frames(1, 1.0)
        end_transaction(scene, 7, is_commit=False)
        [frame] = client.frames(1, 1.0)
        [topic] = client.decoded(request, frame, 12).responses
        [read] = topic.partitions
        assert read.last_stable_offset == 7 and len(batches_in(read)) == 3
        assert [(one.producer_id, one.first_offset) for one in read.aborted_transactions] == [(7, 2)]
        assert fetched(client, fetch_request("a", 2)).aborted_transactions is None


def test_aborted_transactions_are_in_the_order_of_their_markers() -> None:
    with kafka_scene() as scene:
        client = scene.client()
        create(client, "a")
        for producer_id in (1, 2, 3):
            in_transaction(scene, client, producer_id, b"x")
        for producer_id in (3, 1, 2):
            end_transaction(scene, producer_id, is_commit=producer_id == 1)
        read = fetched(client, fetch_request("a", 0, isolation_level=1))
        assert [(one.producer_id, one.first_offset) for one in read.aborted_transactions] == [(3, 2), (2, 1)]
        assert not fetched(client, fetch_request("a", 6, isolation_level=1)).aborted_transactions


def test_a_session_gives_only_news() -> None:
    with kafka_scene() as scene:
        client = scene.client()
        create(client, "a", 2)
        partitions = [FetchPartition(number, partition_max_bytes=1000) for number in range(2)]
        request = FetchRequest(topics=[FetchTopic("a", partitions=partitions)], session_epoch=0)
        first = client.ask(request, 12)
        assert first.session_id > 0 and len(first.responses[0].partitions) == 2
        again = client.ask(FetchRequest(session_id=first.session_id, session_epoch=1), 12)
        assert again.session_id == first.session_id and not again.responses
        filled(scene, client, 1, partition=1)
        news = client.ask(FetchRequest(session_id=first.session_id, session_epoch=2), 12)
        [topic] = news.responses
        assert [one.partition_index for one in topic.partitions] == [1]
        wrong = client.ask(FetchRequest(session_id=first.session_id, session_epoch=2), 12)
        assert wrong.error_code == ErrorCode.INVALID_FETCH_SESSION_EPOCH


@pytest.mark.parametrize("version", [4, 12])
def test_very_many_partitions_are_read_waited_for_and_kept_in_a_session(version: int) -> None:
    with kafka_scene() as scene:
        client, other = scene.client(), scene.client()
        create(client, "a", 300)
        filled(scene, other, 1, partition=250)
        partitions = [FetchPartition(number, partition_max_bytes=1000) for number in range(301)]
        request = FetchRequest(
            max_bytes=1 << 20, topics=[FetchTopic("a", partitions=partitions)], session_epoch=0
        )
        client.write(client.frame(request, version) + client.frame(fetch_request("a", 0), version))
        first, later = [client.decoded(request, frame, version) for frame in client.frames(2)]
        assert [one.partition_index for one in later.responses[0].partitions] == [0]
        answers = {one.partition_index: one for one in first.responses[0].partitions}
        assert [one for one, data in answers.items() if data.records] == [250]
        assert [one for one, data in answers.items() if data.error_code] == [300]
        at_end = [
            FetchPartition(number, fetch_offset=2 * (number == 250), partition_max_bytes=1000)
            for number in range(300)
        ]
        topics = [FetchTopic("a", partitions=at_end)]
        waiting = FetchRequest(
            max_wait_ms=5000, min_bytes=1, max_bytes=1 << 20, topics=topics, session_epoch=-1
        )
        client.write(client.frame(waiting, version))
        assert client.frames(1, 1.0) == []
        filled(scene, other, 1, partition=7)
        [frame] = client.frames(1, 1.0)
        [topic] = client.decoded(waiting, frame, version).responses
        assert [one.partition_index for one in topic.partitions if one.records] == [7]
        assert len(topic.partitions) == 300


def test_incremental_session_of_very_many_partitions_gives_only_news() -> None:
    with kafka_scene() as scene:
        client = scene.client()
        create(client, "a", 300)
        partitions = [FetchPartition(number, partition_max_bytes=1000) for number in range(300)]
        first = client.ask(FetchRequest(topics=[FetchTopic("a", partitions=partitions)], session_epoch=0), 12)
        assert len(first.responses[0].partitions) == 300
        filled(scene, client, 1, partition=299)
        news = client.ask(FetchRequest(session_id=first.session_id, session_epoch=1), 12)
        [topic] = news.responses
        assert [one.partition_index for one in topic.partitions] == [299]


def test_more_partitions_than_a_request_may_name_end_the_connection() -> None:
    with kafka_scene() as scene:
        client = scene.client()
        most = ELEMENTS_MAX[FETCH] - 1
        partitions = [FetchPartition(0)] * (most + 1)
        fine = FetchRequest(topics=[FetchTopic("a", partitions=partitions[:most])], session_epoch=-1)
        assert len(client.ask(fine, 12).responses[0].partitions) == most
        many = FetchRequest(topics=[FetchTopic("a", partitions=partitions)], session_epoch=-1)
        client.write(client.frame(many, 12))
        assert client.frames() == [] and client.lost


def test_a_fetch_without_partitions_is_answered_at_once() -> None:
    with kafka_scene() as scene:
        answer = scene.client().ask(FetchRequest(max_wait_ms=60_000, session_epoch=0), 12, 0.2)
        assert not answer.responses and answer.session_id == 0


def test_with_access_control_nothing_is_read() -> None:
    with kafka_scene(**ACCESS) as scene:
        scene.server.create_topic("a")
        refused = fetched(scene.client(), fetch_request("a", 0, max_wait=60_000))
        assert refused.error_code == ErrorCode.TOPIC_AUTHORIZATION_FAILED
