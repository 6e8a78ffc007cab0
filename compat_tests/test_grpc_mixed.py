"""Clients of both doors at one server: what one kind sends the other receives, and they share a group."""

from __future__ import annotations

import json
import time

import pytest

from compat_tests.support.artifacts import CURRENT
from compat_tests.support.driver import message
from compat_tests.support.grpc.clients import COMMIT, WITH_GO, peer_at
from compat_tests.support.grpc.doors import GrpcServer, door
from compat_tests.support.peers import Peers
from compat_tests.support.processes import wait_until
from compat_tests.support.raw import RawConnection
from mqgateway.gateway.codec.codes import RequestCode, ResponseCode

pytestmark = pytest.mark.overlap

COMPRESS_OVER = 100
READ_BOTH, SHARED, PAUSE = 40, 40, 0.05


@pytest.mark.parametrize("language", WITH_GO)
def test_sent_by_grpc_read_by_remoting(kind: str, language: str, peers: Peers) -> None:
    """A push consumer of the other door is given every property, of normal messages and of transactions."""
    server = door(kind, peers)
    peer, other = peer_at(server, language, peers), peers.with_server(server, CURRENT)
    normal, half = peer.topic("grpc_to_remoting"), peer.topic("grpc_halves_to_remoting", "TRANSACTION")
    whole = {"topic": normal, "body": "whole", "tag": "A", "keys": ["k"], "properties": {"p": "v"}}
    with (
        other.push(peer.name("remoting_readers"), {normal: "A", half: "*"}) as consumer,
        peer.producer(normal, half) as producer,
    ):
        sent, _ = producer.send(whole, {"topic": normal, "body": "unwanted", "tag": "B"})
        ended = producer.begin({"topic": half, "body": "committed"}, COMMIT)
        received = {one.body: one for one in consumer.collect(2)}
    assert received.keys() == {"whole", "committed"}
    one = received["whole"]
    assert (one.unique_key, one.tags, one.keys, one.properties["p"]) == (sent.message_id, "A", "k", "v")
    assert received["committed"].unique_key == ended.message_id


@pytest.mark.parametrize("language", WITH_GO)
def test_sent_by_remoting_read_by_grpc(kind: str, language: str, peers: Peers) -> None:
    """A simple consumer is given every property, and bodies as they were before they were compressed.

    Apache's proxy leaves bodies as they are, of which only Java's client makes something.
    """
    server = door(kind, peers)
    peer, other = peer_at(server, language, peers), peers.with_server(server, CURRENT)
    topic, group = peer.topic("remoting_to_grpc"), peer.group("grpc_readers")
    can_inflate = kind == "ours" or language == "java"
    large = "large " * COMPRESS_OVER if can_inflate else "large"
    with (
        other.producer(compressOver=COMPRESS_OVER) as producer,
        peer.simple(group, {topic: "A || B"}) as consumer,
    ):
        whole = message(topic, "whole", tags="A", keys="k1 k2", properties={"p": "v"})
        first, second, _ = producer.send([whole, message(topic, large, tags="B"), message(topic, "unwanted")])
        received = {one.body: one for one in consumer.collect(2)}
    assert received.keys() == {"whole", large}
    one = received["whole"]
    assert (one.message_id, one.tag, one.keys, one.properties["p"]) == (first.msg_id, "A", ["k1", "k2"], "v")
    assert received[large].message_id == second.msg_id
    assert (one.attempt, one.born_host.partition(":")[0]) == (1, "127.0.0.1")


def test_one_group_over_both_doors(kind: str, peers: Peers) -> None:
    """Consumers of both doors that pop share what is sent; each message is given to one of them."""
    server = door(kind, peers)
    peer, other = peer_at(server, "java", peers), peers.with_server(server, CURRENT)
    topic, group = peer.topic("grpc_shared"), peer.group("grpc_sharers")
    let_pop(server, topic, group)
    with (
        other.push(group, {topic: "*"}, clientRebalance=False) as popping,
        peer.push(group, {topic: "*"}) as pushed,
        peer.producer(topic) as producer,
    ):
        expected: list[str] = []
        end = time.monotonic() + READ_BOTH
        while time.monotonic() < end and (
            len(expected) < SHARED or not popping.collect(0) or not pushed.collect(0)
        ):
            expected.append(f"{len(expected):04}")
            producer.send({"topic": topic, "body": expected[-1]})
            time.sleep(PAUSE)

        def received() -> list[str]:
            theirs = [one.body for one in popping.collect(0)]
            return theirs + [one.body for one in pushed.collect(0)]

        wait_until(lambda: len(received()) >= len(expected), READ_BOTH, "all are received")
        theirs, ours = popping.collect(0), pushed.collect(0)
    assert sorted([one.body for one in theirs] + [one.body for one in ours]) == expected
    assert theirs
    assert ours


def let_pop(server: GrpcServer, topic: str, group: str) -> None:
    """Let the group's consumers of the remoting door pop."""
    body = {"topic": topic, "consumerGroup": group, "mode": "POP", "popShareQueueNum": 0}
    with RawConnection(server.broker_address) as connection:
        answer = connection.ask(RequestCode.SET_MESSAGE_REQUEST_MODE, {}, json.dumps(body).encode())
    assert answer is not None
    assert answer.code == ResponseCode.SUCCESS, answer.remark
