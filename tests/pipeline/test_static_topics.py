"""Queues of static topics: who leads them, and reading them while they move."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from mqgateway.engine.errors import ConfigError
from mqgateway.engine.options import TlsOptions
from mqgateway.gateway.client.errors import BrokerError, NoBroker
from mqgateway.gateway.codec.bodies import MessageQueue, TopicRouteData
from mqgateway.pipeline.brokers import Brokers
from mqgateway.pipeline.columns import Place
from mqgateway.pipeline.errors import SinkError
from mqgateway.pipeline.offsets import as_tree
from mqgateway.pipeline.options import SinkOptions
from mqgateway.pipeline.planning import Range
from mqgateway.pipeline.pushdown import Narrowing
from mqgateway.pipeline.query import Query
from mqgateway.pipeline.reading import RangeReader
from mqgateway.pipeline.request import read_request
from mqgateway.pipeline.rows import Rows
from mqgateway.pipeline.sending import TaskSender
from mqgateway.pipeline.static_topics import is_static, leader, static_queues
from tests.support.gateway.client.cluster import NAMESRV, queue_of, topics_asked_for
from tests.support.gateway.client.facing import faced
from tests.support.pipeline.moving import BLOCK, QUEUE, TOPIC, Moving

GIVEN = {
    "nameServer": NAMESRV,
    "topic": TOPIC,
    "connectTimeoutMs": "0",
    "unreachableTimeoutMs": "0",
    "fetchOffset.retryIntervalMs": "1",
}


@pytest.fixture
def moving(monkeypatch: pytest.MonkeyPatch) -> Iterator[Moving]:
    with faced(monkeypatch) as cluster:
        yield Moving(cluster)


def query(is_stream: bool = False, **given: str) -> Query:
    request = read_request({**GIVEN, **given}, is_stream=is_stream)
    return Query(request, Brokers(request.options, TlsOptions()))


def read(ranges: list[Range], **given: str) -> list[tuple[int, int, str]]:
    """Queue, offset and body of the rows of ranges."""
    reader = RangeReader(read_request({**GIVEN, **given}, is_stream=False), TlsOptions())

    def made(rows: Rows, place: Place) -> list[tuple[int, int, str]]:
        assert place == Place(TOPIC, "__syslo__global__")
        return [(head[3], head[5], body.decode()) for head, body in zip(rows.heads, rows.bodies, strict=True)]

    try:
        return [row for one in ranges for batch in reader.batches(one, made) for row in batch]
    finally:
        reader.close()


def route(**infos: Any) -> TopicRouteData:
    return TopicRouteData(topic_queue_mapping_by_broker=infos)


def info(epoch: int, leads: dict[str, int], total: int = 2, scope: str | None = None) -> dict[str, Any]:
    return {"epoch": epoch, "currIdMap": leads, "totalQueues": total, "scope": scope}


def test_queues_have_numbers_and_a_leader_each() -> None:
    """The newest of two that claim a queue leads it; one may have none for a moment."""
    result = route(a=info(7, {"0": 3, "1": 0}), b=info(8, {"0": 5}))
    zero, one = (MessageQueue("T", "__syslo__global__", number) for number in range(2))
    assert static_queues("T", result) == {zero, one}
    assert (leader(zero, result), leader(one, result)) == ("b", "a")
    assert leader(one, route(b=info(8, {"0": 5}))) is None
    assert is_static(zero) and not is_static(queue_of("T"))


def test_scopes_are_apart() -> None:
    result = route(a=info(1, {"0": 0}, 1), b=info(1, {"0": 0}, 1, "west"))
    names = {queue.broker_name for queue in static_queues("T", result)}
    assert names == {"__syslo__global__", "__syslo__west"}
    assert leader(MessageQueue("T", "__syslo__west", 0), result) == "b"


def test_a_topic_that_is_not_static_has_none() -> None:
    assert static_queues("T", TopicRouteData()) == set() == static_queues("T", route(a=None))


def test_invalid_mapping_is_refused() -> None:
    with pytest.raises(ConfigError, match="totalQueues is not of type int"):
        static_queues("T", route(a={"totalQueues": "two"}))


def test_a_batch_has_the_queues_own_numbers_and_offsets(moving: Moving) -> None:
    """Across two moves, from any place and with pulls of any size."""
    moving.send("a0", "a1", "a2")
    moving.move("broker-b")
    moving.send("b0", "b1")
    moving.move("broker-a")
    moving.send("c0")
    [whole] = query().batch(Narrowing())
    assert whole == Range(QUEUE, 0, 2 * BLOCK + 1)
    first = [(0, 0, "a0"), (0, 1, "a1"), (0, 2, "a2")]
    later = [(0, BLOCK, "b0"), (0, BLOCK + 1, "b1"), (0, 2 * BLOCK, "c0")]
    for count in (1, 2, 32):
        assert read([whole], pullBatchSize=str(count)) == first + later
    assert read([Range(QUEUE, 2, BLOCK + 1)]) == [*first[2:], later[0]]
    assert read([Range(QUEUE, 500, BLOCK)]) == []
    assert read(query(minPartitions="9").batch(Narrowing())) == first + later
    one = query(
        startingOffsets=f'{{"{TOPIC}":{{"__syslo__global__":{{"0":1}}}}}}',
        endingOffsets=f'{{"{TOPIC}":{{"__syslo__global__":{{"0":{BLOCK}}}}}}}',
    )
    assert read(one.batch(Narrowing())) == first[1:]


def test_times_are_found_in_whichever_item(moving: Moving) -> None:
    moving.send("a0", "a1")
    moving.move("broker-b")
    middle = moving.cluster.clock.millis()
    moving.send("b0")
    assert read(query(startingTimestamp=str(middle)).batch(Narrowing())) == [(0, BLOCK, "b0")]
    assert [row[2] for row in read(query(endingTimestamp=str(middle)).batch(Narrowing()))] == ["a0", "a1"]


def test_stream_continues_across_a_move(moving: Moving) -> None:
    """With the same driver, which learns of the move by being refused, and with one that is new."""
    moving.send("a0", "a1")
    stream = query(is_stream=True, startingOffsets="earliest")
    start = stream.initial()
    end = stream.next_end(start, 0)
    assert as_tree(end) == {TOPIC: {"__syslo__global__": {"0": 2}}}
    assert [row[2] for row in read(stream.stream(start, end))] == ["a0", "a1"]
    moving.send("a2")
    moving.move("broker-b")
    moving.send("b0")
    assert stream._brokers.bounds([QUEUE])[QUEUE] == (0, BLOCK + 1)
    for driver in (stream, query(is_stream=True)):
        after = driver.next_end(end, 0)
        assert after == {QUEUE: BLOCK + 1}
        assert read(driver.stream(end, after)) == [(0, 2, "a2"), (0, BLOCK, "b0")]


def test_a_reader_follows_a_queue_that_moves_meanwhile(moving: Moving) -> None:
    moving.send("a0", "a1")
    reader = RangeReader(read_request(GIVEN, is_stream=False), TlsOptions())

    def bodies(rows: Rows, place: Place) -> list[str]:
        return [body.decode() for body in rows.bodies]

    assert list(reader.batches(Range(QUEUE, 0, 2), bodies)) == [["a0", "a1"]]
    moving.move("broker-b")
    moving.send("b0")
    assert list(reader.batches(Range(QUEUE, 1, BLOCK + 1), bodies)) == [["a1", "b0"]]
    reader.close()


def test_queue_without_leader_is_named(moving: Moving) -> None:
    brokers = Brokers(read_request(GIVEN, is_stream=False).options, TlsOptions())
    with pytest.raises(NoBroker, match="no broker leads queue 5 of the static topic Static"):
        brokers.max_offsets([MessageQueue(TOPIC, QUEUE.broker_name, 5)])
    brokers.close()


def test_a_broker_that_leads_no_more_says_so(moving: Moving) -> None:
    brokers = Brokers(
        read_request(GIVEN | {"fetchOffset.numRetries": "0"}, is_stream=False).options, TlsOptions()
    )
    with pytest.raises(BrokerError, match="501"):
        brokers.max_offsets([MessageQueue(TOPIC, "broker-b", 0)])
    brokers.close()


def test_the_sink_refuses_static_topics(moving: Moving) -> None:
    """Also the topic of a row; others of the same task are looked at once, and once by the producer."""
    sender = TaskSender(SinkOptions(name_server=NAMESRV), TlsOptions())
    moving.cluster.make_topic("T")
    asked = topics_asked_for(moving.cluster)
    sender.send([{"topic": "T", "body": "1"}, {"topic": "T", "body": "2"}])
    with pytest.raises(SinkError, match="Static is a static topic, which the sink cannot write to"):
        sender.send([{"topic": TOPIC, "body": "3"}])
    sender.finish()
    sender.close()
    assert sorted(asked()) == [TOPIC, "T", "T"]
    assert sorted(moving.cluster.everything("T")) == [b"1", b"2"]
