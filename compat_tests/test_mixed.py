"""Clusters put together from both: a broker of each kind under either name server."""

from __future__ import annotations

import pytest

from compat_tests.support.artifacts import CLIENT_VERSIONS
from compat_tests.support.driver import message
from compat_tests.support.peers import KINDS, Peer, Peers
from compat_tests.support.servers import MixedCluster

pytestmark = [pytest.mark.overlap, pytest.mark.both_servers]


@pytest.mark.parametrize("namesrv", KINDS)
def test_one_client_over_brokers_of_both_kinds(namesrv: str, peers: Peers) -> None:
    """Topics are made on both brokers, sends alternate, consumers read and resume from both."""
    with MixedCluster(namesrv, peers.work) as cluster:
        for version in CLIENT_VERSIONS:
            peer = peers.with_server(cluster, version)
            send_and_read(peer, set(cluster.broker_names.values()))
            peer.close()


def send_and_read(peer: Peer, brokers: set[str]) -> None:
    """One producer and one group over all brokers."""
    topic, group = peer.topic("mixed", 4, brokers=2), peer.name("mixed_readers")
    with peer.producer() as producer:
        results = producer.send([message(topic, f"old-{i}", keys=f"k{i}") for i in range(16)])
        assert {result.queue.broker_name for result in results} == brokers
        with peer.push(group, {topic: "*"}) as consumer:
            received = consumer.collect(16)
        assert {one.broker_name for one in received} == brokers
        assert sorted(one.body for one in received) == sorted(f"old-{i}" for i in range(16))
        for result in results:
            seen = producer.view(topic, result.offset_msg_id)
            assert seen is not None
            assert seen.unique_key == result.msg_id
        producer.send([message(topic, f"new-{i}") for i in range(16)])
        with peer.push(group, {topic: "*"}) as consumer:
            late = consumer.collect(16)
        assert sorted(one.body for one in late) == sorted(f"new-{i}" for i in range(16))
