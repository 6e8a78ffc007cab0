"""Dead letters: their order, their headers, and the cause of those that survive a restart."""

from __future__ import annotations

from mqgateway.gateway.kafka.share_partitions.dead_letters import (
    DELIVERED_TOO_OFTEN,
    REJECTED,
    DeadLetters,
    by_offset,
    dead_letter_headers,
    restored_cause,
)


def test_offsets_are_given_in_ascending_order() -> None:
    later, earlier = DeadLetters(7, 8, 1, REJECTED), DeadLetters(2, 2, 5, DELIVERED_TOO_OFTEN)
    assert by_offset([later, earlier]) == [(2, earlier), (7, later), (8, later)]


def test_headers_name_the_record_the_group_and_the_cause() -> None:
    headers = dead_letter_headers("my.topic", 3, 17, "g", DeadLetters(10, 20, 2, REJECTED))
    assert headers == [
        ("__dlq.errors.topic", b"my.topic"),
        ("__dlq.errors.partition", b"3"),
        ("__dlq.errors.offset", b"17"),
        ("__dlq.errors.group", b"g"),
        ("__dlq.errors.delivery.count", b"2"),
        ("__dlq.errors.message", b"Offset rejected by client."),
    ]


def test_cause_after_a_restart_is_that_of_the_count() -> None:
    assert [restored_cause(count, 5) for count in (1, 4, 5)] == [REJECTED, REJECTED, DELIVERED_TOO_OFTEN]
