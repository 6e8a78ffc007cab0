"""Dead letters of share groups (KIP-1191): what a group writes, and what happens if it cannot."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import pytest

from compat_tests.kafka.support.servers import KafkaServer
from compat_tests.kafka.support.shares import QUIET_MILLIS, ShareProgram
from compat_tests.kafka.support.wire import Connection, create_topic, end_offset, stored_batches
from compat_tests.kafka.test_share_groups import scene_of, values_of
from compat_tests.support.peers import Peers
from compat_tests.support.processes import wait_until


@pytest.fixture(scope="module")
def program(peers: Peers) -> Iterator[ShareProgram]:
    """A JVM for members."""
    program = ShareProgram(peers.runtime)
    yield program
    program.close()


class DeadLetter(NamedTuple):
    """A record of a dead letter topic; the names of headers lack `__dlq.errors.`."""

    key: bytes | None
    value: bytes | None
    headers: list[tuple[str, str]]


def dead_letters(address: str, topic: str, count: int) -> list[DeadLetter]:
    """Return the records of a topic once there are so many."""
    wait_until(lambda: end_offset(address, topic) >= count, 30, f"{count} dead letters")
    return [
        DeadLetter(
            None if one.key is None else bytes(one.key),
            None if one.value is None else bytes(one.value),
            [
                (name.removeprefix("__dlq.errors."), bytes(value or b"").decode())
                for name, value in one.headers
            ],
        )
        for batch in stored_batches(address, topic)
        for one in batch.records()
    ]


@pytest.mark.parametrize("copies", ["false", "true"])
def test_rejected_and_released_records_become_dead_letters(
    program: ShareProgram, server: KafkaServer, name: str, copies: str
) -> None:
    target = f"dlq.{name}"
    create_topic(server.address, target, errors_deadletterqueue_group_enable="true")
    scene = scene_of(
        program,
        server,
        name,
        errors_deadletterqueue_topic_name=target,
        errors_deadletterqueue_copy_record_enable=copies,
        share_delivery_count_limit="2",
    )
    sent = scene.produce(0, 3)
    member = scene.join(is_explicit=True)
    accepted, rejected, released = member.receive(3)
    member.acknowledge(accepted, "ACCEPT")
    member.acknowledge(rejected, "REJECT")
    member.acknowledge(released, "RELEASE")
    assert member.commit() == []
    first = dead_letters(server.address, target, 1)
    [again] = member.receive(1)
    member.acknowledge(again, "RELEASE")
    assert member.commit() == []
    found = dead_letters(server.address, target, 2)
    assert found[:1] == first
    expected = [
        (1, "1", "Offset rejected by client."),
        (2, "2", "Offset delivery count exceeded the threshold."),
    ]
    assert found == [
        DeadLetter(
            None,
            sent[offset].encode() if copies == "true" else None,
            [
                ("topic", name),
                ("partition", "0"),
                ("offset", str(offset)),
                ("group", name),
                ("delivery.count", count),
                ("message", cause),
            ],
        )
        for offset, count, cause in expected
    ]
    assert member.poll(QUIET_MILLIS) == []
    member.close()


@pytest.mark.parametrize("refusal", ["topic", "prefix", "missing"])
def test_group_continues_if_dead_letters_cannot_be_written(
    program: ShareProgram, server: KafkaServer, name: str, refusal: str
) -> None:
    target = name if refusal == "prefix" else f"dlq.{name}"
    scene = scene_of(program, server, name, errors_deadletterqueue_topic_name=target)
    if refusal == "topic":
        create_topic(server.address, target)
    scene.produce(0, 2)
    member = scene.join(is_explicit=True)
    rejected, accepted = member.receive(2)
    member.acknowledge(rejected, "REJECT")
    member.acknowledge(accepted, "ACCEPT")
    assert member.commit() == []
    later = scene.produce(2, 1)
    assert values_of(member.receive(1)) == later
    if refusal != "missing":
        assert end_offset(server.address, target) == (3 if refusal == "prefix" else 0)
    member.close()


def test_share_groups_with_dead_letters_are_a_feature_in_force(server: KafkaServer) -> None:
    with Connection(server.address) as connection:
        answer = connection.ask("ApiVersions", 3, client_software_name="compat", client_software_version="1")
    levels = {one["name"]: one["max_version_level"] for one in answer["finalized_features"]}
    assert levels["share.version"] == 2
