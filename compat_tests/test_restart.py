"""A server that stops cleanly and restarts: no message is lost or duplicated."""

from __future__ import annotations

import pytest

from compat_tests.support.artifacts import CLIENT_VERSIONS
from compat_tests.support.driver import message
from compat_tests.support.peers import Peers

pytestmark = pytest.mark.overlap


def test_offsets_messages_and_clients_survive_a_restart(kind: str, peers: Peers) -> None:
    """Groups resume from their offsets, a producer survives the restart, and offsets are continuous."""
    with peers.fresh(kind) as server:
        each = [peers.with_server(server, version) for version in CLIENT_VERSIONS]
        names = [(peer.topic("restart"), peer.name("restart_readers")) for peer in each]
        producers = [peer.producer() for peer in each]
        for peer, producer, (topic, group) in zip(each, producers, names, strict=True):
            producer.send([message(topic, f"old-{i}", keys=f"k{i}") for i in range(8)])
            with peer.push(group, {topic: "*"}) as consumer:
                assert len(consumer.collect(8)) == 8
            producer.send([message(topic, f"between-{i}") for i in range(8)])
        server.restart()
        for peer, producer, (topic, group) in zip(each, producers, names, strict=True):
            results = producer.send([message(topic, f"new-{i}") for i in range(8)])
            assert sum(result.queue_offset for result in results) == sum(range(4, 6)) * 4
            with peer.push(group, {topic: "*"}) as consumer:
                bodies = sorted(one.body for one in consumer.collect(16))
            assert bodies == sorted(f"{when}-{i}" for when in ("between", "new") for i in range(8))
            producer.close()
        for peer in each:
            peer.close()
