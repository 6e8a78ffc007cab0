"""Our Python client's SimpleConsumer against both servers: acknowledged, refused, too late, in order."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

import pytest

from compat_tests.support.artifacts import CURRENT
from compat_tests.support.patience import PATIENT
from compat_tests.support.peers import Peer, Peers
from mqgateway import (
    Admin,
    LitePullConsumer,
    Message,
    Producer,
    ReceivedMessage,
    SimpleConsumer,
    SubscriptionGroupConfig,
    aio,
)
from mqgateway.selectors import by_hash

FIRST: dict[str, Any] = {"consume_from_where": "CONSUME_FROM_FIRST_OFFSET"}
SECONDS = 60

pytestmark = pytest.mark.overlap


@contextmanager
def receiving(peer: Peer, group: str, *topics: str, **settings: Any) -> Iterator[SimpleConsumer]:
    """A started consumer."""
    consumer = SimpleConsumer(group, peer.namesrv_address, **{**FIRST, **settings})
    consumer.subscribe(topics)
    with consumer:
        yield consumer


def received(
    consumer: SimpleConsumer,
    count: int,
    settle: Callable[[ReceivedMessage], object] | None = None,
    seconds: float = SECONDS,
    **wish: Any,
) -> list[ReceivedMessage]:
    """Receive until so many have come; each is acknowledged at once unless another way is given."""
    got: list[ReceivedMessage] = []
    end = time.monotonic() + seconds
    while len(got) < count and time.monotonic() < end:
        for message in consumer.receive(timeout=2, **wish):
            got.append(message)
            (settle or consumer.ack)(message)
    return got


def bodies(messages: list[ReceivedMessage]) -> list[str]:
    return sorted(message.text() for message in messages)


def test_simple_consumer_receives_all_queues_of_several_topics(kind: str, peers: Peers) -> None:
    """Nothing that was acknowledged comes again, and a receive waits for what is sent meanwhile."""
    peer = peers.with_server(peers.server(kind), CURRENT)
    topics = peer.topic("py_simple", 4), peer.topic("py_simple", 2)
    group = peer.name("py_simple")
    with Producer(peer.name("py_producers"), peer.namesrv_address, **PATIENT) as producer:
        for number in range(40):
            producer.send(Message(topics[number % 2], f"{number}"))
        with receiving(peer, group, *topics) as consumer:
            got = received(consumer, 40, invisible_duration=10)
            assert bodies(got) == sorted(map(str, range(40)))
            assert {one.topic for one in got} == set(topics)
            assert consumer.receive(timeout=12) == []
            sending = producer.send_async(Message(topics[1], "later"))
            assert bodies(received(consumer, 1)) == ["later"]
            sending.result(10)
        with receiving(peer, group, *topics) as again:
            assert again.receive(timeout=3) == []


def test_simple_consumer_gets_refused_and_forgotten_messages_again(kind: str, peers: Peers) -> None:
    """Negative acknowledge after its delay, silence after the invisible duration; counts grow."""
    peer = peers.with_server(peers.server(kind), CURRENT)
    topic = peer.topic("py_simple_again", 1)
    with (
        Producer(peer.name("py_producers"), peer.namesrv_address, **PATIENT) as producer,
        receiving(peer, peer.name("py_simple"), topic) as consumer,
    ):
        producer.send(Message(topic, "refused", tags="A"))
        began = time.monotonic()
        (first,) = received(consumer, 1, lambda one: consumer.nack(one, timedelta(seconds=4)))
        (second,) = received(consumer, 1, lambda one: None, invisible_duration=5)
        assert time.monotonic() - began >= 3.5
        (third,) = received(consumer, 1)
        assert time.monotonic() - began >= 8.5
        assert [one.reconsume_times for one in (first, second, third)] == [0, 1, 2]
        assert {one.message_id for one in (first, second, third)} == {first.message_id}
        assert {one.topic for one in (first, second, third)} == {topic}
        assert consumer.receive(timeout=8) == []


def test_simple_consumer_hides_a_message_for_longer(kind: str, peers: Peers) -> None:
    """The new receipt acknowledges; until then no consumer gets the message."""
    peer = peers.with_server(peers.server(kind), CURRENT)
    topic = peer.topic("py_simple_longer", 1)
    with (
        Producer(peer.name("py_producers"), peer.namesrv_address, **PATIENT) as producer,
        receiving(peer, peer.name("py_simple"), topic) as consumer,
    ):
        producer.send(Message(topic, "slow work"))
        (message,) = received(consumer, 1, lambda one: None, invisible_duration=5)
        consumer.change_invisible_duration(message, 15)
        assert consumer.receive(timeout=9) == []
        consumer.ack(message)
        assert consumer.receive(timeout=10) == []


def test_simple_consumer_moves_a_message_to_the_dead_letters(kind: str, peers: Peers) -> None:
    """After `max_reconsume_times` a negative acknowledge is the last one."""
    peer = peers.with_server(peers.server(kind), CURRENT)
    topic, group = peer.topic("py_simple_dead", 1), peer.name("py_simple")
    with Producer(peer.name("py_producers"), peer.namesrv_address, **PATIENT) as producer:
        producer.send(Message(topic, "poison"))
        with receiving(peer, group, topic, max_reconsume_times=1) as consumer:
            got = received(consumer, 2, lambda one: consumer.nack(one, 1))
            assert [one.reconsume_times for one in got] == [0, 1]
            assert consumer.receive(timeout=5) == []
    dead = LitePullConsumer(peer.name("undertakers"), peer.namesrv_address, **FIRST)
    dead.subscribe(f"%DLQ%{group}")
    with dead:
        letter = next(iter(dead))
    assert letter.message_id == got[0].message_id and letter.body == b"poison"


def test_simple_consumer_keeps_the_order_of_each_queue(kind: str, peers: Peers) -> None:
    """The next messages of a queue come only when those before are acknowledged."""
    peer = peers.with_server(peers.server(kind), CURRENT)
    topic, group = peer.topic("py_simple_order", 2), peer.name("py_simple")
    with Admin(peer.namesrv_address) as admin:
        admin.create_group(SubscriptionGroupConfig(group, consume_message_orderly=True))
    with Producer(peer.name("py_producers"), peer.namesrv_address, **PATIENT) as producer:
        for number in range(20):
            producer.send(Message(topic, f"{number}"), selector=by_hash, argument=number % 2)
    with receiving(peer, group, topic, is_ordered=True) as consumer:
        refused: list[str] = []

        def settle(message: ReceivedMessage) -> None:
            if message.text() == "4" and not refused:
                refused.append("4")
                consumer.nack(message, 3)
            else:
                consumer.ack(message)

        got = received(consumer, 21, settle, max_messages=1, invisible_duration=20)
    for queue in range(2):
        numbers = [int(one.body) for one in got if int(one.body) % 2 == queue]
        assert sorted(set(numbers)) == sorted(numbers) or queue == 0
        assert numbers == sorted(numbers)
    assert len(got) == 21


def test_loop_over_a_simple_consumer_in_asyncio(kind: str, peers: Peers) -> None:
    """`async for` with acknowledgements; what the loop has not reached comes again after the close."""
    peer = peers.with_server(peers.server(kind), CURRENT)
    topic, group = peer.topic("py_simple_loop", 1), peer.name("py_simple")

    async def work(last: int) -> list[int]:
        consumer = aio.SimpleConsumer(group, peer.namesrv_address, **FIRST)
        await consumer.subscribe([topic])
        numbers = []
        async with consumer:
            async for message in consumer:
                numbers.append(message.json()["number"])
                await consumer.ack(message)
                if len(numbers) == last:
                    break
        return numbers

    async def send() -> None:
        async with aio.Producer(peer.name("py_producers"), peer.namesrv_address, **PATIENT) as producer:
            await producer.send_batch([Message(topic, f'{{"number": {number}}}') for number in range(10)])

    asyncio.run(send())
    first = asyncio.run(work(3))
    second = asyncio.run(asyncio.wait_for(work(7), SECONDS))
    assert sorted(first + second) == list(range(10))
