"""Transactions of Kafka clients, with real bytes and a clock that is moved by hand."""

from __future__ import annotations

from typing import Any

import pytest

from mqgateway.engine.ha.role import RoleKind
from mqgateway.engine.options import FlushDiskType
from mqgateway.gateway.access.operations import AclOperation
from mqgateway.gateway.kafka.codec.error_codes import ErrorCode as E
from mqgateway.gateway.kafka.codec.messages.add_offsets_to_txn_request import AddOffsetsToTxnRequest
from mqgateway.gateway.kafka.codec.messages.add_partitions_to_txn_request import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnTopic,
    AddPartitionsToTxnTransaction,
)
from mqgateway.gateway.kafka.codec.messages.delete_topics_request import (
    DeleteTopicsRequest,
    DeleteTopicState,
)
from mqgateway.gateway.kafka.codec.messages.describe_transactions_request import DescribeTransactionsRequest
from mqgateway.gateway.kafka.codec.messages.end_txn_request import EndTxnRequest
from mqgateway.gateway.kafka.codec.messages.find_coordinator_request import FindCoordinatorRequest
from mqgateway.gateway.kafka.codec.messages.init_producer_id_request import InitProducerIdRequest
from mqgateway.gateway.kafka.codec.messages.list_transactions_request import ListTransactionsRequest
from tests.gateway.kafka.api.test_metadata import create
from tests.gateway.kafka.test_coordination import become
from tests.support.gateway.kafka.broker import KafkaBroker
from tests.support.gateway.kafka.client import KafkaClient, KafkaScene, kafka_scene
from tests.support.gateway.kafka.transactions import TxnProducer, committed_values, offset_of


def restarted(scene: KafkaScene, *producers: TxnProducer, seed: int | None = None) -> KafkaClient:
    """Kill the broker and start it again; with a seed the power is cut too. Producers connect again."""
    scene.server.kill()
    if seed is not None:
        storage: Any = scene.server._storage
        storage.disk = storage._disk = storage._disk.crash(seed)
    scene.server.restart()
    scene.port = int(scene.server.endpoint("kafka").rpartition(":")[2])
    scene.settle(0.5)
    for producer in producers:
        producer.client = scene.client(producer.name)
    return scene.client()


def described(client: KafkaClient, name: str = "t") -> Any:
    """Return what DescribeTransactions says of an id."""
    [state] = client.ask(DescribeTransactionsRequest([name])).transaction_states
    return state


def state_of(client: KafkaClient, name: str = "t") -> str:
    """Return the state of an id."""
    return str(described(client, name).transaction_state)


@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize("commit", [True, False])
def test_transaction_is_read_as_a_whole_once_it_is_committed(version: int, commit: bool) -> None:
    with kafka_scene() as scene:
        create(scene.client(), "a", 2)
        producer = TxnProducer(scene, version=version).begun()
        first = producer.producer_id, producer.epoch
        assert version == 2 or producer.add("a", 0, 1) == [E.NONE, E.NONE]
        assert producer.send("a", b"1", b"2").error_code == E.NONE
        assert producer.send("a", b"3", partition=1).error_code == E.NONE
        assert committed_values(producer.client, "a") == []
        assert state_of(producer.client) == "Ongoing"
        assert producer.end(commit) == E.NONE
        assert (producer.producer_id, producer.epoch) == (first[0], first[1] + (version == 2))
        scene.settle(0.5)
        assert state_of(producer.client) == ("CompleteCommit" if commit else "CompleteAbort")
        assert committed_values(producer.client, "a") == ([b"1", b"2"] if commit else [])
        assert committed_values(producer.client, "a", 1) == ([b"3"] if commit else [])


@pytest.mark.parametrize("version", [1, 2])
def test_transactions_follow_one_another(version: int) -> None:
    with kafka_scene() as scene:
        create(scene.client(), "a")
        producer = TxnProducer(scene, version=version).begun()
        for number in range(6):
            if version == 1:
                assert producer.add("a", 0) == [E.NONE]
            assert producer.send("a", b"%d" % number).error_code == E.NONE
            assert producer.end(number % 2 == 0) == E.NONE
            scene.settle(0.2)
        assert committed_values(producer.client, "a") == [b"0", b"2", b"4"]


def test_batch_of_version_1_outside_the_transaction_is_refused() -> None:
    with kafka_scene() as scene:
        create(scene.client(), "a")
        producer = TxnProducer(scene, version=1).begun()
        assert producer.send("a", b"1").error_code == E.TRANSACTION_ABORTABLE
        assert producer.add("a", 0) == [E.NONE]
        assert producer.send("a", b"1").error_code == E.NONE
        producer.end(True)
        scene.settle(0.2)
        assert producer.send("a", b"2").error_code == E.TRANSACTION_ABORTABLE
        assert committed_values(producer.client, "a") == [b"1"]


def test_later_producer_fences_the_earlier_one() -> None:
    with kafka_scene() as scene:
        create(scene.client(), "a")
        old = TxnProducer(scene).begun()
        assert old.send("a", b"old").error_code == E.NONE
        new = TxnProducer(scene)
        assert new.init() == E.CONCURRENT_TRANSACTIONS
        new.begun()
        assert new.send("a", b"new").error_code == E.NONE
        assert old.send("a", b"late").error_code == E.INVALID_PRODUCER_EPOCH
        assert old.end(True) == E.PRODUCER_FENCED
        assert old.end(True, version=1) == E.INVALID_PRODUCER_EPOCH
        assert old.add("a", 0, version=1) == [E.INVALID_PRODUCER_EPOCH]
        assert old.add_offsets("g", 1) == E.INVALID_PRODUCER_EPOCH
        assert new.end(True) == E.NONE
        scene.settle(0.2)
        assert committed_values(new.client, "a") == [b"new"]
        assert old.init(keeps=True) == E.PRODUCER_FENCED
        assert old.init(keeps=True, version=3) == E.INVALID_PRODUCER_EPOCH


def test_producer_continues_after_an_error_with_the_next_epoch() -> None:
    with kafka_scene() as scene:
        producer = TxnProducer(scene).begun()
        assert producer.init(keeps=True) == E.NONE
        assert producer.epoch == 1


@pytest.mark.parametrize("version", range(6))
def test_ids_are_given_in_every_version(version: int) -> None:
    with kafka_scene() as scene:
        client = scene.client()
        answer = client.ask(InitProducerIdRequest("t", 1000), version)
        assert (answer.error_code, answer.producer_epoch) == (E.NONE, 0)
        assert client.ask(InitProducerIdRequest("t", 1000), version).producer_epoch == 1
        for request, code in (
            (InitProducerIdRequest("t", 0), E.INVALID_TRANSACTION_TIMEOUT),
            (InitProducerIdRequest("t", 900_001), E.INVALID_TRANSACTION_TIMEOUT),
            (InitProducerIdRequest("", 1000), E.INVALID_REQUEST),
        ):
            refused = client.ask(request, version)
            assert (refused.error_code, refused.producer_id, refused.producer_epoch) == (code, -1, -1)


@pytest.mark.parametrize("producer", [(7, -1), (-1, 3)])
def test_producer_without_an_epoch_is_an_invalid_request(producer: tuple[int, int]) -> None:
    with kafka_scene() as scene:
        answer = scene.client().ask(InitProducerIdRequest("t", 1000, *producer))
        assert answer.error_code == E.INVALID_REQUEST


@pytest.mark.parametrize("version", range(4))
def test_partitions_are_added_in_every_version_all_or_none(version: int) -> None:
    with kafka_scene() as scene:
        create(scene.client(), "a", 2)
        scene.server.create_topic("rocketmq")
        producer = TxnProducer(scene, version=1).begun()
        topics = [
            AddPartitionsToTxnTopic("a", [0, 5]),
            AddPartitionsToTxnTopic("none", [0]),
            AddPartitionsToTxnTopic("rocketmq", [0]),
        ]
        request = AddPartitionsToTxnRequest((), "t", producer.producer_id, 0, topics)
        answer = producer.client.ask(request, version)
        assert [
            [one.partition_error_code for one in topic.results_by_partition]
            for topic in answer.results_by_topic_v3_and_below
        ] == [
            [E.OPERATION_NOT_ATTEMPTED, E.UNKNOWN_TOPIC_OR_PARTITION],
            [E.UNKNOWN_TOPIC_OR_PARTITION],
            [E.INVALID_TXN_STATE],
        ]
        assert state_of(producer.client) == "Empty"
        assert producer.add("a", 0, 1, version=version) == [E.NONE, E.NONE]
        assert [(one.topic, one.partitions) for one in described(producer.client).topics] == [("a", (0, 1))]


def test_topics_of_coordinators_are_in_no_transaction() -> None:
    with kafka_scene() as scene:
        producer = TxnProducer(scene, version=1).begun()
        assert producer.add("__transaction_state", 0) == [E.INVALID_TOPIC_EXCEPTION]


@pytest.mark.parametrize("version", [4, 5])
def test_brokers_add_and_verify_partitions_of_many_transactions(version: int) -> None:
    with kafka_scene() as scene:
        create(scene.client(), "a", 2)
        one, two = TxnProducer(scene, "one").begun(), TxnProducer(scene, "two").begun()
        topics = [AddPartitionsToTxnTopic("a", [0, 1])]

        def codes(verify_only: bool) -> list[list[int]]:
            request = AddPartitionsToTxnRequest(
                [
                    AddPartitionsToTxnTransaction("one", one.producer_id, 0, verify_only, topics),
                    AddPartitionsToTxnTransaction("two", two.producer_id, 5, verify_only, topics),
                ]
            )
            answer = one.client.ask(request, version)
            assert [each.transactional_id for each in answer.results_by_transaction] == ["one", "two"]
            return [
                [result.partition_error_code for result in each.topic_results[0].results_by_partition]
                for each in answer.results_by_transaction
            ]

        fenced = [E.PRODUCER_FENCED] * 2
        assert codes(True) == [[E.TRANSACTION_ABORTABLE] * 2, fenced]
        assert codes(False) == [[E.NONE] * 2, fenced]
        assert codes(True) == [[E.NONE] * 2, fenced]


@pytest.mark.parametrize("version", range(6))
def test_transactions_end_in_every_version(version: int) -> None:
    with kafka_scene() as scene:
        create(scene.client(), "a")
        producer = TxnProducer(scene, version=1).begun()
        producer.add("a", 0)
        assert producer.end(True, version=version) == E.NONE
        scene.settle(0.2)
        assert state_of(producer.client) == "CompleteCommit"
        request = EndTxnRequest("unknown", 1, 0, True)
        answer = producer.client.ask(request, version)
        assert (answer.error_code, answer.producer_id, answer.producer_epoch) == (
            E.INVALID_PRODUCER_ID_MAPPING,
            -1,
            -1,
        )


def test_retried_end_is_answered_with_the_same_producer() -> None:
    with kafka_scene() as scene:
        create(scene.client(), "a")
        producer = TxnProducer(scene).begun()
        producer.send("a", b"1")
        request = EndTxnRequest("t", producer.producer_id, 0, True)
        answers = [producer.client.ask(request)]
        scene.settle(0.2)
        answers.append(producer.client.ask(request))
        expected = (E.NONE, producer.producer_id, 1)
        assert {(one.error_code, one.producer_id, one.producer_epoch) for one in answers} == {expected}
        other = EndTxnRequest("t", producer.producer_id, 0, False)
        assert producer.client.ask(other).error_code == E.INVALID_TXN_STATE


@pytest.mark.parametrize("version", range(5))
def test_offsets_are_announced_in_every_version(version: int) -> None:
    with kafka_scene() as scene:
        producer = TxnProducer(scene, version=1).begun()
        assert producer.add_offsets("g", version) == E.NONE
        topics = [(one.topic, one.partitions) for one in described(producer.client).topics]
        assert topics == [("__consumer_offsets", (0,))]
        request = AddOffsetsToTxnRequest("t", 1, 0, "g")
        assert producer.client.ask(request, version).error_code == E.INVALID_PRODUCER_ID_MAPPING


def test_transaction_that_is_open_for_too_long_is_aborted() -> None:
    with kafka_scene() as scene:
        create(scene.client(), "a")
        producer = TxnProducer(scene, timeout=20_000).begun()
        producer.send("a", b"1")
        scene.settle(15)
        assert state_of(scene.client()) == "Ongoing"
        scene.settle(20)
        client = scene.client()
        assert state_of(client) == "CompleteAbort"
        assert committed_values(client, "a") == []
        producer.client = client
        assert producer.end(True) == E.PRODUCER_FENCED


@pytest.mark.parametrize("commit", [True, False])
@pytest.mark.parametrize("seed", [None, 1, 2, 3])
def test_answered_end_survives_a_power_cut(commit: bool, seed: int | None) -> None:
    """An EndTxn that was answered stays decided: with every record of it, and with its offsets."""
    with kafka_scene(flush_disk_type=FlushDiskType.SYNC_FLUSH) as scene:
        create(scene.client(), "a", 2)
        producer = TxnProducer(scene).begun()
        for number in range(3):
            assert producer.send("a", b"%d" % number).error_code == E.NONE
            assert producer.send("a", b"%d" % number, partition=1).error_code == E.NONE
            assert producer.commit_offset("g", "a", number + 1) == E.NONE
            assert producer.end(commit) == E.NONE
            client = restarted(scene, producer, seed=seed)
            expected = [b"%d" % one for one in range(number + 1)] if commit else []
            assert committed_values(client, "a") == committed_values(client, "a", 1) == expected
            assert offset_of(client, "g", "a") == ((number + 1 if commit else -1), E.NONE)
            assert state_of(client) == ("CompleteCommit" if commit else "CompleteAbort")


@pytest.mark.parametrize("seed", [None, 1])
def test_open_transaction_survives_a_power_cut_and_times_out(seed: int | None) -> None:
    with kafka_scene(flush_disk_type=FlushDiskType.SYNC_FLUSH) as scene:
        create(scene.client(), "a")
        producer, other = TxnProducer(scene).begun(), TxnProducer(scene, "other").begun()
        for one in (producer, other):
            assert one.send("a", one.name.encode()).error_code == E.NONE
            assert one.commit_offset(one.name, "a", 1) == E.NONE
        client = restarted(scene, producer, other, seed=seed)
        assert committed_values(client, "a") == []
        assert offset_of(client, "t", "a") == (-1, E.UNSTABLE_OFFSET_COMMIT)
        assert producer.send("a", b"later").error_code == E.NONE
        assert producer.end(True) == E.NONE
        scene.settle(80)
        client = scene.client()
        assert state_of(client, "other") == "CompleteAbort"
        assert committed_values(client, "a") == [b"t", b"later"]
        assert offset_of(client, "t", "a") == (1, E.NONE)
        assert offset_of(client, "other", "a") == (-1, E.NONE)


def test_deleted_topic_needs_no_marker() -> None:
    with kafka_scene() as scene:
        create(scene.client(), "a")
        create(scene.client(), "b")
        producer = TxnProducer(scene).begun()
        producer.send("a", b"1")
        producer.send("b", b"1")
        producer.client.ask(DeleteTopicsRequest([DeleteTopicState("b")], [], 1000))
        assert producer.end(True) == E.NONE
        scene.settle(0.5)
        assert state_of(producer.client) == "CompleteCommit"
        assert committed_values(producer.client, "a") == [b"1"]


class TestAdministration:
    """DescribeTransactions and ListTransactions."""

    def test_unknown_ids_are_not_found(self) -> None:
        with kafka_scene() as scene:
            client = scene.client()
            assert described(client, "none").error_code == E.TRANSACTIONAL_ID_NOT_FOUND
            assert described(client, "").error_code == E.INVALID_REQUEST

    def test_open_transaction_is_described(self) -> None:
        with kafka_scene() as scene:
            create(scene.client(), "a", 3)
            create(scene.client(), "b")
            producer = TxnProducer(scene, timeout=5000).begun()
            for partition in (2, 0):
                producer.send("a", b"1", partition=partition)
            producer.send("b", b"1")
            producer.commit_offset("g", "b", 1)
            state = described(producer.client)
            assert (state.transaction_timeout_ms, state.producer_id) == (5000, producer.producer_id)
            assert abs(state.transaction_start_time_ms - scene.server.clock.millis()) < 5000
            assert [(one.topic, one.partitions) for one in state.topics] == [
                ("__consumer_offsets", (0,)),
                ("a", (0, 2)),
                ("b", (0,)),
            ]

    @pytest.mark.parametrize("version", range(3))
    def test_transactions_are_listed_by_state_producer_duration_and_name(self, version: int) -> None:
        with kafka_scene() as scene:
            create(scene.client(), "a")
            one, two = TxnProducer(scene, "one").begun(), TxnProducer(scene, "two").begun()
            two.send("a", b"1")
            scene.settle(2)
            client = scene.client()

            def listed(*states: str, producers: tuple[int, ...] = (), **more: Any) -> list[str]:
                answer = client.ask(ListTransactionsRequest(states, producers, **more), version)
                assert answer.error_code == E.NONE
                assert set(answer.unknown_state_filters) == {name for name in states if name == "Odd"}
                return sorted(
                    f"{one.transactional_id} {one.transaction_state}" for one in answer.transaction_states
                )

            everything = ["one Empty", "two Ongoing"]
            assert listed() == everything
            assert listed("Ongoing", "Odd") == ["two Ongoing"]
            assert listed("Odd") == []
            assert listed(producers=(one.producer_id,)) == ["one Empty"]
            if version >= 1:
                assert listed("Ongoing", duration_filter=1000) == ["two Ongoing"]
                assert listed("Ongoing", duration_filter=10_000) == []
            if version >= 2:
                for pattern in ("o.*", "(o|n|e)+", "ONE"):
                    matched = ["one Empty"] if pattern != "ONE" else []
                    assert listed(transactional_id_pattern=pattern) == matched
                assert listed(transactional_id_pattern="") == everything
                refused = client.ask(ListTransactionsRequest(transactional_id_pattern="("), 2)
                assert refused.error_code == E.INVALID_REGULAR_EXPRESSION


class TestAccess:
    """Rights on transactional ids, and brokers that coordinate nothing."""

    def test_client_without_rights_is_refused_everything(self) -> None:
        kafka = KafkaBroker()
        denied = E.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
        kafka.rights.denied |= {("t", AclOperation.WRITE), ("t", AclOperation.DESCRIBE)}
        assert kafka.ask(InitProducerIdRequest("t", 1000)).error_code == denied
        assert kafka.ask(EndTxnRequest("t", 1, 0, True)).error_code == denied
        assert kafka.ask(AddOffsetsToTxnRequest("t", 1, 0, "g")).error_code == denied
        topics = [AddPartitionsToTxnTopic("orders", [0])]
        [added] = kafka.ask(AddPartitionsToTxnRequest((), "t", 1, 0, topics), 3).results_by_topic_v3_and_below
        assert [one.partition_error_code for one in added.results_by_partition] == [denied]
        [found] = kafka.ask(FindCoordinatorRequest("", 1, ["t"])).coordinators
        assert found.error_code == denied
        [state] = kafka.ask(DescribeTransactionsRequest(["t"])).transaction_states
        assert state.error_code == denied

    def test_ids_without_rights_are_not_listed(self) -> None:
        kafka = KafkaBroker()
        for name in ("t", "u"):
            assert kafka.ask(InitProducerIdRequest(name, 1000)).error_code == E.NONE
        kafka.rights.denied |= {("t", AclOperation.WRITE), ("t", AclOperation.DESCRIBE)}
        listed = kafka.ask(ListTransactionsRequest()).transaction_states
        assert [one.transactional_id for one in listed] == ["u"]

    def test_group_and_topics_need_rights_too(self) -> None:
        kafka = KafkaBroker()
        kafka.rights.denied |= {
            ("g", AclOperation.READ),
            ("orders", AclOperation.WRITE),
            (None, AclOperation.CLUSTER_ACTION),
        }
        assert kafka.ask(AddOffsetsToTxnRequest("t", 1, 0, "g")).error_code == E.GROUP_AUTHORIZATION_FAILED
        topics = [AddPartitionsToTxnTopic("orders", [0])]
        [added] = kafka.ask(AddPartitionsToTxnRequest((), "t", 1, 0, topics), 3).results_by_topic_v3_and_below
        assert added.results_by_partition[0].partition_error_code == E.TOPIC_AUTHORIZATION_FAILED

    def test_slave_coordinates_nothing(self) -> None:
        kafka = KafkaBroker()
        assert kafka.ask(InitProducerIdRequest("t", 1000)).error_code == E.NONE
        become(kafka, RoleKind.SLAVE)
        kafka.pass_time(500)
        assert kafka.ask(InitProducerIdRequest("t", 1000)).error_code == E.NOT_COORDINATOR
        assert kafka.ask(EndTxnRequest("t", 1, 0, True)).error_code == E.NOT_COORDINATOR
        [found] = kafka.ask(FindCoordinatorRequest("", 1, ["t"])).coordinators
        assert found.error_code == E.COORDINATOR_NOT_AVAILABLE
        answer = kafka.ask(AddPartitionsToTxnRequest([AddPartitionsToTxnTransaction("t", 1, 0)]), 5)
        assert answer.error_code == E.NOT_COORDINATOR
        assert kafka.ask(ListTransactionsRequest()).error_code == E.NONE
        become(kafka, RoleKind.MASTER)
        kafka.pass_time(500)
        assert kafka.ask(InitProducerIdRequest("t", 1000)).producer_epoch == 1
