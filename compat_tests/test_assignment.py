"""Queues assigned by the broker: both servers answer each client alike, and clients follow the answers."""

from __future__ import annotations

import itertools
import json
from collections.abc import Sequence
from contextlib import ExitStack
from typing import Any

import pytest

from compat_tests.support.artifacts import CURRENT
from compat_tests.support.driver import PATIENCE_SECONDS, message
from compat_tests.support.mqadmin import Mqadmin, normalised
from compat_tests.support.peers import Peers
from compat_tests.support.processes import wait_until
from compat_tests.support.raw import RawConnection
from compat_tests.support.servers import BROKER_NAME, Server
from mqgateway.gateway.codec.codes import RequestCode

QUEUES = 7
MEMBERS = ("a@1", "b@2", "c@3", "Z@4")
MODES = [("PULL", 0), *(("POP", share) for share in (-1, 0, 1, 2, 3, 4))]
STRATEGIES = ("AVG", "AVG_BY_CIRCLE", "MACHINE_ROOM")


def heartbeat(client_id: str, group: str, topic: str) -> bytes:
    """Return the heartbeat of a member of the group."""
    subscription = {"topic": topic, "subString": "*", "subVersion": 1, "expressionType": "TAG"}
    member = {
        "groupName": group,
        "consumeType": "CONSUME_PASSIVELY",
        "messageModel": "CLUSTERING",
        "consumeFromWhere": "CONSUME_FROM_FIRST_OFFSET",
        "subscriptionDataSet": [subscription],
    }
    return json.dumps({"clientID": client_id, "consumerDataSet": [member], "producerDataSet": []}).encode()


def ask(connection: RawConnection, code: int, body: dict[str, Any]) -> tuple[int, str | None, Any]:
    """Return code, remark and body of an answer."""
    answer = connection.ask(code, body=json.dumps(body).encode())
    assert answer is not None
    return answer.code, answer.remark, json.loads(answer.body) if answer.body else None


def assignment(connection: RawConnection, **fields: Any) -> Any:
    """Return the queues and modes assigned to a client, sorted; None if the answer has no assignments."""
    code, remark, body = ask(connection, RequestCode.QUERY_ASSIGNMENT, fields)
    assert (code, remark) == (0, None)
    if body.get("messageQueueAssignments") is None:
        return None
    assert all(one["messageQueue"]["topic"] == fields["topic"] for one in body["messageQueueAssignments"])
    return sorted(
        (one["messageQueue"]["brokerName"], one["messageQueue"]["queueId"], one["mode"])
        for one in body["messageQueueAssignments"]
    )


def transcript(peers: Peers, kind: str) -> list[Any]:
    """Return all answers of a server."""
    peer = peers.peer(kind, CURRENT)
    server = peers.server(kind)
    topic, group = "Shared", "SharedReaders"
    results: list[Any] = []
    with peer.producer() as producer, ExitStack() as stack:
        producer.create_topic(topic, QUEUES)
        wait_until(lambda: len(queues_of(producer, topic)) == QUEUES, 30, "the topic has a route")
        connections = [stack.enter_context(RawConnection(server.broker_address)) for _ in MEMBERS]
        for client_id, connection in zip(MEMBERS, connections, strict=True):
            answer = connection.ask(RequestCode.HEART_BEAT, body=heartbeat(client_id, group, topic))
            assert answer is not None and answer.code == 0
        questions = itertools.product(STRATEGIES, ("CLUSTERING", "BROADCASTING"), (*MEMBERS, "stranger"))
        asked = [
            {"topic": topic, "consumerGroup": group, "clientId": c, "strategyName": s, "messageModel": m}
            for s, m, c in questions
        ]
        first = connections[0]
        results += [assignment(first, **one) for one in asked]
        for mode, share in MODES:
            choice = {"topic": topic, "consumerGroup": group, "mode": mode, "popShareQueueNum": share}
            results.append(ask(first, RequestCode.SET_MESSAGE_REQUEST_MODE, choice))
            results += [assignment(first, **one) for one in asked]
        for changed in ({"topic": "SharedNowhere"}, {"consumerGroup": "SharedNobody"}):
            results.append(assignment(first, **asked[0] | changed))
        for wrong in ({"topic": "%RETRY%" + group}, {"topic": "SharedNowhere"}):
            choice = {"topic": topic, "consumerGroup": group, "mode": "POP", "popShareQueueNum": 0} | wrong
            results.append(ask(first, RequestCode.SET_MESSAGE_REQUEST_MODE, choice))
        code, _, modes = ask(first, RequestCode.GET_ALL_MESSAGE_REQUEST_MODE, {})
        results.append((code, modes["messageRequestModeMap"][topic]))
    return results


def queues_of(producer: Any, topic: str) -> Sequence[Any]:
    try:
        found: Sequence[Any] = producer.queues(topic)
    except Exception:
        return ()
    return found


@pytest.mark.both_servers
def test_assignments_are_equal(peers: Peers) -> None:
    """Both strategies, both models, members and strangers, pulled and popped with every number of sharers."""
    apache, ours = peers.transcripts.both(__name__, "assignments", lambda kind: transcript(peers, kind))
    assert ours == apache
    shares = [one for one in ours if isinstance(one, list) and len(one) < QUEUES]
    assert len(shares) > len(MEMBERS)


@pytest.mark.overlap
def test_consumers_follow_their_assignments(kind: str, peers: Peers) -> None:
    """Consumers that leave the assignment to the broker get all messages, each once; then one leaves."""
    peer = peers.peer(kind, CURRENT)
    topic, group = peer.topic("given", 8), peer.name("given_readers")
    with peer.producer() as producer, ExitStack() as stack:

        def member() -> Any:
            return stack.enter_context(peer.push(group, {topic: "*"}, clientRebalance=False))

        def shares(count: int) -> bool:
            held = [one.assigned(topic) for one in members]
            return sorted(map(len, held)) == [8 // count] * count and len(set().union(*held)) == 8

        members = [member(), member()]
        wait_until(lambda: shares(2), 80, "four queues each", 0.5)
        producer.send([message(topic, f"{i}") for i in range(32)])
        wait_until(
            lambda: sum(len(one.collect(0, 0)) for one in members) == 32, PATIENCE_SECONDS, "all messages"
        )
        bodies = [one.body for member in members for one in member.collect(0, 0)]
        assert sorted(bodies, key=int) == [f"{i}" for i in range(32)]
        members.pop().close()
        wait_until(lambda: shares(1), 80, "eight queues for who is left", 0.5)


def test_the_mode_is_set_by_mqadmin(kind: str, peers: Peers) -> None:
    """The mode that an operator sets with setConsumeMode is in the next answer to consumers."""
    server: Server = peers.server(kind)
    peer = peers.peer(kind, CURRENT)
    topic, group = peer.topic("mode", 2), peer.name("mode_readers")
    mqadmin = Mqadmin(peers.runtime)
    try:
        with RawConnection(server.broker_address) as connection:
            connection.ask(RequestCode.HEART_BEAT, body=heartbeat("me@1", group, topic))
            output = mqadmin.run(
                *("setConsumeMode", "-b", server.broker_address, "-t", topic, "-g", group),
                *("-m", "POP", "-q", "0", "-n", server.namesrv_address),
            )
            assert "set consume mode to" in normalised(output.out), output
            fields = {"topic": topic, "consumerGroup": group, "clientId": "me@1"}
            found = assignment(connection, **fields, strategyName="AVG", messageModel="CLUSTERING")
        assert found == [(BROKER_NAME, -1, "POP")]
    finally:
        mqadmin.close()
