"""Ids and epochs of idempotent producers."""

from __future__ import annotations

from typing import Any

import pytest

from mqgateway.gateway.kafka.codec.error_codes import ErrorCode
from mqgateway.gateway.kafka.codec.messages.describe_producers_request import (
    DescribeProducersRequest,
    TopicRequest,
)
from mqgateway.gateway.kafka.codec.messages.init_producer_id_request import InitProducerIdRequest
from tests.gateway.kafka.api.test_metadata import ACCESS, create
from tests.support.gateway.kafka.client import kafka_scene
from tests.support.gateway.kafka.requests import (
    batch_of_values,
    end_transaction,
    in_transaction,
    produce_request,
    produced,
)


@pytest.mark.parametrize("version", range(6))
def test_a_producer_gets_an_id_in_every_version(version: int) -> None:
    with kafka_scene() as scene:
        client = scene.client()
        first, second = (client.ask(InitProducerIdRequest(None, 1000), version) for _ in range(2))
        assert (first.error_code, first.producer_epoch) == (0, 0)
        assert first.producer_id != second.producer_id


def test_a_producer_gets_its_next_epoch_and_a_new_id_after_the_last() -> None:
    with kafka_scene() as scene:
        client = scene.client()
        next_epoch = client.ask(InitProducerIdRequest(None, 1000, 7, 3))
        assert (next_epoch.producer_id, next_epoch.producer_epoch) == (7, 4)
        new = client.ask(InitProducerIdRequest(None, 1000, 7, 32766))
        assert new.producer_id != 7 and new.producer_epoch == 0


@pytest.mark.parametrize("producer", [(7, -1), (-1, 3), (-2, 3), (7, -2)])
def test_an_id_without_an_epoch_is_an_invalid_request(producer: tuple[int, int]) -> None:
    with kafka_scene() as scene:
        answer = scene.client().ask(InitProducerIdRequest(None, 1000, *producer))
        assert answer.error_code == ErrorCode.INVALID_REQUEST


def test_producers_of_partitions_are_described() -> None:
    with kafka_scene() as scene:
        client = scene.client()
        create(client, "a", 2)
        now = scene.server.clock.millis()
        data = batch_of_values(b"x", b"y", now=now, producer_id=7, producer_epoch=1, base_sequence=0)
        produced(client, produce_request("a", data))
        wanted = [TopicRequest("a", [0, 1, 2]), TopicRequest("none", [0])]
        known, unknown = client.ask(DescribeProducersRequest(wanted)).topics
        first, second, third = known.partitions
        [producer] = first.active_producers
        assert (producer.producer_id, producer.producer_epoch, producer.last_sequence) == (7, 1, 1)
        assert producer.last_timestamp >= now and not second.active_producers
        code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        assert third.error_code == unknown.partitions[0].error_code == code


def test_transactions_of_producers_are_described() -> None:
    with kafka_scene() as scene:
        client = scene.client()
        create(client, "a")
        for producer_id in (7, 8):
            in_transaction(scene, client, producer_id, b"x")
        end_transaction(scene, 8, is_commit=True, epoch=1, coordinator_epoch=4)
        [topic] = client.ask(DescribeProducersRequest([TopicRequest("a", [0])])).topics
        found = [
            (
                one.producer_id,
                one.producer_epoch,
                one.last_sequence,
                one.coordinator_epoch,
                one.current_txn_start_offset,
            )
            for one in topic.partitions[0].active_producers
        ]
        assert found == [(7, 0, 0, -1, 0), (8, 1, -1, 4, -1)]


def test_user_without_rights_gets_no_id_and_sees_no_producers() -> None:
    with kafka_scene(**ACCESS) as scene:
        client: Any = scene.client()
        answer = client.ask(InitProducerIdRequest(None, 1000))
        assert (answer.error_code, answer.producer_epoch) == (ErrorCode.CLUSTER_AUTHORIZATION_FAILED, -1)
        scene.server.create_topic("a")
        [topic] = client.ask(DescribeProducersRequest([TopicRequest("a", [0])])).topics
        assert topic.partitions[0].error_code == ErrorCode.TOPIC_AUTHORIZATION_FAILED
