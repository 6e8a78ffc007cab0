"""Expressions over properties: evaluation, delivery, refusals and persistence."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from compat_tests.support import sql as expressions
from compat_tests.support.artifacts import CLIENT_VERSIONS, CURRENT
from compat_tests.support.driver import ClientError, PullConsumer, PushConsumer, Queue, Received, message, sql
from compat_tests.support.peers import Peer, Peers
from compat_tests.support.processes import wait_until
from compat_tests.support.servers import Server
from mqgateway.engine.errors import FilterError
from mqgateway.engine.filters import compile_expression
from mqgateway.engine.lenient_json import loads

CASES = int(os.environ.get("SQL_CASES", "20000"))
SEED = int(os.environ.get("SQL_SEED", "5500"))
ALLOWED = {"enablePropertyFilter": "true"}
AT_ONCE_MILLIS = 4000
"""Below the interval of 5 seconds at which a broker re-checks its parked pulls."""
KEPT_SECONDS = 30
"""A broker writes its tables within 10 seconds."""


@pytest.fixture(scope="module")
def allowing(kind: str, peers: Peers) -> Iterator[Server]:
    """Run a server of a kind that allows expressions."""
    with peers.fresh(kind, ALLOWED) as server:
        yield server


def meaning(case: dict[str, Any]) -> dict[str, Any]:
    """Return our evaluation of a case in the form of the official parser's; of a refusal its first word."""
    try:
        compiled = compile_expression(case["expression"])
    except FilterError as refusal:
        return {"refused": str(refusal).split()[0]}
    try:
        return {"result": compiled.evaluate(case["properties"])}
    except ValueError:
        return {"result": "fails"}


def test_expressions_have_the_results_of_apache() -> None:
    """Each case is true, false, unknown, failing or refused for both; refusals have one cause.

    Exceptions are the empty expression, and expressions with a sign ``+``, whose operand Apache's parser
    reads ahead.
    """
    wrong = []
    counts: dict[str, int] = {}
    for case in expressions.judged(expressions.cases(CASES, SEED)):
        found = meaning(case)
        if "refused" in case:
            refusal = case["refused"]
            differs = "+" in case["expression"] or not case["expression"].strip()
            expected: dict[str, Any] = {"refused": refusal.split()[0]}
            if differs and "refused" in found:
                found = expected
        else:
            expected = {"result": case["result"]}
        if json.dumps(found) != json.dumps(expected):
            wrong.append((case, found))
        kind = str(case.get("result", "refused"))
        counts[kind] = counts.get(kind, 0) + 1
    assert not wrong
    assert min(counts.values()) > CASES // 50, counts


def sent(peer: Peer, topic: str, numbers: range) -> None:
    """Send messages with their number as a property, with three tags in turn."""
    with peer.producer() as producer:
        producer.send(
            [
                message(topic, f"{i:02}", tags="ABC"[i % 3], properties={"n": str(i), "half": f"{i / 2}"})
                for i in numbers
            ]
        )


WISHES = {
    "n BETWEEN 3 AND 6": ["03", "04", "05", "06"],
    "TAGS IN ('A', 'C') AND n < 6": ["00", "02", "03", "05"],
    "NOT (half > 1.5) OR n = 29": ["00", "01", "02", "03", "29"],
    "missing IS NULL AND n NOT BETWEEN 1 AND 28": ["00", "29"],
    "half ENDSWITH '.5' AND half STARTSWITH '1' AND NOT (half CONTAINS '0')": ["03", "23", "25", "27", "29"],
    "missing > 5 OR n > half AND n <= 2": ["01", "02"],
}


def bodies(received: list[Received]) -> list[str]:
    """Return the bodies, sorted."""
    return sorted(one.body for one in received)


def test_consumers_get_matching_messages(allowing: Server, peers: Peers) -> None:
    """Push consumers with both clients; matching messages wake them at once, others are skipped."""
    for version in CLIENT_VERSIONS:
        peer = peers.with_server(allowing, version)
        topic = peer.topic("wishes", 2)
        sent(peer, topic, range(30))
        consumers: list[PushConsumer] = []
        try:
            for wish in WISHES:
                consumers.append(peer.push(peer.name("wishers"), {topic: sql(wish)}))
            for consumer, expected in zip(consumers, WISHES.values(), strict=True):
                assert bodies(consumer.collect(len(expected))) == expected
            waiting = consumers[0]
            sent(peer, topic, range(3, 5))
            late = waiting.collect(6)[4:]
            assert bodies(late) == ["03", "04"]
            assert max(one.received_at - one.store_timestamp for one in late) < AT_ONCE_MILLIS
            assert bodies(consumers[3].collect(0)) == WISHES["missing IS NULL AND n NOT BETWEEN 1 AND 28"]
        finally:
            for consumer in consumers:
                consumer.close()
        peer.close()


def understands(reader: PullConsumer, queue: Queue) -> bool:
    """Return True if the client knows that its broker reads expressions, which heartbeat answers report."""
    try:
        reader.pull(queue, 0, expression=sql("TRUE"))
    except ClientError as error:
        assert "does not upgrade to support" in error.message
        return False
    return True


def test_pulls_by_expression(allowing: Server, peers: Peers) -> None:
    """Pull consumers send the expression with each pull, lite pull consumers in heartbeats."""
    for version in CLIENT_VERSIONS:
        peer = peers.with_server(allowing, version)
        topic = peer.topic("pulled", 1)
        sent(peer, topic, range(30))
        with peer.pull(peer.name("pullers")) as reader:
            (queue,) = reader.queues(topic)
            wait_until(partial(understands, reader, queue), 60, "the client has heard of the broker")
            found = reader.pull(queue, 0, expression=sql("n > 26"))
            assert (found.status, bodies(found.messages)) == ("FOUND", ["27", "28", "29"])
            assert (found.next_offset, found.max_offset) == (30, 30)
            nothing = reader.pull(queue, 0, expression=sql("n > 99"))
            assert (nothing.status, nothing.next_offset) == ("NO_MATCHED_MSG", 30)
            some = reader.pull(queue, 0, 2, expression=sql("n > 5"))
            assert (bodies(some.messages), some.next_offset) == (["06", "07"], 8)
        options = {"subscriptions": {topic: sql("n IN ('3', '5')")}, "autoCommit": True}
        with peer.lite(peer.name("lite_pullers"), **options) as reader:
            assert bodies(reader.poll(2)) == ["03", "05"]
        peer.close()


REFUSED = {
    "n >": "ParseException: Encountered",
    "n = 'x' AND": "ParseException: Encountered",
    "n ! 5": "TokenMgrError: Lexical error at line 1, column 3",
    "NOT n > 5": "RuntimeException: Value '",
    "n BETWEEN 5 AND 1": "RuntimeException: Illegal values of between, left value(5) must less than",
}


def test_invalid_expressions_are_refused(allowing: Server, peers: Peers) -> None:
    """The consumer's start fails with the code that clients know and a text that begins as Apache's."""
    for version in CLIENT_VERSIONS:
        peer = peers.with_server(allowing, version)
        topic = peer.topic("refused", 1)
        for expression, expected in REFUSED.items():
            with pytest.raises(ClientError) as caught:
                peer.push(peer.name("refused_readers"), {topic: sql(expression)})
            assert caught.value.code == 23
            assert expected in caught.value.message
        peer.close()


@pytest.mark.overlap
def test_expressions_must_be_allowed(peer: Peer) -> None:
    """A broker with default settings refuses expressions."""
    topic = peer.topic("forbidden", 1)
    with pytest.raises(ClientError) as caught:
        peer.push(peer.name("forbidden_readers"), {topic: sql("n > 5")})
    assert caught.value.code == 1
    assert "The broker does not support consumer to filter message by SQL92" in caught.value.message


def test_expressions_are_kept(allowing: Server, peers: Peers) -> None:
    """The file and its format are the same, and the group finds its expression after a restart."""
    peer = peers.with_server(allowing, CURRENT)
    topic, group = peer.topic("kept", 1), peer.name("kept_readers")
    file = allowing.store_dir / "config" / "consumerFilter.json"
    with peer.push(group, {topic: sql("n > 5")}) as consumer:
        wait_until(lambda: group in kept(file, topic), KEPT_SECONDS, "the expression is kept")
        refusal = kept(file, topic)[group]
        allowing.restart()
        sent(peer, topic, range(10))
        assert bodies(consumer.collect(4)) == ["06", "07", "08", "09"]
    peer.close()
    assert set(refusal) == {
        *("bloomFilterData", "bornTime", "clientVersion", "consumerGroup", "dead", "deadTime"),
        *("expression", "expressionType", "topic"),
    }
    assert (refusal["expression"], refusal["expressionType"], refusal["dead"]) == ("n > 5", "SQL92", False)
    assert refusal["bloomFilterData"]["bitNum"] == 112
    assert len(refusal["bloomFilterData"]["bitPos"]) == 3


def kept(file: Path, topic: str) -> dict[str, Any]:
    """Return the file's entries of a topic, by group."""
    if not file.exists():
        return {}
    table = loads(file.read_bytes()).get("filterDataByTopic", {})
    groups: dict[str, Any] = table.get(topic, {}).get("groupFilterData", {})
    return groups
