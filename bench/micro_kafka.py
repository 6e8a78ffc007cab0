"""Cost of Produce and Fetch of Kafka's protocol in this process, from bytes to bytes; see `bench.micro`.

A request has a batch for each of four partitions, of 16 KB as the Java client makes them, or of one record.
"""

from __future__ import annotations

import struct
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

from bench.in_process import Server
from bench.steps import Work
from mqgateway.engine.record_batches.batches import batches, build_batch
from mqgateway.engine.record_batches.reader import Reader
from mqgateway.engine.record_batches.records import Record
from mqgateway.gateway.kafka.codec.apis import APIS
from mqgateway.gateway.kafka.codec.headers import RequestHeader, read_response_header, write_request_header
from mqgateway.gateway.kafka.codec.messages.create_topics_request import CreatableTopic, CreateTopicsRequest
from mqgateway.gateway.kafka.codec.messages.fetch_request import FetchPartition, FetchRequest, FetchTopic
from mqgateway.gateway.kafka.codec.messages.produce_request import (
    PartitionProduceData,
    ProduceRequest,
    TopicProduceData,
)
from mqgateway.gateway.kafka.codec.plans import encode_into, read
from mqgateway.gateway.kafka.codec.schema import Message
from mqgateway.gateway.kafka.server import KafkaServer

KAFKA_PORT = 9092
TOPICS = ("kilobytes", "hundreds", "singles", "idempotent")
PARTITIONS = 4
BATCH_BYTES = 16_000
FETCHED_BYTES = 1 << 20
FETCHED = FETCHED_BYTES // BATCH_BYTES
"""Batches of a partition in an answer to Fetch."""
NO_PRODUCER = -1
_SIZE = struct.Struct(">i")


class KafkaClient:
    """One connection of a Kafka client to a server in this process, with a topic for each kind of batch."""

    def __init__(self, server: Server) -> None:
        service = server.service
        kafka = KafkaServer(
            service.operations, service.server, reactor=server.reactor, advertised="127.0.0.1"
        )
        kafka.start("127.0.0.1", KAFKA_PORT)
        self._connection, self._transport = server.connect(KAFKA_PORT)
        made = [CreatableTopic(topic, PARTITIONS, 1) for topic in TOPICS]
        answer = self.ask(CreateTopicsRequest(made, 30_000))
        self.id_of: dict[str, bytes] = {topic.name: topic.topic_id for topic in answer.topics}

    def say(self, data: bytes) -> None:
        """One read of the connection."""
        self._transport.clear()
        self._connection.dataReceived(data)

    def frame(self, request: Message) -> bytes:
        """The bytes of a request, in the latest version."""
        out = bytearray()
        write_request_header(out, RequestHeader(request.KEY, APIS[request.KEY].latest, 1, "producer-1"))
        encode_into(out, request, APIS[request.KEY].latest)
        return _SIZE.pack(len(out)) + out

    def ask(self, request: Message) -> Any:
        """The answer to a request."""
        self.say(self.frame(request))
        api = APIS[request.KEY]
        reader = Reader(self._transport.value()[_SIZE.size :])
        read_response_header(reader, api.key, api.latest)
        return read(api.response, reader, api.latest)

    def produce(self, topic: str, batch: bytes) -> ProduceRequest:
        """A request with the batch for each partition."""
        data = [PartitionProduceData(number, batch) for number in range(PARTITIONS)]
        return ProduceRequest(None, 1, 30_000, [TopicProduceData(topic, self.id_of[topic], data)])

    def fetch(self, topic: str, offset: int) -> FetchRequest:
        """A request for all partitions from an offset on."""
        wanted = [
            FetchPartition(number, partition_max_bytes=FETCHED_BYTES, fetch_offset=offset)
            for number in range(PARTITIONS)
        ]
        return FetchRequest(
            max_wait_ms=0,
            min_bytes=1,
            max_bytes=50 << 20,
            session_epoch=-1,
            topics=[FetchTopic(topic, self.id_of[topic], wanted)],
        )

    def fetched(self, topic: str, offset: int) -> int:
        """Fetch, and return the offset at which a consumer continues."""
        partitions = self.ask(self.fetch(topic, offset)).responses[0].partitions
        _check(partitions)
        last = list(batches(partitions[0].records))[-1]  # all partitions have the same
        return int(last.base_offset) + int(last.count)


def batch_of(size: int, count: int, producer_id: int = NO_PRODUCER, sequence: int = -1) -> bytes:
    """A batch of so many records of that size."""
    now = int(time.time() * 1000)
    records = [Record(None, b"x" * size, (), 0, number) for number in range(count)]
    epoch = 0 if producer_id >= 0 else -1
    return bytes(
        build_batch(
            records, base_timestamp=now, producer_id=producer_id, producer_epoch=epoch, base_sequence=sequence
        )
    )


class Idempotent:
    """Requests of an idempotent producer, each with the next sequence."""

    def __init__(self, client: KafkaClient, size: int, count: int) -> None:
        self._client = client
        self._size, self._count = size, count
        self._sequence = 0
        self._data = b""

    def prepare(self) -> None:
        """Make the next request."""
        batch = batch_of(self._size, self._count, 7, self._sequence)
        self._data = self._client.frame(self._client.produce("idempotent", batch))
        self._sequence += self._count

    def do(self) -> None:
        """Send it."""
        self._client.say(self._data)


def kafka_work(folder: Path) -> list[Work]:
    """Produce and Fetch on a server in this process. A unit is a batch."""
    client = KafkaClient(Server(folder / "kafka"))
    shapes = (
        ("kilobytes", "a produced batch of 15 x 1 KB", 1024, 15),
        ("hundreds", "a produced batch of 140 x 100 B", 100, 140),
        ("singles", "a produced batch of one record, 100 B", 100, 1),
    )
    works: list[Work] = []
    for topic, name, size, count in shapes:
        request = client.produce(topic, batch_of(size, count))
        _check(client.ask(request).responses[0].partition_responses)
        works.append(Work(name, PARTITIONS, partial(client.say, client.frame(request))))
    idempotent = Idempotent(client, 1024, 15)
    works.append(
        Work("a produced batch of 15 x 1 KB, idempotent", PARTITIONS, idempotent.do, idempotent.prepare)
    )
    for topic, name, size, count in shapes[:2]:
        fill = client.frame(client.produce(topic, batch_of(size, count)))
        for _ in range(3 * FETCHED):
            client.say(fill)
        first = client.fetched(topic, 0)
        fetch = client.fetch(topic, first)  # where a consumer continues
        client.fetched(topic, first)
        fetched = name.replace("produced", "fetched")
        works.append(Work(fetched, PARTITIONS * FETCHED, partial(client.say, client.frame(fetch))))
    return works


def _check(partitions: Sequence[Any]) -> None:
    """Raise `RuntimeError` unless all partitions were served."""
    failed = [one.error_code for one in partitions if one.error_code]
    if failed or len(partitions) != PARTITIONS:
        raise RuntimeError(f"{len(partitions)} partitions of {PARTITIONS}, errors {failed}")
