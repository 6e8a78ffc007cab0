"""Drives transactional producers and readers of librdkafka through `confluent_kafka`.

Requests and answers are JSON objects, one a line.
"""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from collections.abc import Mapping
from typing import Any

from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition

PRODUCERS: dict[str, Producer] = {}
CONSUMERS: dict[str, Consumer] = {}
STEP_SECONDS = 60


def open_producer(request: Mapping[str, Any]) -> None:
    """Make a producer, and fence its predecessors."""
    producer = Producer(
        {
            "bootstrap.servers": request["bootstrap"],
            "transactional.id": request["transactional"],
            "transaction.timeout.ms": request["millis"],
            "message.timeout.ms": min(60_000, request["millis"]),
        }
    )
    PRODUCERS[request["name"]] = producer
    producer.init_transactions(STEP_SECONDS)


def send(request: Mapping[str, Any]) -> list[int]:
    """Send values to partitions in turn; return their offsets."""
    producer = PRODUCERS[request["name"]]
    offsets: dict[int, int] = {}
    failures: list[Any] = []
    for number, value in enumerate(request["values"]):

        def delivered(error: Any, message: Any, number: int = number) -> None:
            if error is not None:
                failures.append(error)
            else:
                offsets[number] = message.offset()

        producer.produce(
            request["topic"], value.encode(), partition=number % request["partitions"], on_delivery=delivered
        )
    if producer.flush(STEP_SECONDS):
        raise TimeoutError("not delivered")
    if failures:
        raise KafkaException(failures[0])
    return [offsets[number] for number in range(len(request["values"]))]


def consumer_of(request: Mapping[str, Any]) -> Consumer:
    """Return a consumer."""
    return Consumer(
        {
            "bootstrap.servers": request["bootstrap"],
            "group.id": request.get("group") or "none",
            "enable.auto.commit": False,
            "auto.offset.reset": "earliest",
            "session.timeout.ms": 6000,
            "isolation.level": request.get("isolation", "read_committed"),
        }
    )


def read(request: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values of a partition up to its end, as the isolation level has it, and that end."""
    consumer = consumer_of(request)
    place = TopicPartition(request["topic"], request["partition"], 0)
    _, end = consumer.get_watermark_offsets(place, STEP_SECONDS)
    consumer.assign([place])
    values: list[str] = []
    until = time.monotonic() + request["millis"] / 1000
    while time.monotonic() < until:
        message = consumer.poll(0.2)
        if message is not None and message.error() is None:
            values.append(message.value().decode())
        [position] = consumer.position([place])
        if message is None and max(position.offset, 0) >= end:
            break
    consumer.close()
    return {"values": values, "end": end}


def join(request: Mapping[str, Any]) -> None:
    """Make a member of a group."""
    consumer = CONSUMERS[request["name"]] = consumer_of(request)
    consumer.subscribe([request["topic"]])


def copy(request: Mapping[str, Any]) -> list[str]:
    """Write what was read, with its offsets, as one transaction; return the values."""
    consumer, producer = CONSUMERS[request["consumer"]], PRODUCERS[request["name"]]
    until = time.monotonic() + request["millis"] / 1000
    received: list[Any] = []
    while not received and time.monotonic() < until:
        received = [one for one in consumer.consume(100, 0.5) if one.error() is None]
    if not received:
        return []
    producer.begin_transaction()
    offsets: dict[int, int] = {}
    for message in received:
        producer.produce(request["target"], message.value(), partition=message.partition())
        offsets[message.partition()] = message.offset() + 1
    places = [TopicPartition(received[0].topic(), partition, offset) for partition, offset in offsets.items()]
    producer.send_offsets_to_transaction(places, consumer.consumer_group_metadata(), STEP_SECONDS)
    if request["commit"]:
        producer.commit_transaction(STEP_SECONDS)
    else:
        producer.abort_transaction(STEP_SECONDS)
        for place in consumer.committed(consumer.assignment(), STEP_SECONDS):
            consumer.seek(TopicPartition(place.topic, place.partition, max(place.offset, 0)))
    return [message.value().decode() for message in received]


def run(request: Mapping[str, Any]) -> Any:
    """Carry out a request."""
    op, name = request["op"], request.get("name", "")
    if op == "begin":
        return PRODUCERS[name].begin_transaction()
    if op == "commit":
        return PRODUCERS[name].commit_transaction(STEP_SECONDS)
    if op == "abort":
        return PRODUCERS[name].abort_transaction(STEP_SECONDS)
    if op == "close":
        PRODUCERS.pop(name)
        return None
    if op == "leave":
        return CONSUMERS.pop(name).close()
    return {"open": open_producer, "send": send, "read": read, "join": join, "copy": copy}[op](request)


def code_of(failure: BaseException) -> int | None:
    """Return Kafka's code of an error of the client, None for another failure."""
    return failure.args[0].code() if isinstance(failure, KafkaException) else None


def main() -> None:
    """Answer requests until standard input ends."""
    out = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # what the client prints is no answer
    lock = threading.Lock()

    def answer(request: Mapping[str, Any]) -> None:
        shape: dict[str, Any] = {"id": request["id"]}
        try:
            shape["result"] = run(request)
        except BaseException as failure:
            name, code = type(failure).__name__, code_of(failure)
            shape["error"] = {"type": name, "code": code, "message": str(failure)}
        with lock:
            out.write(json.dumps(shape) + "\n")
            out.flush()

    for line in sys.stdin:
        threading.Thread(target=answer, args=(json.loads(line),), daemon=True).start()
    os._exit(0)


main()
