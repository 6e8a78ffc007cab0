"""Large records and topics of many partitions, with every client."""

from __future__ import annotations

import pytest

from compat_tests.kafka.support.clients import KafkaClient, wait_for_assignment
from compat_tests.kafka.support.wire import create_topic, delete_topic, end_offset
from compat_tests.support.driver import ClientError
from compat_tests.support.processes import wait_until

pytestmark = pytest.mark.long

MEBIBYTE = 1 << 20
PARTITIONS = 1000
SECONDS = 120.0


@pytest.mark.parametrize("compression", ["none", "gzip"])
def test_records_of_a_mebibyte_come_back_if_the_topic_allows_them(
    client: KafkaClient, name: str, compression: str
) -> None:
    create_topic(client.address, name, max_message_bytes=str(2 * MEBIBYTE))
    sent = [letter * MEBIBYTE for letter in "abc"]
    for value in sent:
        client.produce(name, [{"key": value[0], "value": value}], compression=compression)
    assert [record.value for record in client.consume(name, 3)] == sent
    if compression == "none":
        with pytest.raises(ClientError):
            client.produce(name, [{"value": 2 * MEBIBYTE * "x"}])
    assert end_offset(client.address, name) == 3


def test_all_of_a_thousand_partitions_are_written_and_read(client: KafkaClient, name: str) -> None:
    create_topic(client.address, name, PARTITIONS)
    records = [
        {"value": f"{turn}-{partition}", "partition": partition}
        for turn in "ab"
        for partition in range(PARTITIONS)
    ]
    placed = client.produce(name, records, idempotent=True)  # others may write a retried batch out of order
    assert sorted((place.partition, place.offset) for place in placed) == [
        (partition, offset) for partition in range(PARTITIONS) for offset in range(2)
    ]
    received = client.consume(name, len(records), dict.fromkeys(range(PARTITIONS), 0), SECONDS)
    assert [record.value for record in sorted(received)] == [
        f"{turn}-{partition}" for partition in range(PARTITIONS) for turn in "ab"
    ]
    delete_topic(client.address, name)


def test_members_share_a_thousand_partitions(client: KafkaClient, name: str) -> None:
    create_topic(client.address, name, PARTITIONS)
    sent = [f"value-{partition}" for partition in range(PARTITIONS)]
    client.produce(name, [{"value": value, "partition": at} for at, value in enumerate(sent)])
    with client.join(name, name) as one, client.join(name, name) as two:
        wait_for_assignment([one, two], PARTITIONS, SECONDS)
        wait_until(lambda: set(sent) <= {*one.values, *two.values}, SECONDS, "all records came")
        for member in (one, two):
            member.commit()
    client.produce(name, [{"value": "more", "partition": PARTITIONS - 1}])
    with client.join(name, name) as member:
        wait_for_assignment([member], PARTITIONS, SECONDS)
        wait_until(lambda: member.values, SECONDS, "the record behind the committed offsets came")
        assert member.values == ["more"]
    delete_topic(client.address, name)
