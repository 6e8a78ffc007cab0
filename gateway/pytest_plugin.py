"""The pytest plugin: fixtures that are there wherever this package is installed.

    def test_orders_are_announced(rocketmq_server, rocketmq_topic):
        OrderService(rocketmq_server.namesrv, rocketmq_topic).order("book")
        assert [one.body for one in rocketmq_server.messages(rocketmq_topic)] == [b"book"]

`rocketmq_settings` may be overridden to start the server with other settings: what it gives are keyword
arguments of `mqgateway.testing.Server`. Each test has a server of its own.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from mqgateway.gateway.testing.server import Server


@pytest.fixture
def rocketmq_settings() -> dict[str, Any]:
    """Arguments of the server; none unless overridden."""
    return {}


@pytest.fixture
def rocketmq_server(rocketmq_settings: dict[str, Any]) -> Iterator[Server]:
    """A server that has just been started, in memory; stopped after the test."""
    from mqgateway.gateway.testing.server import Server  # sessions that do not use it do not load it

    with Server(**rocketmq_settings) as server:
        yield server


@pytest.fixture
def rocketmq_topic(rocketmq_server: Server) -> str:
    """A topic of four queues."""
    return rocketmq_server.create_topic()


@pytest.fixture
def rocketmq_group(rocketmq_server: Server) -> str:
    """A consumer group."""
    return rocketmq_server.create_group()
