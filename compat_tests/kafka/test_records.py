"""Records to topics and back, with every client."""

from __future__ import annotations

import time
from typing import Any

import pytest

from compat_tests.kafka.support.clients import KafkaClient, Received
from compat_tests.kafka.support.wire import create_topic, end_offset, stored_batches
from compat_tests.support.driver import ClientError

MESSAGE_TOO_LARGE = 10
LARGE = 1_000_000
"""Below a mebibyte with all that is around a value."""
CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
"""By number in the attributes of a batch."""


def values(records: list[Received]) -> list[str | None]:
    """The values of records, in the order of partitions and offsets."""
    return [record.value for record in sorted(records)]


def numbered(count: int, **fields: Any) -> list[dict[str, Any]]:
    """As many records that differ in value."""
    return [{"value": f"value-{number}", **fields} for number in range(count)]


def test_keys_values_headers_and_times_come_back(client: KafkaClient, name: str) -> None:
    now = int(time.time() * 1000)
    create_topic(client.address, name)
    headers = [["a", "1"], ["b", ""], ["a", "2"], ["ü", "ß"]]
    placed = client.produce(
        name,
        [
            {"key": "key", "value": "value", "headers": headers, "timestamp": now - 5000},
            {"key": "", "value": "", "timestamp": now - 4000},
            {"value": "no key", "timestamp": now - 3000},
            {"key": "no value", "value": None, "timestamp": now - 2000},
        ],
    )
    assert [tuple(place) for place in placed] == [(0, offset) for offset in range(4)]
    received = client.consume(name, 4)
    assert [record.offset for record in received] == list(range(4))
    assert [(record.key, record.value) for record in received] == [
        ("key", "value"),
        ("", ""),
        (None, "no key"),
        ("no value", None),
    ]
    assert [record.timestamp - now for record in received] == [-5000, -4000, -3000, -2000]
    assert sorted(received[0].headers) == sorted((name, value) for name, value in headers)
    assert not any(record.headers for record in received[1:])


@pytest.mark.needs("null_headers")
def test_null_header_values_come_back(client: KafkaClient, name: str) -> None:
    create_topic(client.address, name)
    client.produce(name, [{"value": "v", "headers": [["none", None], ["some", "x"]]}])
    (received,) = client.consume(name, 1)
    assert received.headers == (("none", None), ("some", "x"))


def test_batches_keep_their_compression(client: KafkaClient, name: str) -> None:
    create_topic(client.address, name)
    for codec in client.compressions:
        records = [{"value": f"{codec} {number} " + 200 * "x"} for number in range(50)]
        client.produce(name, records, compression=codec)
    count = 50 * len(client.compressions)
    received = client.consume(name, count)
    assert values(received) == [
        f"{codec} {number} " + 200 * "x" for codec in client.compressions for number in range(50)
    ]
    stored = stored_batches(client.address, name)
    assert {CODECS[batch.attributes & 7] for batch in stored} == set(client.compressions)
    assert sum(batch.count for batch in stored) == count


@pytest.mark.parametrize("acks", ["0", "1", "all"])
def test_every_acknowledgement_mode_writes(client: KafkaClient, name: str, acks: str) -> None:
    create_topic(client.address, name)
    placed = client.produce(name, numbered(20), acks=acks)
    if acks != "0":
        assert [place.offset for place in placed] == list(range(20))
    assert values(client.consume(name, 20)) == [f"value-{number}" for number in range(20)]


def test_large_records_come_back_and_larger_ones_are_refused(client: KafkaClient, name: str) -> None:
    create_topic(client.address, name)
    large = [{"value": letter * LARGE} for letter in "abc"]
    for one in large:
        client.produce(name, [one])  # some clients would put all of them into one batch
    assert values(client.consume(name, 3)) == [one["value"] for one in large]
    with pytest.raises(ClientError) as refused:
        client.produce(name, [{"value": 1_100_000 * "x"}])
    assert refused.value.code in (MESSAGE_TOO_LARGE, None), refused.value
    assert end_offset(client.address, name) == 3


def test_records_go_to_the_partitions_that_are_named(client: KafkaClient, name: str) -> None:
    create_topic(client.address, name, 4)
    records = [{"value": f"{number}", "partition": number % 4} for number in range(40)]
    placed = client.produce(name, records)
    assert [place.partition for place in placed] == [number % 4 for number in range(40)]
    assert sorted(place.offset for place in placed if place.partition == 2) == list(range(10))
    received = client.consume(name, 40, dict.fromkeys(range(4), 0))
    assert values(received) == [str(number) for partition in range(4) for number in range(partition, 40, 4)]


def test_records_of_one_key_stay_in_order(client: KafkaClient, name: str) -> None:
    create_topic(client.address, name, 4)
    records = [{"key": f"key-{number % 7}", "value": f"{number}"} for number in range(70)]
    client.produce(name, records)
    received = sorted(client.consume(name, 70, dict.fromkeys(range(4), 0)))
    for key in {record.key for record in received}:
        same = [record for record in received if record.key == key]
        assert len({record.partition for record in same}) == 1
        assert [int(str(record.value)) % 7 for record in same] == 10 * [int(str(key)[-1])]
        assert [int(str(record.value)) for record in same] == sorted(int(str(one.value)) for one in same)


def test_consumer_starts_at_the_offset_of_a_time(client: KafkaClient, name: str) -> None:
    begin = int(time.time() * 1000) - 100_000
    create_topic(client.address, name)
    for number in range(5):
        client.produce(name, [{"value": f"{number}", "timestamp": begin + 10_000 * number}])
    assert client.offset_of(name, begin) == 0
    assert client.offset_of(name, begin + 20_000) == 2
    assert client.offset_of(name, begin + 20_001) == 3
    assert values(client.consume(name, 2, {0: client.offset_of(name, begin + 25_000)})) == ["3", "4"]


def test_topics_are_created_by_the_first_record(client: KafkaClient, name: str) -> None:
    client.produce(name, numbered(3, partition=0))
    assert values(client.consume(name, 3)) == ["value-0", "value-1", "value-2"]


def test_idempotent_producer_numbers_its_batches(client: KafkaClient, name: str) -> None:
    create_topic(client.address, name)
    for _ in range(2):
        client.produce(name, numbered(30), idempotent=True)
    assert values(client.consume(name, 60)) == 2 * [f"value-{number}" for number in range(30)]
    stored = stored_batches(client.address, name)
    assert all(batch.producer_id >= 0 and batch.base_sequence >= 0 for batch in stored)
    assert len({batch.producer_id for batch in stored}) == 2


def test_reading_in_the_middle_of_a_batch_starts_at_the_offset(client: KafkaClient, name: str) -> None:
    create_topic(client.address, name)
    client.produce(name, numbered(10), compression="gzip")
    received = client.consume(name, 4, {0: 6})
    assert [(record.offset, record.value) for record in received] == [(n, f"value-{n}") for n in range(6, 10)]
