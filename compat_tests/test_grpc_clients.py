"""The official gRPC clients in Java, Python, Node and Go: send, receive and server requests."""

from __future__ import annotations

import hashlib
import time

import pytest

from compat_tests.support.grpc.clients import (
    COMMIT,
    GO_WITH_TLS,
    ROLLBACK,
    UNDECIDED,
    WITH_GO,
    Peer,
    Received,
    peer_at,
)
from compat_tests.support.grpc.doors import door
from compat_tests.support.peers import Peers
from compat_tests.support.processes import wait_until

pytestmark = [pytest.mark.overlap, pytest.mark.parametrize("language", WITH_GO)]

SETTLE_SECONDS = 1.0
"""Time within which an unexpected message would arrive."""


def client(kind: str, language: str, peers: Peers) -> Peer:
    """Return the client of a language at the gRPC listener of a kind."""
    return peer_at(door(kind, peers), language, peers)


def bodies(received: list[Received]) -> list[str]:
    """Return the bodies, sorted."""
    return sorted(one.body for one in received)


def test_all_message_fields_arrive(kind: str, language: str, peers: Peers) -> None:
    """All fields that a user sets arrive, and messages with other tags do not."""
    peer = client(kind, language, peers)
    topic, group = peer.topic("grpc_normal"), peer.group("grpc_readers")
    whole = {"topic": topic, "body": "whole", "tag": "A", "keys": ["k1", "k2"], "properties": {"p": "v"}}
    with peer.producer(topic) as producer:
        began = int(time.time() * 1000)
        [sent] = producer.send(whole)
        others = producer.send(*({"topic": topic, "body": tag, "tag": tag} for tag in "BC"))
        with peer.simple(group, {topic: "A || B"}) as consumer:
            received = {one.body: one for one in consumer.collect(2)}
            assert consumer.receive() == []
    assert received.keys() == {"whole", "B"}
    one = received["whole"]
    assert (one.message_id, one.topic, one.tag) == (sent.message_id, topic, "A")
    assert (one.keys, one.attempt, one.properties["p"]) == (["k1", "k2"], 1, "v")
    assert (one.group, one.lite, one.delivery_timestamp) == (None, None, None)
    assert began - 1000 <= one.born_timestamp <= one.received_at + 1000
    assert len({sent.message_id, *(other.message_id for other in others)}) == 3
    assert received["B"].message_id == others[0].message_id
    assert {len(each.message_id) for each in received.values()} == {34}


def test_messages_of_a_group_in_order(kind: str, language: str, peers: Peers) -> None:
    """A push consumer gets each message group in order, even if it refuses each message once.

    The client for Node gives up at the first refusal, and Go's continues with the next message.
    """
    turns = 1 if language in ("node", "go") else 2
    peer = client(kind, language, peers)
    topic = peer.topic("grpc_fifo", "FIFO")
    group = peer.group("grpc_ordered", orderly=True)
    with (
        peer.producer(topic) as producer,
        peer.push(group, {topic: "*"}, failFirst=turns - 1) as consumer,
    ):
        for number in range(2):
            producer.send(*({"topic": topic, "body": f"{g}{number}", "group": g} for g in "ab"))
        received = consumer.collect(4 * turns)
    each = [(number, turn) for number in range(2) for turn in range(1, turns + 1)]
    for name in "ab":
        deliveries = [(one.body, one.delivery) for one in received if one.group == name]
        assert deliveries == [(f"{name}{number}", turn) for number, turn in each]


def test_delayed_and_recalled(kind: str, language: str, peers: Peers) -> None:
    """A delayed message arrives when it is due, a recalled one never."""
    peer = client(kind, language, peers)
    topic, group = peer.topic("grpc_delayed", "DELAY"), peer.group("grpc_readers")
    with (
        peer.producer(topic) as producer,
        peer.push(group, {topic: "*"}) as consumer,
    ):
        began = int(time.time() * 1000)
        [late] = producer.send({"topic": topic, "body": "late", "delay": 3000})
        [never] = producer.send({"topic": topic, "body": "never", "delay": 5000})
        assert late.recall_handle
        assert never.recall_handle
        assert producer.recall(topic, never.recall_handle) == never.message_id
        [received] = consumer.collect(1)
        time.sleep(max(0.0, (began + 5000) / 1000 + 2 * SETTLE_SECONDS - time.time()))
        assert bodies(consumer.collect(0)) == ["late"]
    assert received.message_id == late.message_id
    assert received.received_at - began >= 2000


def test_transactions(kind: str, language: str, peers: Peers) -> None:
    """Committed ones arrive, rolled back ones do not; the producer is asked to check undecided ones."""
    peer = client(kind, language, peers)
    topic, group = peer.topic("grpc_transactions", "TRANSACTION"), peer.group("grpc_readers")
    with (
        peer.producer(topic) as producer,
        peer.push(group, {topic: "*"}) as consumer,
    ):
        producer.decide(["late yes"], COMMIT)
        producer.decide(["late no"], ROLLBACK)
        producer.begin({"topic": topic, "body": "yes", "tag": "T"}, COMMIT)
        producer.begin({"topic": topic, "body": "no"}, ROLLBACK)
        sent = [producer.begin({"topic": topic, "body": body}, UNDECIDED) for body in ("late yes", "late no")]
        questions = producer.questions(2)
        received = {one.body: one for one in consumer.collect(2)}
        time.sleep(SETTLE_SECONDS)
        assert len(consumer.collect(0)) == 2
    assert received.keys() == {"yes", "late yes"}
    assert received["yes"].tag == "T"
    assert {one.message_id for one in questions} == {one.message_id for one in sent}


def test_dead_letters(kind: str, language: str, peers: Peers) -> None:
    """A refused message is redelivered up to the group's retry limit, and is a dead letter then."""
    peer = client(kind, language, peers)
    topic, group = peer.topic("grpc_refused"), peer.group("grpc_refusers", most_retries=1)
    with (
        peer.producer(topic) as producer,
        peer.push(group, {topic: "*"}, refuse=["bad"]) as consumer,
    ):
        producer.send({"topic": topic, "body": "bad"}, {"topic": topic, "body": "good"})
        received = consumer.collect(3)
        wait_until(lambda: peer.server.message_count(f"%DLQ%{group}") == 1, 60, "a dead letter", 0.5)
        assert bodies(consumer.collect(0)) == ["bad", "bad", "good"]
    assert [one.attempt for one in received if one.body == "bad"] == [1, 2]


def test_dead_letters_in_order(kind: str, language: str, peers: Peers) -> None:
    """The client moves a message that fails in order to the DLQ, and the next one follows.

    The client for Go does not hold back the next one until then.
    """
    wanted = {"node": ["bad", "good"], "go": ["bad", "good", "bad"]}.get(language, ["bad", "bad", "good"])
    peer = client(kind, language, peers)
    topic = peer.topic("grpc_fifo_refused", "FIFO")
    group = peer.group("grpc_strict", orderly=True, most_retries=1)
    with (
        peer.producer(topic) as producer,
        peer.push(group, {topic: "*"}, refuse=["bad"]) as consumer,
    ):
        producer.send(*({"topic": topic, "body": body, "group": "g"} for body in ("bad", "good")))
        received = consumer.collect(len(wanted))
        wait_until(lambda: peer.server.message_count(f"%DLQ%{group}") == 1, 60, "a dead letter", 0.5)
    assert [one.body for one in received] == wanted


def test_invisible_time(kind: str, language: str, peers: Peers) -> None:
    """A received message is invisible to others for the time that was set last."""
    peer = client(kind, language, peers)
    topic, group = peer.topic("grpc_hidden", queues=1), peer.group("grpc_readers")
    with (
        peer.producer(topic) as producer,
        peer.simple(group, {topic: "*"}) as consumer,
    ):
        [sent] = producer.send({"topic": topic, "body": "hidden"})
        [first] = consumer.collect(1, invisible=60_000, ack=False)
        consumer.change(first, 2_000)
        changed = time.time()
        [second] = consumer.collect(1, ack=False)
        assert time.time() - changed >= 1
        consumer.ack(second)
        assert consumer.receive() == []
    assert [one.message_id for one in (first, second)] == [sent.message_id] * 2
    assert (first.attempt, second.attempt) == (1, 2)


def test_lite_topics(kind: str, language: str, peers: Peers) -> None:
    """A consumer gets the messages of the lite topics that it reads, and no others."""
    peer = client(kind, language, peers)
    topic = peer.topic("grpc_rooms", "LITE")
    group = peer.group("grpc_guests", lite_topic=topic)
    with (
        peer.producer(topic) as producer,
        peer.lite(group, topic) as consumer,
    ):
        consumer.subscribe("red")
        consumer.subscribe("blue")
        names = ("red", "green", "blue")
        sent = producer.send(*({"topic": topic, "body": name, "lite": name} for name in names))
        received = consumer.collect(2)
        time.sleep(SETTLE_SECONDS)
        assert bodies(consumer.collect(0)) == ["blue", "red"]
    assert {(one.lite, one.topic) for one in received} == {("red", topic), ("blue", topic)}
    assert {one.message_id for one in received} == {sent[0].message_id, sent[2].message_id}


def test_priorities(kind: str, language: str, peers: Peers) -> None:
    """More urgent messages are received first, though sent last. Go's client does not report priorities."""
    peer = client(kind, language, peers)
    topic, group = peer.topic("grpc_urgent", "PRIORITY"), peer.group("grpc_readers")
    with peer.producer(topic) as producer:
        producer.send(*({"topic": topic, "body": f"p{number}", "priority": number} for number in (1, 2, 3)))
        time.sleep(SETTLE_SECONDS)
        with peer.simple(group, {topic: "*"}) as consumer:
            received = consumer.collect(3)
    assert [one.body for one in received] == ["p3", "p2", "p1"]
    assert [one.priority for one in received] == [None if language == "go" else n for n in (3, 2, 1)]


@pytest.mark.parametrize("tls", [True, False], ids=["tls", "plain"])
def test_the_largest_body(kind: str, language: str, peers: Peers, tls: bool) -> None:
    """4 MiB are sent and received, with and without TLS on one port; for Node the most its client takes."""
    peer = client(kind, GO_WITH_TLS if tls and language == "go" else language, peers)
    topic, group = peer.topic("grpc_large"), peer.group("grpc_readers")
    size = (4 << 20) - (1024 if language == "node" else 0)
    body = (bytes(range(251)) * (size // 251 + 1))[:size]
    with (
        peer.producer(topic, tls=tls) as producer,
        peer.simple(group, {topic: "*"}, tls=tls) as consumer,
    ):
        producer.send({"topic": topic, "size": size})
        [received] = consumer.collect(1)
    assert (received.size, received.md5) == (size, hashlib.md5(body).hexdigest())
