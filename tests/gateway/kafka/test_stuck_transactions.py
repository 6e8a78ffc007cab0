"""Transactions that do not end: which ones are reported, and the commands that end them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from mqgateway.engine.record_batches.batches import TRANSACTIONAL
from mqgateway.gateway.broker.operations import CoordinatedTransaction, HangingTransaction
from mqgateway.gateway.kafka.codec.messages.init_producer_id_request import InitProducerIdRequest
from mqgateway.gateway.kafka.stuck_transactions import (
    LATE_MILLIS,
    PERIOD_MILLIS,
    abort_command,
    is_late,
    terminate_command,
)
from mqgateway.gateway.kafka.transactions.status import TxnState
from tests.gateway.kafka.api.test_metadata import create
from tests.support.gateway.kafka.client import KafkaScene, kafka_scene
from tests.support.gateway.kafka.cluster import KafkaCluster
from tests.support.gateway.kafka.coordinated import TRANSACTION_KEYS, coordinators
from tests.support.gateway.kafka.requests import batch_of_values, produce_request, produced
from tests.support.gateway.kafka.transactions import TxnProducer

TIMEOUT = 10_000_000
"""Longer than any test takes, ms."""


@pytest.fixture
def scene() -> Iterator[KafkaScene]:
    with kafka_scene() as found:
        create(found.client(), "b.c")
        yield found


def hanging(scene: KafkaScene) -> list[HangingTransaction]:
    """The transactions that the broker reports as hanging."""
    return list(scene.operations.coordinated.hanging_transactions())


def shown(scene: KafkaScene) -> CoordinatedTransaction:
    """The transaction that the coordinator has."""
    [found] = scene.operations.coordinated.transactions()
    return found


def test_commands_name_the_transaction() -> None:
    assert abort_command("a", 2, 7) == (
        "kafka-transactions.sh abort --topic a --partition 2 --start-offset 7"
    )
    command = "kafka-transactions.sh forceTerminateTransaction --transactionalId"
    assert terminate_command("t") == f"{command} t"
    assert terminate_command("t 1;") == f"{command} 't 1;'"


@pytest.mark.parametrize(
    ("started", "now", "late"), [(5, 70_004, False), (5, 70_005, True), (-1, 90_000, False)]
)
def test_transaction_is_late_a_minute_after_its_timeout(started: int, now: int, late: bool) -> None:
    assert is_late(started, 10_000, now) is late


def test_open_transaction_without_its_coordinator_hangs_after_a_minute(scene: KafkaScene) -> None:
    producer = TxnProducer(scene, timeout=600_000).begun()
    assert producer.send("b.c", b"1").error_code == 0
    entry = scene.transactions.table.get("t")
    scene.transactions.table.discard("t")
    assert hanging(scene) == []
    scene.server.clock.leap(LATE_MILLIS / 1000)
    [found] = hanging(scene)
    assert (found.topic, found.partition, found.producer_id) == ("b.c", 0, producer.producer_id)
    assert (found.epoch, found.first_offset) == (producer.epoch, 0)
    assert found.remedy == abort_command("b.c", 0, 0)
    scene.transactions.table.restore("t", entry.status)
    assert hanging(scene) == []


def test_broker_that_does_not_coordinate_reports_none(scene: KafkaScene) -> None:
    producer = TxnProducer(scene, timeout=600_000).begun()
    assert producer.send("b.c", b"1").error_code == 0
    scene.server.clock.leap(LATE_MILLIS / 1000)
    scene.transactions.unload()
    assert hanging(scene) == []


def test_transaction_that_should_have_ended_is_shown_with_its_command(scene: KafkaScene) -> None:
    producer = TxnProducer(scene, timeout=600_000).begun()
    assert producer.send("b.c", b"1").error_code == 0
    assert (shown(scene).is_late, shown(scene).remedy) == (False, terminate_command("t"))
    entry = scene.transactions.table.get("t")
    assert entry is not None and entry.status is not None
    long_ago = entry.status.started - 600_000 - LATE_MILLIS
    scene.transactions.table.put(entry, replace(entry.status, started=long_ago))
    assert (shown(scene).is_late, shown(scene).remedy) == (True, terminate_command("t"))
    scene.transactions.table.put(entry, replace(entry.status, state=TxnState.PREPARE_COMMIT))
    assert (shown(scene).is_late, shown(scene).remedy) == (True, "")


# Several broker groups


def waited(cluster: KafkaCluster, at: str) -> list[tuple[str, int]]:
    """Return the partitions whose transactions a broker reports as hanging, some minutes later."""
    cluster.wait(2 * (LATE_MILLIS + PERIOD_MILLIS) / 1000)
    found = cluster.operations(at).coordinated.hanging_transactions()
    return [(one.topic, one.partition) for one in found]


def begin(cluster: KafkaCluster, transactional_id: str, topic: str) -> str:
    """Begin a transaction in partition 2, at broker group b; return the group that coordinates it."""
    [(_, node)] = coordinators(cluster, "a", [transactional_id], TRANSACTION_KEYS).values()
    at = {1: "a", 1001: "b"}[node]
    made = cluster.client(at).ask(InitProducerIdRequest(transactional_id, TIMEOUT, -1, -1))
    assert made.error_code == 0
    data = batch_of_values(
        b"x",
        now=cluster.world.clock.millis(),
        flags=TRANSACTIONAL,
        producer_id=made.producer_id,
        producer_epoch=made.producer_epoch,
        base_sequence=0,
    )
    request = produce_request(topic, data, transactional_id=transactional_id, partition=2)
    assert produced(cluster.client("b"), request, 12).error_code == 0
    return at


@pytest.mark.parametrize(("transactional_id", "coordinator"), [("t", "a"), ("u", "b")])
def test_transaction_hangs_once_the_coordinator_of_its_id_does_not_have_it(
    transactional_id: str, coordinator: str
) -> None:
    """Partition 2 of the topic is queue 1 of broker group b."""
    cluster = KafkaCluster(kafka_transaction_max_timeout_millis=TIMEOUT)
    topic = cluster.make_spread("b", partitions=4)
    assert begin(cluster, transactional_id, topic) == coordinator
    assert waited(cluster, "b") == waited(cluster, "a") == []
    cluster.transactions(coordinator).table.discard(transactional_id)
    assert waited(cluster, "b") == [(topic, 2)]
    assert waited(cluster, "a") == []


def test_nothing_is_reported_as_hanging_while_another_coordinator_is_down() -> None:
    cluster = KafkaCluster(kafka_transaction_max_timeout_millis=TIMEOUT)
    begin(cluster, "t", cluster.make_spread("b", partitions=4))
    cluster.stop("a")
    assert waited(cluster, "b") == []
