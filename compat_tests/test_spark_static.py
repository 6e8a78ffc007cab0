"""Static topics read by Spark's driver and tasks, without Spark, while `mqadmin` moves their queues.

Servers are of both kinds. The rows are those of the official consumer: its queues, its offsets.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from functools import partial

import pytest

from compat_tests.support.artifacts import CURRENT
from compat_tests.support.driver import ClientError, Driver, Producer, PushConsumer, Queue, message
from compat_tests.support.mqadmin import Mqadmin
from compat_tests.support.peers import Peers
from compat_tests.support.processes import wait_until
from compat_tests.test_static import BROKERS, EVERYWHERE, started
from mqgateway.engine.options import TlsOptions
from mqgateway.gateway.client import BrokerError
from mqgateway.pipeline.brokers import Brokers
from mqgateway.pipeline.columns import Place
from mqgateway.pipeline.planning import Range
from mqgateway.pipeline.pushdown import Narrowing
from mqgateway.pipeline.query import Query
from mqgateway.pipeline.reading import RangeReader
from mqgateway.pipeline.request import read_request
from mqgateway.pipeline.rows import Rows

pytestmark = pytest.mark.overlap

TOPIC, QUEUES, EACH, BLOCK = "StaticRows", 2, 5, 10_000
Row = tuple[str, int, int, str]
"""Broker, queue, offset, body."""


class Reading:
    """One driver for the whole time, and its tasks."""

    def __init__(self, namesrv: str) -> None:
        self._given = {"nameServer": namesrv, "topic": TOPIC}
        self._request = read_request({**self._given, "startingOffsets": "earliest"}, is_stream=True)
        self._brokers = Brokers(self._request.options, TlsOptions())
        self._stream = Query(self._request, self._brokers)
        self._end = self._stream.initial()

    def close(self) -> None:
        """Close the connections."""
        self._brokers.close()

    def micro_batch(self) -> list[Row]:
        """Return the rows since the last micro-batch."""
        start, self._end = self._end, self._stream.next_end(self._end, 0)
        return self._rows(self._stream.stream(start, self._end))

    def batch(self) -> list[Row]:
        """Return all rows, read by more tasks than there are queues."""
        request = read_request({**self._given, "minPartitions": "5"}, is_stream=False)
        return self._rows(Query(request, self._brokers).batch(Narrowing()))

    def _rows(self, ranges: list[Range]) -> list[Row]:
        reader = RangeReader(self._request, TlsOptions())
        try:
            return sorted(row for one in ranges for part in reader.batches(one, _made) for row in part)
        finally:
            reader.close()


def answered(reading: Reading) -> bool:
    """Return True if brokers know one another.

    Apache's brokers learn the others' addresses ten seconds after their start. Until then they refuse to
    forward requests for a queue that has moved.
    """
    try:
        reading.batch()
    except BrokerError:
        return False
    return True


def _made(rows: Rows, place: Place) -> list[Row]:
    parts = zip(rows.heads, rows.bodies, strict=True)
    return [(place.broker_name, head[3], head[5], body.decode()) for head, body in parts]


@contextmanager
def commands(peers: Peers, kind: str) -> Iterator[tuple[str, Callable[..., str]]]:
    """Run three brokers; yield their name server's address, and a function that runs `mqadmin` on them."""
    with ExitStack() as stack:
        folder = peers.work / f"spark-static-{kind}-{time.time_ns()}"
        namesrv = stack.enter_context(started(kind, folder)).namesrv
        admin = Mqadmin(peers.runtime)
        stack.callback(admin.close)

        def run(*command: str) -> str:
            return admin.run(*command, "-n", namesrv).out

        def are_there() -> bool:
            listed = run("clusterList")
            return all(name in listed for name in BROKERS)

        wait_until(are_there, 40, "all brokers have registered")
        yield namesrv, run


def send(driver: Driver, namesrv: str, turn: int) -> list[Row]:
    """Send to each queue by a producer that has no route of the topic yet; return the expected rows."""
    sent = []
    with Producer(driver, namesrv, f"StaticRowSenders{turn}") as producer:
        wanted = [Queue(TOPIC, EVERYWHERE, number) for number in range(QUEUES)]
        wait_until(lambda: _queues(producer) == wanted, 30, "the topic has a route")
        for queue in wanted:
            bodies = [f"{turn}-{queue.queue_id}-{number}" for number in range(EACH)]
            producer.send_to(queue, [message(TOPIC, body) for body in bodies])
            begin = turn * BLOCK
            sent += [(EVERYWHERE, queue.queue_id, begin + at, body) for at, body in enumerate(bodies)]
    return sent


def _queues(producer: Producer) -> list[Queue]:
    try:
        return sorted(producer.queues(TOPIC))
    except ClientError:
        return []


def official(driver: Driver, namesrv: str, count: int) -> list[Row]:
    """Return the rows that the official consumer receives."""
    options = {"subscriptions": {TOPIC: "*"}, "listener": "ordered", "model": "CLUSTERING"}
    options["from"] = "CONSUME_FROM_FIRST_OFFSET"
    with PushConsumer(driver, namesrv, "StaticRowReaders", **options) as consumer:
        found = consumer.collect(count)
    return [(str(one.broker_name), one.queue_id, one.queue_offset, one.body) for one in found]


def test_rows_are_those_of_the_official_consumer(kind: str, peers: Peers) -> None:
    """Before a move and after two; in batches, and in a stream with one driver."""
    driver, expected = peers.driver(CURRENT), []
    with commands(peers, kind) as (namesrv, run), ExitStack() as stack:
        run("updateStaticTopic", "-t", TOPIC, "-b", "broker-a", "-qn", str(QUEUES))
        reading = None
        for turn, broker in enumerate(("", "broker-b", "broker-c")):
            if broker:
                run("remappingStaticTopic", "-t", TOPIC, "-b", broker)
            sent = send(driver, namesrv, turn)
            if reading is None:
                reading = stack.enter_context(closing(Reading(namesrv)))
            expected += sent
            wait_until(partial(answered, reading), 30, "each broker knows the others")
            assert reading.micro_batch() == sorted(sent)
            assert reading.batch() == sorted(expected)
        assert sorted(official(driver, namesrv, len(expected))) == sorted(expected)
