"""Servers for Kafka's own tests, started by requests."""

from __future__ import annotations

from functools import partial

import pytest

from compat_tests.kafka.suites.servers import Clusters, Needed, is_complete, settings_of
from compat_tests.kafka.support.wire import Connection
from compat_tests.support.processes import wait_until


def test_server_is_started_killed_restarted_and_stopped() -> None:
    clusters = Clusters()
    number, address = clusters.answer(
        "start", "1", "num.partitions=3", "unknown=1", "security.protocol=PLAINTEXT"
    ).split()
    host, port = address.split(":")
    assert host == "127.0.0.1" and int(port) > 0
    assert clusters.answer("kill", number, "0") == "done"
    assert clusters.answer("restart", number, "0") == "done"
    assert clusters.answer("stop", number) == "done"
    with pytest.raises(KeyError):
        clusters.answer("stop", number)


def test_values_without_limit_become_those_of_the_server() -> None:
    clusters = Clusters()
    settings = ("fetch.max.bytes=2147483647", "group.min.session.timeout.ms=0")
    number, _ = clusters.answer("start", "1", *settings, "security.protocol=PLAINTEXT").split()
    assert clusters.answer("stop", number) == "done"


def test_protocol_that_is_lacking_is_named() -> None:
    with pytest.raises(Needed, match="SSL"):
        Clusters().answer("start", "1", "security.protocol=SSL")


def test_brokers_of_a_cluster_are_killed_and_restarted_by_their_ids() -> None:
    clusters = Clusters()
    number, addresses = clusters.answer("start", "2", "security.protocol=PLAINTEXT").split()
    first, second = addresses.split(",")
    assert clusters.answer("kill", number, "1") == "done"
    with pytest.raises(ConnectionRefusedError):
        Connection(second)
    assert clusters.answer("restart", number, "1") == "done"
    wait_until(partial(is_complete, first, 2), 30, "the second broker is back")
    assert clusters.answer("stop", number) == "done"


def test_settings_of_one_broker_are_not_those_of_others() -> None:
    words = ["a=1", "0:b=2", "1:a=3"]
    assert [settings_of(words, broker) for broker in range(2)] == [{"a": "1", "b": "2"}, {"a": "3"}]
