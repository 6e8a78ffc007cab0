"""Every way to send, from the view of the sender and of a consumer."""

from __future__ import annotations

import pytest

from compat_tests.support.driver import ClientError, Producer, message
from compat_tests.support.peers import Peer
from compat_tests.support.processes import wait_until
from compat_tests.support.servers import BROKER_NAME

pytestmark = pytest.mark.overlap


@pytest.mark.every_variant
def test_sync_send_is_received_as_sent(peer: Peer) -> None:
    """Body, tags, keys, flag, user properties and the queue offset arrive; ids have RocketMQ's form."""
    topic = peer.topic("sync")
    with peer.producer() as producer, peer.push(peer.name("sync_readers"), {topic: "*"}) as consumer:
        fields = {"tags": "TagA", "keys": "k1 k2", "flag": 7, "properties": {"colour": "blau", "größe": "µ"}}
        results = producer.send([message(topic, f"body {i} äöü", **fields) for i in range(8)])
        assert [result.status for result in results] == ["SEND_OK"] * 8
        assert {len(result.offset_msg_id) for result in results} == {32}
        received = {one.unique_key: one for one in consumer.collect(8)}
    assert len(received) == 8
    for i, result in enumerate(results):
        one = received[result.msg_id]
        assert one.body == f"body {i} äöü"
        assert (one.tags, one.keys, one.flag) == ("TagA", "k1 k2", 7)
        assert one.properties["colour"] == "blau"
        assert one.properties["größe"] == "µ"
        assert (one.queue_id, one.queue_offset) == (result.queue.queue_id, result.queue_offset)
        assert one.broker_name == BROKER_NAME
        assert one.born_timestamp <= one.store_timestamp + 1000


@pytest.mark.every_variant
def test_async_send_calls_back_for_each(peer: Peer) -> None:
    """Every callback succeeds; every message is received once."""
    topic = peer.topic("async")
    with peer.producer() as producer, peer.push(peer.name("async_readers"), {topic: "*"}) as consumer:
        results = producer.send([message(topic, f"{i}") for i in range(100)], how="async")
        received = consumer.collect(100)
    assert [result.status for result in results] == ["SEND_OK"] * 100
    assert sorted(one.unique_key or "" for one in received) == sorted(result.msg_id for result in results)
    places = {(result.queue.queue_id, result.queue_offset) for result in results}
    assert places == {(one.queue_id, one.queue_offset) for one in received}


def test_oneway_send_arrives(peer: Peer) -> None:
    """A one-way send has no answer, and its message is received."""
    topic = peer.topic("oneway")
    with peer.producer() as producer, peer.push(peer.name("oneway_readers"), {topic: "*"}) as consumer:
        producer.send([message(topic, f"{i}") for i in range(20)], how="oneway")
        received = consumer.collect(20)
    assert sorted(int(one.body) for one in received) == list(range(20))


@pytest.mark.every_variant
def test_batch_is_one_send_of_many_messages(peer: Peer) -> None:
    """One result names all ids; messages take consecutive offsets of one queue, in order."""
    topic = peer.topic("batch")
    batch = [message(topic, f"{i}", tags="T", keys=f"key{i}", properties={"n": f"{i}"}) for i in range(10)]
    with peer.producer() as producer, peer.push(peer.name("batch_readers"), {topic: "T"}) as consumer:
        [result] = producer.send(batch, how="batch")
        received = sorted(consumer.collect(10), key=lambda one: one.queue_offset)
    assert result.status == "SEND_OK"
    assert len(result.msg_id.split(",")) == len(result.offset_msg_id.split(",")) == 10
    assert [one.body for one in received] == [f"{i}" for i in range(10)]
    assert [one.properties["n"] for one in received] == [f"{i}" for i in range(10)]
    assert {one.queue_id for one in received} == {result.queue.queue_id}
    assert [one.queue_offset for one in received] == list(
        range(result.queue_offset, result.queue_offset + 10)
    )
    assert [one.unique_key for one in received] == result.msg_id.split(",")


def test_selector_keeps_the_order_of_each_key(peer: Peer) -> None:
    """Messages of one key go to one queue; an ordered consumer sees each key in the order of sending."""
    topic = peer.topic("selector")
    sends = [message(topic, f"{key}-{i}", keys=f"order{key}") for i in range(20) for key in range(5)]
    group = peer.name("selector_readers")
    with peer.producer() as producer, peer.push(group, {topic: "*"}, listener="ordered") as consumer:
        results = producer.send(sends, how="selector")
        received = consumer.collect(100)
    assert {result.status for result in results} == {"SEND_OK"}
    for key in range(5):
        bodies = [one.body for one in received if one.keys == f"order{key}"]
        assert bodies == [f"{key}-{i}" for i in range(20)]
        assert len({one.queue_id for one in received if one.keys == f"order{key}"}) == 1


def test_large_body_travels_compressed(peer: Peer) -> None:
    """A body over the client's limit is compressed by the sender, stored so, and read back whole."""
    topic = peer.topic("large")
    body = "0123456789abcdef" * 20_000
    with peer.producer() as producer, peer.push(peer.name("large_readers"), {topic: "*"}) as consumer:
        producer.send([message(topic, body)])
        [one] = consumer.collect(1)
    assert one.body == body
    assert one.sys_flag & 0x301, "compressed, or compressed by a named method"
    assert one.store_size < len(body) // 4


def test_body_of_one_megabyte_that_does_not_compress(peer: Peer) -> None:
    """Large frames pass in both directions."""
    topic = peer.topic("megabyte")
    body = "".join(f"{i * 2654435761 % 4294967296:08x}" for i in range(131_072))
    with peer.producer(compressOver=8_000_000) as producer:
        [result] = producer.send([message(topic, body)])
        with peer.pull(peer.name("megabyte_readers")) as consumer:
            pulled = consumer.pull(result.queue, result.queue_offset)
    assert [one.body for one in pulled.messages] == [body]


def test_topic_is_created_by_the_first_send(peer: Peer) -> None:
    """An unknown topic takes its settings from the template topic, with the producer's number of queues."""
    topic = peer.name("made_by_send")
    with peer.producer() as producer:
        [result] = producer.send([message(topic, "first")])
        assert result.status == "SEND_OK"
        wait_until(lambda: _queue_count(producer, topic) == 4, 40, "the topic has a route", 0.5)


def _queue_count(producer: Producer, topic: str) -> int:
    try:
        return len(producer.queues(topic))
    except ClientError:
        return 0


def test_properties_that_do_not_fit_are_refused(peer: Peer) -> None:
    """More than 32767 bytes of properties: MESSAGE_ILLEGAL."""
    topic = peer.topic("properties")
    with peer.producer(retries=0) as producer, pytest.raises(ClientError) as failure:
        producer.send([message(topic, "x", properties={"wide": "长" * 32_768})])
    assert (failure.value.type, failure.value.code) == ("MQBrokerException", 13)


def test_delayed_message_arrives_after_its_level(peer: Peer) -> None:
    """Level 2 is five seconds; the message keeps its own topic and is not delivered before."""
    topic = peer.topic("delay")
    with peer.producer() as producer, peer.push(peer.name("delay_readers"), {topic: "*"}) as consumer:
        [result] = producer.send([message(topic, "late", delayLevel=2, keys="k")])
        [one] = consumer.collect(1)
    assert result.status == "SEND_OK"
    assert (one.topic, one.body, one.keys, one.unique_key) == (topic, "late", "k", result.msg_id)
    assert one.received_at - one.born_timestamp >= 4900
    # The time of delivery in the server; the client's heartbeat adds to the time of reception.
    assert 4900 <= one.store_timestamp - one.born_timestamp <= 12_000
    assert one.properties["REAL_TOPIC"] == topic
