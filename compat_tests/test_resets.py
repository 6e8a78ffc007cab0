"""Consumer offsets reset by mqadmin, and queries of the state of consumers."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from compat_tests.support.artifacts import CLIENT_VERSIONS
from compat_tests.support.driver import Received, message
from compat_tests.support.mqadmin import Mqadmin
from compat_tests.support.peers import Peer, Peers
from compat_tests.support.processes import wait_until
from compat_tests.support.raw import RawConnection
from compat_tests.support.servers import Server
from mqgateway.gateway.codec.bodies import GetConsumerStatusBody
from mqgateway.gateway.codec.codes import RequestCode

pytestmark = pytest.mark.overlap

VERSIONS = pytest.mark.parametrize("version", CLIENT_VERSIONS)
COUNT = 12
RESET_SECONDS = 60
"""A consumer notices with its next pull, and starts again with its next rebalance."""


class Tool:
    """The official tool, and a server it is used on."""

    def __init__(self, mqadmin: Mqadmin, server: Server) -> None:
        self._mqadmin = mqadmin
        self.server = server

    def run(self, *command: str) -> str:
        """Run a command, which must not fail; return its output."""
        output = self._mqadmin.run(*command, "-n", self.server.namesrv_address)
        assert output.exit == 0 and "Caused by" not in output.err, output
        return output.out

    def wait_until_committed(self, group: str, topic: str) -> None:
        """Wait for the group's offsets, which reach the broker every few seconds."""
        command = ("consumerProgress", "-g", group, "-t", topic, "-n", self.server.namesrv_address)
        wait_until(
            lambda: "Consume Diff Total: 0" in self._mqadmin.run(*command).out, 60, "committed offsets", 1
        )


@contextmanager
def tool(peers: Peers, server: Server) -> Iterator[Tool]:
    """Run a tool of its own, as scenarios run concurrently."""
    mqadmin = Mqadmin(peers.runtime)
    try:
        yield Tool(mqadmin, server)
    finally:
        mqadmin.close()


def send(peer: Peer, topic: str, start: int = 0) -> None:
    """Send `COUNT` messages, spread over the queues."""
    with peer.producer() as producer:
        producer.send([message(topic, f"{i}", keys="k") for i in range(start, start + COUNT)])


def numbers(received: list[Received]) -> list[int]:
    return sorted(int(one.body) for one in received)


@VERSIONS
def test_a_group_is_sent_back_while_it_consumes(kind: str, version: str, peers: Peers) -> None:
    """resetOffsetByTime: messages stored since then are redelivered, once."""
    peer, server = peers.peer(kind, version), peers.server(kind)
    topic, group = peer.topic("back"), peer.name("back_readers")
    with tool(peers, server) as admin:
        send(peer, topic)
        with peer.push(group, {topic: "*"}) as consumer:
            assert numbers(consumer.collect(COUNT)) == list(range(COUNT))
            admin.wait_until_committed(group, topic)
            out = admin.run("resetOffsetByTime", "-g", group, "-t", topic, "-s", "1")
            assert out.count("broker-a") == 4, out
            again = consumer.collect(2 * COUNT, RESET_SECONDS)
            assert numbers(again) == sorted([*range(COUNT)] * 2)
            send(peer, topic, COUNT)
            assert len(consumer.collect(3 * COUNT)) == 3 * COUNT


@VERSIONS
def test_a_group_is_sent_back_by_its_clients(kind: str, version: str, peers: Peers) -> None:
    """With useServerSideResetOffset=false the broker notifies the connected consumers."""
    server = peers.tuned(kind)
    peer = peers.with_server(server, version)
    topic, group = peer.topic("told"), peer.name("told_readers")
    with tool(peers, server) as admin:
        send(peer, topic)
        with peer.push(group, {topic: "*"}) as consumer:
            assert len(consumer.collect(COUNT)) == COUNT
            admin.wait_until_committed(group, topic)
            admin.run("resetOffsetByTime", "-g", group, "-t", topic, "-s", "1")
            assert numbers(consumer.collect(2 * COUNT, RESET_SECONDS)) == sorted([*range(COUNT)] * 2)


@VERSIONS
def test_accumulated_messages_are_skipped(kind: str, version: str, peers: Peers) -> None:
    """skipAccumulatedMessage: a group that reconnects resumes with the new messages."""
    peer, server = peers.peer(kind, version), peers.server(kind)
    topic, group = peer.topic("piled"), peer.name("piled_readers")
    with tool(peers, server) as admin:
        with peer.push(group, {topic: "*"}) as consumer:
            send(peer, topic)
            assert len(consumer.collect(COUNT)) == COUNT
            admin.wait_until_committed(group, topic)
        send(peer, topic, COUNT)
        out = admin.run("skipAccumulatedMessage", "-g", group, "-t", topic)
        assert out.count("broker-a") == 4, out
        with peer.push(group, {topic: "*"}) as consumer:
            wait_until(lambda: len(consumer.assigned(topic)) == 4, 60, "all queues")
            time.sleep(2)
            send(peer, topic, 2 * COUNT)
            assert numbers(consumer.collect(COUNT, RESET_SECONDS)) == list(range(2 * COUNT, 3 * COUNT))


@VERSIONS
def test_offsets_of_a_group_are_cloned(kind: str, version: str, peers: Peers) -> None:
    """cloneGroupOffset."""
    peer, server = peers.peer(kind, version), peers.server(kind)
    topic, group, other = peer.topic("cloned"), peer.name("source_readers"), peer.name("cloned_readers")
    with tool(peers, server) as admin:
        send(peer, topic)
        with peer.push(group, {topic: "*"}) as consumer:
            assert len(consumer.collect(COUNT)) == COUNT
            admin.wait_until_committed(group, topic)
        # Apache's tool queries the new group before it clones.
        admin.run("updateSubGroup", "-b", server.broker_address, "-g", other)
        with peer.push(other, {peer.topic("elsewhere"): "*"}):
            pass
        admin.run("cloneGroupOffset", "-s", group, "-d", other, "-t", topic, "-o", "true")
        send(peer, topic, COUNT)
        with peer.push(other, {topic: "*"}) as consumer:
            assert numbers(consumer.collect(COUNT)) == list(range(COUNT, 2 * COUNT))


@VERSIONS
def test_consumer_status_is_reported(kind: str, version: str, peers: Peers) -> None:
    """consumerStatus with stacks, and the offsets that each consumer sees."""
    peer, server = peers.peer(kind, version), peers.server(kind)
    topic, group = peer.topic("asked"), peer.name("asked_readers")
    with tool(peers, server) as admin:
        send(peer, topic)
        with peer.push(group, {topic: "*"}) as consumer:
            assert len(consumer.collect(COUNT)) == COUNT
            out = admin.run("consumerStatus", "-g", group, "-i", consumer.client_id, "-s")
            assert "PROP_CONSUME_TYPE" in out and topic in out and "java.base" in out, out
            assert sum(consumer_offsets(server, group, topic, consumer.client_id)) == COUNT


def consumer_offsets(server: Server, group: str, topic: str, client_id: str) -> list[int]:
    """Return the offset of each queue as a consumer reports it to the broker."""
    with RawConnection(server.broker_address) as connection:
        code = RequestCode.INVOKE_BROKER_TO_GET_CONSUMER_STATUS
        answer = connection.ask(code, {"topic": topic, "group": group})
    assert answer is not None and answer.code == 0, answer
    return list(GetConsumerStatusBody.decode(answer.body).consumer_table[client_id].values())


@VERSIONS
def test_a_message_is_consumed_directly(kind: str, version: str, peers: Peers) -> None:
    """queryMsgById with a client: the consumer gets the message once more and reports the result."""
    peer, server = peers.peer(kind, version), peers.server(kind)
    topic, group = peer.topic("direct"), peer.name("direct_readers")
    with (
        tool(peers, server) as admin,
        peer.producer() as producer,
        peer.push(group, {topic: "*"}) as consumer,
    ):
        [sent] = producer.send([message(topic, "7")])
        assert len(consumer.collect(1)) == 1
        out = admin.run(
            *("queryMsgById", "-t", topic, "-i", sent.offset_msg_id),
            *("-g", group, "-d", consumer.client_id),
        )
        assert "CR_SUCCESS" in out, out
        assert numbers(consumer.collect(2)) == [7, 7]
