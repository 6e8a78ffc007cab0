"""A broker killed while gRPC clients work: what it acknowledged is there, and the clients go on."""

from __future__ import annotations

from functools import partial

import pytest

from compat_tests.support.grpc.clients import LANGUAGES, PushConsumer, peer_at
from compat_tests.support.grpc.doors import GrpcServer
from compat_tests.support.peers import Peers
from compat_tests.support.processes import wait_until

pytestmark = pytest.mark.overlap

ENOUGH = 50
"""Acknowledged sends of each client before the kill, and again after it."""


def test_grpc_clients_outlive_a_killed_broker(kind: str, peers: Peers) -> None:
    """With SYNC_FLUSH an acknowledgement is a promise; nobody has to start a client anew."""
    with GrpcServer(kind, peers.work, {"flushDiskType": "SYNC_FLUSH"}) as server:
        each = [peer_at(server, language, peers) for language in LANGUAGES]
        topics = [peer.topic("grpc_storm") for peer in each]
        groups = [peer.group("grpc_storm_readers") for peer in each]
        producers = [peer.producer(topic) for peer, topic in zip(each, topics, strict=True)]
        consumers = [
            peer.push(group, {topic: "*"}) for peer, group, topic in zip(each, groups, topics, strict=True)
        ]
        storms = [producer.begin_storm(topic, 2) for producer, topic in zip(producers, topics, strict=True)]

        def all_sent(counts: list[int]) -> bool:
            return all(one.storm_count() >= count for one, count in zip(producers, counts, strict=True))

        wait_until(lambda: all_sent([ENOUGH] * len(producers)), 60, "a storm")
        server.kill9()
        server.revive()
        goals = [producer.storm_count() + ENOUGH for producer in producers]
        wait_until(lambda: all_sent(goals), 90, "clients go on")
        for producer in producers:
            producer.calm()
        for storm, consumer in zip(storms, consumers, strict=True):
            wait_until(partial(has_all, consumer, set(storm.result(60))), 90, "all acknowledged", 0.5)
        for client in (*producers, *consumers):
            client.close()


def has_all(consumer: PushConsumer, wanted: set[str]) -> bool:
    """Whether a consumer has been given all of these."""
    return wanted <= {one.body for one in consumer.collect(0)}
