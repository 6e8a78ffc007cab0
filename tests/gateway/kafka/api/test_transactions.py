"""Transactions of Kafka clients, with real bytes and a clock that is moved by hand."""

from __future__ import annotations

from mqgateway.gateway.kafka.codec.error_codes import ErrorCode as E
from tests.gateway.kafka.api.test_metadata import create
from tests.support.gateway.kafka.client import kafka_scene
from tests.support.gateway.kafka.transactions import TxnProducer, committed_values


def test_committed_transaction_is_read_and_its_client_has_the_next_epoch() -> None:
    with kafka_scene() as scene:
        create(scene.client(), "a", 2)
        producer = TxnProducer(scene).begun()
        assert producer.epoch == 0
        assert producer.send("a", b"1", b"2").error_code == E.NONE
        assert producer.send("a", b"3", partition=1).error_code == E.NONE
        assert committed_values(producer.client, "a") == []
        first_id = producer.producer_id
        assert producer.end(True) == E.NONE
        assert (producer.producer_id, producer.epoch) == (first_id, 1)
        scene.settle(0.5)
        assert committed_values(producer.client, "a") == [b"1", b"2"]
        assert committed_values(producer.client, "a", 1) == [b"3"]
