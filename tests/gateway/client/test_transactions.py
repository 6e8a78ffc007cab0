"""Transactions: half messages, their end, and the broker's checks."""

from __future__ import annotations

from typing import Any

import pytest
from twisted.internet.defer import Deferred

from mqgateway.gateway.client.errors import SendFailed
from mqgateway.gateway.client.message import Message, ReceivedMessage, TransactionState
from mqgateway.gateway.client.transactions import TransactionProducer
from tests.support.gateway.client.cluster import Cluster

COMMIT, ROLLBACK, UNKNOWN = TransactionState.COMMIT, TransactionState.ROLLBACK, TransactionState.UNKNOWN


class Listener:
    """A listener that returns the given states, and records the checks."""

    def __init__(self, state: Any = COMMIT, later: Any = COMMIT) -> None:
        self.state, self.later = state, later
        self.executed: list[tuple[Message, Any]] = []
        self.checked: list[ReceivedMessage] = []

    def execute(self, message: Message, argument: Any) -> Any:
        self.executed.append((message, argument))
        return self._said(self.state)

    def check(self, message: ReceivedMessage) -> Any:
        self.checked.append(message)
        return self._said(self.later)

    def _said(self, state: Any) -> Any:
        if isinstance(state, Exception):
            raise state
        return state


def begin(cluster: Cluster, listener: Listener, **settings: Any) -> TransactionProducer:
    cluster.make_topic("T", queues=1)
    producer = TransactionProducer("Deciders", cluster.around, listener, **cluster.settings(settings))
    cluster.begin(producer)
    return producer


@pytest.mark.parametrize(("state", "seen"), [(COMMIT, [b"x"]), (ROLLBACK, []), (UNKNOWN, [])])
def test_outcomes_of_the_local_work(state: TransactionState, seen: list[bytes]) -> None:
    with Cluster() as cluster:
        listener = Listener(state)
        producer = begin(cluster, listener)
        result = cluster.run(producer.send_in_transaction(Message("T", "x"), "argument"))
        cluster.settle(1.0)
        assert result.state is state
        assert cluster.stored("T") == seen
        ((message, argument),) = listener.executed
        assert (message.body, argument) == (b"x", "argument")


def test_message_is_invisible_during_the_local_work() -> None:
    with Cluster() as cluster:
        work: Deferred[TransactionState] = Deferred()
        producer = begin(cluster, Listener(work))
        result = producer.send_in_transaction(Message("T", "x"))
        cluster.settle(5.0)
        assert not result.called and cluster.stored("T") == []
        work.callback(COMMIT)
        cluster.settle()
        assert cluster.run(result).state is COMMIT and cluster.stored("T") == [b"x"]


@pytest.mark.parametrize(("later", "seen"), [(COMMIT, [b"x"]), (ROLLBACK, [])])
def test_unknown_outcome_is_checked_by_the_broker(later: TransactionState, seen: list[bytes]) -> None:
    with Cluster(transaction_time_out=2000, transaction_check_interval=2000) as cluster:
        listener = Listener(UNKNOWN, later)
        producer = begin(cluster, listener)
        cluster.run(producer.send_in_transaction(Message("T", "x")))
        cluster.settle(15.0)
        assert [message.body for message in listener.checked] == [b"x"]
        assert listener.checked[0].topic == "T"
        assert cluster.stored("T") == seen


def test_failing_listener_leaves_the_transaction_open() -> None:
    with Cluster(transaction_time_out=2000, transaction_check_interval=2000) as cluster:
        listener = Listener(ValueError("while executing"), ValueError("while checking"))
        producer = begin(cluster, listener)
        result = cluster.run(producer.send_in_transaction(Message("T", "x")))
        assert result.state is UNKNOWN
        cluster.settle(8.0)
        assert listener.checked and cluster.stored("T") == []
        listener.later = COMMIT
        cluster.settle(10.0)
        assert cluster.stored("T") == [b"x"]
        complaints, cluster.watch.complaints = cluster.watch.complaints, []
        assert all("while" in one for one in complaints) and len(complaints) >= 2


def test_listener_is_not_called_without_a_stored_half_message() -> None:
    with Cluster(reject_transaction_message=True) as cluster:
        listener = Listener()
        producer = begin(cluster, listener)
        with pytest.raises(SendFailed):
            cluster.run(producer.send_in_transaction(Message("T", "x")))
        assert not listener.executed


def test_a_transaction_within_a_namespace() -> None:
    with Cluster(transaction_time_out=2000, transaction_check_interval=2000) as cluster:
        listener = Listener(UNKNOWN, COMMIT)
        producer = begin(cluster, listener, namespace="ns")
        sent = cluster.run(producer.send_in_transaction(Message("N", "x"))).sent
        cluster.settle(15.0)
        assert listener.checked[0].topic == "N"
        assert cluster.stored("ns%N", sent.queue.queue_id) == [b"x"]
