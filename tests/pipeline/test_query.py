"""A driver's questions: batches and streams over topics that grow, shrink and go."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from mqgateway.engine.options import TlsOptions
from mqgateway.gateway.client.message import Message
from mqgateway.gateway.codec.bodies import MessageQueue
from mqgateway.pipeline.brokers import Brokers
from mqgateway.pipeline.errors import BadOption, DataLoss, PipelineError
from mqgateway.pipeline.planning import Range
from mqgateway.pipeline.pushdown import Narrowing
from mqgateway.pipeline.query import Query
from mqgateway.pipeline.request import read_request
from tests.support.gateway.client.cluster import NAMESRV, Cluster, queue_of
from tests.support.gateway.client.facing import faced

Q0, Q1, Q2 = (queue_of("T", number) for number in range(3))


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> Iterator[Cluster]:
    with faced(monkeypatch) as cluster:
        cluster.make_topic("T", queues=2)
        fill(cluster, Q0, 10)
        fill(cluster, Q1, 4)
        yield cluster


def fill(cluster: Cluster, queue: MessageQueue, count: int) -> None:
    if not hasattr(cluster, "filler"):
        cluster.filler = cluster.producer("Fillers")  # type: ignore[attr-defined]
    for number in range(count):
        cluster.run(cluster.filler.send(Message(queue.topic, str(number)), queue=queue))  # type: ignore[attr-defined]


def query(is_stream: bool = False, **given: str) -> Query:
    request = read_request({"nameServer": NAMESRV, "topic": "T", **given}, is_stream=is_stream)
    return Query(request, Brokers(request.options, TlsOptions()))


def test_a_batch_is_everything_there_is(cluster: Cluster) -> None:
    assert query().batch(Narrowing()) == [Range(Q0, 0, 10), Range(Q1, 0, 4)]
    assert len(query(minPartitions="7").batch(Narrowing())) == 7


def test_a_batch_may_be_a_part(cluster: Cluster) -> None:
    start, end = '{"T":{"broker-a":{"0":3,"1":-2}}}', '{"T":{"broker-a":{"0":-1,"1":2}}}'
    found = query(startingOffsets=start, endingOffsets=end).batch(Narrowing())
    assert found == [Range(Q0, 3, 10), Range(Q1, 0, 2)]
    narrowing = Narrowing()
    narrowing.take(("=", "queueId", 1))
    assert query().batch(narrowing) == [Range(Q1, 0, 4)]
    late = str(cluster.clock.millis() + 10_000)
    assert query(startingTimestamp=late).batch(Narrowing()) == []
    times = f'{{"T":{{"broker-a":{{"0":{late},"1":0}}}}}}'
    assert query(startingOffsetsByTimestamp=times).batch(Narrowing()) == [Range(Q1, 0, 4)]


def test_refusals_that_need_the_queues(cluster: Cluster) -> None:
    with pytest.raises(BadOption, match="queues are not named: T/broker-a/1"):
        query(startingOffsets='{"T":{"broker-a":{"0":3}}}').batch(Narrowing())
    with pytest.raises(PipelineError, match="no broker has the topic X, Y; create it"):
        query(topic="Y,T,X").batch(Narrowing())
    assert query(topic="", topicPattern="X.*").batch(Narrowing()) == []
    assert len(query(topic="", topicPattern="[A-Z]").batch(Narrowing())) == 2


def test_stream_begins_at_the_given_offsets(cluster: Cluster) -> None:
    assert query(True).initial() == {Q0: 10, Q1: 4}
    assert query(True, startingOffsets="earliest").initial() == {Q0: 0, Q1: 0}


def test_limits_and_the_end_that_was_frozen(cluster: Cluster) -> None:
    stream = query(True)
    start = {Q0: 0, Q1: 0}
    assert stream.next_end(start, 0) == {Q0: 10, Q1: 4}
    assert stream.next_end(start, 7) == {Q0: 5, Q1: 2}
    stream.freeze()
    fill(cluster, Q1, 3)
    assert stream.next_end(start, 0) == {Q0: 10, Q1: 4}
    assert stream.newest() == {Q0: 10, Q1: 7}
    assert stream.next_end({Q0: 10, Q1: 4}, 5) == {Q0: 10, Q1: 4}


def test_queues_that_appear_begin_at_the_begin(cluster: Cluster) -> None:
    stream = query(True)
    cluster.make_topic("T", queues=3)
    fill(cluster, Q2, 2)
    end = stream.next_end({Q0: 10, Q1: 4}, 0)
    assert end == {Q0: 10, Q1: 4, Q2: 2}
    assert stream.stream({Q0: 10, Q1: 4}, end) == [Range(Q2, 0, 2)]


def test_queues_that_disappear_wait(cluster: Cluster) -> None:
    stream = query(True)
    gone = MessageQueue("T", "broker-z", 0)
    end = stream.next_end({gone: 5, Q0: 9}, 0)
    assert end == {gone: 5, Q0: 10, Q1: 4}
    assert stream.stream({gone: 5, Q0: 9, Q1: 4}, end) == [Range(Q0, 9, 10)]


def test_offsets_that_went_back_are_a_loss(cluster: Cluster) -> None:
    start = {Q0: 50, Q1: 4}
    end = query(True).next_end(start, 0)
    with pytest.raises(DataLoss, match="ends at offset 10, but was read up to 50 before"):
        query(True).stream(start, end)
    assert query(True, failOnDataLoss="false").stream(start, end) == []
