"""Drives `kafka-python`."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from kafka import ConsumerRebalanceListener, KafkaConsumer, KafkaProducer, TopicPartition
from kafka.coordinator.assignors.cooperative_sticky import CooperativeStickyAssignor
from kafka.coordinator.assignors.range import RangePartitionAssignor
from kafka.coordinator.assignors.roundrobin import RoundRobinPartitionAssignor
from lines import Member, data, serve, text

ASSIGNORS = {
    "range": RangePartitionAssignor,
    "roundrobin": RoundRobinPartitionAssignor,
    "cooperative": CooperativeStickyAssignor,
}


def produce(request: Mapping[str, Any]) -> list[dict[str, int]]:
    """Send records; returns where each was written."""
    acks = request["acks"]
    codec = request["compression"]
    producer = KafkaProducer(
        bootstrap_servers=request["bootstrap"],
        acks=acks if acks == "all" else int(acks),
        compression_type=None if codec == "none" else codec,
        enable_idempotence=request["idempotent"],
        linger_ms=20,
        max_request_size=8_000_000,
        delivery_timeout_ms=60_000,
    )
    try:
        sent = [
            producer.send(
                request["topic"],
                data(record["value"]),
                data(record.get("key")),
                [(name, data(value)) for name, value in record.get("headers", [])],
                record.get("partition"),
                record.get("timestamp"),
            )
            for record in request["records"]
        ]
        written = [one.get(60) for one in sent]
        return [{"partition": one.partition, "offset": one.offset} for one in written]
    finally:
        producer.close(20)


def shape(record: Any) -> dict[str, Any]:
    """Return a record for the answer."""
    return {
        "partition": record.partition,
        "offset": record.offset,
        "key": text(record.key),
        "value": text(record.value),
        "headers": [[name, text(value)] for name, value in record.headers],
        "timestamp": record.timestamp,
    }


def consume(request: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Read partitions from given offsets."""
    consumer = KafkaConsumer(bootstrap_servers=request["bootstrap"], group_id=None)
    try:
        starts = {TopicPartition(request["topic"], one[0]): one[1] for one in request["starts"]}
        consumer.assign(list(starts))
        for place, start in starts.items():
            consumer.seek(place, start)
        received: list[dict[str, Any]] = []
        end = time.monotonic() + request["millis"] / 1000
        while len(received) < request["count"] and time.monotonic() < end:
            for records in consumer.poll(200).values():
                received += map(shape, records)
        return received
    finally:
        consumer.close()


def offset(request: Mapping[str, Any]) -> int:
    """Return the offset of a time."""
    consumer = KafkaConsumer(bootstrap_servers=request["bootstrap"], group_id=None)
    try:
        place = TopicPartition(request["topic"], request["partition"])
        found = consumer.offsets_for_times({place: request["timestamp"]})[place]
        return -1 if found is None else int(found.offset)
    finally:
        consumer.close()


class KafkaPythonMember(Member, ConsumerRebalanceListener):
    """A member of a group."""

    def open(self, request: Mapping[str, Any]) -> None:
        self._consumer = KafkaConsumer(
            bootstrap_servers=request["bootstrap"],
            group_id=request["group"],
            group_instance_id=request["instance"],
            auto_offset_reset=request["from"],
            enable_auto_commit=False,
            session_timeout_ms=request["session"],
            heartbeat_interval_ms=500,
            partition_assignment_strategy=[ASSIGNORS[request["assignor"]]],
        )
        self._consumer.subscribe([request["topic"]], listener=self)

    def on_partitions_revoked(self, revoked: Any) -> None:
        self.revoked += len(revoked)

    def on_partitions_assigned(self, assigned: Any) -> None:
        pass

    def poll(self) -> None:
        for records in self._consumer.poll(100).values():
            self.records += map(shape, records)
        self.assignment = [one.partition for one in self._consumer.assignment()]

    def commit(self) -> None:
        self._consumer.commit()

    def close(self) -> None:
        self._consumer.close()


def code_of(failure: BaseException) -> int | None:
    """Return Kafka's error code of an exception."""
    return getattr(failure, "errno", None)


serve({"produce": produce, "consume": consume, "offset": offset}, KafkaPythonMember, code_of)
