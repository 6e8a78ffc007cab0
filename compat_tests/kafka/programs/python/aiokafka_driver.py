"""Drives `aiokafka`, whose loop runs in a thread."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Coroutine, Mapping
from typing import Any

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, ConsumerRebalanceListener, TopicPartition
from aiokafka.coordinator.assignors.range import RangePartitionAssignor
from aiokafka.coordinator.assignors.roundrobin import RoundRobinPartitionAssignor
from lines import Member, data, serve, text

ASSIGNORS = {"range": RangePartitionAssignor, "roundrobin": RoundRobinPartitionAssignor}
LOOP = asyncio.new_event_loop()


def awaited(work: Coroutine[Any, Any, Any], seconds: float = 55) -> Any:
    """Run work in the loop and return its result."""
    return asyncio.run_coroutine_threadsafe(work, LOOP).result(seconds)


async def produce(request: Mapping[str, Any]) -> list[dict[str, int]]:
    """Send records; returns where each was written."""
    acks = request["acks"]
    codec = request["compression"]
    producer = AIOKafkaProducer(
        bootstrap_servers=request["bootstrap"],
        acks=acks if acks == "all" else int(acks),
        compression_type=None if codec == "none" else codec,
        enable_idempotence=request["idempotent"],
        linger_ms=20,
        max_request_size=8_000_000,
    )
    await producer.start()
    try:
        sent = [
            await producer.send(
                request["topic"],
                data(record["value"]),
                data(record.get("key")),
                record.get("partition"),
                record.get("timestamp"),
                [(name, data(value)) for name, value in record.get("headers", [])],
            )
            for record in request["records"]
        ]
        written = await asyncio.gather(*sent)
    finally:
        await producer.stop()
    return [
        {"partition": request["records"][number].get("partition", 0), "offset": -1}
        if one is None
        else {"partition": one.partition, "offset": one.offset}
        for number, one in enumerate(written)
    ]


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


async def consume(request: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Read partitions from given offsets."""
    consumer = AIOKafkaConsumer(bootstrap_servers=request["bootstrap"], group_id=None)
    starts = {TopicPartition(request["topic"], one[0]): one[1] for one in request["starts"]}
    consumer.assign(list(starts))
    await consumer.start()
    try:
        for place, start in starts.items():
            consumer.seek(place, start)
        received: list[dict[str, Any]] = []
        end = time.monotonic() + request["millis"] / 1000
        while len(received) < request["count"] and time.monotonic() < end:
            for records in (await consumer.getmany(timeout_ms=200)).values():
                received += map(shape, records)
        return received
    finally:
        await consumer.stop()


async def offset(request: Mapping[str, Any]) -> int:
    """Return the offset of a time."""
    consumer = AIOKafkaConsumer(bootstrap_servers=request["bootstrap"], group_id=None)
    await consumer.start()
    try:
        place = TopicPartition(request["topic"], request["partition"])
        found = (await consumer.offsets_for_times({place: request["timestamp"]}))[place]
        return -1 if found is None else int(found.offset)
    finally:
        await consumer.stop()


class AiokafkaMember(Member, ConsumerRebalanceListener):
    """A member of a group."""

    def open(self, request: Mapping[str, Any]) -> None:
        awaited(self._open(request))

    async def _open(self, request: Mapping[str, Any]) -> None:
        self._consumer = AIOKafkaConsumer(
            bootstrap_servers=request["bootstrap"],
            group_id=request["group"],
            group_instance_id=request["instance"],
            auto_offset_reset=request["from"],
            enable_auto_commit=False,
            session_timeout_ms=request["session"],
            heartbeat_interval_ms=500,
            partition_assignment_strategy=(ASSIGNORS[request["assignor"]],),
        )
        self._consumer.subscribe([request["topic"]], listener=self)
        await self._consumer.start()

    async def on_partitions_revoked(self, revoked: Any) -> None:
        self.revoked += len(revoked)

    async def on_partitions_assigned(self, assigned: Any) -> None:
        pass

    def poll(self) -> None:
        for records in awaited(self._consumer.getmany(timeout_ms=100)).values():
            self.records += map(shape, records)
        self.assignment = [one.partition for one in self._consumer.assignment()]

    def commit(self) -> None:
        awaited(self._consumer.commit())

    def close(self) -> None:
        awaited(self._consumer.stop())


def code_of(failure: BaseException) -> int | None:
    """Return Kafka's error code of an exception."""
    return getattr(failure, "errno", None)


threading.Thread(target=LOOP.run_forever, daemon=True).start()
OPS = {"produce": produce, "consume": consume, "offset": offset}
serve(
    {name: lambda request, op=op: awaited(op(request)) for name, op in OPS.items()}, AiokafkaMember, code_of
)
