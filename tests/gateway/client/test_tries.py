"""Attempts of a send: details that `test_producer` and `test_system` do not test."""

from __future__ import annotations

import gc

import pytest
from twisted.internet.defer import CancelledError

from mqgateway.gateway.client.errors import (
    BrokerError,
    ClientError,
    SendFailed,
    TimedOut,
    TooBusy,
    Unreachable,
)
from mqgateway.gateway.client.message import Message, SendStatus
from mqgateway.gateway.client.sending import PreparedSend
from tests.fuzz.world import BROKER_PORT
from tests.support.gateway.client.cluster import Cluster, queue_of, requests_seen


def test_each_try_takes_the_next_queue_and_the_last_error_is_the_cause() -> None:
    with Cluster() as cluster:
        cluster.make_topic("T", queues=2)
        producer = cluster.producer(retry_times_when_send_failed=3)
        cluster.run(producer.send(Message("T", "x")))
        cluster.cut(BROKER_PORT)
        with pytest.raises(SendFailed) as failed:
            cluster.run(producer.send(Message("T", "x")))
        assert failed.value.brokers == ("broker-a",) * 4
        assert isinstance(failed.value.__cause__, Unreachable)
        cluster.mend(BROKER_PORT)
        assert cluster.run(producer.send(Message("T", "x"))).status is SendStatus.SEND_OK


def test_to_a_queue_it_is_tried_once_and_the_error_is_what_it_is() -> None:
    with Cluster() as cluster:
        cluster.make_topic("T", queues=1)
        producer = cluster.producer()
        seen = requests_seen(cluster)
        with pytest.raises(BrokerError):
            cluster.run(producer.send(Message("T", "x"), queue=queue_of("T", 7)))
        assert len([one for one in seen if one.code == 310]) == 1


def test_sent_messages_are_freed_without_the_collector() -> None:
    with Cluster() as cluster:
        cluster.make_topic("T", queues=1)
        producer = cluster.producer()
        gc.collect()
        gc.disable()
        try:
            for number in range(3):
                cluster.run(producer.send(Message("T", f"{number}")))
                cluster.run(producer.send_batch([Message("T", "a"), Message("T", "b")]))
            assert not [one for one in gc.get_objects() if isinstance(one, PreparedSend)]
        finally:
            gc.enable()


def test_no_time_is_left() -> None:
    with Cluster() as cluster:
        cluster.make_topic("T", queues=1)
        producer = cluster.producer()
        cluster.run(producer.send(Message("T", "x")))
        with pytest.raises(TimedOut, match="no time"):
            cluster.run(producer.send(Message("T", "x"), timeout=0.0))


def test_cancelled_and_failed_sends_are_not_in_flight() -> None:
    with Cluster() as cluster:
        cluster.make_topic("T", queues=1)
        producer = cluster.producer(max_sends_in_flight=1)
        cluster.run(producer.send(Message("T", "x")))
        for _ in range(3):
            sending = producer.send(Message("T", "x"))
            with pytest.raises(TooBusy):
                cluster.run(producer.send(Message("T", "y")))
            sending.cancel()
            with pytest.raises(CancelledError):
                cluster.run(sending)
        with pytest.raises(ClientError):
            cluster.run(producer.send(Message("T", "x"), queue=queue_of("T", 7)))
        cluster.run(producer.send(Message("T", "z")))
        assert producer._tries.in_flight == 0


def test_send_cancelled_during_route_query_is_not_sent() -> None:
    with Cluster() as cluster:
        cluster.make_topic("T", queues=1)
        producer = cluster.producer()
        sending = producer.send(Message("T", "x"))
        sending.cancel()
        with pytest.raises(CancelledError):
            cluster.run(sending)
        cluster.settle(1.0)
        assert cluster.stored("T") == [] and producer._tries.in_flight == 0
