"""Drives librdkafka through `confluent_kafka`."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, Producer, TopicPartition
from lines import Member, data, serve, text

ASSIGNORS = {"range": "range", "roundrobin": "roundrobin", "cooperative": "cooperative-sticky"}


def produce(request: Mapping[str, Any]) -> list[dict[str, int]]:
    """Send records; returns where each was written."""
    places: dict[int, dict[str, int]] = {}
    failures: list[KafkaError] = []
    producer = Producer(
        {
            "bootstrap.servers": request["bootstrap"],
            "acks": request["acks"],
            "compression.type": request["compression"],
            "enable.idempotence": request["idempotent"],
            "linger.ms": 20,
            "message.max.bytes": 8_000_000,
            "message.timeout.ms": 60_000,
        }
    )
    for number, record in enumerate(request["records"]):

        def delivered(error: KafkaError | None, message: Message, number: int = number) -> None:
            if error is not None:
                failures.append(error)
                return
            offset = message.offset()
            places[number] = {"partition": message.partition(), "offset": -1 if offset is None else offset}

        options = {name: record[name] for name in ("partition", "timestamp") if name in record}
        headers = [(name, data(value)) for name, value in record.get("headers", [])]
        producer.produce(
            request["topic"],
            data(record["value"]),
            data(record.get("key")),
            headers=headers,
            on_delivery=delivered,
            **options,
        )
    if producer.flush(60):
        raise TimeoutError("not delivered")
    if failures:
        raise KafkaException(failures[0])
    return [places[number] for number in range(len(request["records"]))]


def shape(message: Message) -> dict[str, Any]:
    """Return a record for the answer."""
    return {
        "partition": message.partition(),
        "offset": message.offset(),
        "key": text(message.key()),
        "value": text(message.value()),
        "headers": [[name, text(value)] for name, value in message.headers() or []],
        "timestamp": message.timestamp()[1],
    }


def settings(request: Mapping[str, Any], **more: Any) -> dict[str, Any]:
    """Return the settings of a consumer."""
    return {
        "bootstrap.servers": request["bootstrap"],
        "group.id": "none",
        "enable.auto.commit": False,
        "fetch.message.max.bytes": 2_000_000,
        **more,
    }


def consume(request: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Read partitions from given offsets."""
    consumer = Consumer(settings(request))
    try:
        consumer.assign([TopicPartition(request["topic"], *start) for start in request["starts"]])
        received: list[dict[str, Any]] = []
        end = time.monotonic() + request["millis"] / 1000
        while len(received) < request["count"] and time.monotonic() < end:
            for message in consumer.consume(100, 0.2):
                if message.error():
                    raise KafkaException(message.error())
                received.append(shape(message))
        return received
    finally:
        consumer.close()


def offset(request: Mapping[str, Any]) -> int:
    """Return the offset of a time."""
    consumer = Consumer(settings(request))
    try:
        asked = TopicPartition(request["topic"], request["partition"], request["timestamp"])
        (found,) = consumer.offsets_for_times([asked], 20)
        return int(found.offset)
    finally:
        consumer.close()


class LibrdkafkaMember(Member):
    """A member of a group."""

    def open(self, request: Mapping[str, Any]) -> None:
        more = {
            "group.id": request["group"],
            "auto.offset.reset": request["from"],
        }
        if request["protocol"] == "consumer":
            more |= {"group.protocol": "consumer", "group.remote.assignor": request["assignor"]}
        else:
            more |= {
                "session.timeout.ms": request["session"],
                "heartbeat.interval.ms": 500,
                "partition.assignment.strategy": ASSIGNORS[request["assignor"]],
            }
        if request["instance"] is not None:
            more["group.instance.id"] = request["instance"]
        self._consumer = Consumer(settings(request, **more))
        self._consumer.subscribe([request["topic"]], on_revoke=self._revoke)

    def _revoke(self, consumer: Consumer, partitions: list[TopicPartition]) -> None:
        self.revoked += len(partitions)

    def poll(self) -> None:
        for message in self._consumer.consume(100, 0.1):
            if message.error():
                if message.error().code() == KafkaError.UNKNOWN_TOPIC_OR_PART:
                    continue
                raise KafkaException(message.error())
            self.records.append(shape(message))
        self.assignment = [one.partition for one in self._consumer.assignment()]

    def commit(self) -> None:
        try:
            self._consumer.commit(asynchronous=False)
        except KafkaException as failure:
            if failure.args[0].code() != KafkaError._NO_OFFSET:
                raise

    def close(self) -> None:
        self._consumer.close()


def code_of(failure: BaseException) -> int | None:
    """Return Kafka's error code of an exception."""
    error = failure.args[0] if isinstance(failure, KafkaException) else None
    return error.code() if isinstance(error, KafkaError) else None


serve({"produce": produce, "consume": consume, "offset": offset}, LibrdkafkaMember, code_of)
