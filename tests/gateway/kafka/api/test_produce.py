"""Produce: batches of Kafka clients into topics of both kinds."""

from __future__ import annotations

from typing import Any

import pytest
from twisted.internet.defer import Deferred

from mqgateway.engine.record_batches.batches import TRANSACTIONAL, build_batch
from mqgateway.engine.record_batches.records import Record
from mqgateway.engine.tables.topics import TopicConfig
from mqgateway.gateway.access.operations import AclOperation
from mqgateway.gateway.client.message import Message
from mqgateway.gateway.kafka.api.produce import Produce
from mqgateway.gateway.kafka.cluster_view import ClusterView
from mqgateway.gateway.kafka.codec.error_codes import ErrorCode
from mqgateway.gateway.kafka.codec.messages.create_topics_request import (
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
)
from mqgateway.gateway.kafka.codec.messages.produce_request import ProduceRequest, TopicProduceData
from mqgateway.gateway.kafka.node import Node
from mqgateway.gateway.kafka.verification import NotVerified
from tests.gateway.kafka.api.test_metadata import ACCESS, create
from tests.support.gateway.kafka.broker import KafkaBroker
from tests.support.gateway.kafka.client import KafkaScene, kafka_scene
from tests.support.gateway.kafka.requests import (
    batch_of_values,
    end_transaction,
    fetch_request,
    fetched,
    in_transaction,
    produce_request,
    produced,
    values_in,
)


def sample(scene: KafkaScene, *values: bytes, **fields: Any) -> bytearray:
    """Return a batch of the server's time."""
    return batch_of_values(*(values or (b"a", b"b")), now=scene.server.clock.millis(), **fields)


class Coordinated(KafkaBroker):
    """A broker whose coordinator answers when a test says so; topic `a` is one of Kafka's."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[tuple[Any, ...]] = []
        self.outcomes: list[Deferred[None]] = []
        attributes = {"queue.type": "BatchCQ", "message.format": "kafka"}
        self.broker.tables.topics.put(TopicConfig("a", 1, 1, attributes=attributes))
        cluster = ClusterView(self.operations, Node(self.operations, "kafka.example", 9092))
        self.service.handlers.update(Produce(self.operations, self.topics, cluster, self.verify).handlers())

    def verify(self, *claim: Any, adds: bool) -> Deferred[None]:
        """See `Verify`."""
        self.asked.append((*claim, adds))
        self.outcomes.append(Deferred())
        return self.outcomes[-1]

    def produce(self, sequence: int | None, version: int = 12) -> list[Any]:
        """Send a batch of a transaction, or a plain one; return the list that its answer comes to."""
        producer = {"producer_id": 7, "producer_epoch": 0, "base_sequence": sequence, "flags": TRANSACTIONAL}
        data = batch_of_values(b"v", now=self.clock.millis(), **({} if sequence is None else producer))
        return self.send(produce_request("a", data, transactional_id="t"), version)


def first(answers: list[Any]) -> Any:
    """Return the answer for the one partition of the one answer."""
    [answer] = answers
    return answer.responses[0].partition_responses[0]


@pytest.mark.parametrize("version", range(3, 14))
def test_batches_are_appended_in_every_version(version: int) -> None:
    with kafka_scene() as scene:
        client = scene.client()
        topic_id = create(client, "a")
        request = produce_request("a", sample(scene), topic_id=topic_id)
        first, second = (produced(client, request, version) for _ in range(2))
        assert (first.error_code, first.base_offset, second.base_offset) == (0, 0, 2)
        assert first.log_append_time_ms == -1
        assert [offset for offset, _ in values_in(fetched(client, fetch_request("a", 0)))] == [0, 1, 2, 3]


@pytest.mark.parametrize("acks", [-1, 1])
def test_messages_of_rocketmq_and_batches_of_kafka_share_offsets(acks: int) -> None:
    with kafka_scene() as scene:
        client = scene.client()
        scene.server.create_topic("Orders", queues=1)
        producer = scene.hands.producer()
        scene.hands.send(producer, Message("Orders", b"first"))
        assert produced(client, produce_request("Orders", sample(scene), acks=acks)).base_offset == 1
        scene.hands.send(producer, Message("Orders", b"last"))
        bodies = [message.body for message in scene.server.messages("Orders")]
        assert bodies == [b"first", b"a", b"b", b"last"]
        values = values_in(fetched(client, fetch_request("Orders", 0)))
        assert values == list(enumerate([b"first", b"a", b"b", b"last"]))


def test_without_acknowledgement_there_is_no_answer_and_an_error_closes_the_connection() -> None:
    with kafka_scene() as scene:
        client = scene.client()
        create(client, "a")
        client.write(client.frame(produce_request("a", sample(scene), acks=0), 12))
        assert client.frames(1, 0.2) == [] and not client.lost
        assert len(values_in(fetched(client, fetch_request("a", 0)))) == 2
        client.write(client.frame(produce_request("none", sample(scene), acks=0), 12))
        assert client.frames(1, 0.2) == [] and client.lost


def test_each_partition_succeeds_or_fails_by_itself() -> None:
    with kafka_scene() as scene:
        client = scene.client()
        create(client, "a", 2)
        good, bad = sample(scene), sample(scene)[:-1] + b"!"
        one = produce_request("a", good).topic_data[0].partition_data[0]
        two = produce_request("a", bad, partition=1).topic_data[0].partition_data[0]
        three = produce_request("a", good, partition=2).topic_data[0].partition_data[0]
        request = ProduceRequest(
            None, -1, 1000, [TopicProduceData("a", partition_data=[one, two, three]), *none(good)]
        )
        first, second = client.ask(request, 12).responses
        codes = [partition.error_code for partition in first.partition_responses]
        unknown = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        assert codes == [0, ErrorCode.CORRUPT_MESSAGE, unknown]
        assert [partition.error_code for partition in second.partition_responses] == [unknown]


@pytest.mark.parametrize("flush", ["ASYNC_FLUSH", "SYNC_FLUSH"])
def test_batches_of_very_many_partitions_are_answered_one_by_one_and_in_order(flush: str) -> None:
    with kafka_scene(flush_disk_type=flush) as scene:
        client = scene.client()
        create(client, "a", 300)
        parts = [
            produce_request("a", sample(scene), partition=number).topic_data[0].partition_data[0]
            for number in range(301)
        ]
        request = ProduceRequest(None, -1, 1000, [TopicProduceData("a", partition_data=parts)])
        client.write(client.frame(request, 12) + client.frame(produce_request("a", sample(scene)), 12))
        first, second = client.frames(2)
        [topic] = client.decoded(request, first, 12).responses
        answers = [(one.index, one.error_code, one.base_offset) for one in topic.partition_responses]
        assert answers[:300] == [(number, 0, 0) for number in range(300)]
        assert answers[300][1] == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        [topic] = client.decoded(request, second, 12).responses
        assert topic.partition_responses[0].base_offset == 2


def none(data: bytearray) -> list[TopicProduceData]:
    """Return a topic that does not exist."""
    return list(produce_request("none", data).topic_data)


def test_a_request_that_cannot_be_served_has_an_error_for_each_partition() -> None:
    with kafka_scene() as scene:
        client = scene.client()
        create(client, "a")
        data = sample(scene)
        wrong = produced(client, produce_request("a", data, acks=2))
        assert wrong.error_code == ErrorCode.INVALID_REQUIRED_ACKS
        by_id = produced(client, produce_request("", data, topic_id=b"\1" * 16), 13)
        assert by_id.error_code == ErrorCode.UNKNOWN_TOPIC_ID
        assert produced(client, produce_request("a", None)).error_code == ErrorCode.INVALID_RECORD
        assert fetched(client, fetch_request("a", 0)).high_watermark == 0


def test_a_batch_of_an_idempotent_producer_is_stored_once() -> None:
    with kafka_scene() as scene:
        client = scene.client()
        create(client, "a")
        scene.server.create_topic("Orders", queues=1)
        for topic in ("a", "Orders"):

            def send(sequence: int, epoch: int = 0, *values: bytes, to: str = topic) -> Any:
                data = sample(scene, *values, producer_id=7, producer_epoch=epoch, base_sequence=sequence)
                return produced(client, produce_request(to, data))

            assert send(0).base_offset == 0 and send(2).base_offset == 2
            again = send(0)
            assert (again.error_code, again.base_offset) == (0, 0)
            assert send(9).error_code == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
            assert send(0, 1).base_offset == 4
            assert send(4).error_code == ErrorCode.INVALID_PRODUCER_EPOCH
            assert len(values_in(fetched(client, fetch_request(topic, 0)))) == 6


def test_two_equal_batches_in_one_read_are_stored_once() -> None:
    with kafka_scene() as scene:
        client = scene.client()
        create(client, "a")
        data = sample(scene, producer_id=7, producer_epoch=0, base_sequence=0)
        request = produce_request("a", data)
        client.write(client.frame(request, 12) + client.frame(request, 12))
        answers = [client.decoded(request, frame, 12) for frame in client.frames(2)]
        offsets = [answer.responses[0].partition_responses[0].base_offset for answer in answers]
        assert offsets == [0, 0] and fetched(client, fetch_request("a", 0)).high_watermark == 2


@pytest.mark.parametrize("version", [9, 11, 12])
def test_a_batch_of_a_transaction_needs_a_transactional_id(version: int) -> None:
    with kafka_scene() as scene:
        client = scene.client()
        create(client, "a")
        refused = in_transaction(scene, client, 7, b"x", transactional_id=None, version=version)
        assert refused.error_code == ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
        taken = in_transaction(scene, client, 7, b"x", version=version)
        assert (taken.error_code, taken.base_offset) == (0, 0)
        again = in_transaction(scene, client, 7, b"x", version=version)
        assert (again.error_code, again.base_offset) == (0, 0)


def test_a_batch_that_does_not_fit_its_producers_transaction_is_refused() -> None:
    with kafka_scene() as scene:
        client = scene.client()
        create(client, "a")
        scene.server.create_topic("Orders", queues=1)
        assert in_transaction(scene, client, 7, b"x").error_code == 0
        plain = sample(scene, b"y", producer_id=7, producer_epoch=0, base_sequence=1)
        assert produced(client, produce_request("a", plain)).error_code == ErrorCode.INVALID_TXN_STATE
        end_transaction(scene, 7, is_commit=True, epoch=1)
        assert produced(client, produce_request("a", plain)).error_code == ErrorCode.INVALID_PRODUCER_EPOCH
        of_rocketmq = in_transaction(scene, client, 7, b"x", topic="Orders")
        assert of_rocketmq.error_code == ErrorCode.INVALID_TXN_STATE


@pytest.mark.parametrize("version", [9, 12])
def test_a_batch_waits_until_its_coordinator_knows_of_it(version: int) -> None:
    """The next batch of the producer waits with it, and a plain one does not."""
    broker = Coordinated()
    waiting = [broker.produce(sequence, version) for sequence in (0, 1)]
    plain = broker.produce(None, version)
    assert waiting == [[], []] and first(plain).base_offset == 0
    assert broker.asked == [("t", 7, 0, "a", 0, version >= 12)]
    broker.outcomes[0].callback(None)
    assert [first(answers).base_offset for answers in waiting] == [1, 2]
    assert first(broker.produce(2, version)).base_offset == 3 and len(broker.asked) == 1


def test_a_batch_that_its_coordinator_refuses_is_not_stored() -> None:
    broker = Coordinated()
    answers = broker.produce(0)
    broker.outcomes[0].errback(NotVerified(ErrorCode.INVALID_TXN_STATE, "not in it"))
    refused = first(answers)
    assert (refused.error_code, refused.error_message) == (ErrorCode.TRANSACTION_ABORTABLE, "not in it")
    assert broker.broker.store.max_offset("a", 0) == 0


def test_batch_of_a_transaction_needs_the_right_to_write_its_id() -> None:
    broker = Coordinated()
    broker.rights.denied = {("t", AclOperation.WRITE)}
    assert first(broker.produce(0)).error_code == ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
    assert broker.asked == [] and first(broker.produce(None)).error_code == 0


def test_broker_limits_batches_of_topics_that_do_not() -> None:
    with kafka_scene(kafka_message_max_bytes=200) as scene:
        client = scene.client()
        own = [CreatableTopicConfig("max.message.bytes", "1000")]
        client.ask(CreateTopicsRequest([CreatableTopic("a", 1, 1), CreatableTopic("b", 1, 1, configs=own)]))
        for _ in range(2):  # the second request is like the first one
            errors = [
                produced(client, produce_request(topic, sample(scene, bytes(300)))).error_code
                for topic in ("a", "b")
            ]
            assert errors == [ErrorCode.MESSAGE_TOO_LARGE, ErrorCode.NONE]


def test_settings_of_the_topic_apply() -> None:
    with kafka_scene() as scene:
        client = scene.client()
        configs = [
            CreatableTopicConfig("max.message.bytes", "200"),
            CreatableTopicConfig("message.timestamp.type", "LogAppendTime"),
            CreatableTopicConfig("cleanup.policy", "compact"),
        ]
        client.ask(CreateTopicsRequest([CreatableTopic("a", 1, 1, configs=configs)]))
        large = produced(client, produce_request("a", sample(scene, bytes(300))))
        assert large.error_code == ErrorCode.MESSAGE_TOO_LARGE
        taken = produced(client, produce_request("a", sample(scene)))
        assert taken.error_code == 0 and taken.log_append_time_ms == scene.server.clock.millis()
        records = [Record(b"k" if number % 3 else None, b"x", offset_delta=number) for number in range(7)]
        refused = produced(client, produce_request("a", batch_of_records(scene, records)))
        assert refused.error_code == ErrorCode.INVALID_RECORD
        assert [record.batch_index for record in refused.record_errors] == [0, 3, 6]


def test_all_records_whose_times_are_out_of_range_are_named() -> None:
    with kafka_scene() as scene:
        client = scene.client()
        configs = [CreatableTopicConfig("message.timestamp.after.max.ms", "1000")]
        client.ask(CreateTopicsRequest([CreatableTopic("a", 1, 1, configs=configs)]))
        records = [Record(None, b"x", (), 900 * number, number) for number in range(4)]
        refused = produced(client, produce_request("a", batch_of_records(scene, records)))
        assert refused.error_code == ErrorCode.INVALID_TIMESTAMP
        assert [record.batch_index for record in refused.record_errors] == [2, 3]


def batch_of_records(scene: KafkaScene, records: list[Record]) -> bytearray:
    """Return a batch of records."""
    return build_batch(records, base_timestamp=scene.server.clock.millis())


def test_headers_that_no_message_can_have_are_refused_in_topics_of_rocketmq() -> None:
    with kafka_scene() as scene:
        client = scene.client()
        scene.server.create_topic("Orders", queues=1)
        records = [Record(None, b"x"), Record(None, b"y", [("h", bytes(40_000))], 0, 1)]
        refused = produced(client, produce_request("Orders", batch_of_records(scene, records)))
        assert refused.error_code == ErrorCode.INVALID_RECORD
        assert [record.batch_index for record in refused.record_errors] == [1]
        assert fetched(client, fetch_request("Orders", 0)).high_watermark == 0


def test_internal_topics_are_closed_to_clients() -> None:
    with kafka_scene() as scene:
        create(scene.client(), "__share_group_state")
        refused = produced(scene.client(), produce_request("__share_group_state", sample(scene)))
        assert refused.error_code == ErrorCode.INVALID_TOPIC_EXCEPTION
        admin = scene.client("__admin_client")
        refused = produced(admin, produce_request("__share_group_state", sample(scene)))
        assert refused.error_code == ErrorCode.POLICY_VIOLATION


def test_with_access_control_nothing_is_appended() -> None:
    with kafka_scene(**ACCESS) as scene:
        scene.server.create_topic("a")
        refused = produced(scene.client(), produce_request("a", sample(scene)))
        assert refused.error_code == ErrorCode.TOPIC_AUTHORIZATION_FAILED


def test_acks_all_waits_until_the_log_is_on_disk() -> None:
    with kafka_scene(flush_disk_type="SYNC_FLUSH") as scene:
        client = scene.client()
        create(client, "a")
        assert produced(client, produce_request("a", sample(scene))).base_offset == 0
        assert produced(client, produce_request("a", sample(scene), acks=1)).base_offset == 2


@pytest.mark.parametrize(("acks", "code"), [(1, ErrorCode.NONE), (-1, ErrorCode.NOT_ENOUGH_REPLICAS)])
def test_only_acks_all_needs_replicas_in_sync(acks: int, code: ErrorCode) -> None:
    with kafka_scene(min_in_sync_replicas=2) as scene:
        client = scene.client()
        create(client, "a")
        for _ in range(2):
            assert produced(client, produce_request("a", sample(scene), acks=acks)).error_code == code


def test_a_full_disk_is_a_storage_error() -> None:
    with kafka_scene() as scene:
        client = scene.client()
        create(client, "a")
        scene.server.fill_disk()
        refused = produced(client, produce_request("a", sample(scene)))
        assert refused.error_code != 0 and refused.base_offset == -1
        scene.server.free_disk()
