"""Looking up: by key, by id, by time, the ends of queues and their index."""

from typing import Any

import pytest

from mqgateway.engine.message import java_hash
from mqgateway.engine.store.results import QueryResult
from mqgateway.gateway.broker.consume import query
from mqgateway.gateway.broker.errors import OperationError, Reason
from mqgateway.gateway.codec.bodies.consuming import QueryConsumeQueueResponseBody
from mqgateway.gateway.codec.codes import RequestCode
from mqgateway.gateway.codec.fields import BoundaryType
from mqgateway.gateway.codec.headers import (
    GetEarliestMsgStoretimeRequestHeader,
    GetMaxOffsetRequestHeader,
    GetMinOffsetRequestHeader,
    QueryConsumeQueueRequestHeader,
    QueryMessageRequestHeader,
    SearchOffsetRequestHeader,
    ViewMessageRequestHeader,
)
from tests.support.gateway.broker.cold import ColdStore
from tests.support.gateway.broker.helpers import Answer, MemoryBroker

END = 2**62


@pytest.fixture
def memory() -> MemoryBroker:
    broker = MemoryBroker()
    broker.add_topic("T")
    return broker


def by_key(memory: MemoryBroker, key: str, ext: dict[str, str] | None = None, **fields: Any) -> Answer:
    usual: dict[str, Any] = {"max_num": 10, "begin_timestamp": 0, "end_timestamp": END}
    header = QueryMessageRequestHeader(topic="T", key=key, **usual | fields)
    return memory.ask(RequestCode.QUERY_MESSAGE, header, ext=ext)


def test_messages_are_found_by_their_keys(memory: MemoryBroker) -> None:
    memory.send(body=b"one", properties={"KEYS": "red green", "UNIQ_KEY": "A"})
    memory.send(body=b"two", properties={"KEYS": "green", "UNIQ_KEY": "B"})
    answer = by_key(memory, "green")
    assert answer.code == 0
    assert [message.body for message in answer.messages] == [b"one", b"two"]
    assert int(answer.ext["indexLastUpdateTimestamp"]) == memory.clock.millis()
    assert int(answer.ext["indexLastUpdatePhyoffset"]) == answer.messages[-1].physical_offset


def test_so_many_as_asked_for(memory: MemoryBroker) -> None:
    for _ in range(3):
        memory.send(properties={"KEYS": "k"})
    assert len(by_key(memory, "k", max_num=2).messages) == 2


def test_a_unique_key_is_asked_for_by_a_field_or_by_its_type(memory: MemoryBroker) -> None:
    memory.send(properties={"UNIQ_KEY": "A"})
    old = by_key(memory, "A", ext={"_UNIQUE_KEY_QUERY": "true"}, max_num=0)
    new = by_key(memory, "A", index_type="U")
    assert len(old.messages) == len(new.messages) == 1


def test_nothing_found_says_how_far_the_index_is(memory: MemoryBroker) -> None:
    memory.send(properties={"KEYS": "k", "UNIQ_KEY": "A"})
    answer = by_key(memory, "other")
    assert (answer.code, answer.remark) == (22, "can not find message, maybe time range not correct")
    assert set(answer.ext) == {"indexLastUpdateTimestamp", "indexLastUpdatePhyoffset"}


def test_the_time_of_a_message_must_be_asked_for(memory: MemoryBroker) -> None:
    memory.send(properties={"KEYS": "k"})
    now = memory.clock.millis()
    assert by_key(memory, "k", begin_timestamp=now + 5000).code == 22
    assert by_key(memory, "k", begin_timestamp=now - 5000, end_timestamp=now + 5000).code == 0


def test_a_message_is_seen_by_its_offset(memory: MemoryBroker) -> None:
    memory.send(body=b"one")
    memory.send(body=b"two")
    two = memory.stored("T")[1]
    header = ViewMessageRequestHeader(offset=two.physical_offset)
    answer = memory.ask(RequestCode.VIEW_MESSAGE_BY_ID, header)
    assert [message.body for message in answer.messages] == [b"two"]


@pytest.mark.parametrize("offset", [3, 10**12, -1])
def test_an_offset_without_a_message(memory: MemoryBroker, offset: int) -> None:
    memory.send()
    answer = memory.ask(RequestCode.VIEW_MESSAGE_BY_ID, ViewMessageRequestHeader(offset=offset))
    assert (answer.code, answer.remark) == (1, f"can not find message by the offset, {offset}")


def test_the_ends_of_a_queue(memory: MemoryBroker) -> None:
    for _ in range(3):
        memory.send(queue_id=2)
    ends = [
        memory.ask(code, header(topic="T", queue_id=queue)).ext["offset"]
        for queue in (2, 3)
        for code, header in (
            (RequestCode.GET_MIN_OFFSET, GetMinOffsetRequestHeader),
            (RequestCode.GET_MAX_OFFSET, GetMaxOffsetRequestHeader),
        )
    ]
    assert ends == ["0", "3", "0", "0"]


def test_an_empty_queue_of_batches_begins_before_0(memory: MemoryBroker) -> None:
    memory.add_topic("B", attributes={"queue.type": "BatchCQ"})
    header = GetMinOffsetRequestHeader(topic="B", queue_id=0)
    assert memory.ask(RequestCode.GET_MIN_OFFSET, header).ext["offset"] == "-1"


@pytest.mark.parametrize(
    ("time", "boundary", "offset"),
    [
        (0, None, "0"),
        (1000, None, "1"),
        (1000, BoundaryType.LOWER, "1"),
        (1000, BoundaryType.UPPER, "2"),
        (1500, None, "3"),
        (1500, BoundaryType.UPPER, "2"),
        (9000, None, "4"),
    ],
)
def test_an_offset_by_time(
    memory: MemoryBroker, time: int, boundary: BoundaryType | None, offset: str
) -> None:
    """Messages at 0, 1000, 1000 and 2000 ms."""
    start = memory.clock.millis()
    for pause in (0, 1000, 0, 1000):
        memory.clock.advance(pause)
        memory.send()
    header = SearchOffsetRequestHeader(topic="T", queue_id=0, timestamp=start + time, boundary_type=boundary)
    assert memory.ask(RequestCode.SEARCH_OFFSET_BY_TIMESTAMP, header).ext["offset"] == offset


def test_when_the_oldest_message_was_stored(memory: MemoryBroker) -> None:
    header = GetEarliestMsgStoretimeRequestHeader(topic="T", queue_id=0)
    assert memory.ask(RequestCode.GET_EARLIEST_MSG_STORETIME, header).ext["timestamp"] == "-1"
    first = memory.clock.millis()
    memory.send()
    memory.clock.advance(1000)
    memory.send()
    assert memory.ask(RequestCode.GET_EARLIEST_MSG_STORETIME, header).ext["timestamp"] == str(first)


def index_of(memory: MemoryBroker, **fields: Any) -> Answer:
    usual: dict[str, Any] = {"topic": "T", "queue_id": 0, "index": 0, "count": 10}
    return memory.ask(RequestCode.QUERY_CONSUME_QUEUE, QueryConsumeQueueRequestHeader(**usual | fields))


def test_a_stretch_of_a_queues_index(memory: MemoryBroker) -> None:
    for tag in "abc":
        memory.send(properties={"TAGS": tag})
    body = QueryConsumeQueueResponseBody.decode(index_of(memory, index=1, count=1).arrived.body)
    assert (body.min_queue_index, body.max_queue_index) == (0, 3)
    (unit,) = body.queue_data
    message = memory.stored("T")[1]
    assert (unit.physic_offset, unit.physic_size, unit.tags_code) == (
        message.physical_offset,
        message.size,
        java_hash("b"),
    )


def test_a_group_is_shown_with_its_subscription(memory: MemoryBroker) -> None:
    memory.send()
    offline = QueryConsumeQueueResponseBody.decode(index_of(memory, consumer_group="G").arrived.body)
    assert (offline.subscription_data, offline.filter_data) == (None, "G@T is not online!")
    memory.subscribe("G", "T", "a")
    online = QueryConsumeQueueResponseBody.decode(index_of(memory, consumer_group="G").arrived.body)
    assert online.subscription_data is not None
    assert online.subscription_data.sub_string == "a"


def test_an_index_that_is_not_there(memory: MemoryBroker) -> None:
    memory.send()
    unknown, beyond = index_of(memory, queue_id=3), index_of(memory, index=1)
    assert (unknown.code, unknown.remark) == (1, "3@T is not exist!")
    assert (beyond.code, beyond.remark, beyond.arrived.body) == (0, "Index 1 of 0@T is not exist!", b"")


def test_a_lite_topic_is_searched_by_time() -> None:
    memory = MemoryBroker(store_options={"enable_lmq": True, "enable_multi_dispatch": True})
    memory.add_topic("T")
    for lite in ("a", "b", "a"):
        memory.send(properties={"__LITE_TOPIC": lite})
        memory.clock.advance(10)
    header = {"topic": "T", "queue_id": 0, "timestamp": memory.clock.millis() - 15}
    asked = [
        memory.ask(
            RequestCode.SEARCH_OFFSET_BY_TIMESTAMP, SearchOffsetRequestHeader(**header, lite_topic=lite)
        )
        for lite in ("a", "none")
    ]
    assert [answer.ext["offset"] for answer in asked] == ["1", "0"]


def test_a_worker_brings_messages_and_units_that_are_not_in_memory(
    memory: MemoryBroker, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory.send(properties={"KEYS": "k"})
    reads = ("query", "record_at", "consume_queue_units", "offset_by_time", "store_time")
    cold = ColdStore(memory.broker.store, monkeypatch, times=0, names=reads)
    asked = [
        lambda: by_key(memory, "k"),
        lambda: memory.ask(RequestCode.VIEW_MESSAGE_BY_ID, ViewMessageRequestHeader(offset=0)),
        lambda: memory.ask(
            RequestCode.QUERY_CONSUME_QUEUE,
            QueryConsumeQueueRequestHeader(topic="T", queue_id=0, index=0, count=9),
        ),
        lambda: memory.ask(
            RequestCode.SEARCH_OFFSET_BY_TIMESTAMP,
            SearchOffsetRequestHeader(topic="T", queue_id=0, timestamp=1),
        ),
        lambda: memory.ask(
            RequestCode.GET_EARLIEST_MSG_STORETIME,
            GetEarliestMsgStoretimeRequestHeader(topic="T", queue_id=0),
        ),
    ]
    for ask in asked:
        cold.times = 2
        answer = ask()
        assert answer.waits
        assert cold.bring() == 2
        assert (answer.code, bool(answer.arrived.body or answer.ext), cold.waits) == (0, True, 0)


def test_queries_are_operations(memory: MemoryBroker) -> None:
    broker = memory.broker
    memory.send(body=b"x", properties={"KEYS": "k"})
    found = query.query_message(broker, "T", "k", 0, END)
    assert isinstance(found, QueryResult) and len(found.records) == 1
    assert query.view_message(broker, 0, None) == found.records[0]
    assert [query.min_offset(broker, "T", 0), query.max_offset(broker, "T", 0)] == [0, 1]
    assert query.search_offset(broker, "T", 0, 0) == 0
    assert query.earliest_store_time(broker, "T", 0) == memory.clock.millis()
    stretch = query.query_consume_queue(broker, "T", 0, 0, 9)
    assert isinstance(stretch, QueryConsumeQueueResponseBody) and len(stretch.queue_data or ()) == 1
    assert query.query_consume_queue(broker, "T", 0, 1, 9) is None
    with pytest.raises(OperationError, match="can not find message by the offset, 7") as refusal:
        query.view_message(broker, 7, None)
    assert refusal.value.reason is Reason.SYSTEM_ERROR
