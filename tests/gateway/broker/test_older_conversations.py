"""Conversations about messages that the local log has deleted and a tier has, and while the tier is away."""

import pytest

from mqgateway.engine.message import RETRY_PREFIX, StoredMessage
from mqgateway.gateway.codec.codes import RequestCode, ResponseCode
from mqgateway.gateway.codec.fields import BoundaryType
from mqgateway.gateway.codec.headers import (
    ConsumerSendMsgBackRequestHeader,
    GetEarliestMsgStoretimeRequestHeader,
    GetMinOffsetRequestHeader,
    QueryMessageRequestHeader,
    SearchOffsetRequestHeader,
    ViewMessageRequestHeader,
)
from tests.support.gateway.broker.helpers import Answer, plain_message
from tests.support.gateway.broker.pop import GRACE, INVISIBLE, PopBroker
from tests.support.gateway.broker.tiered import BrokerTier

COUNT = 60
SUSPEND = 2
TEN_MINUTES = 600_000
END = 2**62


def filled(tier: BrokerTier) -> tuple[PopBroker, list[StoredMessage]]:
    """Return a broker with messages of which most are in the tier only, and all messages before that."""
    broker = PopBroker(**tier.given)
    for number in range(COUNT):
        properties = {"UNIQ_KEY": f"id{number}", "KEYS": f"k{number}", "TAGS": f"t{number % 3}"}
        assert broker.send(body=b"%d " % number + b"." * 100, properties=properties).code == 0
        broker.clock.advance(1000)
    stored = [message for offset in range(COUNT) for message in broker.stored("T", offset=offset, count=1)]
    broker.subscribe("G", "T")
    assert tier.move(broker.broker) > COUNT // 2
    return broker, stored


@pytest.fixture
def tier() -> BrokerTier:
    return BrokerTier()


def rows(*messages: StoredMessage) -> list[tuple[int, int, int, bytes, dict[str, str]]]:
    """Return what readers get of messages."""
    return [
        (one.physical_offset, one.queue_offset, one.store_timestamp, one.body, one.properties)
        for one in messages
    ]


def by_key(broker: PopBroker, key: str, index_type: str | None = None) -> Answer:
    header = QueryMessageRequestHeader(
        topic="T", key=key, max_num=10, begin_timestamp=0, end_timestamp=END, index_type=index_type
    )
    return broker.ask(RequestCode.QUERY_MESSAGE, header)


def view(broker: PopBroker, offset: int) -> Answer:
    return broker.ask(RequestCode.VIEW_MESSAGE_BY_ID, ViewMessageRequestHeader(offset=offset))


def by_time(broker: PopBroker, time: int, boundary: BoundaryType | None = None) -> Answer:
    header = SearchOffsetRequestHeader(topic="T", queue_id=0, timestamp=time, boundary_type=boundary)
    return broker.ask(RequestCode.SEARCH_OFFSET_BY_TIMESTAMP, header)


def send_back(broker: PopBroker, offset: int) -> Answer:
    header = ConsumerSendMsgBackRequestHeader(offset=offset, group="G", delay_level=1, origin_topic="T")
    return broker.ask(RequestCode.CONSUMER_SEND_MSG_BACK, header)


def test_pulls_read_from_the_tier_into_the_local_log(tier: BrokerTier) -> None:
    broker, stored = filled(tier)
    found, offset = list[StoredMessage](), 0
    while offset < COUNT:
        answer = broker.pull(offset=offset)
        assert answer.code == ResponseCode.SUCCESS
        assert (answer.ext["minOffset"], answer.ext["maxOffset"]) == ("0", str(COUNT))
        found += answer.messages
        offset = int(answer.ext["nextBeginOffset"])
    assert rows(*found) == rows(*stored)


def test_pull_is_answered_once_a_worker_has_read_the_tier() -> None:
    tier = BrokerTier(inline=False)
    broker, stored = filled(tier)
    answer = broker.pull(offset=5)
    assert answer.waits
    for _ in range(4):
        tier.load()
    assert rows(answer.messages[0]) == rows(stored[5])


def test_pull_of_a_retry_topic_reads_from_the_tier(tier: BrokerTier) -> None:
    broker = PopBroker(**tier.given)
    topic = f"{RETRY_PREFIX}G"
    broker.add_topic(topic, queues=1)
    for number in range(COUNT):
        broker.broker.store.put(plain_message(topic, 0, b"%d " % number + b"." * 150))
    broker.broker.store.dispatch()
    tier.move(broker.broker, topic)
    broker.subscribe("G", topic)
    assert broker.pull(topic, offset=0).messages[0].body.startswith(b"0 ")


def test_messages_are_queried_by_key_and_by_unique_key(tier: BrokerTier) -> None:
    broker, stored = filled(tier)
    assert rows(*by_key(broker, "k3").messages) == rows(stored[3])
    assert rows(*by_key(broker, "id7").messages) == rows(stored[7])
    assert rows(*by_key(broker, "id7", index_type="U").messages) == rows(stored[7])
    assert len(by_key(broker, "t1", index_type="T").messages) == 10
    assert by_key(broker, "none").code == ResponseCode.QUERY_NOT_FOUND


def test_query_is_answered_once_a_worker_has_read_the_tier() -> None:
    tier = BrokerTier(inline=False)
    broker, stored = filled(tier)
    answer = by_key(broker, "k3")
    assert answer.waits
    tier.load()
    assert rows(*answer.messages) == rows(stored[3])


def test_message_is_viewed_by_its_id(tier: BrokerTier) -> None:
    broker, stored = filled(tier)
    assert rows(*view(broker, stored[3].physical_offset).messages) == rows(stored[3])
    assert view(broker, stored[3].physical_offset + 1).code == ResponseCode.SYSTEM_ERROR


def test_offsets_are_found_by_time(tier: BrokerTier) -> None:
    broker, stored = filled(tier)
    time = stored[7].store_timestamp
    assert by_time(broker, time).ext["offset"] == "7"
    assert by_time(broker, time + 1).ext["offset"] == "8"
    assert by_time(broker, time + 1, BoundaryType.UPPER).ext["offset"] == "7"
    least = broker.ask(RequestCode.GET_MIN_OFFSET, GetMinOffsetRequestHeader(topic="T", queue_id=0))
    assert least.ext["offset"] == "0"
    header = GetEarliestMsgStoretimeRequestHeader(topic="T", queue_id=0)
    earliest = broker.ask(RequestCode.GET_EARLIEST_MSG_STORETIME, header)
    assert earliest.ext["timestamp"] == str(stored[0].store_timestamp)


def test_message_is_sent_back(tier: BrokerTier) -> None:
    broker, stored = filled(tier)
    assert send_back(broker, stored[3].physical_offset).code == ResponseCode.SUCCESS
    [waiting] = broker.stored("SCHEDULE_TOPIC_XXXX", 0)
    assert waiting.body == stored[3].body


def test_pop_delivers_revives_and_acknowledges(tier: BrokerTier) -> None:
    """Of the popped messages that are not acknowledged, copies of those of the tier are delivered again."""
    broker, stored = filled(tier)
    first = broker.pop(queue_id=0, max_msg_nums=4)
    assert [message.body for message in first] == [message.body for message in stored[:4]]
    assert [broker.ack(message).code for message in first[:2]] == [0, 0]
    broker.pass_time(INVISIBLE + GRACE)
    again = [message for message in broker.pop(queue_id=-1) if message.topic != "T"]
    assert sorted(message.body for message in again) == sorted(message.body for message in first[2:])
    assert [broker.ack(message).code for message in again] == [0, 0]
    broker.pass_time(INVISIBLE + GRACE)
    assert not {message.body for message in broker.pop(queue_id=-1)} & {message.body for message in first}


def test_pop_revives_after_the_store_was_away(tier: BrokerTier) -> None:
    broker, stored = filled(tier)
    [popped] = broker.pop(queue_id=0, max_msg_nums=1)
    tier.break_off()
    broker.send(body=b"fresh", queue_id=1)
    [fresh] = broker.pop(queue_id=1)
    broker.pass_time(TEN_MINUTES, 5000)
    again = [message for message in broker.pop(queue_id=-1) if message.topic != "T"]
    assert [message.body for message in again] == [b"fresh"] and fresh.body == b"fresh"
    tier.recover()
    for _ in range(200):
        broker.pass_time(5000, 5000)
        again = [message for message in broker.pop(queue_id=-1) if message.topic != "T"]
        if any(message.body == popped.body for message in again):
            break
    else:
        raise AssertionError("the message is not delivered again")
    assert popped.body == stored[0].body


def test_notification_counts_messages_of_the_tier(tier: BrokerTier) -> None:
    broker, _ = filled(tier)
    assert broker.notify(queue_id=0, exp_type="TAG", exp="t1").ext["hasMsg"] == "true"


def test_readers_of_the_tier_get_what_clients_retry_while_it_is_away(tier: BrokerTier) -> None:
    """Ten minutes of 503: sends and reads of fresh messages do not notice, others get what clients retry."""
    broker, stored = filled(tier)
    tier.break_off()
    for _ in range(TEN_MINUTES // 60_000):
        older = broker.pull(offset=3)
        assert older.code == ResponseCode.PULL_NOT_FOUND
        assert (older.ext["nextBeginOffset"], older.ext["minOffset"]) == ("3", "0")
        for answer in (by_key(broker, "k3"), view(broker, stored[3].physical_offset)):
            assert answer.code == ResponseCode.SYSTEM_BUSY and "503" in (answer.remark or "")
        assert by_time(broker, stored[7].store_timestamp).code == ResponseCode.SYSTEM_BUSY
        assert send_back(broker, stored[3].physical_offset).code == ResponseCode.SYSTEM_BUSY
        assert broker.ask_pop(queue_id=0).code == ResponseCode.POLLING_TIMEOUT
        sent = broker.send(body=b"fresh", properties={"UNIQ_KEY": "fresh"})
        assert sent.code == ResponseCode.SUCCESS
        fresh = broker.pull(offset=int(sent.ext["queueOffset"]))
        assert [message.body for message in fresh.messages] == [b"fresh"]
        assert by_key(broker, "fresh").code == ResponseCode.SUCCESS
        broker.wait(60_000)
        tier.reading.tick()
    tier.recover()
    assert rows(broker.pull(offset=3).messages[0]) == rows(stored[3])
    assert rows(*by_key(broker, "k3").messages) == rows(stored[3])
    assert rows(*view(broker, stored[3].physical_offset).messages) == rows(stored[3])


def test_waiting_pull_keeps_its_offset_while_the_store_is_away(tier: BrokerTier) -> None:
    broker, stored = filled(tier)
    tier.break_off()
    answer = broker.pull(offset=3, sys_flag=SUSPEND, suspend_timeout_millis=15_000)
    assert answer.waits
    broker.wait(16_000)
    assert (answer.code, answer.ext["nextBeginOffset"]) == (ResponseCode.PULL_NOT_FOUND, "3")
    tier.recover()
    assert rows(broker.pull(offset=3).messages[0]) == rows(stored[3])
