"""Lite pull consumers: they pull ahead, and are polled."""

from __future__ import annotations

from typing import Any

import pytest
from twisted.internet.defer import Deferred

from mqgateway.gateway.client.errors import BadArgument, NoRoute, NotRunning
from mqgateway.gateway.client.lite_pull import LitePullConsumer
from mqgateway.gateway.client.message import Message, ReceivedMessage
from tests.fuzz.world import BROKER_PORT
from tests.gateway.client.test_push import numbers, send
from tests.support.gateway.client.cluster import Cluster, bodies, queue_of


def make(cluster: Cluster, group: str = "G", **settings: Any) -> LitePullConsumer:
    given = cluster.settings({"consume_from_where": "CONSUME_FROM_FIRST_OFFSET", **settings})
    return LitePullConsumer(group, cluster.around, **given)


def subscribed(cluster: Cluster, wanted: str = "*", **settings: Any) -> LitePullConsumer:
    consumer = make(cluster, **settings)
    cluster.run(consumer.subscribe("T", wanted))
    cluster.begin(consumer)
    return consumer


def assigned(cluster: Cluster, *numbers: int, **settings: Any) -> LitePullConsumer:
    consumer = make(cluster, **settings)
    consumer.assign([queue_of("T", number) for number in numbers])
    cluster.begin(consumer)
    return consumer


def polled(cluster: Cluster, consumer: LitePullConsumer, count: int) -> list[ReceivedMessage]:
    """Poll until so many have come."""
    got: list[ReceivedMessage] = []
    for _ in range(60):
        got += cluster.run(consumer.poll(1.0))
        if len(got) >= count:
            return got
    raise AssertionError(f"only {len(got)} came")


def test_subscribed_queues_are_polled() -> None:
    with Cluster() as cluster:
        cluster.make_topic("T")
        send(cluster, 10)
        consumer = subscribed(cluster)
        assert sorted(bodies(polled(cluster, consumer, 10))) == numbers(10)
        assert cluster.run(consumer.poll(0.5)) == []
        assert len(consumer.assignment()) == 4


def test_poll_waits_for_messages() -> None:
    with Cluster() as cluster:
        cluster.make_topic("T", queues=1)
        consumer = subscribed(cluster)
        cluster.settle(2.0)
        waiting = consumer.poll(30.0)
        cluster.settle(5.0)
        assert not waiting.called
        send(cluster, 1)
        assert bodies(cluster.run(waiting)) == [b"0"]


def test_chosen_queues_are_read_and_no_others() -> None:
    with Cluster() as cluster:
        cluster.make_topic("T", queues=2)
        send(cluster, 10)
        consumer = assigned(cluster, 1)
        got = polled(cluster, consumer, 5)
        assert {message.queue for message in got} == {queue_of("T", 1)}
        consumer.assign([queue_of("T", 0)])
        got = polled(cluster, consumer, 5)
        assert {message.queue for message in got} == {queue_of("T", 0)}
        assert consumer.assignment() == [queue_of("T", 0)]


def test_subscribing_and_assigning_exclude_each_other() -> None:
    with Cluster() as cluster:
        cluster.make_topic("T")
        with pytest.raises(BadArgument, match="either"):
            subscribed(cluster).assign([queue_of("T")])
        with pytest.raises(BadArgument, match="either"):
            cluster.run(assigned(cluster, 0, group="H").subscribe("T"))
        with pytest.raises(BadArgument, match=r"queues=\[\]"):
            make(cluster, "I").assign([])


def test_polled_offsets_are_committed_every_5_seconds() -> None:
    with Cluster() as cluster:
        cluster.make_topic("T", queues=1)
        send(cluster, 10)
        consumer = subscribed(cluster, pull_batch_size=5)
        cluster.settle(12.0)
        assert len(cluster.run(consumer.poll())) == 5
        cluster.settle(6.0)
        assert cluster.broker.tables.offsets.query("G", "T", 0) <= 0
        assert len(cluster.run(consumer.poll())) == 5
        cluster.settle(6.0)
        assert cluster.broker.tables.offsets.query("G", "T", 0) == 5
        cluster.run(consumer.close())
        assert cluster.broker.tables.offsets.query("G", "T", 0) == 10


def test_committing_by_hand() -> None:
    with Cluster() as cluster:
        cluster.make_topic("T", queues=1)
        send(cluster, 10)
        consumer = subscribed(cluster, auto_commit=False, pull_batch_size=4)
        cluster.settle(2.0)
        cluster.run(consumer.poll())
        cluster.settle(12.0)
        assert cluster.broker.tables.offsets.query("G", "T", 0) <= 0
        cluster.run(consumer.commit())
        assert (
            cluster.broker.tables.offsets.query("G", "T", 0)
            == 4
            == cluster.run(consumer.committed(queue_of("T")))
        )
        cluster.run(consumer.commit({queue_of("T"): 2}))
        assert cluster.broker.tables.offsets.query("G", "T", 0) == 2
        cluster.run(consumer.close())
        assert cluster.broker.tables.offsets.query("G", "T", 0) == 2


def test_seeking() -> None:
    with Cluster() as cluster:
        cluster.make_topic("T", queues=1)
        send(cluster, 10)
        consumer = assigned(cluster, 0)
        queue = queue_of("T")
        assert len(polled(cluster, consumer, 10)) == 10
        cluster.run(consumer.seek(queue, 7))
        assert bodies(polled(cluster, consumer, 3)) == [b"7", b"8", b"9"]
        cluster.run(consumer.seek_to_begin(queue))
        assert bodies(polled(cluster, consumer, 10)) == numbers(10)
        cluster.run(consumer.seek_to_end(queue))
        assert cluster.run(consumer.poll(1.0)) == []
        with pytest.raises(BadArgument, match="offsets from 0 to 10"):
            cluster.run(consumer.seek(queue, 11))
        with pytest.raises(BadArgument, match="not read here"):
            cluster.run(consumer.seek(queue_of("T", 9), 0))


def test_messages_pulled_before_a_seek_are_not_polled_after_it() -> None:
    with Cluster() as cluster:
        cluster.make_topic("T", queues=1)
        send(cluster, 30)
        consumer = assigned(cluster, 0)
        cluster.settle(2.0)
        cluster.run(consumer.seek(queue_of("T"), 25))
        assert bodies(polled(cluster, consumer, 5)) == numbers(30)[25:]


def test_pausing() -> None:
    with Cluster() as cluster:
        cluster.make_topic("T", queues=1)
        consumer = subscribed(cluster)
        cluster.settle(2.0)
        consumer.pause([queue_of("T"), queue_of("Other")])
        cluster.settle(25.0)
        send(cluster, 2)
        assert cluster.run(consumer.poll(3.0)) == []
        consumer.resume([queue_of("T")])
        assert len(polled(cluster, consumer, 2)) == 2


def test_flow_control() -> None:
    with Cluster() as cluster:
        cluster.make_topic("T", queues=1)
        send(cluster, 40)
        consumer = subscribed(cluster, pull_threshold_for_queue=8, pull_batch_size=4)
        cluster.settle(3.0)
        assert consumer.held[queue_of("T")].count == 12
        assert len(polled(cluster, consumer, 40)) == 40


def test_members_share_queues() -> None:
    with Cluster() as cluster:
        cluster.make_topic("T", queues=4)
        one, two = subscribed(cluster), subscribed(cluster)
        cluster.wait_for(lambda: len(one.assignment()) == len(two.assignment()) == 2)
        assert not set(one.assignment()) & set(two.assignment())
        send(cluster, 8)
        assert len(polled(cluster, one, 4)) + len(polled(cluster, two, 4)) == 8
        cluster.run(two.close())
        cluster.wait_for(lambda: len(one.assignment()) == 4, seconds=5)


def test_tags_choose_and_a_topic_can_be_left() -> None:
    with Cluster() as cluster:
        cluster.make_topic("T", queues=1)
        send(cluster, 2, tags="A")
        send(cluster, 2, tags="B")
        consumer = subscribed(cluster, "B")
        assert [message.tags for message in polled(cluster, consumer, 2)] == ["B", "B"]
        consumer.unsubscribe("T")
        cluster.settle(3.0)
        assert consumer.assignment() == [] and consumer.topics() == []


def test_offsets_that_the_broker_does_not_have_are_left() -> None:
    with Cluster() as cluster:
        cluster.make_topic("T", queues=1)
        send(cluster, 3)
        cluster.broker.tables.groups.find("G")
        cluster.broker.tables.offsets.commit("G", "T", 0, 99)
        consumer = assigned(cluster, 0)
        cluster.settle(2.0)
        send(cluster, 1)
        assert len(polled(cluster, consumer, 1)) == 1


def test_a_broker_that_comes_back_is_pulled_from_again() -> None:
    with Cluster() as cluster:
        cluster.make_topic("T", queues=1)
        consumer = assigned(cluster, 0)
        cluster.settle(2.0)
        cluster.cut(BROKER_PORT)
        cluster.settle(4.0)
        cluster.mend(BROKER_PORT)
        send(cluster, 2)
        assert len(polled(cluster, consumer, 2)) == 2


def test_a_namespace_is_not_seen() -> None:
    with Cluster() as cluster:
        cluster.make_topic("ns%T", queues=1)
        producer = cluster.producer(namespace="ns")
        cluster.run(producer.send(Message("T", "x")))
        consumer = subscribed(cluster, namespace="ns")
        assert [message.topic for message in polled(cluster, consumer, 1)] == ["T"]
        assert consumer.assignment() == [queue_of("T")] == cluster.run(consumer.queues("T"))
        assert cluster.run(consumer.search_offset(queue_of("T"), 0)) == 0


def test_lifecycle_and_refused_calls() -> None:
    with Cluster() as cluster:
        cluster.make_topic("T", queues=1)
        send(cluster, 1)
        consumer = subscribed(cluster)
        (message,) = polled(cluster, consumer, 1)
        answer = Deferred.fromCoroutine(consumer.consume_directly(message, "broker-a"))
        assert cluster.run(answer).consume_result == "CR_RETURN_NULL"
        with pytest.raises(NoRoute):
            cluster.run(consumer.queues("Nowhere"))
        waiting = consumer.poll(30.0)
        cluster.run(consumer.close())
        assert cluster.run(waiting) == []
        cluster.run(consumer.close())
        with pytest.raises(NotRunning):
            cluster.run(consumer.poll())
        with pytest.raises(BadArgument, match="brokers may wait"):
            make(cluster, "H", broker_suspend_max_time_millis=40_000)


def test_poll_without_subscription_is_refused() -> None:
    with Cluster() as cluster:
        consumer = LitePullConsumer("G", cluster.around, **cluster.settings({}))
        cluster.begin(consumer)
        with pytest.raises(BadArgument, match="the consumer G reads nothing"):
            cluster.run(consumer.poll())


def committed(cluster: Cluster) -> int:
    return cluster.broker.tables.offsets.query("G", "T", 0)


def test_close_commits_only_messages_handled_by_a_loop() -> None:
    with Cluster() as cluster:
        cluster.make_topic("T", queues=1)
        send(cluster, 10)
        consumer = subscribed(cluster)
        loop = iter(cluster.run(consumer.take()))
        assert [next(loop).body for _ in range(4)] == numbers(4)  # the fourth is in hand
        cluster.run(consumer.close())
        assert committed(cluster) == 3
        assert cluster.run(consumer.take()) is None


def test_loop_that_ended_cleanly_has_handled_its_messages() -> None:
    with Cluster() as cluster:
        cluster.make_topic("T", queues=1)
        send(cluster, 10)
        consumer = subscribed(cluster)
        loop = iter(cluster.run(consumer.take()))
        next(loop)
        next(loop)
        consumer.handled()
        cluster.run(consumer.close())
        assert committed(cluster) == 2


def test_loop_and_poll_resume_where_a_loop_was_left() -> None:
    with Cluster() as cluster:
        cluster.make_topic("T", queues=1)
        send(cluster, 10)
        consumer = subscribed(cluster)
        loop = iter(cluster.run(consumer.take()))
        got = [next(loop).body]
        again = iter(cluster.run(consumer.take()))
        got += [next(again).body, next(again).body]
        got += bodies(cluster.run(consumer.poll(1.0)))
        assert got == numbers(10)
        cluster.run(consumer.commit())
        assert committed(cluster) == 10


def test_seek_drops_the_batch_of_a_loop() -> None:
    with Cluster() as cluster:
        cluster.make_topic("T", queues=1)
        send(cluster, 10)
        consumer = subscribed(cluster)
        loop = iter(cluster.run(consumer.take()))
        next(loop)
        cluster.run(consumer.seek(queue_of("T"), 8))
        assert list(loop) == []
        assert bodies(list(cluster.run(consumer.take()))) == [b"8", b"9"]


def test_loop_ends_on_request() -> None:
    with Cluster() as cluster:
        cluster.make_topic("T", queues=1)
        consumer = subscribed(cluster)
        waiting = consumer.take()
        cluster.settle(1.0)
        consumer.end_iteration()
        assert cluster.run(waiting) is None


def test_loop_over_a_consumer_that_was_not_started_is_an_error() -> None:
    with Cluster() as cluster, pytest.raises(NotRunning, match="start"):
        cluster.run(make(cluster).take())
