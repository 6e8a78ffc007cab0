"""A server killed while gRPC clients work: acknowledged messages are kept, and the clients resume."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from functools import partial

import pytest

from compat_tests.support.grpc.clients import LANGUAGES, PushConsumer, peer_at
from compat_tests.support.grpc.doors import GrpcServer
from compat_tests.support.peers import Peers
from compat_tests.support.processes import wait_until

pytestmark = pytest.mark.overlap

ENOUGH = 50
"""Acknowledged sends of each client before the kill, and again after it."""


@pytest.mark.parametrize(
    "languages", [LANGUAGES, pytest.param(("go",), marks=pytest.mark.long)], ids="-".join
)
def test_grpc_clients_outlive_a_killed_broker(kind: str, languages: Sequence[str], peers: Peers) -> None:
    """With SYNC_FLUSH acknowledged messages survive. Apache's proxy dies with its broker: ours are one.

    All clients resume by themselves. With Apache's, Python's and Go's consumers only do with a second
    consumer: these two check for a lost Telemetry stream every five minutes; until then that proxy does not
    know them.
    """
    with GrpcServer(kind, peers.work, {"flushDiskType": "SYNC_FLUSH"}) as server:
        each = {language: peer_at(server, language, peers) for language in languages}
        topics = {language: peer.topic("grpc_storm") for language, peer in each.items()}
        groups = {language: peer.group("grpc_storm_readers") for language, peer in each.items()}
        producers = {language: peer.producer(topics[language]) for language, peer in each.items()}

        def consumer(language: str) -> PushConsumer:
            return each[language].push(groups[language], {topics[language]: "*"})

        consumers = {language: [consumer(language)] for language in languages}
        storms = {language: one.begin_storm(topics[language], 2) for language, one in producers.items()}
        wait_until(lambda: all(one.storm_count() >= ENOUGH for one in producers.values()), 60, "a storm")
        kill_and_revive(server)
        if kind == "apache":
            for language in {"python", "go"}.intersection(languages):
                consumers[language].append(consumer(language))
        goals = {one: one.storm_count() + ENOUGH for one in producers.values()}
        wait_until(lambda: all(one.storm_count() >= goal for one, goal in goals.items()), 90, "they go on")
        for one in producers.values():
            one.calm()
        for language, storm in storms.items():
            wait_until(partial(have_all, consumers[language], set(storm.result(60))), 120, language, 0.5)
        for client in itertools.chain(producers.values(), *consumers.values()):
            client.close()


def kill_and_revive(server: GrpcServer) -> None:
    """Kill the servers behind the clients and the listener, and restart them."""
    if server.proxy is not None:
        server.proxy.kill9()
    server.kill9()
    server.revive()
    if server.proxy is not None:
        server.proxy.start()


def have_all(consumers: Iterable[PushConsumer], wanted: set[str]) -> bool:
    """Return True if the consumers together have received all of these."""
    return wanted <= {one.body for consumer in consumers for one in consumer.collect(0)}
