"""Ordered consumption: one after the other, under the broker's lock, resting after a failure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from twisted.internet.defer import Deferred

from mqgateway.engine.clock import elapsed_millis
from mqgateway.gateway.client.listening import Consumed, Context
from mqgateway.gateway.client.message import Message, ReceivedMessage
from mqgateway.gateway.codec.codes import RequestCode
from tests.gateway.client.test_push import Inbox, allow, begin, messages, numbers, refuse, send, topics_held
from tests.support.gateway.client.cluster import Cluster, queue_of, requests_seen


def send_in_order(cluster: Cluster, count: int, queues: int = 1) -> None:
    producer = cluster.producer(f"O{cluster.net.attempts}")
    for message in messages("T", count):
        queue = queue_of("T", int(message.body) % queues)
        cluster.run(producer.send(message, queue=queue))


def test_each_queue_is_consumed_in_order() -> None:
    with Cluster() as cluster:
        cluster.make_topic("T", queues=3)
        send_in_order(cluster, 30, queues=3)
        inbox = Inbox()
        begin(cluster, inbox, is_ordered=True)
        cluster.wait_for(lambda: len(inbox.got) == 30)
        for number in range(3):
            got = [int(one.body) for one in inbox.got if one.queue.queue_id == number]
            assert got == list(range(number, 30, 3))
        cluster.settle(6.0)
        assert [cluster.broker.tables.offsets.query("G", "T", number) for number in range(3)] == [10, 10, 10]


def test_one_batch_of_a_queue_at_a_time() -> None:
    with Cluster() as cluster:
        cluster.make_topic("T", queues=1)
        send_in_order(cluster, 5)
        first: Deferred[None] = Deferred()
        inbox = Inbox(first)
        begin(cluster, inbox, is_ordered=True)
        cluster.settle(10.0)
        assert inbox.bodies == [b"0"]
        first.callback(None)
        cluster.settle()
        assert inbox.bodies == numbers(5)


def test_a_queue_is_suspended_on_failure_and_keeps_its_order() -> None:
    with Cluster() as cluster:
        cluster.make_topic("T", queues=1)
        send_in_order(cluster, 3)
        inbox = Inbox(True, False, ValueError("again"))
        begin(cluster, inbox, is_ordered=True)
        cluster.settle(2.0)
        assert inbox.bodies[:2] == [b"0", b"1"]
        cluster.wait_for(lambda: len(inbox.got) == 5)
        assert inbox.bodies == [b"0", b"1", b"1", b"1", b"2"]
        assert [one.reconsume_times for one in inbox.got][3] == 2
        assert "again" in cluster.watch.complaints.pop()


def test_message_that_fails_too_often_is_dead_lettered_and_others_continue() -> None:
    with Cluster() as cluster:
        cluster.make_topic("T", queues=1)
        send_in_order(cluster, 2)
        inbox = Inbox(False, False, False)
        begin(cluster, inbox, is_ordered=True, max_reconsume_times=2, suspend_current_queue_time_millis=10)
        cluster.wait_for(lambda: b"1" in inbox.bodies)
        assert inbox.bodies == [b"0", b"0", b"0", b"1"]
        cluster.settle(1.0)
        assert cluster.stored("%DLQ%G") == [b"0"]


def test_message_that_cannot_be_dead_lettered_is_retried() -> None:
    with Cluster() as cluster:
        cluster.make_topic("T", queues=1)
        send_in_order(cluster, 1)
        inbox = Inbox(*[False] * 3)
        begin(cluster, inbox, is_ordered=True, max_reconsume_times=0)
        refuse(cluster, RequestCode.SEND_MESSAGE_V2)
        cluster.wait_for(lambda: len(inbox.got) == 4)
        assert inbox.bodies == [b"0"] * 4


def test_committing_by_hand() -> None:
    said: list[Any] = [
        Consumed.SUCCESS,
        Consumed.ROLLBACK,
        Consumed.SUCCESS,
        Consumed.SUCCESS,
        Consumed.COMMIT,
    ]
    got: list[bytes] = []

    def listener(given: Sequence[ReceivedMessage], context: Context) -> Any:
        context.auto_commit = False
        context.suspend_millis = 50
        got.extend(one.body for one in given)
        return said.pop(0)

    with Cluster() as cluster:
        cluster.make_topic("T", queues=1)
        send_in_order(cluster, 3)
        consumer = begin(cluster, listener, is_ordered=True)
        cluster.wait_for(lambda: not said)
        # The second failed, and everything that was not committed came again.
        assert got == [b"0", b"1", b"0", b"1", b"2"]
        assert consumer.offsets.get(queue_of("T")) == 3


def test_queues_are_locked_and_renewed_every_20_seconds() -> None:
    with Cluster() as cluster:
        cluster.make_topic("T", queues=2)
        consumer = begin(cluster, Inbox(), is_ordered=True)
        cluster.settle(2.0)
        assert cluster.broker.clients.locks.any_live("G", elapsed_millis(cluster.clock))
        seen = requests_seen(cluster)
        cluster.settle(60.0)
        locks = [one for one in seen if one.code == RequestCode.LOCK_BATCH_MQ]
        assert len(locks) == 3
        cluster.run(consumer.close())
        assert not cluster.broker.clients.locks.any_live("G", elapsed_millis(cluster.clock))


def test_a_queue_is_handed_over_when_its_listener_is_done() -> None:
    with Cluster() as cluster:
        cluster.make_topic("T", queues=2)
        work: list[Deferred[None]] = []

        def slow(given: Sequence[ReceivedMessage], context: Context) -> Deferred[None]:
            work.append(Deferred())
            return work[-1]

        one = begin(cluster, slow, is_ordered=True)
        cluster.settle(2.0)
        send_in_order(cluster, 2, queues=2)
        cluster.wait_for(lambda: len(work) == 2)
        inbox = Inbox()
        two = begin(cluster, inbox, is_ordered=True)
        cluster.settle(5.0)
        # The queue that two should have is still at work with one.
        assert not topics_held(two, "T") and not inbox.got
        for each in work:
            each.callback(None)
        cluster.wait_for(lambda: len(topics_held(two, "T")) == 1, seconds=10)
        assert len(topics_held(one, "T")) == 1
        send_in_order(cluster, 2, queues=2)
        cluster.wait_for(lambda: len(work) + len(inbox.got) >= 4)
        for each in work[2:]:
            each.callback(None)


def test_nothing_is_consumed_without_the_lock() -> None:
    with Cluster() as cluster:
        cluster.make_topic("T", queues=1)
        inbox = Inbox()
        consumer = begin(cluster, inbox, is_ordered=True)
        cluster.settle(2.0)
        refuse(cluster, RequestCode.LOCK_BATCH_MQ)
        process = consumer.held[queue_of("T")]
        process.locked_at -= 40_000  # it was not renewed for too long
        send_in_order(cluster, 2)
        cluster.settle(10.0)
        assert not inbox.got and process.count == 2
        allow(cluster, RequestCode.LOCK_BATCH_MQ)
        cluster.wait_for(lambda: len(inbox.got) == 2, seconds=10)
        assert process.has_lock(cluster.clock.millis())


def test_broadcasting_in_order_needs_no_lock() -> None:
    with Cluster() as cluster:
        cluster.make_topic("T", queues=1)
        send_in_order(cluster, 3)
        inbox = Inbox()
        seen = requests_seen(cluster)
        begin(cluster, inbox, is_ordered=True, message_model="BROADCASTING")
        cluster.wait_for(lambda: len(inbox.got) == 3)
        assert inbox.bodies == numbers(3)
        assert not [one for one in seen if one.code == RequestCode.LOCK_BATCH_MQ]


@pytest.mark.parametrize("millis", [1, 99_999])
def test_rests_have_limits(millis: int) -> None:
    with Cluster() as cluster:
        cluster.make_topic("T", queues=1)
        send(cluster, 1)
        got: list[float] = []

        def listener(given: Sequence[ReceivedMessage], context: Context) -> bool:
            context.suspend_millis = millis
            got.append(cluster.net.seconds())
            return len(got) > 1

        begin(cluster, listener, is_ordered=True)
        cluster.wait_for(lambda: len(got) == 2)
        assert (0.01 if millis == 1 else 29.0) <= got[1] - got[0] <= 31.0


def test_messages_are_what_was_sent() -> None:
    with Cluster() as cluster:
        cluster.make_topic("T", queues=1)
        cluster.run(cluster.producer().send(Message("T", "x", tags="A", keys="k", sharding_key="s")))
        inbox = Inbox()
        begin(cluster, inbox, is_ordered=True)
        cluster.wait_for(lambda: inbox.got)
        (message,) = inbox.got
        assert (message.tags, message.keys, message.queue) == ("A", ["k"], queue_of("T"))
