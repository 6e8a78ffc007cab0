"""Every kind of RocketMQ's clients and of Kafka's on one topic, in both directions. This server only."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, NamedTuple

import pytest

from compat_tests.kafka.support.crossing import (
    MAKERS,
    PARTITIONS,
    WRITERS,
    Crossing,
    Filled,
    check_records,
    fill,
)
from compat_tests.kafka.support.readers import READERS, go_peer, grpc_peer
from compat_tests.kafka.support.wire import end_offset
from compat_tests.support.driver import message
from compat_tests.support.processes import wait_until
from compat_tests.test_transactions import COMMIT, ROLLBACK
from mqgateway.gateway.client import Message, Producer

pytest_plugins = ("compat_tests.kafka.support.crossing_fixtures",)

STARTS = dict.fromkeys(range(PARTITIONS), 0)
PAIRS = [(writer, maker) for writer in WRITERS for maker in MAKERS]
PROPERTIES = {"colour": "blau", "größe": "µ"}
HEADERS = [("TAGS", "T"), *PROPERTIES.items()]
DELIVERY_SECONDS = 60
READERS_AT_A_TIME = 4
"""Consumers wait for most of their time, and each kind is one program that serves several."""
WHOLE: dict[str, Any] = {"tags": "T", "keys": "k1", "properties": PROPERTIES}


class Sent(NamedTuple):
    """A topic with messages of RocketMQ, and for each body whether it has key, tag and properties."""

    topic: str
    bodies: dict[str, bool]


@pytest.fixture(scope="module", params=PAIRS, ids=lambda pair: "-in-topic-of-".join(pair))
def filled(request: pytest.FixtureRequest, both: Crossing) -> Filled:
    """A topic that a client of Kafka has filled and read."""
    writer, maker = request.param
    client = both.kafka(writer)
    filled = fill(client, both.topic(f"filled_{writer}", maker))
    check_records(filled, client.consume(filled.topic, filled.count(), STARTS))
    return filled


@pytest.fixture(scope="module")
def reading(both: Crossing, filled: Filled) -> Iterator[dict[str, Future[None]]]:
    """The consumers that read the topic, some at a time."""
    with ThreadPoolExecutor(READERS_AT_A_TIME, "reader") as threads:
        yield {name: threads.submit(read, both, filled) for name, read in READERS.items()}


@pytest.mark.parametrize("reader", READERS)
def test_rocketmq_consumer_reads_records_of_kafka(
    both: Crossing, filled: Filled, reading: dict[str, Future[None]], reader: str
) -> None:
    """A second time a consumer reads alone."""
    if result := reading.pop(reader, None):
        result.result()
    else:
        READERS[reader](both, filled)


@pytest.fixture(scope="module", params=MAKERS)
def sent(request: pytest.FixtureRequest, both: Crossing) -> Sent:
    """A topic with messages of each kind, sent by each of RocketMQ's clients."""
    topic = both.topic("sent", request.param)
    bodies: dict[str, bool] = {}
    send_by_java(both, topic, bodies)
    send_by_others(both, topic, bodies)

    def is_there() -> bool:
        address = both.server.kafka_address
        return sum(end_offset(address, topic, one) for one in range(PARTITIONS)) == len(bodies)

    wait_until(is_there, DELIVERY_SECONDS, f"{len(bodies)} messages are delivered")
    return Sent(topic, bodies)


def send_by_java(both: Crossing, topic: str, bodies: dict[str, bool]) -> None:
    """Send in each way of the Java client; adds the bodies that consumers must get."""
    peer = both.rocketmq

    def add(body: str, **fields: Any) -> dict[str, Any]:
        bodies[body] = "tags" in fields
        return message(topic, body, **fields)

    with peer.producer(compressOver=100) as producer:
        producer.send([add("java plain"), add("java whole", **WHOLE)])
        producer.send([add(f"async {number}", **WHOLE) for number in range(4)], "async")
        producer.send([add(f"oneway {number}") for number in range(4)], "oneway")
        producer.send([add(f"batch {number}", **WHOLE) for number in range(4)], "batch")
        producer.send([add(f"ordered {number}", **WHOLE) for number in range(4)], "selector")
        producer.send([add("compressed " + 300 * "x")])
        producer.send([add("level", delayLevel=1, **WHOLE)])
        producer.send([add("timer", timer="TIMER_DELAY_MS", time=1500, **WHOLE)])
    with peer.transactions(topic) as transactions:
        transactions.send([add(f"committed {number}", **WHOLE) for number in range(2)], COMMIT)
        transactions.send([message(topic, "rolled back")], ROLLBACK)


def send_by_others(both: Crossing, topic: str, bodies: dict[str, bool]) -> None:
    """Send with the clients in Go and Python, and by gRPC."""
    go, grpc = go_peer(both), grpc_peer(both)
    with go.producer() as go_producer:
        go_producer.send([message(topic, "go plain"), message(topic, "go whole", **WHOLE)])
    whole = {"topic": topic, "body": "grpc whole", "tag": "T", "keys": ["k1"], "properties": PROPERTIES}
    with grpc.producer(topic) as grpc_producer:
        grpc_producer.send({"topic": topic, "body": "grpc plain"}, whole)
    with Producer(both.rocketmq.name("python_producers"), both.server.namesrv_address) as producer:
        producer.send(Message(topic, "python plain"))
        producer.send(Message(topic, "python whole", tags="T", keys=["k1"], properties=PROPERTIES))
        producer.send_batch([Message(topic, f"python batch {number}") for number in range(3)])
    bodies |= {f"python batch {number}": False for number in range(3)}
    bodies |= {f"{who} plain": False for who in ("go", "grpc", "python")}
    bodies |= {f"{who} whole": True for who in ("go", "grpc", "python")}


@pytest.mark.parametrize("reader", WRITERS)
def test_kafka_consumer_reads_every_message_of_rocketmq(both: Crossing, sent: Sent, reader: str) -> None:
    """Sent singly, in batches, in order, with a delay, in transactions; by each of RocketMQ's clients."""
    records = both.kafka(reader).consume(sent.topic, len(sent.bodies), STARTS)
    assert sorted(str(one.value) for one in records) == sorted(sent.bodies)
    for one in records:
        is_whole = sent.bodies[str(one.value)]
        assert (one.key, sorted(one.headers)) == (("k1", sorted(HEADERS)) if is_whole else (None, []))
    ordered = [str(one.value) for one in sorted(records) if str(one.value).startswith("ordered")]
    assert ordered == sorted(ordered)
    for partition in range(PARTITIONS):
        offsets = sorted(one.offset for one in records if one.partition == partition)
        assert offsets == list(range(len(offsets)))
