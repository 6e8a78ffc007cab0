"""Simple consumers: received, acknowledged, refused, hidden for longer, dead letters, several brokers."""

from __future__ import annotations

import logging
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from mqgateway.gateway.client.errors import BadArgument, NoRoute, NotRunning, Unreachable
from mqgateway.gateway.client.message import Message, ReceivedMessage
from mqgateway.gateway.client.simple import SimpleConsumer
from mqgateway.gateway.client.subscriptions import Sql
from mqgateway.gateway.codec.codes import RequestCode
from mqgateway.gateway.codec.headers import PopMessageRequestHeader
from tests.fuzz.world import BROKER_PORT
from tests.support.gateway.client.cluster import Cluster, bodies, queue_of, requests_seen

FIRST: dict[str, Any] = {"consume_from_where": "CONSUME_FROM_FIRST_OFFSET"}


def pulled() -> ReceivedMessage:
    """A message without a receipt."""
    message = ReceivedMessage("T", b"x")
    message.queue, message.queue_offset = queue_of("T"), 0
    return message


def simple(cluster: Cluster, *topics: str, group: str = "G", wanted: Any = "*", **settings: Any) -> Any:
    """A started consumer."""
    consumer = SimpleConsumer(group, cluster.around, **cluster.settings({**FIRST, **settings}))
    cluster.run(consumer.subscribe(topics or "T", wanted))
    cluster.begin(consumer)
    return consumer


def send(cluster: Cluster, count: int, topic: str = "T", **fields: Any) -> None:
    producer = cluster.producer(f"P{topic}{cluster.clock.millis()}")
    for number in range(count):
        cluster.run(producer.send(Message(topic, str(number), **fields)))


def received(
    cluster: Cluster, consumer: Any, count: int, settle: Callable[[Any], Any] | None = None, **wish: Any
) -> list[ReceivedMessage]:
    """Receive until so many have come, and acknowledge each unless another way is given."""
    got: list[ReceivedMessage] = []
    for _ in range(30):
        for message in cluster.run(consumer.receive(timeout=3, **wish)):
            got.append(message)
            outcome = (settle or consumer.ack)(message)
            if outcome is not None:
                cluster.run(outcome)
        if len(got) >= count:
            break
    return got


def test_messages_are_received_once_when_they_are_acknowledged() -> None:
    with Cluster() as cluster:
        cluster.make_topic("T")
        send(cluster, 10)
        consumer = simple(cluster)
        got = received(cluster, consumer, 10, invisible_duration=10)
        assert sorted(bodies(got)) == sorted(str(number).encode() for number in range(10))
        assert {one.queue.queue_id for one in got} == {0, 1, 2, 3} and got[0].topic == "T"
        cluster.settle(30.0)
        assert cluster.run(consumer.receive(timeout=3)) == []


def test_receive_waits_at_the_broker_for_what_is_sent_meanwhile() -> None:
    with Cluster() as cluster:
        cluster.make_topic("T")
        consumer = simple(cluster)
        seen = requests_seen(cluster)
        waiting = consumer.receive(timeout=15)
        cluster.settle(5.0)
        assert not waiting.called
        send(cluster, 1)
        assert bodies(cluster.run(waiting)) == [b"0"]
        pops = [
            PopMessageRequestHeader.decode(x.ext_fields) for x in seen if x.code == RequestCode.POP_MESSAGE
        ]
        assert [(one.queue_id, one.poll_time, one.max_msg_nums) for one in pops] == [(-1, 15_000, 32)]


def test_refused_message_comes_again_after_its_delay() -> None:
    with Cluster() as cluster:
        cluster.make_topic("T", queues=1)
        send(cluster, 1)
        consumer = simple(cluster)
        (first,) = received(cluster, consumer, 1, lambda one: consumer.nack(one, timedelta(seconds=20)))
        began = cluster.clock.millis()
        (second,) = received(cluster, consumer, 1, lambda one: consumer.nack(one))
        assert cluster.clock.millis() - began >= 19_000
        (third,) = received(cluster, consumer, 1)
        assert cluster.clock.millis() - began >= 49_000  # 30 s, as for the second time
        assert [one.reconsume_times for one in (first, second, third)] == [0, 1, 2]
        assert {one.topic for one in (first, second, third)} == {"T"}


def test_message_comes_again_after_its_invisible_duration() -> None:
    with Cluster() as cluster:
        cluster.make_topic("T", queues=1)
        send(cluster, 1)
        consumer = simple(cluster)
        received(cluster, consumer, 1, lambda one: None, invisible_duration=15)
        began = cluster.clock.millis()
        (again,) = received(cluster, consumer, 1)
        assert cluster.clock.millis() - began >= 14_000 and again.reconsume_times == 1


def test_message_hidden_for_longer_is_acknowledged_with_its_new_receipt() -> None:
    with Cluster() as cluster:
        cluster.make_topic("T", queues=1)
        send(cluster, 1)
        consumer = simple(cluster)
        (message,) = received(cluster, consumer, 1, lambda one: None, invisible_duration=5)
        cluster.run(consumer.change_invisible_duration(message, 60))
        cluster.settle(30.0)
        assert cluster.run(consumer.receive(timeout=3)) == []
        cluster.run(consumer.ack(message))
        cluster.settle(60.0)
        assert cluster.run(consumer.receive(timeout=3)) == []


def test_message_delivered_too_often_goes_to_the_dead_letters() -> None:
    with Cluster() as cluster:
        cluster.make_topic("T", queues=1)
        send(cluster, 2)
        consumer = simple(cluster, max_reconsume_times=1)
        # One is refused, the other forgotten.
        got = received(cluster, consumer, 4, lambda one: consumer.nack(one, 1) if one.body == b"0" else None)
        assert sorted(one.reconsume_times for one in got) == [0, 0, 1, 1]
        cluster.settle(70.0)
        assert cluster.run(consumer.receive(timeout=3)) == []
        assert sorted(cluster.stored("%DLQ%G")) == [b"0", b"1"]
        cluster.watch.complaints.clear()


def test_all_topics_and_brokers_are_asked() -> None:
    with Cluster() as cluster:
        cluster.add_broker("broker-b", 10_921)
        cluster.make_topic("T", queues=1)
        cluster.make_topic("T", queues=1, port=10_921)
        cluster.make_topic("U", queues=1)
        send(cluster, 4)
        send(cluster, 2, "U")
        consumer = simple(cluster, "T", "U")
        got = received(cluster, consumer, 6)
        assert {(one.topic, one.queue.broker_name) for one in got} == {
            ("T", "broker-a"),
            ("T", "broker-b"),
            ("U", "broker-a"),
        }
        cluster.cut(10_921)
        send(cluster, 1, "U")
        assert bodies(received(cluster, consumer, 1)) == [b"0"]
        cluster.mend(10_921)


def test_broker_that_is_away_is_an_error_of_receive() -> None:
    with Cluster() as cluster:
        cluster.make_topic("T", queues=1)
        consumer = simple(cluster)
        cluster.cut(BROKER_PORT)
        with pytest.raises(Unreachable):
            cluster.run(consumer.receive(timeout=3))
        cluster.mend(BROKER_PORT)


def test_tags_and_expressions_choose() -> None:
    with Cluster(enable_property_filter=True) as cluster:
        cluster.make_topic("T", queues=1)
        send(cluster, 1, tags="a", properties={"n": "1"})
        send(cluster, 1, tags="b", properties={"n": "2"})
        tags = simple(cluster, wanted="b")
        assert [one.tags for one in received(cluster, tags, 1)] == ["b"]
        expression = simple(cluster, group="H", wanted=Sql("n = '1'"))
        assert [one.tags for one in received(cluster, expression, 1)] == ["a"]


def test_ordered_consumer_gets_the_next_messages_after_an_acknowledgement() -> None:
    with Cluster() as cluster:
        cluster.make_topic("T", queues=1)
        send(cluster, 3)
        consumer = SimpleConsumer("G", cluster.around, is_ordered=True, **cluster.settings(dict(FIRST)))
        cluster.run(consumer.subscribe("T"))
        cluster.begin(consumer)
        (first,) = cluster.run(consumer.receive(1, timeout=3))
        assert cluster.run(consumer.receive(1, timeout=3)) == []
        cluster.run(consumer.ack(first))
        (second,) = cluster.run(consumer.receive(1, timeout=3))
        cluster.run(consumer.nack(second, 5))
        (again,) = received(cluster, consumer, 1, max_messages=1)
        assert bodies([first, second, again]) == [b"0", b"1", b"1"] and again.reconsume_times == 1
        assert bodies(received(cluster, consumer, 1, max_messages=1)) == [b"2"]


def test_namespace_is_hidden() -> None:
    with Cluster() as cluster:
        cluster.make_topic("ns%T", queues=1)
        producer = cluster.producer(namespace="ns")
        cluster.run(producer.send(Message("T", "x")))
        consumer = simple(cluster, namespace="ns")
        (message,) = received(cluster, consumer, 1)
        assert message.topic == "T"


def test_loop_gives_what_it_has_not_reached_back_at_the_close() -> None:
    with Cluster() as cluster:
        cluster.make_topic("T", queues=1)
        send(cluster, 5)
        consumer = simple(cluster)
        hand = cluster.run(consumer.take())
        loop = iter(hand)
        for _ in range(2):
            cluster.run(consumer.ack(next(loop)))
        cluster.run(consumer.close())
        assert cluster.run(consumer.take()) is None
        again = simple(cluster)
        began = cluster.clock.millis()
        assert sorted(bodies(received(cluster, again, 3))) == [b"2", b"3", b"4"]
        assert cluster.clock.millis() - began < 30_000


def test_loop_continues_when_a_broker_was_away() -> None:
    with Cluster() as cluster:
        cluster.make_topic("T", queues=1)
        consumer = simple(cluster)
        cluster.cut(BROKER_PORT)
        waiting = consumer.take()
        cluster.settle(3.0)
        cluster.mend(BROKER_PORT)
        send(cluster, 1)
        assert bodies(list(cluster.run(waiting))) == [b"0"]
        cluster.watch.complaints.clear()


def test_close_ends_the_pause_of_a_loop_whose_broker_is_away() -> None:
    with Cluster() as cluster:
        cluster.make_topic("T", queues=1)
        consumer = simple(cluster)
        cluster.cut(BROKER_PORT)
        waiting = consumer.take()
        cluster.settle(0.5)
        cluster.run(consumer.close())
        assert cluster.run(waiting) is None
        cluster.watch.complaints.clear()


def test_loop_that_waits_ends_at_once_on_request() -> None:
    with Cluster() as cluster:
        cluster.make_topic("T", queues=1)
        consumer = simple(cluster)
        waiting = consumer.take()
        cluster.settle(1.0)
        consumer.end_iteration()
        assert waiting.called and cluster.run(waiting) is None and cluster.run(consumer.take()) is None


def test_message_that_arrives_after_the_end_of_a_loop_is_delivered_to_another_member_at_once() -> None:
    with Cluster() as cluster:
        cluster.make_topic("T", queues=1)
        consumer, other = simple(cluster), simple(cluster)
        waiting = consumer.take()
        cluster.settle(1.0)
        consumer.end_iteration()
        assert cluster.run(waiting) is None
        send(cluster, 1)
        began = cluster.clock.millis()
        assert bodies(received(cluster, other, 1)) == [b"0"]
        assert cluster.clock.millis() - began < 5_000


def test_wrong_use_is_refused_with_a_remedy() -> None:
    with Cluster() as cluster:
        cluster.make_topic("T", queues=1)
        with pytest.raises(BadArgument, match="message_model=BROADCASTING"):
            SimpleConsumer("G", cluster.around, **cluster.settings({"message_model": "BROADCASTING"}))
        with pytest.raises(BadArgument, match="consume_from_where=CONSUME_FROM_TIMESTAMP"):
            where: Any = {"consume_from_where": "CONSUME_FROM_TIMESTAMP"}
            SimpleConsumer("G", cluster.around, **cluster.settings(where))
        with pytest.raises(BadArgument, match="pop_invisible_time=5"):
            SimpleConsumer("G", cluster.around, **cluster.settings({"pop_invisible_time": 5}))
        consumer = SimpleConsumer("G", cluster.around, **cluster.settings({}))
        with pytest.raises(NotRunning, match=r"call start\(\)"):
            cluster.run(consumer.receive())
        cluster.begin(consumer)
        with pytest.raises(BadArgument, match="no subscription"):
            cluster.run(consumer.receive())
        cluster.run(consumer.subscribe("Nowhere"))
        with pytest.raises(NoRoute, match="Nowhere"):
            cluster.run(consumer.receive())
        for wrong in ({"max_messages": 33}, {"invisible_duration": 0.5}, {"timeout": -1}, {"timeout": "1"}):
            with pytest.raises(BadArgument, match=f"{next(iter(wrong))}="):
                cluster.run(consumer.receive(**wrong))
        with pytest.raises(BadArgument, match="was not received by a SimpleConsumer"):
            cluster.run(consumer.ack(pulled()))
        with pytest.raises(BadArgument, match="message='x'"):
            cluster.run(consumer.nack("x"))


def test_consumer_that_was_closed_does_not_start_again() -> None:
    with Cluster() as cluster:
        cluster.make_topic("T", queues=1)
        consumer = simple(cluster)
        cluster.run(consumer.close())
        with pytest.raises(NotRunning, match="closed and cannot start again: make a new one"):
            cluster.run(consumer.start())
        with pytest.raises(NotRunning, match="it was closed"):
            cluster.run(consumer.receive())


def test_loop_ends_without_a_warning_if_the_close_cuts_its_request_off(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with Cluster() as cluster:
        consumer = simple(cluster)
        assert not consumer.readable.get("T")
        with caplog.at_level(logging.DEBUG):
            waiting = consumer.take()
            cluster.run(consumer.close())
            assert cluster.run(waiting) is None
        levels = [one.levelname for one in caplog.records if "receives nothing" in one.getMessage()]
        assert levels == ["DEBUG"]
