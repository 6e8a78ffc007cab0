"""Administration of groups: stop them, forbid them a topic, set policies; and traces of messages."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from typing import Any

import pytest

from compat_tests.support.artifacts import CLIENT_VERSIONS
from compat_tests.support.driver import PATIENCE_SECONDS, PushConsumer, message
from compat_tests.support.mqadmin import Mqadmin, normalised
from compat_tests.support.peers import Peer, Peers
from compat_tests.support.processes import wait_until
from compat_tests.support.raw import RawConnection
from compat_tests.support.servers import Server
from mqgateway.gateway.codec.codes import RequestCode

VERSIONS = pytest.mark.parametrize("version", CLIENT_VERSIONS)
QUIET_SECONDS = 5
"""Longer than a refused client delays its next pull."""


def run(peers: Peers, server: Server, *command: str) -> str:
    """Run mqadmin and return its output."""
    mqadmin = Mqadmin(peers.runtime)
    try:
        return mqadmin.run(*command, "-n", server.namesrv_address).out
    finally:
        mqadmin.close()


def check_stops_and_goes_on(
    peer: Peer,
    topic: str,
    consumer: PushConsumer,
    stop: Callable[[], None],
    go_on: Callable[[], None],
    more: int = 0,
) -> None:
    """Check that a stopped consumer gets nothing, and all of it after it is resumed.

    `more` is the number of messages that `stop` and `go_on` send to it.
    """
    with peer.producer() as producer:
        producer.send([message(topic, "before")])
        assert len(consumer.collect(1)) == 1
        stop()
        time.sleep(1)
        # One pull may have been held since before.
        producer.send([message(topic, "wakes") for _ in range(4)])
        time.sleep(QUIET_SECONDS)
        seen = len(consumer.collect(0, 0))
        producer.send([message(topic, "later") for _ in range(8)])
        assert len(consumer.collect(seen + 1, QUIET_SECONDS)) == seen
        go_on()
        assert len(consumer.collect(13 + more)) == 13 + more


@pytest.mark.overlap
@VERSIONS
def test_a_group_that_may_not_consume(kind: str, version: str, peers: Peers) -> None:
    """consumeEnable=false stops a group; true resumes it from its offsets."""
    server, peer = peers.server(kind), peers.peer(kind, version)
    topic, group = peer.topic("stopped"), peer.name("stopped_readers")

    def set_enabled(text: str) -> None:
        command = ("updateSubGroup", "-b", server.broker_address, "-g", group, "-s", text)
        assert "create subscription group" in run(peers, server, *command)

    with peer.push(group, {topic: "*"}) as consumer:
        check_stops_and_goes_on(
            peer, topic, consumer, lambda: set_enabled("false"), lambda: set_enabled("true")
        )


@pytest.mark.overlap
@VERSIONS
def test_a_group_that_may_not_read_one_topic(kind: str, version: str, peers: Peers) -> None:
    """Request 353, for which mqadmin has no command; the group's other topics are not affected."""
    server, peer = peers.server(kind), peers.peer(kind, version)
    topic, other, group = peer.topic("forbidden"), peer.topic("allowed"), peer.name("forbidden_readers")

    def set_readable(text: str) -> None:
        with RawConnection(server.broker_address) as connection:
            fields = {"group": group, "topic": topic, "readable": text}
            answer = connection.ask(RequestCode.UPDATE_AND_GET_GROUP_FORBIDDEN, fields)
        assert answer is not None and answer.code == 0
        assert f'"readable":{text}'.encode() in answer.body

    def forbid() -> None:
        set_readable("false")
        with peer.producer() as producer:
            producer.send([message(other, "other")])
        wait_until(lambda: len(consumer.collect(0, 0)) == 2, PATIENCE_SECONDS, "the other topic goes on")

    def allow() -> None:
        set_readable("true")
        with peer.producer() as producer:
            producer.send([message(topic, "allowed")])

    with peer.push(group, {topic: "*", other: "*"}) as consumer:
        check_stops_and_goes_on(peer, topic, consumer, forbid, allow, 2)


@pytest.mark.overlap
@VERSIONS
def test_traces_of_messages(kind: str, version: str, peers: Peers) -> None:
    """A tracing producer writes to the trace topic, where mqadmin finds the trace by the message's id."""
    server, peer = peers.server(kind), peers.peer(kind, version)
    topic = peer.topic("traced")
    with peer.producer(trace=True) as producer:
        [sent] = producer.send([message(topic, "traced", keys="traced-key")])

        def traced() -> bool:
            out = run(peers, server, "queryMsgTraceById", "-i", sent.msg_id, "-t", "RMQ_SYS_TRACE_TOPIC")
            return "Pub" in out and "success" in out

        wait_until(traced, 60, "the trace is found", 2)


COLD = [
    ("updateColdDataFlowCtrGroupConfig", "-g", "ColdReaders", "-v", "1000"),
    ("getColdDataFlowCtrInfo",),
    ("removeColdDataFlowCtrGroupConfig", "-g", "ColdReaders"),
    ("getColdDataFlowCtrInfo",),
    ("setCommitLogReadAheadMode", "-m", "1"),
    ("setCommitLogReadAheadMode", "-m", "0"),
]


@pytest.mark.both_servers
def test_cold_data_commands_print_the_same(peers: Peers) -> None:
    """Thresholds are set, shown and removed; read-ahead is switched off and on."""

    def transcript(kind: str) -> list[str]:
        server = peers.server(kind)
        mqadmin = Mqadmin(peers.runtime)
        try:
            outputs = [
                mqadmin.run(*command, "-b", server.broker_address, "-n", server.namesrv_address)
                for command in COLD
            ]
        finally:
            mqadmin.close()
        # The members of a table are in the order of a hash table.
        return [
            "\n".join(sorted(normalised(one.out + one.err).replace(",", "").splitlines())) for one in outputs
        ]

    apache, ours = peers.transcripts.both(__name__, "cold data", transcript)
    assert ours == apache
    assert '"ColdReaders"' in ours[1] and '"ColdReaders"' not in ours[3]
    assert "success" in ours[4]


@pytest.mark.both_servers
def test_retry_policies_are_kept(peers: Peers) -> None:
    """The policy from which a proxy takes retry delays is returned as it was set."""
    policies = (
        {"type": "EXPONENTIAL", "exponentialRetryPolicy": {"initial": 10000, "max": 600000, "multiplier": 3}},
        {"type": "CUSTOMIZED", "customizedRetryPolicy": {"next": [1000, 5000, 9000]}},
    )

    def transcript(kind: str) -> list[Any]:
        answers = []
        with RawConnection(peers.server(kind).broker_address) as connection:
            for policy in policies:
                config = {"groupName": "PolicyReaders", "groupRetryPolicy": policy, "retryMaxTimes": 5}
                code = RequestCode.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP
                made = connection.ask(code, body=json.dumps(config).encode())
                assert made is not None and made.code == 0
                code = RequestCode.GET_SUBSCRIPTIONGROUP_CONFIG
                shown = connection.ask(code, {"group": "PolicyReaders"})
                assert shown is not None
                answers.append(json.loads(shown.body))
        return answers

    apache, ours = peers.transcripts.both(__name__, "retry policies", transcript)
    assert ours == apache
    assert [one["groupRetryPolicy"] for one in ours] == list(policies)
