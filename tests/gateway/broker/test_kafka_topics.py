"""Conversations of RocketMQ's clients about a topic that Kafka's clients made and write to."""

from typing import Any

import pytest

from mqgateway.engine.message import StoredMessage
from mqgateway.engine.record_batches.batches import Batch, batches
from mqgateway.engine.record_batches.compression import CompressionType
from mqgateway.engine.record_batches.mapping import batch_of
from mqgateway.engine.store.expansion import holds_record_batch, unique_key
from mqgateway.engine.store.record import decode_all
from mqgateway.gateway.broker.operations import Use
from mqgateway.gateway.codec.codes import RequestCode
from mqgateway.gateway.codec.headers import (
    ConsumerSendMsgBackRequestHeader,
    EndTransactionRequestHeader,
    QueryMessageRequestHeader,
    ViewMessageRequestHeader,
)
from tests.support.engine.store.kafka_records import put_batch, records
from tests.support.engine.store.stores import message as new_message
from tests.support.gateway.broker.helpers import Answer, batch_body, subscription
from tests.support.gateway.broker.pop import GRACE, INVISIBLE, PopBroker
from tests.support.gateway.broker.producing import outcome_of

TOPIC = "T"
KAFKA = {"queue.type": "BatchCQ", "message.format": "kafka"}
COMMIT = 8


@pytest.fixture
def broker() -> PopBroker:
    """A broker whose topic T holds batches of Kafka."""
    made = PopBroker(store_options={"message_index_enable": True})
    made.add_topic(TOPIC, queues=1, attributes=KAFKA)
    made.subscribe("G", TOPIC)
    return made


def produce(broker: PopBroker, *values: bytes, tags: Any = (), **more: Any) -> int:
    """Store a batch as a Kafka producer's; its first offset."""
    return put_batch(broker.broker.store, records(*values, tags=tags), topic=TOPIC, **more)


def fetched(broker: PopBroker, offset: int = 0) -> list[tuple[int, bytes | None]]:
    """Offsets and values as a Kafka consumer sees them."""
    result = broker.broker.store.get(TOPIC, 0, offset, 1000, whole=True)
    found: list[tuple[int, bytes | None]] = []
    for message in decode_all(b"".join(result.records) or result.body):
        if holds_record_batch(record_of(broker, message)):
            given = list(batches(message.body))
        else:
            given = [Batch(memoryview(batch_of([message], 0)))]
        for batch in given:
            for record in batch.records():
                value = None if record.value is None else bytes(record.value)
                found.append((batch.base_offset + record.offset_delta, value))
    return found


def record_of(broker: PopBroker, message: StoredMessage) -> bytes:
    """The record of a message as it is stored."""
    record = broker.broker.store.record_at(message.physical_offset)
    assert record is not None
    return record


def pulled(answer: Answer) -> list[tuple[int, bytes]]:
    """Offsets and bodies of a reply."""
    assert answer.code == 0, answer.remark
    return [(message.queue_offset, message.body) for message in answer.messages]


def test_pull_gives_what_kafka_and_rocketmq_wrote_at_kafkas_offsets(broker: PopBroker) -> None:
    produce(broker, b"a", b"b", compression=CompressionType.LZ4)
    assert broker.send(TOPIC, b"c").ext["queueOffset"] == "2"
    assert produce(broker, b"d", b"e") == 3
    answer = broker.pull(TOPIC)
    expected = list(enumerate([b"a", b"b", b"c", b"d", b"e"]))
    assert pulled(answer) == expected == fetched(broker)
    assert (answer.ext["nextBeginOffset"], answer.ext["maxOffset"]) == ("5", "5")
    assert pulled(broker.pull(TOPIC, offset=1, max_msg_nums=2)) == expected[1:3]
    keys = [message.properties["UNIQ_KEY"] for message in answer.messages]
    assert keys == [
        *(unique_key(TOPIC, 0, one) for one in (0, 1)),
        "K1",
        *(unique_key(TOPIC, 0, one) for one in (3, 4)),
    ]


def test_waiting_pull_is_answered_when_kafka_writes(broker: PopBroker) -> None:
    broker.subscribe("G", TOPIC, "y")
    answer = broker.pull(TOPIC, sys_flag=2)
    assert answer.waits
    produce(broker, b"a", b"b", tags=["x", "y"])
    assert [body for _, body in pulled(answer)] in ([b"b"], [b"a", b"b"])


@pytest.mark.parametrize(
    ("kind", "expression"), [("TAG", "y"), ("SQL92", "colour = 'red'"), ("SQL92", "TAGS = 'y'")]
)
def test_subscription_selects_messages_of_batches(broker: PopBroker, kind: str, expression: str) -> None:
    broker.options.enable_property_filter = True
    given = records(b"a", b"b", b"c", tags=["x", "y"])
    given[1].headers = [*given[1].headers, ("colour", b"red")]
    put_batch(broker.broker.store, given, topic=TOPIC)
    broker.subscribe("G", TOPIC, subscription_data_set=[subscription(TOPIC, expression, kind=kind)])
    answer = broker.pull(TOPIC, sys_flag=4, subscription=expression, expression_type=kind)
    assert pulled(answer) == [(1, b"b")]
    assert answer.ext["nextBeginOffset"] == "3"


def test_pop_gives_each_message_and_takes_its_acknowledgement(broker: PopBroker) -> None:
    produce(broker, b"a", b"b", b"c")
    popped = broker.pop(topic=TOPIC, max_msg_nums=2)
    assert [(one.offset, one.body) for one in popped] == [(0, b"a"), (1, b"b")]
    popped += broker.pop(topic=TOPIC)
    assert [(one.offset, one.body) for one in popped] == [(0, b"a"), (1, b"b"), (2, b"c")]
    for one in (popped[0], popped[2]):
        assert broker.ack(one).code == 0
    broker.wait(INVISIBLE)
    again: list[bytes] = []
    for _ in range(20):
        broker.wait(GRACE)
        for one in broker.pop(topic=TOPIC):
            again.append(one.body)
            assert broker.ack(one).code == 0
    assert again == [b"b"], "only what was not acknowledged comes again"


def test_ordered_pop_gives_batches_in_order(broker: PopBroker) -> None:
    produce(broker, b"a", b"b", b"c")
    first = broker.pop(topic=TOPIC, max_msg_nums=2, order=True)
    assert [one.body for one in first] == [b"a", b"b"]
    assert broker.pop(topic=TOPIC, order=True) == []
    for one in first:
        assert broker.ack(one).code == 0
    assert [one.body for one in broker.pop(topic=TOPIC, order=True)] == [b"c"]


def test_message_of_a_batch_goes_back_and_becomes_a_dead_letter(broker: PopBroker) -> None:
    produce(broker, b"a", b"b", b"c")
    second = broker.pull(TOPIC).messages[1]

    def back(key: str, level: int) -> Answer:
        header = ConsumerSendMsgBackRequestHeader(
            offset=second.physical_offset, group="G", delay_level=level, origin_topic=TOPIC, origin_msg_id=key
        )
        return broker.ask(RequestCode.CONSUMER_SEND_MSG_BACK, header, peer=broker.consumer)

    key = second.properties["UNIQ_KEY"]
    assert back(key, 1).code == 0
    broker.wait(1000)
    (again,) = broker.stored("%RETRY%G")
    assert (again.body, again.properties["KEYS"], again.reconsume_times) == (b"b", "k1", 1)
    assert back(key, -1).code == 0
    (dead,) = broker.stored("%DLQ%G")
    assert (dead.body, dead.properties["UNIQ_KEY"]) == (b"b", key)
    assert back("7F00000100002A9F4E5D18B4AAC20001", 1).code == 1, "no other message is taken for it"


@pytest.mark.parametrize("properties", [{"UNIQ_KEY": "N"}, {}])
def test_batch_of_rocketmq_is_stored_message_by_message(
    broker: PopBroker, properties: dict[str, str]
) -> None:
    produce(broker, b"a")
    body = batch_body((b"one", {"UNIQ_KEY": "A", "TAGS": "x"}), (b"two", {"UNIQ_KEY": "B"}))
    answer = broker.send(TOPIC, body, properties=properties, batch=True)
    assert (answer.code, answer.ext["queueOffset"], "batchUniqId" in answer.ext) == (0, "1", False)
    expected = [(0, b"a"), (1, b"one"), (2, b"two")]
    assert pulled(broker.pull(TOPIC)) == expected == fetched(broker)


def test_batch_that_a_client_made_one_record_of_is_refused(broker: PopBroker) -> None:
    given = {"UNIQ_KEY": "N", "INNER_NUM": "2", "__KAFKA": "2"}
    assert broker.send(TOPIC, b"forged", properties=given, sys_flag=128).code == 13
    assert broker.broker.store.max_offset(TOPIC, 0) == 0


@pytest.mark.parametrize("properties", [{"DELAY": "1"}, {"TIMER_DELAY_SEC": "2"}, {"TIMER_DELIVER_MS": ""}])
def test_delayed_message_arrives_among_batches(broker: PopBroker, properties: dict[str, str]) -> None:
    produce(broker, b"a")
    if "TIMER_DELIVER_MS" in properties:
        properties = {"TIMER_DELIVER_MS": str(broker.clock.millis() + 2000)}
    assert broker.send(TOPIC, b"late", properties={"UNIQ_KEY": "U", **properties}).code == 0
    assert fetched(broker) == [(0, b"a")]
    produce(broker, b"b")
    for _ in range(40):
        broker.wait(100)
    assert fetched(broker) == [(0, b"a"), (1, b"b"), (2, b"late")] == pulled(broker.pull(TOPIC))


def test_transaction_is_seen_once_it_is_committed(broker: PopBroker) -> None:
    produce(broker, b"a")
    given = {"TRAN_MSG": "true", "PGROUP": "PG", "UNIQ_KEY": "U", "KEYS": "order-1"}
    half = broker.send(TOPIC, b"half", properties=given, sys_flag=4)
    produce(broker, b"b")
    assert fetched(broker) == [(0, b"a"), (1, b"b")]
    header = EndTransactionRequestHeader(
        producer_group="PG",
        tran_state_table_offset=int(half.ext["queueOffset"]),
        commit_log_offset=int(half.ext["msgId"][-16:], 16),
        commit_or_rollback=COMMIT,
        msg_id="U",
        transaction_id="U",
    )
    assert broker.ask(RequestCode.END_TRANSACTION, header).code == 0
    assert fetched(broker) == [(0, b"a"), (1, b"b"), (2, b"half")] == pulled(broker.pull(TOPIC))


def test_console_reads_messages_of_batches(broker: PopBroker) -> None:
    produce(broker, b"a", b"b", b"c")
    operations = broker.context.operations
    found = outcome_of(operations.queries.messages(operations.gate.internal(Use.QUERY), TOPIC, 0, 1, 3))
    assert [(one.queue_offset, one.body) for one in found] == [(1, b"b"), (2, b"c")]


def test_message_is_viewed_by_offset_id_and_found_by_unique_key(broker: PopBroker) -> None:
    produce(broker, b"a", b"b")
    second = broker.pull(TOPIC).messages[1]
    header = ViewMessageRequestHeader(offset=second.physical_offset)
    [first] = broker.ask(RequestCode.VIEW_MESSAGE_BY_ID, header).messages
    assert first.body == b"a", "the first of the batch"
    query = QueryMessageRequestHeader(
        topic=TOPIC, key=second.properties["UNIQ_KEY"], max_num=32, begin_timestamp=0, end_timestamp=1 << 62
    )
    answer = broker.ask(RequestCode.QUERY_MESSAGE, query, ext={"_UNIQUE_KEY_QUERY": "true"})
    assert [message.body for message in answer.messages] == [b"b"]


def test_notification_of_tags_looks_into_batches(broker: PopBroker) -> None:
    produce(broker, b"a", tags=["x"])
    assert broker.notify(topic=TOPIC, exp_type="TAG", exp="x").ext["hasMsg"] == "true"


FORGED = {"UNIQ_KEY": "U", "__KPID": "7:0:0:1"}


def test_no_way_in_for_clients_of_rocketmq_adds_a_kafka_producer(broker: PopBroker) -> None:
    broker.add_topic("O", queues=1)
    store = broker.broker.store
    assert broker.send("O", b"single", properties=FORGED).code == 0
    body = batch_body((b"one", {"UNIQ_KEY": "A"}), (b"two", {"UNIQ_KEY": "B", "__KPID": "7:0:0:2"}))
    assert broker.send("O", body, properties=FORGED, batch=True).code == 0
    large = batch_body(*[(bytes(100), {"UNIQ_KEY": f"{number}", **FORGED}) for number in range(500)])
    assert broker.send("O", large, properties={}, batch=True).code == 0
    assert broker.send("O", b"delayed", properties={**FORGED, "DELAY": "1"}).code == 0
    assert broker.send(TOPIC, b"in a topic of Kafka", properties={**FORGED, "__KAFKA": "2"}).code == 0
    assert broker.send("%RETRY%G", b"retry", properties=FORGED).code == 0
    for _ in range(20):
        broker.wait(100)
    assert store.producers.count == 0
    assert store.max_offset("O", 0) == 1 + 2 + 500 + 1
    assert all("__KPID" not in each.properties for each in broker.stored("O"))


def test_copies_of_a_kafka_record_are_of_no_producer(broker: PopBroker) -> None:
    broker.add_topic("O", queues=1)
    broker.subscribe("G", "O")
    store = broker.broker.store
    store.batches.put_messages([new_message("O", 0, b"v", dict(FORGED))])
    store.dispatch()
    assert store.producers.count == 1
    [original] = broker.stored("O")
    for level in (1, -1):
        header = ConsumerSendMsgBackRequestHeader(
            offset=original.physical_offset, group="G", delay_level=level, origin_topic="O"
        )
        assert broker.ask(RequestCode.CONSUMER_SEND_MSG_BACK, header, peer=broker.consumer).code == 0
    broker.wait(2000)
    copies = broker.stored("%RETRY%G") + broker.stored("%DLQ%G")
    assert [each.body for each in copies] == [b"v", b"v"]
    assert not any("__KPID" in each.properties for each in copies)
    assert store.producers.count == 1
