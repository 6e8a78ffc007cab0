"""Transactions over two broker groups: real bytes between clients and brokers."""

from __future__ import annotations

from typing import Any

import pytest

from mqgateway.engine.record_batches.batches import TRANSACTIONAL
from mqgateway.gateway.kafka.codec.error_codes import ErrorCode
from mqgateway.gateway.kafka.codec.messages.add_partitions_to_txn_request import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnTopic,
)
from mqgateway.gateway.kafka.codec.messages.end_txn_request import EndTxnRequest
from mqgateway.gateway.kafka.codec.messages.init_producer_id_request import InitProducerIdRequest
from mqgateway.gateway.kafka.peer_transactions import (
    ADDS,
    CODE,
    EPOCH,
    ID,
    MESSAGE,
    PARTITION,
    PRODUCER,
    TOPIC,
    VERIFY,
)
from tests.support.gateway.kafka.cluster import KafkaCluster
from tests.support.gateway.kafka.requests import (
    batch_of_values,
    fetch_request,
    fetched,
    produce_request,
    produced,
)

TIMEOUT = 60_000
COMMITTED = 1
OLD_PRODUCE, NEW_PRODUCE = 11, 12
"""Versions of Produce whose batches need AddPartitionsToTxn, and whose batches do not."""


class Producer:
    """A transactional producer, which sends batches to the leaders of topics."""

    def __init__(self, cluster: KafkaCluster, version: int) -> None:
        self._cluster = cluster
        self._version = version
        self._coordinator = cluster.client("a")
        answer = self._coordinator.ask(InitProducerIdRequest("t", TIMEOUT, -1, -1))
        assert answer.error_code == 0
        self.id, self.epoch = answer.producer_id, answer.producer_epoch

    def add(self, *topics: str) -> list[int]:
        """Add partition 0 of topics to the transaction; return the codes."""
        wanted = [AddPartitionsToTxnTopic(topic, (0,)) for topic in topics]
        request = AddPartitionsToTxnRequest((), "t", self.id, self.epoch, wanted)
        results = self._coordinator.ask(request, 3).results_by_topic_v3_and_below
        return [topic.results_by_partition[0].partition_error_code for topic in results]

    def send(self, at: str, topic: str, value: bytes, sequence: int = 0, partition: int = 0) -> int:
        """Send a batch of the transaction; return the code."""
        data = batch_of_values(
            value,
            now=self._cluster.world.clock.millis(),
            flags=TRANSACTIONAL,
            producer_id=self.id,
            producer_epoch=self.epoch,
            base_sequence=sequence,
        )
        request = produce_request(topic, data, transactional_id="t", partition=partition)
        return int(produced(self._cluster.client(at), request, self._version).error_code)

    def end(self, *, commits: bool) -> int:
        """End the transaction; return the code."""
        version = 5 if self._version >= NEW_PRODUCE else 4
        answer = self._coordinator.ask(EndTxnRequest("t", self.id, self.epoch, commits), version)
        if version == 5 and not answer.error_code:
            self.id, self.epoch = answer.producer_id, answer.producer_epoch
        return int(answer.error_code)


def values(cluster: KafkaCluster, at: str, topic: str, partition: int = 0) -> tuple[int, int]:
    """Return the last stable offset and the number of aborted transactions that a reader sees."""
    request = fetch_request(topic, 0, partition=partition, isolation_level=COMMITTED)
    found = fetched(cluster.client(at), request)
    assert found.error_code == 0
    return found.last_stable_offset, len(found.aborted_transactions or ())


@pytest.mark.parametrize(("commits", "aborted"), [(True, 0), (False, 1)])
def test_transaction_ends_in_the_partitions_of_both_groups(commits: bool, aborted: int) -> None:
    cluster = KafkaCluster()
    topics = {group: cluster.make_topic(group) for group in cluster.names}
    producer = Producer(cluster, OLD_PRODUCE)
    assert producer.add(*topics.values()) == [0, 0]
    for group, topic in topics.items():
        assert producer.send(group, topic, b"x") == 0
        assert values(cluster, group, topic) == (0, 0)
    assert producer.end(commits=commits) == 0
    cluster.wait(2)
    for group, topic in topics.items():
        assert values(cluster, group, topic) == (2, aborted)


def test_batch_adds_its_partition_in_another_group() -> None:
    cluster = KafkaCluster()
    topic = cluster.make_topic("b")
    producer = Producer(cluster, NEW_PRODUCE)
    for _ in range(2):
        assert producer.send("b", topic, b"x") == 0
        assert producer.end(commits=True) == 0
        cluster.wait(2)
    assert values(cluster, "b", topic) == (4, 0)


@pytest.mark.parametrize(("commits", "aborted"), [(True, 0), (False, 1)])
def test_transaction_ends_in_all_partitions_of_a_topic_of_both_groups(commits: bool, aborted: int) -> None:
    cluster = KafkaCluster()
    topic = cluster.make_spread("b", partitions=4)
    producer = Producer(cluster, NEW_PRODUCE)
    for partition, group in enumerate("baba"):
        assert producer.send(group, topic, b"x", partition=partition) == 0
        assert values(cluster, group, topic, partition) == (0, 0)
    assert producer.end(commits=commits) == 0
    cluster.wait(2)
    for partition, group in enumerate("baba"):
        assert values(cluster, group, topic, partition) == (2, aborted)


def test_batch_outside_of_a_transaction_is_refused() -> None:
    cluster = KafkaCluster()
    topic = cluster.make_topic("b")
    producer = Producer(cluster, OLD_PRODUCE)
    assert producer.send("b", topic, b"x") == ErrorCode.TRANSACTION_ABORTABLE


def test_batch_waits_for_a_coordinator_that_is_down() -> None:
    cluster = KafkaCluster()
    topic = cluster.make_topic("b")
    producer = Producer(cluster, NEW_PRODUCE)
    cluster.stop("a")
    assert producer.send("b", topic, b"x") == ErrorCode.NOT_ENOUGH_REPLICAS


def test_marker_is_written_once_the_group_is_back() -> None:
    cluster = KafkaCluster()
    topic = cluster.make_topic("b")
    producer = Producer(cluster, NEW_PRODUCE)
    assert producer.send("b", topic, b"x") == 0
    cluster.stop("b")
    assert producer.end(commits=True) == 0
    cluster.restart("b")
    cluster.wait(30)
    assert values(cluster, "b", topic) == (2, 0)


def test_batch_for_a_topic_that_the_coordinator_does_not_know_is_not_verified() -> None:
    cluster = KafkaCluster()
    producer = Producer(cluster, NEW_PRODUCE)
    fields = {ID: "t", PRODUCER: producer.id, EPOCH: producer.epoch, TOPIC: "new", PARTITION: 0, ADDS: True}
    peers = cluster.operations("b").peers
    assert peers is not None
    answers: list[Any] = []
    peers.ask("a", VERIFY, fields).addCallback(answers.append)
    cluster.wait(1)
    [answer] = answers
    assert answer[CODE] == ErrorCode.COORDINATOR_NOT_AVAILABLE and "topic new" in answer[MESSAGE]


def test_marker_for_an_unknown_topic_waits_for_the_answers_of_all_groups() -> None:
    cluster = KafkaCluster()
    topic = cluster.make_topic("b")
    producer = Producer(cluster, NEW_PRODUCE)
    assert producer.send("b", topic, b"x") == 0
    cluster.stop("b")
    assert producer.end(commits=True) == 0
    cluster.stop("a")
    disk, folder = cluster.member("a").disk, "/store/config"
    kept = [name for name in disk.listdir(folder) if name.startswith("kafkaPeerTopics")]
    assert kept
    for name in kept:
        disk.unlink(f"{folder}/{name}")
    cluster.restart("a")
    cluster.wait(10)
    cluster.restart("b")
    cluster.wait(30)
    assert values(cluster, "b", topic) == (2, 0)
