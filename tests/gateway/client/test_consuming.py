"""Concurrent consumption beyond what `test_push` shows: one message for an administrator, lost queues."""

from __future__ import annotations

from typing import Any

import pytest
from twisted.internet.defer import Deferred

from mqgateway.gateway.client.message import Message
from tests.gateway.client.test_push import Inbox, begin, send
from tests.support.gateway.client.cluster import Cluster, queue_of


@pytest.mark.parametrize(
    ("said", "result"),
    [
        (None, "CR_SUCCESS"),
        (False, "CR_LATER"),
        ("COMMIT", "CR_COMMIT"),
        ("ROLLBACK", "CR_ROLLBACK"),
        (ValueError("no"), "CR_THROW_EXCEPTION"),
    ],
)
@pytest.mark.parametrize("is_ordered", [False, True])
def test_one_message_for_an_administrator(said: Any, result: str, is_ordered: bool) -> None:
    with Cluster() as cluster:
        cluster.make_topic("T", queues=1)
        sent = cluster.run(cluster.producer().send(Message("T", "x")))
        inbox = Inbox(None, said)
        consumer = begin(cluster, inbox, is_ordered=is_ordered)
        cluster.wait_for(lambda: inbox.got)
        view = consumer.client.calls.view("T", sent.offset_message_id)
        message = cluster.run(Deferred.fromCoroutine(view))
        answer = cluster.run(Deferred.fromCoroutine(consumer.consume_directly(message, "broker-a")))
        assert (answer.consume_result, answer.order, answer.auto_commit) == (result, is_ordered, True)
        assert (answer.remark or "") == ("ValueError, no" if isinstance(said, Exception) else "")
        cluster.watch.complaints.clear()


def test_result_after_loss_of_the_queue_is_not_committed() -> None:
    with Cluster() as cluster:
        cluster.make_topic("T", queues=1)
        send(cluster, 1)
        work: Deferred[None] = Deferred()
        inbox = Inbox(work)
        consumer = begin(cluster, inbox)
        cluster.wait_for(lambda: inbox.got)
        consumer.held[queue_of("T")].dropped = True
        work.callback(None)
        cluster.settle()
        assert consumer.offsets.get(queue_of("T")) in (-1, 0)


def test_broadcasts_that_failed_do_not_come_again() -> None:
    with Cluster() as cluster:
        cluster.make_topic("T", queues=1)
        send(cluster, 2)
        inbox = Inbox(False)
        consumer = begin(cluster, inbox, message_model="BROADCASTING")
        cluster.wait_for(lambda: len(inbox.got) == 2)
        cluster.settle(30.0)
        assert inbox.bodies == [b"0", b"1"] and consumer.offsets.get(queue_of("T")) == 2


def test_rates_are_counted() -> None:
    with Cluster() as cluster:
        cluster.make_topic("T", queues=1)
        send(cluster, 4)
        inbox = Inbox(False)
        consumer = begin(cluster, inbox)
        cluster.wait_for(lambda: len(inbox.got) >= 4)
        info = cluster.run(Deferred.fromCoroutine(consumer.running_info()))
        status = info.status_table["T"]
        assert status.consume_failed_msgs == 1 and status.consume_ok_tps > 0 and status.pull_tps > 0
