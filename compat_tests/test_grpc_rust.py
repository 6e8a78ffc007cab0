"""The official gRPC client in Rust, which has producers and simple consumers only.

Its build takes minutes, and needs a Cargo newer than Debian 12's.
"""

from __future__ import annotations

import hashlib
import time

import pytest

from compat_tests.support.grpc.clients import COMMIT, ROLLBACK, UNDECIDED, Peer
from compat_tests.support.grpc.doors import door
from compat_tests.support.grpc.rust import rust_at
from compat_tests.support.peers import Peers

pytestmark = [pytest.mark.overlap, pytest.mark.long]


def client(kind: str, peers: Peers) -> Peer:
    """Return the client at the gRPC listener of a kind."""
    return rust_at(door(kind, peers), peers)


def test_all_message_fields_arrive(kind: str, peers: Peers) -> None:
    """All fields that a user sets arrive, and messages with other tags do not."""
    peer = client(kind, peers)
    topic, group = peer.topic("grpc_normal"), peer.group("grpc_readers")
    whole = {"topic": topic, "body": "whole", "tag": "A", "keys": ["k1", "k2"], "properties": {"p": "v"}}
    with peer.producer(topic) as producer:
        began = int(time.time()) * 1000
        [sent] = producer.send(whole)
        others = producer.send(*({"topic": topic, "body": tag, "tag": tag} for tag in "BC"))
        with peer.simple(group, {topic: "A || B"}) as consumer:
            received = {one.body: one for one in consumer.collect(2)}
            assert consumer.receive() == []
    assert received.keys() == {"whole", "B"}
    one = received["whole"]
    assert (one.message_id, one.topic, one.tag) == (sent.message_id, topic, "A")
    assert (one.keys, one.attempt, one.properties["p"]) == (["k1", "k2"], 1, "v")
    assert (one.group, one.delivery_timestamp) == (None, None)
    assert began <= one.born_timestamp <= one.received_at
    assert received["B"].message_id == others[0].message_id


def test_messages_of_a_group_in_order(kind: str, peers: Peers) -> None:
    """A simple consumer of an ordered group gets no further message until it acknowledges the current one."""
    peer = client(kind, peers)
    topic = peer.topic("grpc_fifo", "FIFO", queues=1)
    group = peer.group("grpc_ordered", orderly=True)
    with peer.producer(topic) as producer, peer.simple(group, {topic: "*"}) as consumer:
        producer.send(*({"topic": topic, "body": f"{i}", "group": "g"} for i in range(4)))
        [first] = consumer.receive(most=1)
        assert consumer.receive() == []
        consumer.ack(first)
        received = [first, *consumer.collect(3)]
    assert [(one.body, one.group) for one in received] == [(f"{i}", "g") for i in range(4)]


def test_delayed(kind: str, peers: Peers) -> None:
    """A delayed message arrives when it is due."""
    peer = client(kind, peers)
    topic, group = peer.topic("grpc_delayed", "DELAY"), peer.group("grpc_readers")
    with peer.producer(topic) as producer, peer.simple(group, {topic: "*"}) as consumer:
        began = int(time.time() * 1000)
        [late] = producer.send({"topic": topic, "body": "late", "delay": 4000})
        [received] = consumer.collect(1)
    assert received.message_id == late.message_id
    assert received.received_at - began >= 2500


def test_transactions(kind: str, peers: Peers) -> None:
    """Committed ones arrive, rolled back ones do not; the producer is asked to check undecided ones."""
    peer = client(kind, peers)
    topic, group = peer.topic("grpc_transactions", "TRANSACTION"), peer.group("grpc_readers")
    with peer.producer(topic) as producer, peer.simple(group, {topic: "*"}) as consumer:
        producer.decide(["late yes"], COMMIT)
        producer.decide(["late no"], ROLLBACK)
        producer.begin({"topic": topic, "body": "yes", "tag": "T"}, COMMIT)
        producer.begin({"topic": topic, "body": "no"}, ROLLBACK)
        sent = [producer.begin({"topic": topic, "body": body}, UNDECIDED) for body in ("late yes", "late no")]
        questions = producer.questions(2)
        received = {one.body: one for one in consumer.collect(2)}
        assert consumer.receive() == []
    assert received.keys() == {"yes", "late yes"}
    assert received["yes"].tag == "T"
    assert {one.message_id for one in questions} == {one.message_id for one in sent}


def test_invisible_time(kind: str, peers: Peers) -> None:
    """A received message is invisible for its time, and is redelivered if it was not acknowledged."""
    peer = client(kind, peers)
    topic, group = peer.topic("grpc_hidden", queues=1), peer.group("grpc_readers")
    with peer.producer(topic) as producer, peer.simple(group, {topic: "*"}) as consumer:
        sent = producer.send({"topic": topic, "body": "kept"}, {"topic": topic, "body": "forgotten"})
        first = consumer.collect(2, invisible=12_000, ack=False)
        began = time.time()
        consumer.ack(*(one for one in first if one.body == "kept"))
        [again] = consumer.collect(1)
        assert time.time() - began >= 9
        assert consumer.receive() == []
    assert {one.message_id for one in first} == {one.message_id for one in sent}
    assert (again.message_id, again.body, again.attempt) == (sent[1].message_id, "forgotten", 2)


def test_the_largest_body(kind: str, peers: Peers) -> None:
    """The body is the most that the client receives; no TLS, as it rejects self-signed certificates."""
    peer = client(kind, peers)
    topic, group = peer.topic("grpc_large"), peer.group("grpc_readers")
    size = (4 << 20) - 1024
    body = (bytes(range(251)) * (size // 251 + 1))[:size]
    with peer.producer(topic) as producer, peer.simple(group, {topic: "*"}) as consumer:
        producer.send({"topic": topic, "size": size})
        [received] = consumer.collect(1)
    assert (received.size, received.md5) == (size, hashlib.md5(body).hexdigest())
