"""Messages that come again: retry topics, delays, dead letters."""

from typing import Any

import pytest

from mqgateway.engine.message import StoredMessage
from mqgateway.engine.store.message_store import PutResult, PutStatus
from mqgateway.engine.tables.groups import SubscriptionGroupConfig
from mqgateway.engine.tables.topics import TopicConfig
from mqgateway.gateway.broker.errors import FAQ, OperationError, Reason
from mqgateway.gateway.broker.produce.send_back import SendBack, send_back
from mqgateway.gateway.codec.codes import RequestCode
from mqgateway.gateway.codec.headers import ConsumerSendMsgBackRequestHeader
from tests.support.gateway.broker.helpers import Answer, MemoryBroker

SCHEDULE = "SCHEDULE_TOPIC_XXXX"


@pytest.fixture
def memory() -> MemoryBroker:
    broker = MemoryBroker()
    broker.add_topic("T")
    return broker


def sent(memory: MemoryBroker) -> StoredMessage:
    memory.send("T", b"body", queue_id=2, properties={"UNIQ_KEY": "U", "TAGS": "a", "WAIT": "true"})
    return memory.stored("T", 2)[-1]


def back(memory: MemoryBroker, offset: int, version: int = 513, **fields: Any) -> Answer:
    usual: dict[str, Any] = {"group": "G", "delay_level": 0, "origin_topic": "T"}
    header = ConsumerSendMsgBackRequestHeader(offset=offset, **usual | fields)
    return memory.ask(RequestCode.CONSUMER_SEND_MSG_BACK, header, peer=memory.consumer, version=version)


def test_message_sent_back_waits_in_the_schedule(memory: MemoryBroker) -> None:
    original = sent(memory)
    assert back(memory, original.physical_offset).code == 0
    (again,) = memory.stored(SCHEDULE, 2)
    assert (again.body, again.reconsume_times) == (b"body", 1)
    assert (again.born_timestamp, again.born_host) == (original.born_timestamp, original.born_host)
    assert again.properties["DELAY"] == "3"
    assert again.properties["REAL_TOPIC"] == "%RETRY%G"
    assert again.properties["RETRY_TOPIC"] == "T"
    assert again.properties["ORIGIN_MESSAGE_ID"] == original.message_id
    assert again.properties["WAIT"] == "false"
    assert again.properties["UNIQ_KEY"] == "U"
    topic = memory.broker.tables.topics.get("%RETRY%G")
    assert topic is not None
    assert (topic.read_queue_nums, topic.write_queue_nums, topic.perm) == (1, 1, 6)


def test_each_retry_waits_longer_and_keeps_its_origin(memory: MemoryBroker) -> None:
    original = sent(memory)
    back(memory, original.physical_offset)
    first = memory.stored(SCHEDULE, 2)[0]
    back(memory, first.physical_offset)
    second = memory.stored(SCHEDULE, 3)[0]
    assert (second.reconsume_times, second.properties["DELAY"]) == (2, "4")
    assert second.properties["RETRY_TOPIC"] == "T"
    assert second.properties["ORIGIN_MESSAGE_ID"] == original.message_id


def test_the_consumer_may_choose_the_delay(memory: MemoryBroker) -> None:
    assert back(memory, sent(memory).physical_offset, delay_level=5).code == 0
    assert len(memory.stored(SCHEDULE, 4)) == 1


@pytest.mark.parametrize(
    ("fields", "version"),
    [
        pytest.param({"delay_level": -1}, 513, id="the consumer gives up"),
        pytest.param({"max_reconsume_times": 0}, 513, id="its turns are over"),
    ],
)
def test_dead_letters(memory: MemoryBroker, fields: dict[str, int], version: int) -> None:
    original = sent(memory)
    assert back(memory, original.physical_offset, version, **fields).code == 0
    (dead,) = memory.stored("%DLQ%G")
    assert (dead.body, dead.reconsume_times) == (b"body", 1)
    assert dead.properties["RETRY_TOPIC"] == "T"
    assert dead.properties["DELAY"] == "0"


def test_old_client_does_not_limit_attempts(memory: MemoryBroker) -> None:
    assert back(memory, sent(memory).physical_offset, 120, max_reconsume_times=0).code == 0
    assert memory.stored("%DLQ%G") == []


def test_attempts_are_limited_by_the_group(memory: MemoryBroker) -> None:
    group = memory.broker.tables.groups.find("G")
    assert group is not None
    group.retry_max_times = 0
    back(memory, sent(memory).physical_offset)
    assert len(memory.stored("%DLQ%G")) == 1


def test_a_group_without_retry_queues_drops_it(memory: MemoryBroker) -> None:
    group = memory.broker.tables.groups.find("G")
    assert group is not None
    group.retry_queue_nums = 0
    end = memory.broker.store.max_physical_offset
    assert back(memory, 0).code == 0
    assert memory.broker.store.max_physical_offset == end
    assert memory.broker.tables.topics.get("%RETRY%G") is None


def test_a_consumer_of_a_unit_marks_its_retry_topic(memory: MemoryBroker) -> None:
    back(memory, sent(memory).physical_offset, unit_mode=True)
    topic = memory.broker.tables.topics.get("%RETRY%G")
    assert topic is not None
    assert topic.topic_sys_flag == 2


def test_message_sent_back_is_counted(memory: MemoryBroker) -> None:
    back(memory, sent(memory).physical_offset)
    count = memory.broker.stats.item("SNDBCK_PUT_NUMS", "T@G")
    assert count is not None
    assert count.value == 1


def test_refusals(memory: MemoryBroker) -> None:
    offset = sent(memory).physical_offset
    memory.options.auto_create_subscription_group = False
    refused = back(memory, offset, group="X")
    assert (refused.code, refused.remark) == (26, f"subscription group not exist, X {FAQ}")
    memory.options.auto_create_subscription_group = True
    memory.options.broker_permission = 4
    refused = back(memory, offset)
    assert (refused.code, refused.remark) == (16, "the broker[127.0.0.1] sending message is forbidden")


def test_unwritable_retry_topic_refuses_messages(memory: MemoryBroker) -> None:
    memory.add_topic("%RETRY%G", perm=4)
    refused = back(memory, sent(memory).physical_offset)
    assert (refused.code, refused.remark) == (16, "the topic[%RETRY%G] sending message is forbidden")


def test_unknown_offset_is_refused(memory: MemoryBroker) -> None:
    sent(memory)
    refused = back(memory, 10**9)
    assert (refused.code, refused.remark) == (1, f"look message by offset failed, {10**9}")


def test_unwritable_store_refuses_messages_sent_back(
    memory: MemoryBroker, monkeypatch: pytest.MonkeyPatch
) -> None:
    offset = sent(memory).physical_offset
    monkeypatch.setattr(
        memory.broker.store, "put", lambda message: PutResult(PutStatus.SERVICE_NOT_AVAILABLE)
    )
    refused = back(memory, offset)
    assert (refused.code, refused.remark) == (1, "SERVICE_NOT_AVAILABLE")


def test_message_is_retried_until_its_last_attempt(memory: MemoryBroker) -> None:
    """Pulled, handed back, pulled from the retry topic after its delay, handed back: a dead letter."""
    memory.subscribe("G", "T")
    memory.send("T", b"bad", properties={"TAGS": "a", "UNIQ_KEY": "U"})
    (first,) = memory.pull("T", group="G").messages
    assert back(memory, first.physical_offset, max_reconsume_times=1).code == 0
    memory.subscribe("G", "%RETRY%G")
    retry = memory.pull("%RETRY%G", group="G", sys_flag=2)
    assert retry.waits
    memory.wait(10_000)
    (again,) = retry.messages
    assert (again.body, again.reconsume_times, again.properties["TAGS"]) == (b"bad", 1, "a")
    assert again.properties["RETRY_TOPIC"] == "T"
    assert back(memory, again.physical_offset, max_reconsume_times=1).code == 0
    (dead,) = memory.stored("%DLQ%G")
    assert (dead.body, dead.reconsume_times) == (b"bad", 2)
    assert dead.properties["ORIGIN_MESSAGE_ID"] == first.message_id


def test_waiting_in_the_schedule_is_counted_for_the_topic_but_not_for_the_broker(
    memory: MemoryBroker,
) -> None:
    original = sent(memory)
    back(memory, original.physical_offset)
    stats = memory.broker.stats
    counts = stats.item("TOPIC_PUT_NUMS", SCHEDULE), stats.item("BROKER_PUT_NUMS", "DefaultCluster")
    assert [each and each.value for each in counts] == [1, 1], "the broker's is what was sent first"


def test_group_limits_attempts_by_default() -> None:
    memory = MemoryBroker()
    memory.add_topic("T")
    memory.broker.tables.groups.find("G")
    outcome = memory.send("T")
    offset = int(outcome.ext["msgId"][-16:], 16)
    for turns, topic in ((None, "SCHEDULE_TOPIC_XXXX"), (0, "%DLQ%G")):
        send_back(memory.broker, SendBack("G", offset, max_reconsume_times=turns), None)
        memory.broker.store.dispatch()
        assert len(memory.stored(topic, 2 if turns is None else 0)) == 1


def test_refusals_have_reasons() -> None:
    memory = MemoryBroker(options={"auto_create_subscription_group": False})
    with pytest.raises(OperationError) as caught:
        send_back(memory.broker, SendBack("unknown", 0), None)
    assert caught.value.reason is Reason.SUBSCRIPTION_GROUP_NOT_EXIST


@pytest.mark.parametrize(("read", "write"), [(1, 1), (1, 4), (4, 1)])
def test_retries_go_only_to_queues_that_are_read_and_written(
    memory: MemoryBroker, read: int, write: int
) -> None:
    """The group was given more queues than its retry topic has, as by a file or another broker."""
    original = sent(memory)
    memory.broker.tables.groups.put(SubscriptionGroupConfig("G", retry_queue_nums=4))
    memory.broker.tables.topics.put(TopicConfig("%RETRY%G", read, write))
    for _ in range(20):
        assert back(memory, original.physical_offset, delay_level=1).code == 0
    waiting = memory.stored(SCHEDULE, 0)
    assert len(waiting) == 20
    assert {message.properties["REAL_QID"] for message in waiting} == {"0"}
