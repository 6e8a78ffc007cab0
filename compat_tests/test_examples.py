"""The official examples of quickstart, simple, ordermessage, batch, broadcast, filter and rpc, as published.

They take their name server from NAMESRV_ADDR, except ``simple.OnewayProducer``, ``simple.PullConsumer``,
``rpc.RequestProducer`` and ``rpc.ResponseConsumer``, whose code names port 9876 of this machine; for these a
relay listens there. Topics and groups are in their code, so they have a server of their own. Not run:
``simple.AclClient`` (its server needs accounts), ``simple.PopConsumer``, ``simple.RandomAsyncCommit`` and
``simple.CachedQueue`` (no programs). Each starts a JVM of its own and gives itself seconds, so nothing else
runs beside them.
"""

from __future__ import annotations

from typing import NamedTuple

import pytest

from compat_tests.support.artifacts import CURRENT
from compat_tests.support.driver import message
from compat_tests.support.examples import Example
from compat_tests.support.peers import Peers
from compat_tests.support.processes import wait_until
from compat_tests.support.relay import Relay
from compat_tests.support.servers import Server

pytestmark = pytest.mark.alone

SENT = r"SEND_OK, msgId=(\w+)"
RECEIVED = r"UNIQ_KEY=(\w+)"


class Expected(NamedTuple):
    """A program, the number of different matches of a pattern in its output, and True if it then ends."""

    program: str
    pattern: str
    matches: int
    ends: bool


PRODUCERS_OF_TOPIC_TEST = (
    Expected("quickstart.Producer", SENT, 1000, True),
    Expected("simple.Producer", SENT, 128, True),
    Expected("simple.OnewayProducer", SENT, 0, True),
)
EVERYTHING = 1000 + 128 + 100
"""Number of messages that the three producers send."""

CONSUMERS_OF_TOPIC_TEST = (
    Expected("quickstart.Consumer", RECEIVED, EVERYTHING, False),
    Expected("simple.PushConsumer", RECEIVED, EVERYTHING, False),
    Expected("broadcast.PushConsumer", RECEIVED, EVERYTHING, False),
    Expected("simple.LitePullConsumerSubscribe", RECEIVED, EVERYTHING, False),
    Expected("simple.LitePullConsumerAssign", RECEIVED, 100, False),
    Expected("simple.LitePullConsumerAssignWithSubExpression", RECEIVED, 100, False),
    Expected("ordermessage.Consumer", RECEIVED, 20, False),
    Expected("simple.PullScheduleService", r"queueId=(\d)\].*FOUND", 4, False),
)

OTHERS = (
    Expected("ordermessage.Producer", SENT, 100, True),
    Expected("simple.AsyncProducer", r"OK (\w+)", 100, True),
    Expected("batch.SimpleBatchProducer", SENT, 1, False),
    Expected("batch.SplitBatchProducer", SENT, 1, False),
    Expected("filter.TagFilterProducer", SENT, 60, True),
    Expected("filter.TagFilterConsumer", RECEIVED, 40, False),
    Expected("filter.SqlFilterProducer", SENT, 10, True),
    Expected("filter.SqlFilterConsumer", RECEIVED, 3, False),
)
"""Programs with topics of their own."""

REPLIED = r"cost: (\d+) replyMessage: Message"
ASK_TIMES = 4
ASK_SECONDS = 25


def run(peers: Peers, server: Server, expected: Expected) -> None:
    """Run a program until it has printed its expected output."""
    with Example(peers.runtime, expected.program, server.namesrv_address) as example:
        if expected.ends:
            example.ended()
        example.until(expected.pattern, expected.matches)


def test_examples_of_topic_test(kind: str, peers: Peers) -> None:
    """Three producers, then every kind of consumer; each group receives everything."""
    with peers.fresh(kind) as server, Relay(server.namesrv_address):
        warm_up(peers, server)
        for expected in (*PRODUCERS_OF_TOPIC_TEST, *CONSUMERS_OF_TOPIC_TEST):
            run(peers, server, expected)
        with Example(peers.runtime, "simple.PullConsumer", server.namesrv_address):
            wait_until(lambda: committed(peers, server), 60, "the silent program commits offsets", 2)


def warm_up(peers: Peers, server: Server) -> None:
    """Send to a topic that one of the examples uses but none creates; the first sends are slow."""
    peer = peers.with_server(server, CURRENT)
    peer.topic("warm", 1)  # waits until the broker has registered
    with peer.producer() as producer:
        producer.send([message("TopicTest1", f"{number}") for number in range(20)])
    peer.close()


def committed(peers: Peers, server: Server) -> bool:
    """Return True if ``simple.PullConsumer``, which prints nothing, has committed an offset."""
    peer = peers.with_server(server, CURRENT)
    with peer.pull("please_rename_unique_group_name_5") as reader:
        return any(reader.fetch_offset(queue) > 0 for queue in reader.queues("TopicTest"))


def test_examples_with_topics_of_their_own(kind: str, peers: Peers) -> None:
    """Ordered and asynchronous producers, both batch producers, the filters by tags and by expression."""
    with peers.fresh(kind, {"enablePropertyFilter": "true"}) as server:
        warm_up(peers, server)
        for expected in OTHERS:
            run(peers, server, expected)


def test_examples_of_request_and_reply(kind: str, peers: Peers) -> None:
    """One consumer answers; a producer waits for its reply, another is called back."""
    with peers.fresh(kind) as server, Relay(server.namesrv_address):
        peer = peers.with_server(server, CURRENT)
        peer.topic("warm", 1)  # waits until the broker has registered
        with peer.producer() as producer:
            producer.send([message("RequestTopic", "for nobody to reply to")])
        peer.close()
        with Example(peers.runtime, "rpc.ResponseConsumer", server.namesrv_address) as replier:
            replier.until("handle message", 1)
            for program in ("rpc.RequestProducer", "rpc.AsyncRequestProducer"):
                ask(peers, server, program)


def ask(peers: Peers, server: Server, program: str) -> None:
    """Run a program repeatedly until it gets a reply; it waits 3 seconds, counted from its cold start."""
    for _ in range(ASK_TIMES):
        with Example(peers.runtime, program, server.namesrv_address) as example:
            if example.says(REPLIED, ASK_SECONDS):
                return
    raise AssertionError(f"{program} got no reply in {ASK_TIMES} runs")
