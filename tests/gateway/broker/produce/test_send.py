"""Sends: the checks in RocketMQ's order, the stored messages, and the answers."""

from datetime import datetime
from functools import lru_cache
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mqgateway.engine.message import PROPERTY_UNIQ_KEY, format_properties
from mqgateway.engine.store.record import decode
from mqgateway.engine.timers.messages import RecallHandle
from mqgateway.gateway.broker.errors import FAQ, OperationError, Reason
from mqgateway.gateway.broker.new_message import NewMessage
from mqgateway.gateway.broker.produce.put import SendOutcome
from mqgateway.gateway.broker.produce.send import send
from mqgateway.gateway.codec.bodies.message_queue import MessageQueue
from mqgateway.gateway.codec.codes import RequestCode
from mqgateway.gateway.codec.headers import SendMessageRequestHeader
from tests.support.gateway.broker.helpers import STORE_HOST, MemoryBroker, batch_body, send_header
from tests.support.gateway.broker.producing import new_message, outcome_of

ILLEGAL = (
    "the message is illegal, maybe msg body or properties length not matched. "
    "msg body length limit 4194304B, msg properties length limit 32KB."
)


@pytest.fixture
def memory() -> MemoryBroker:
    broker = MemoryBroker()
    broker.add_topic("T")
    return broker


def test_a_message_is_stored_as_it_was_sent(memory: MemoryBroker) -> None:
    answer = memory.send(
        "T",
        b"body",
        queue_id=2,
        flag=9,
        properties={"KEYS": "k", "TAGS": "tag", "UNIQ_KEY": "U", "WAIT": "true"},
    )
    assert answer.code == 0
    (message,) = memory.stored("T", 2)
    assert (message.topic, message.queue_id, message.body, message.flag) == ("T", 2, b"body", 9)
    assert message.born_timestamp == 1_699_999_999_000
    assert message.born_host == memory.producer.host_bytes
    assert message.store_host == STORE_HOST
    assert message.reconsume_times == 0
    assert message.properties == {
        "KEYS": "k",
        "TAGS": "tag",
        "UNIQ_KEY": "U",
        "WAIT": "true",
        "MSG_REGION": "DefaultRegion",
        "TRACE_ON": "true",
        "CLUSTER": "DefaultCluster",
    }


def test_answer_contains_the_position(memory: MemoryBroker) -> None:
    memory.send(queue_id=1)
    answer = memory.send(queue_id=1, properties={"UNIQ_KEY": "U"})
    (first, second) = memory.stored("T", 1)
    assert answer.remark is None
    assert answer.ext == {
        "msgId": second.message_id,
        "queueId": "1",
        "queueOffset": "1",
        "transactionId": "U",
        "MSG_REGION": "DefaultRegion",
        "TRACE_ON": "true",
    }
    assert second.physical_offset == first.physical_offset + first.size


def test_long_header_form_is_equivalent(memory: MemoryBroker) -> None:
    """10 SEND_MESSAGE with full names, as the Go client sends it."""
    short = send_header("T", queue_id=3)
    header = SendMessageRequestHeader(
        **{field.name: getattr(short, field.name) for field in short.__fields__}
    )
    assert memory.ask(RequestCode.SEND_MESSAGE, header, b"x").ext["queueId"] == "3"


def test_a_negative_queue_is_chosen_by_the_broker(memory: MemoryBroker) -> None:
    queues = {memory.send(queue_id=-1).ext["queueId"] for _ in range(100)}
    assert queues == {"0", "1", "2", "3"}


def test_missing_unique_key_is_generated(memory: MemoryBroker) -> None:
    answer = memory.send(properties={"TAGS": "a"})
    (message,) = memory.stored("T")
    assert len(message.properties[PROPERTY_UNIQ_KEY]) == 32
    assert answer.ext["transactionId"] == message.properties[PROPERTY_UNIQ_KEY]


def test_a_receipt_of_a_pop_is_not_stored(memory: MemoryBroker) -> None:
    memory.send(properties={"POP_CK": "0 1 2", "UNIQ_KEY": "U"})
    assert "POP_CK" not in memory.stored("T")[0].properties


def test_multi_tag_topic_marks_its_messages(memory: MemoryBroker) -> None:
    memory.add_topic("M", topic_filter_type="MULTI_TAG")
    memory.send("M", sys_flag=1)
    assert memory.stored("M")[0].sys_flag == 1 | 2


def test_a_oneway_is_stored_and_not_answered(memory: MemoryBroker) -> None:
    assert memory.send(oneway=True).waits
    assert len(memory.stored("T")) == 1


def test_puts_are_counted(memory: MemoryBroker) -> None:
    memory.send()
    nums = memory.broker.stats.item("TOPIC_PUT_NUMS", "T")
    size = memory.broker.stats.item("TOPIC_PUT_SIZE", "T")
    assert nums is not None and size is not None
    assert (nums.value, size.value) == (1, memory.stored("T")[0].size)


FUTURE = 1_700_000_100_123
REFUSED: list[tuple[str, dict[str, Any], dict[str, Any], int, str]] = [
    (
        "not yet",
        {"start_accept_send_request_time_stamp": FUTURE},
        {},
        1,
        f"broker unable to service, until {datetime.fromtimestamp(FUTURE // 1000):%Y-%m-%d %H:%M:%S},123",
    ),
    (
        "no write permission",
        {"broker_permission": 4},
        {"topic": "ORDER"},
        16,
        "the broker[127.0.0.1] sending message is forbidden",
    ),
    ("blank", {}, {"topic": " "}, 29, "The specified topic is blank."),
    (
        "illegal character",
        {},
        {"topic": "a.b"},
        29,
        "The specified topic: a.b, contains illegal characters, allowing only ^[%|a-zA-Z0-9_-]+$",
    ),
    (
        "too long",
        {},
        {"topic": "a" * 128},
        29,
        f"The specified topic: {'a' * 128}, is longer than topic max length: 127",
    ),
    (
        "the schedule",
        {},
        {"topic": "SCHEDULE_TOPIC_XXXX"},
        16,
        "Sending message to topic[SCHEDULE_TOPIC_XXXX] is forbidden.",
    ),
    (
        "unknown topic",
        {},
        {"topic": "U", "default_topic": "NONE"},
        17,
        f"topic[U] not exist, apply first please!{FAQ}",
    ),
    (
        "retry without group",
        {"auto_create_subscription_group": False},
        {"topic": "%RETRY%G"},
        26,
        f"subscription group not exist, G {FAQ}",
    ),
    ("no key to compact by", {}, {"topic": "COMPACT"}, 13, "Required message key is missing"),
    (
        "transactions are refused",
        {"reject_transaction_message": True},
        {"properties": {"TRAN_MSG": "true"}},
        16,
        "the broker[127.0.0.1] sending transaction message is forbidden",
    ),
    (
        "batch of retries",
        {},
        {"topic": "%RETRY%G", "batch": True},
        13,
        "batch request does not support retry group %RETRY%G",
    ),
    (
        "batch to a long name",
        {},
        {"topic": "%DLQ%" + "a" * 125, "batch": True},
        13,
        "message topic length too long 130",
    ),
    ("batch in a transaction", {}, {"sys_flag": 4, "batch": True}, 13, ILLEGAL),
    ("delayed batch", {}, {"properties": {"DELAY": "3"}, "batch": True}, 13, ILLEGAL),
    ("no batch", {}, {"body": b"\0\0\0\x63short", "batch": True}, 13, ILLEGAL),
    ("empty batch", {}, {"body": b"", "batch": True}, 13, ILLEGAL),
    ("large body", {}, {"body": bytes(4 * 1024 * 1024 + 1)}, 13, ILLEGAL),
    ("many properties", {}, {"properties": {"a": "b" * 32768}}, 13, ILLEGAL),
    ("inner batch", {}, {"sys_flag": 128}, 13, ILLEGAL),
    ("number of an inner batch", {}, {"properties": {"INNER_NUM": "2"}}, 13, ILLEGAL),
]


@pytest.mark.parametrize(
    ("options", "request_", "code", "remark"), [row[1:] for row in REFUSED], ids=[row[0] for row in REFUSED]
)
def test_refusals(options: dict[str, Any], request_: dict[str, Any], code: int, remark: str) -> None:
    memory = MemoryBroker(options=options, store_options={"mapped_file_size_commit_log": 8 << 20})
    memory.add_topic("T")
    memory.add_topic("ORDER", order=True)
    memory.add_topic("COMPACT", attributes={"cleanup.policy": "COMPACTION"})
    memory.add_topic("%DLQ%" + "a" * 125)
    before = memory.broker.store.max_physical_offset
    answer = memory.send(**request_)
    assert (answer.code, answer.remark) == (code, remark)
    assert memory.broker.store.max_physical_offset == before


def test_unordered_topic_is_writable_without_broker_permission(memory: MemoryBroker) -> None:
    """RocketMQ checks the broker's permission for ordered topics only."""
    memory.options.broker_permission = 4
    assert memory.send().code == 0


def test_unknown_queue_is_refused(memory: MemoryBroker) -> None:
    answer = memory.send(queue_id=4)
    assert answer.code == 29
    assert answer.remark == (
        "request queueId[4] is illegal, TopicConfig [topicName=T, readQueueNums=4, writeQueueNums=4, "
        "perm=RW-, topicFilterType=SINGLE_TAG, topicSysFlag=0, order=false, "
        "attributes={}] Producer: 10.0.0.1:4001"
    )


def test_read_only_queue_accepts_messages(memory: MemoryBroker) -> None:
    """The greater of both numbers counts: a topic that shrinks is drained by its last messages."""
    topic = memory.add_topic("S")
    topic.write_queue_nums = 1
    assert memory.send("S", queue_id=3).code == 0


def test_unknown_topic_is_created_like_the_default_one(memory: MemoryBroker) -> None:
    assert memory.send("NEW", queue_id=3).code == 0
    topic = memory.broker.tables.topics.get("NEW")
    assert topic is not None
    assert (topic.read_queue_nums, topic.write_queue_nums, topic.perm) == (4, 4, 6)


def test_topic_of_a_unit_is_marked(memory: MemoryBroker) -> None:
    memory.send("UNIT", unit_mode=True)
    topic = memory.broker.tables.topics.get("UNIT")
    assert topic is not None
    assert topic.topic_sys_flag == 1


def test_retry_topic_is_created_with_one_queue(memory: MemoryBroker) -> None:
    memory.options.auto_create_topic_enable = False
    assert memory.send("%RETRY%G", default_topic="NONE", unit_mode=True).code == 0
    topic = memory.broker.tables.topics.get("%RETRY%G")
    assert topic is not None
    assert (topic.read_queue_nums, topic.write_queue_nums, topic.topic_sys_flag) == (1, 1, 2)


@pytest.mark.parametrize(
    ("fields", "version", "topic"),
    [
        pytest.param({"reconsume_times": 16}, 513, "%RETRY%G", id="the group's last turn"),
        pytest.param({"reconsume_times": 17}, 513, "%DLQ%G", id="one more"),
        pytest.param(
            {"reconsume_times": 3, "max_reconsume_times": 3}, 513, "%RETRY%G", id="the client's last"
        ),
        pytest.param(
            {"reconsume_times": 4, "max_reconsume_times": 3}, 513, "%DLQ%G", id="one more than it wants"
        ),
        pytest.param(
            {"reconsume_times": 4, "max_reconsume_times": 3}, 120, "%RETRY%G", id="an old client's wish"
        ),
    ],
)
def test_retry_moves_to_the_dlq_after_its_last_attempt(
    memory: MemoryBroker, fields: dict[str, Any], version: int, topic: str
) -> None:
    assert memory.send("%RETRY%G", b"again", version=version, **fields).code == 0
    (message,) = memory.stored(topic)
    assert (message.body, message.reconsume_times) == (b"again", fields["reconsume_times"])
    assert message.properties.get("DELAY") == ("-1" if topic == "%DLQ%G" else None)


def test_message_sent_back_by_an_ordered_consumer_is_a_dead_letter(memory: MemoryBroker) -> None:
    memory.broker.clients.locks.lock("G", "client", [MessageQueue("T", "b", 0)], memory.clock.millis())
    answer = memory.send("%RETRY%G", reconsume_times=1, properties={"DELAY": "3", "UNIQ_KEY": "U"})
    assert answer.code == 0
    (message,) = memory.stored("%DLQ%G")
    assert message.properties["DELAY"] == "-1"


@pytest.mark.parametrize(
    ("properties", "queue", "kept"),
    [
        pytest.param({"_SYS_MSG_PRIORITY_": "2"}, 2, "2", id="the priority is the queue"),
        pytest.param({"_SYS_MSG_PRIORITY_": "9"}, 3, "9", id="no more than there are queues"),
        pytest.param({"_SYS_MSG_PRIORITY_": "-2"}, 1, "-2", id="below zero is none"),
        pytest.param({"_SYS_MSG_PRIORITY_": "high"}, 1, "high", id="no number is none"),
        pytest.param(
            {"_SYS_MSG_PRIORITY_": "2", "__SHARDINGKEY": "s"}, 1, None, id="an ordered message has none"
        ),
    ],
)
def test_priorities(memory: MemoryBroker, properties: dict[str, str], queue: int, kept: str | None) -> None:
    answer = memory.send(queue_id=1, properties=properties | {"UNIQ_KEY": "U"})
    assert answer.ext["queueId"] == str(queue)
    assert memory.stored("T", queue)[0].properties.get("_SYS_MSG_PRIORITY_") == kept


def test_a_delayed_message_loses_its_priority_and_waits(memory: MemoryBroker) -> None:
    answer = memory.send(queue_id=1, properties={"_SYS_MSG_PRIORITY_": "2", "DELAY": "3", "UNIQ_KEY": "U"})
    assert answer.ext["queueId"] == "1"
    assert "_SYS_MSG_PRIORITY_" not in memory.stored("SCHEDULE_TOPIC_XXXX", 2)[0].properties


def test_a_delayed_message_waits_in_the_schedule(memory: MemoryBroker) -> None:
    answer = memory.send("T", queue_id=1, properties={"DELAY": "3", "UNIQ_KEY": "U"})
    assert (answer.code, answer.ext["queueId"], answer.ext["transactionId"]) == (0, "1", "U")
    assert memory.stored("T", 1) == []
    (message,) = memory.stored("SCHEDULE_TOPIC_XXXX", 2)
    assert message.properties["REAL_TOPIC"] == "T"
    assert message.properties["REAL_QID"] == "1"
    assert message.properties["DELAY"] == "3"


def test_delay_level_zero_is_no_delay(memory: MemoryBroker) -> None:
    memory.send("T", properties={"DELAY": "0", "UNIQ_KEY": "U"})
    assert len(memory.stored("T")) == 1


def test_a_timer_is_put_aside_and_can_be_recalled(memory: MemoryBroker) -> None:
    now = memory.clock.millis()
    answer = memory.send("T", properties={"TIMER_DELAY_SEC": "5", "UNIQ_KEY": "U"}, queue_id=1)
    assert (answer.code, answer.ext["queueId"]) == (0, "1")
    (message,) = memory.stored("rmq_sys_wheel_timer")
    assert (message.properties["REAL_TOPIC"], message.properties["REAL_QID"]) == ("T", "1")
    handle = RecallHandle.decode(answer.ext["recallHandle"])
    assert handle == ("T", "broker-a", str(now + 4001), "U")
    assert "recallHandle" not in memory.send("T").ext


def test_timers_are_refused_without_a_wheel() -> None:
    memory = MemoryBroker(store_options={"timer_wheel_enable": False})
    answer = memory.send("T", properties={"TIMER_DELAY_SEC": "5"})
    assert (answer.code, answer.remark) == (
        1,
        "accurate timer message is not enabled, timerWheelEnable is false",
    )


def test_timers_too_far_ahead_are_refused(memory: MemoryBroker) -> None:
    answer = memory.send("T", properties={"TIMER_DELAY_SEC": "259201"})
    assert (answer.code, answer.remark) == (
        13,
        "timer message illegal, the delay time should not be bigger than the max delay 259200000ms; or if "
        "set del msg, the delay time should be bigger than the current time",
    )


def test_delay_level_precedes_a_timer(memory: MemoryBroker) -> None:
    assert memory.send("T", properties={"DELAY": "1", "TIMER_DELAY_SEC": "5"}).code == 0
    assert "TIMER_DELAY_SEC" not in memory.stored("SCHEDULE_TOPIC_XXXX", 0)[0].properties


def test_invalid_delay_level_is_ignored(memory: MemoryBroker) -> None:
    answer = memory.send("T", properties={"DELAY": "soon"})
    assert (answer.code, answer.remark) == (13, ILLEGAL)


@pytest.mark.parametrize("value", ["false", "no", "TRUEISH"])
def test_message_without_true_is_no_transaction(memory: MemoryBroker, value: str) -> None:
    assert memory.send(properties={"TRAN_MSG": value}).code == 0


def test_retry_of_an_old_client_is_no_transaction(memory: MemoryBroker) -> None:
    assert memory.send(reconsume_times=1, properties={"TRAN_MSG": "true", "DELAY": "3"}).code == 0


def test_batch_is_stored_as_single_messages(memory: MemoryBroker) -> None:
    body = batch_body((b"one", {"UNIQ_KEY": "A", "TAGS": "x"}), (b"two", {"UNIQ_KEY": "B"}))
    answer = memory.send("T", body, properties={}, queue_id=1, batch=True)
    one, two = memory.stored("T", 1)
    assert (one.body, one.properties) == (b"one", {"UNIQ_KEY": "A", "TAGS": "x"})
    assert (two.body, two.properties, two.queue_offset) == (b"two", {"UNIQ_KEY": "B"}, 1)
    assert answer.ext == {
        "msgId": f"{one.message_id},{two.message_id}",
        "queueId": "1",
        "queueOffset": "0",
        "MSG_REGION": "DefaultRegion",
        "TRACE_ON": "true",
    }
    nums = memory.broker.stats.item("TOPIC_PUT_NUMS", "T")
    assert nums is not None
    assert (nums.value, nums.times) == (2, 1)


def test_large_batch_is_answered_like_a_small_one(memory: MemoryBroker) -> None:
    body = batch_body(*[(b"%d" % number, {"UNIQ_KEY": f"{number}", "TAGS": "x"}) for number in range(1500)])
    answer = memory.send("T", body, properties={}, queue_id=1, batch=True)
    assert (answer.code, answer.ext["queueOffset"]) == (0, "0")
    records = memory.broker.store.records("T", 1, 0, 1500)
    found = [decode(record) for record, _ in records]
    assert [message.body for message in found] == [b"%d" % number for number in range(1500)]
    assert answer.ext["msgId"] == ",".join(message.message_id for message in found)
    nums = memory.broker.stats.item("TOPIC_PUT_NUMS", "T")
    assert nums is not None
    assert (nums.value, nums.times) == (1500, 1)


def test_a_large_batch_with_too_many_messages_is_refused_and_the_option_named(
    caplog: pytest.LogCaptureFixture,
) -> None:
    memory = MemoryBroker(store_options={"max_batch_messages": 1499})
    memory.add_topic("T")
    answer = memory.send("T", batch_body((b"", {})) * 1500, properties={}, batch=True)
    assert (answer.code, memory.stored("T", 0)) == (13, [])
    assert "maxBatchMessages" in str(answer.remark) and "maxBatchMessages" in caplog.text


TWO = batch_body((b"one", {"UNIQ_KEY": "A"}), (b"two", {"UNIQ_KEY": "B"}))


def with_batches() -> MemoryBroker:
    """A broker with a topic B that has queues of batches."""
    broker = MemoryBroker()
    broker.add_topic("B", attributes={"queue.type": "BatchCQ"})
    return broker


def test_named_batch_is_one_record_in_batch_queues() -> None:
    memory = with_batches()
    first = memory.send("B", TWO, properties={"UNIQ_KEY": "N", "INNER_NUM": "9"}, batch=True, sys_flag=128)
    answer = memory.send("B", TWO, properties={"UNIQ_KEY": "M"}, batch=True)
    one, two = memory.stored("B", 0)
    assert (one.queue_offset, two.queue_offset, two.body) == (0, 2, TWO)
    assert two.sys_flag & 0xC0 == 0xC0
    assert (two.properties["INNER_NUM"], two.properties["INNER_BASE"]) == ("2", "2")
    assert answer.ext == {
        "msgId": two.message_id,
        "queueId": "0",
        "queueOffset": "2",
        "transactionId": "M",
        "batchUniqId": "M",
        "MSG_REGION": "DefaultRegion",
        "TRACE_ON": "true",
    }
    assert first.ext["queueOffset"] == "0"
    assert memory.broker.store.max_offset("B", 0) == 4
    nums = memory.broker.stats.item("TOPIC_PUT_NUMS", "B")
    assert nums is not None
    assert (nums.value, nums.times) == (4, 2)


def test_a_batch_without_a_name_is_stored_one_by_one_everywhere() -> None:
    """As clients before 5.0 send it."""
    memory = with_batches()
    answer = memory.send("B", TWO, properties={}, batch=True)
    assert "batchUniqId" not in answer.ext
    assert [one.body for one in memory.stored("B", 0)] == [b"one", b"two"]


def test_inner_batch_of_a_client_is_stored_unchanged() -> None:
    memory = with_batches()
    answer = memory.send("B", b"zipped", properties={"UNIQ_KEY": "N", "INNER_NUM": "7"}, sys_flag=193)
    (stored,) = memory.stored("B", 0)
    assert (answer.code, stored.body, memory.broker.store.max_offset("B", 0)) == (0, b"zipped", 7)
    refused = memory.send("B", b"zipped", properties={"UNIQ_KEY": "N", "INNER_NUM": "0"}, sys_flag=128)
    assert (refused.code, refused.remark) == (13, ILLEGAL)


def test_properties_are_optional(memory: MemoryBroker) -> None:
    header = send_header("T")
    header.properties = None
    assert memory.ask(RequestCode.SEND_MESSAGE_V2, header, b"x").code == 0


def test_malformed_properties_are_dropped(memory: MemoryBroker) -> None:
    header = send_header("T", properties={})
    header.properties = "a\x02=\x01\x02\x01v\x02" + format_properties({"UNIQ_KEY": "U"})
    memory.ask(RequestCode.SEND_MESSAGE_V2, header, b"x")
    assert set(memory.stored("T")[0].properties) == {"UNIQ_KEY", "MSG_REGION", "TRACE_ON", "CLUSTER"}


# Java's own separators cannot be in a property; lone surrogates cannot be in UTF-8.
words = st.text(
    st.characters(exclude_categories=["Cs"], exclude_characters="\x01\x02"), min_size=1, max_size=20
)
plain_names = words.filter(
    lambda name: (
        name not in {"DELAY", "POP_CK", "INNER_NUM", "TRAN_MSG", "_SYS_MSG_PRIORITY_", "__LITE_TOPIC"}
        and not name.startswith("TIMER_")
    )
)


@given(st.dictionaries(plain_names, words, max_size=6), st.binary(max_size=200))
def test_sent_messages_are_pulled(properties: dict[str, str], body: bytes) -> None:
    """Bodies byte for byte, properties pair for pair, with what the broker adds and nothing else."""
    memory = _shared()
    answer = memory.send("T", body, properties=properties)
    assert answer.code == 0
    (message,) = memory.pull("T", offset=int(answer.ext["queueOffset"])).messages
    made = {"UNIQ_KEY": message.properties["UNIQ_KEY"]}
    added = {"MSG_REGION": "DefaultRegion", "TRACE_ON": "true", "CLUSTER": "DefaultCluster"}
    assert (message.body, message.properties) == (body, made | properties | added)


@given(
    st.lists(st.tuples(st.binary(max_size=50), st.dictionaries(plain_names, words, max_size=3)), min_size=1)
)
def test_messages_of_a_batch_are_pulled(parts: list[tuple[bytes, dict[str, str]]]) -> None:
    memory = _shared()
    answer = memory.send("T", batch_body(*parts), properties={}, batch=True)
    assert answer.code == 0
    messages = memory.stored("T", 0, int(answer.ext["queueOffset"]), len(parts))
    assert [(message.body, message.properties) for message in messages] == parts[: len(messages)]
    assert answer.ext["msgId"].split(",")[: len(messages)] == [message.message_id for message in messages]


@lru_cache(1)
def _shared() -> MemoryBroker:
    """One broker for all examples: what came before does not matter to them."""
    memory = MemoryBroker(store_options={"mapped_file_size_commit_log": 8 << 20})
    memory.add_topic("T")
    memory.subscribe("G", "T")
    return memory


def typed(memory: MemoryBroker, message: NewMessage, *, is_batch: bool = False) -> SendOutcome:
    """Return the outcome of a send without a command."""
    now = memory.clock.millis()
    return outcome_of(send(memory.broker, message, memory.producer, now, is_batch=is_batch))


@pytest.mark.parametrize(
    ("request_", "reason"),
    [
        (new_message("a b"), Reason.INVALID_PARAMETER),
        (new_message("unknown", default_topic="none"), Reason.TOPIC_NOT_EXIST),
        (new_message("SCHEDULE_TOPIC_XXXX"), Reason.NO_PERMISSION),
        (new_message("%RETRY%unknown"), Reason.SUBSCRIPTION_GROUP_NOT_EXIST),
    ],
)
def test_refusals_have_reasons(memory: MemoryBroker, request_: NewMessage, reason: Reason) -> None:
    memory.broker.options.auto_create_subscription_group = False
    with pytest.raises(OperationError) as caught:
        typed(memory, request_)
    assert caught.value.reason is reason


def test_batch_of_half_messages_is_illegal(memory: MemoryBroker) -> None:
    with pytest.raises(OperationError) as caught:
        typed(memory, new_message("T", sys_flag=4), is_batch=True)
    assert caught.value.reason is Reason.MESSAGE_ILLEGAL


def test_retry_can_limit_its_attempts(memory: MemoryBroker) -> None:
    memory.broker.tables.groups.find("G")
    memory.add_topic("%RETRY%G")
    for turns, topic in ((3, "%RETRY%G"), (2, "%DLQ%G")):
        typed(memory, new_message("%RETRY%G", reconsume_times=3, max_reconsume_times=turns))
        memory.broker.store.dispatch()
        assert len(memory.stored(topic)) == 1
