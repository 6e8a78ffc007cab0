"""Locks on queues: asked for broker by broker, given back."""

from __future__ import annotations

import logging

import pytest
from twisted.internet.defer import Deferred

from mqgateway.gateway.client.locks import lock, unlock
from tests.fuzz.world import BROKER_PORT
from tests.support.gateway.client.cluster import Cluster, queue_of


def test_locked_queue_is_ours_until_it_is_given_back() -> None:
    with Cluster() as cluster:
        cluster.make_topic("T", queues=2)
        ours, theirs = cluster.client(), cluster.client()
        for client in (ours, theirs):
            cluster.run(Deferred.fromCoroutine(client.update_route("T")))
        queues = [queue_of("T", 0), queue_of("T", 1)]

        def locked(client: object) -> set[object]:
            return cluster.run(Deferred.fromCoroutine(lock(client, "G", queues)))  # type: ignore

        assert locked(ours) == set(queues) and locked(theirs) == set()
        unlock(ours, "G", queues[:1])
        cluster.settle(1.0)
        assert locked(theirs) == set(queues[:1])


def test_broker_that_does_not_answer_gives_no_lock() -> None:
    with Cluster() as cluster:
        cluster.make_topic("T", queues=1)
        client = cluster.client()
        cluster.run(Deferred.fromCoroutine(client.update_route("T")))
        cluster.cut(BROKER_PORT)
        strange = queue_of("T", 0, "broker-z")
        assert cluster.run(Deferred.fromCoroutine(lock(client, "G", [queue_of("T"), strange]))) == set()
        unlock(client, "G", [queue_of("T"), strange])
        cluster.mend(BROKER_PORT)


def test_lock_request_that_the_close_cuts_off_is_no_warning(caplog: pytest.LogCaptureFixture) -> None:
    with Cluster() as cluster:
        cluster.make_topic("T", queues=1)
        client = cluster.client()
        cluster.run(Deferred.fromCoroutine(client.update_route("T")))
        locked = Deferred.fromCoroutine(lock(client, "G", [queue_of("T")]))
        with caplog.at_level(logging.DEBUG):
            cluster.run(client.close())
            assert cluster.run(locked) == set()
        levels = [one.levelname for one in caplog.records if "cannot be locked" in one.getMessage()]
        assert levels == ["DEBUG"]
