"""Transactions: local outcomes, transaction checks, other members of the group, and restarts."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import pytest

from compat_tests.support.artifacts import CLIENT_VERSIONS, CURRENT
from compat_tests.support.driver import (
    PATIENCE_SECONDS,
    PushConsumer,
    Received,
    TransactionProducer,
    message,
)
from compat_tests.support.peers import IMPATIENT, Peer, Peers
from compat_tests.support.processes import free_ports, wait_until
from compat_tests.support.servers import HOST, Part, Server, apache_broker, our_broker, our_namesrv

COMMIT, ROLLBACK, UNKNOWN = "COMMIT_MESSAGE", "ROLLBACK_MESSAGE", "UNKNOW"
GIVEN_UP = "TRANS_CHECK_MAX_TIME_TOPIC"

ROUNDS = int(IMPATIENT["transactionCheckMax"])
"""Number of checks before a server gives up."""
QUIET_SECONDS = 5
"""Longer than two rounds of checks: if none came, none will."""


PATIENCE_MILLIS = 8000
"""Immunity time that a producer requests: several rounds."""


def bodies(received: list[Received]) -> list[str]:
    return sorted(one.body for one in received)


@pytest.mark.overlap
@pytest.mark.every_variant
def test_only_committed_messages_arrive(peer: Peer) -> None:
    """No consumer sees half messages; committed ones arrive as they were sent."""
    topic = peer.topic("transactions")
    group = peer.name("deciders")
    with (
        peer.transactions(topic, group) as producer,
        peer.push(peer.name("readers"), {topic: "*"}) as consumer,
    ):
        producer.send([message(topic, f"no-{i}") for i in range(3)], ROLLBACK)
        fields = {"tags": "T", "keys": "k", "flag": 9, "properties": {"colour": "grün"}}
        results = producer.send([message(topic, f"yes-{i}", **fields) for i in range(3)], COMMIT)
        received = consumer.collect(3)
        assert bodies(consumer.collect(4, 3)) == ["yes-0", "yes-1", "yes-2"]
    assert [result.status for result in results] == ["SEND_OK"] * 3
    assert {one.unique_key for one in received} == {result.msg_id for result in results}
    for one in received:
        assert (one.tags, one.keys, one.flag, one.properties["colour"]) == ("T", "k", 9, "grün")
        assert one.properties["PGROUP"] == group
        assert one.sys_flag & 12 == 8


@pytest.mark.overlap
def test_undecided_messages_are_checked(kind: str, peers: Peers) -> None:
    """The server checks until the producer decides, each time with a higher count, and gives up at last."""
    server = peers.tuned(kind)
    for version in CLIENT_VERSIONS:
        ask_until_known(peers.with_server(server, version))


def asked(producer: TransactionProducer, body: str) -> int:
    """Return how many times a producer was asked to check a message so far."""
    return [one.body for one in producer.questions(0, 0)].count(body)


def ask_until_known(peer: Peer) -> None:
    topic = peer.topic("undecided")
    with (
        peer.transactions(topic) as producer,
        peer.push(peer.name("readers"), {topic: "*"}) as consumer,
    ):
        sent = producer.send([message(topic, body, keys=body) for body in ("yes", "no", "never")], UNKNOWN)
        sent += producer.send([message(topic, "thrown")], "THROW")
        producer.decide(["yes", "thrown"], COMMIT)
        producer.decide(["no"], ROLLBACK)
        wait_until(lambda: asked(producer, "never") == ROUNDS, PATIENCE_SECONDS, "one is given up", 0.5)
        assert bodies(consumer.collect(2)) == ["thrown", "yes"]
        settled = producer.questions(0, 0)
        questions = producer.questions(len(settled) + 1, QUIET_SECONDS)
        assert bodies(questions) == bodies(settled)
        assert bodies(consumer.collect(3, 1)) == ["thrown", "yes"]
    keys = {body: result.msg_id for body, result in zip(("yes", "no", "never", "thrown"), sent, strict=True)}
    times: dict[str, list[str]] = {}
    for one in questions:
        assert (one.topic, one.unique_key) == (topic, keys[one.body])
        times.setdefault(one.body, []).append(one.properties["TRANSACTION_CHECK_TIMES"])
    # A server that has not handled an answer within a round checks again, with the next count.
    assert {body: counts == list("123456")[: len(counts)] for body, counts in times.items()} == dict.fromkeys(
        ("yes", "no", "thrown", "never"), True
    )
    assert {body for body, counts in times.items() if len(counts) == ROUNDS} == {"never"}
    with peer.pull(peer.name("finders")) as finder:
        wait_until(lambda: len(finder.queues(GIVEN_UP)) == 1, 40, "the topic has a route", 0.5)
        [queue] = finder.queues(GIVEN_UP)
        given_up = finder.pull(queue, 0).messages
    assert [one.keys for one in given_up if one.properties["REAL_TOPIC"] == topic] == ["never"]


@pytest.mark.overlap
def test_another_of_the_group_answers(kind: str, peers: Peers) -> None:
    """The sender has left; a client of the other version, in the same group, is checked instead."""
    server = peers.tuned(kind)
    for one, other in (CLIENT_VERSIONS, CLIENT_VERSIONS[::-1]):
        sender, answerer = peers.with_server(server, one), peers.with_server(server, other)
        topic, group = sender.topic("orphans"), sender.name("deciders")
        with (
            answerer.transactions(topic, group) as other_producer,
            answerer.push(answerer.name("readers"), {topic: "*"}) as consumer,
        ):
            other_producer.decide(["a"], COMMIT)
            other_producer.decide(["b"], ROLLBACK)
            # The other one starts first: rounds without an answer count, and the last one gives up.
            with sender.transactions(topic, group) as producer:
                producer.send([message(topic, "a"), message(topic, "b")], UNKNOWN)
            assert bodies(consumer.collect(1)) == ["a"]
            assert bodies(consumer.collect(2, QUIET_SECONDS)) == ["a"]


@pytest.mark.overlap
def test_immunity_time_delays_the_check(kind: str, peers: Peers) -> None:
    """CHECK_IMMUNITY_TIME_IN_SECONDS delays the check, and does not delay those of other messages."""
    server = peers.tuned(kind)
    for version in CLIENT_VERSIONS:
        peer = peers.with_server(server, version)
        topic = peer.topic("patience")
        wish = {"CHECK_IMMUNITY_TIME_IN_SECONDS": str(PATIENCE_MILLIS // 1000)}
        with (
            peer.transactions(topic) as producer,
            peer.push(peer.name("readers"), {topic: "*"}) as consumer,
        ):
            producer.send([message(topic, "slow", properties=wish)], UNKNOWN)
            producer.send([message(topic, "quick")], UNKNOWN)
            producer.decide(["slow", "quick"], COMMIT)
            wait_until(partial(asked, producer, "slow"), PATIENCE_SECONDS, "both are asked about", 0.5)
            assert bodies(consumer.collect(2)) == ["quick", "slow"]
            first = {one.body: one for one in reversed(producer.questions(0, 0))}
        quick, slow = first["quick"], first["slow"]
        assert quick.received_at < slow.born_timestamp + PATIENCE_MILLIS <= slow.received_at


@pytest.mark.overlap
def test_sink_ends_transactions_after_all_checks(kind: str, peers: Peers) -> None:
    """A half message of an earlier checkpoint is ended by its own offset, after all checks of it."""
    server = peers.tuned(kind)
    for version in CLIENT_VERSIONS:
        peer = peers.with_server(server, version)
        topic = peer.topic("checkpoints")
        with (
            peer.transactions(topic) as producer,
            peer.push(peer.name("readers"), {topic: "*"}) as consumer,
        ):
            producer.begin([message(topic, "a"), message(topic, "b")])
            producer.questions(12)
            assert producer.questions(13, QUIET_SECONDS)[12:] == []
            producer.end("a", COMMIT)
            producer.end("b", ROLLBACK)
            assert bodies(consumer.collect(1)) == ["a"]
            assert bodies(consumer.collect(2, QUIET_SECONDS)) == ["a"]


@pytest.mark.overlap
def test_open_ones_outlive_the_server(kind: str, peers: Peers) -> None:
    """The server is stopped and killed with open and checked transactions; all are ended."""
    with peers.fresh(kind, {**IMPATIENT, "transactionCheckMax": "100"}) as server:
        for how in ("stop", "kill"):
            outlive(server, how, peers)


def outlive(server: Server, how: str, peers: Peers) -> None:
    each = [peers.with_server(server, version) for version in CLIENT_VERSIONS]
    topics = [peer.topic("outliving") for peer in each]
    producers = [peer.transactions(topic) for peer, topic in zip(each, topics, strict=True)]
    for producer, topic in zip(producers, topics, strict=True):
        producer.send([message(topic, body) for body in ("a", "b", "c")], UNKNOWN)
        producer.send([message(topic, "done")], COMMIT)
        producer.questions(3)
        producer.send([message(topic, "young")], UNKNOWN)
    end_and_start(server, how)
    for peer, producer, topic in zip(each, producers, topics, strict=True):
        producer.decide(["a", "young"], COMMIT)
        producer.decide(["b"], ROLLBACK)
        with peer.push(peer.name("readers"), {topic: "*"}) as consumer:
            wait_until(partial(all_settled, consumer), 75, "all commits arrive", 0.5)
        producer.close()


def all_settled(consumer: PushConsumer) -> bool:
    found = {one.body for one in consumer.collect(0, 0)}
    assert "b" not in found
    assert "c" not in found
    return found == {"a", "done", "young"}


def end_and_start(server: Server, how: str) -> None:
    if how == "kill":
        server.kill9()
    server.restart()


@contextmanager
def broker_of(kind: str, folder: Path, port: int, namesrv: str) -> Iterator[Part]:
    """Run a broker on a directory, stopped cleanly at the end."""
    make = apache_broker if kind == "apache" else our_broker
    settings = {"transactionCheckMax": "100", "mappedFileSizeCommitLog": str(16 << 20)}
    part = make(folder, port, namesrv, {**IMPATIENT, **settings})
    part.start()
    try:
        yield part
    finally:
        part.stop()


@pytest.mark.overlap
@pytest.mark.both_servers
@pytest.mark.parametrize("kinds", [("apache", "ours", "apache"), ("ours", "apache", "ours")], ids=" ".join)
def test_open_ones_change_hands(kinds: tuple[str, str, str], peers: Peers) -> None:
    """One server begins, another checks and gets answers, the first settles the remaining ones."""
    folder = peers.work / f"transactions-{'-'.join(kinds)}-{time.time_ns()}"
    namesrv_port, port = free_ports(), free_ports((-2, 0, 1))
    address = f"{HOST}:{namesrv_port}"
    namesrv = our_namesrv(folder / "namesrv", namesrv_port)
    namesrv.start()
    try:
        peer = Peer(address, peers.driver(CURRENT), CURRENT)
        with broker_of(kinds[0], folder / "broker", port, address):
            topic = peer.topic("hands")
            producer = peer.transactions(topic)
            producer.send([message(topic, body) for body in ("a", "b", "c", "d")], UNKNOWN)
            producer.send([message(topic, "done")], COMMIT)
            producer.send([message(topic, "undone")], ROLLBACK)
            producer.questions(4)
        with broker_of(kinds[1], folder / "broker", port, address):
            producer.decide(["a"], COMMIT)
            producer.decide(["b"], ROLLBACK)
            with peer.push(peer.name("readers"), {topic: "*"}) as consumer:
                wait_until(
                    lambda: bodies(consumer.collect(0, 0)) == ["a", "done"], 75, "one more arrives", 0.5
                )
            producer.send([message(topic, "e")], UNKNOWN)
        with broker_of(kinds[2], folder / "broker", port, address):
            producer.decide(["c", "e"], COMMIT)
            producer.decide(["d"], ROLLBACK)
            with peer.push(peer.name("readers"), {topic: "*"}) as consumer:
                expected = ["a", "c", "done", "e"]
                wait_until(
                    lambda: bodies(consumer.collect(0, 0)) == expected, 75, "all the rest arrives", 0.5
                )
                asked = len(producer.questions(0, 0))
                assert bodies(consumer.collect(5, QUIET_SECONDS)) == expected
                assert len(producer.questions(0, 0)) == asked
        producer.close()
        peer.close()
    finally:
        namesrv.kill9()
