"""Servers for Kafka's own tests, started by requests."""

from __future__ import annotations

import pytest

from compat_tests.kafka.suites.servers import Needed, Servers


def test_server_is_started_killed_restarted_and_stopped() -> None:
    servers = Servers()
    number, address = servers.answer(
        "start", "num.partitions=3", "unknown=1", "security.protocol=PLAINTEXT"
    ).split()
    host, port = address.split(":")
    assert host == "127.0.0.1" and int(port) > 0
    assert servers.answer("kill", number) == "done"
    assert servers.answer("restart", number) == "done"
    assert servers.answer("stop", number) == "done"
    with pytest.raises(KeyError):
        servers.answer("stop", number)


def test_values_without_limit_become_those_of_the_server() -> None:
    servers = Servers()
    settings = ("fetch.max.bytes=2147483647", "group.min.session.timeout.ms=0")
    number, _ = servers.answer("start", *settings, "security.protocol=PLAINTEXT").split()
    assert servers.answer("stop", number) == "done"


def test_protocol_that_is_lacking_is_named() -> None:
    with pytest.raises(Needed, match="SSL"):
        Servers().answer("start", "security.protocol=SSL")
