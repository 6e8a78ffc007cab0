"""Produce requests that have one batch, taken apart, and those that are not."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from mqgateway.gateway.kafka.codec.apis import APIS, PRODUCE
from mqgateway.gateway.kafka.codec.headers import RequestHeader, write_request_header
from mqgateway.gateway.kafka.codec.messages.produce_request import (
    PartitionProduceData,
    ProduceRequest,
    TopicProduceData,
)
from mqgateway.gateway.kafka.codec.plans import encode_into
from mqgateway.gateway.kafka.codec.single_batch import read_single_batch

VERSIONS = range(9, APIS[PRODUCE].latest + 1)
ONE = PartitionProduceData(3, b"batch")


def frame(
    version: int,
    *,
    partitions: Sequence[PartitionProduceData] = (ONE,),
    topics: int = 1,
    transactional_id: str | None = None,
    client_id: str | None = "me",
    number: int = -5,
) -> bytes:
    """Return a request."""
    topic = TopicProduceData("orders", b"\1" * 16, partitions)
    out = bytearray()
    write_request_header(out, RequestHeader(PRODUCE, version, number, client_id))
    encode_into(out, ProduceRequest(transactional_id, -1, 1000, [topic] * topics), version)
    return bytes(out)


@pytest.mark.parametrize("size", [0, 5, 200, 20_000])
@pytest.mark.parametrize("client_id", ["me", "", None])
@pytest.mark.parametrize("version", VERSIONS)
def test_parts_of_a_request(version: int, client_id: str | None, size: int) -> None:
    one = PartitionProduceData(3, b"b" * size)
    first = frame(version, client_id=client_id, partitions=[one])
    parts = read_single_batch(first)
    assert parts is not None
    key, number, begin, end = parts
    assert (number, first[begin:end]) == (-5, b"b" * size)
    assert first.startswith(key[:4]) and key[4:] in first[8:begin]


@pytest.mark.parametrize("version", VERSIONS)
def test_key_has_everything_but_correlation_id_and_batch(version: int) -> None:
    def key(**fields: object) -> bytes:
        parts = read_single_batch(frame(version, **fields))  # type: ignore[arg-type]
        assert parts is not None
        return parts[0]

    assert key() == key(number=7) == key(partitions=[PartitionProduceData(3, b"other")])
    others = [key(client_id="you"), key(client_id=None), key(partitions=[PartitionProduceData(4, b"batch")])]
    assert len({key(), *others}) == 4


@pytest.mark.parametrize("version", VERSIONS)
def test_other_requests_are_not_taken_apart(version: int) -> None:
    assert read_single_batch(frame(version, transactional_id="t")) is None
    assert read_single_batch(frame(version, topics=2)) is None
    assert read_single_batch(frame(version, topics=0)) is None
    assert read_single_batch(frame(version, partitions=[ONE, ONE])) is None
    assert read_single_batch(frame(version, partitions=())) is None
    assert read_single_batch(frame(version, partitions=[PartitionProduceData(3, None)])) is None
    good = frame(version)
    assert read_single_batch(b"\0\1" + good[2:]) is None
    assert read_single_batch(good + b"\0") is None
    for size in range(len(good)):
        assert read_single_batch(good[:size]) is None


@pytest.mark.parametrize("version", range(3, 9))
def test_versions_that_are_not_flexible_are_not_taken_apart(version: int) -> None:
    assert read_single_batch(frame(version)) is None
