"""A server killed while it is written to: what it acknowledged is there when it comes back."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from compat_tests.support.artifacts import CLIENT_VERSIONS
from compat_tests.support.peers import Peer, Peers
from compat_tests.support.processes import wait_until

pytestmark = pytest.mark.overlap

ENOUGH = 300
"""Acknowledged sends of each client before the kill."""


def test_acknowledged_messages_survive_kill_9(kind: str, peers: Peers) -> None:
    """With SYNC_FLUSH an acknowledgement is a promise, also when the process dies at once."""
    with peers.fresh(kind, {"flushDiskType": "SYNC_FLUSH"}) as server:
        each = [peers.with_server(server, version) for version in CLIENT_VERSIONS]
        topics = [peer.topic("storm") for peer in each]
        producers = [peer.producer(retries=0) for peer in each]
        storms = [
            producer.begin_storm(topic, 4, 60_000) for producer, topic in zip(producers, topics, strict=True)
        ]
        wait_until(
            lambda: all(producer.storm_count() >= ENOUGH for producer in producers), 60, "a storm", 0.05
        )
        server.kill9()
        acknowledged = [storm.result(60) for storm in storms]
        assert all(len(bodies) >= ENOUGH for bodies in acknowledged)
        server.restart()
        with ThreadPoolExecutor(2) as threads:
            read = list(threads.map(read_all, each, topics))
        for expected, found in zip(acknowledged, read, strict=True):
            assert set(expected) <= set(found)
            assert len(found) == len(set(found))
            assert len(found) - len(expected) <= 4, "at most one send of each thread was not answered"
        for producer in producers:
            producer.close()
        for peer in each:
            peer.close()


def read_all(peer: Peer, topic: str) -> list[str]:
    """Everything a topic holds, read queue by queue with no gaps in the offsets."""
    bodies: list[str] = []
    with peer.pull(peer.name("storm_reader")) as consumer:
        for queue in consumer.queues(topic):
            offset, end = 0, consumer.max_offset(queue)
            while offset < end:
                pulled = consumer.pull(queue, offset)
                assert [one.queue_offset for one in pulled.messages] == list(
                    range(offset, pulled.next_offset)
                )
                bodies += [one.body for one in pulled.messages]
                offset = pulled.next_offset
    return bodies
