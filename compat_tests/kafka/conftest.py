"""Fixtures of the scenarios with Kafka's clients and commands."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from compat_tests.kafka.support.clients import CLIENTS, KafkaClient, Programs
from compat_tests.kafka.support.commands import Commands
from compat_tests.kafka.support.servers import KafkaServer, Servers
from compat_tests.kafka.support.wire import wait_for_coordinator
from compat_tests.support.peers import Peers
from compat_tests.support.runtime import LocalRuntime
from compat_tests.support.selection import KAFKA_CLIENTS

_NUMBERS = itertools.count(1)

SERVERS = pytest.StashKey[Servers]()
PROGRAMS = pytest.StashKey[Programs]()


def is_kafkas(item: pytest.Item | None) -> bool:
    """Return True if an item is of this folder."""
    return item is not None and Path(__file__).parent in item.path.parents


def pytest_configure(config: pytest.Config) -> None:
    """Declare the marker."""
    config.addinivalue_line("markers", "needs(feature): runs with the clients that have the feature")


def pytest_itemcollected(item: pytest.Item) -> None:
    """Leave scenarios with clients outside the core to the long runs."""
    parameters = (
        item.callspec.params if isinstance(item, pytest.Function) and hasattr(item, "callspec") else {}
    )
    if is_kafkas(item) and parameters.get("client_name", "librdkafka") not in KAFKA_CLIENTS:
        item.add_marker(pytest.mark.long)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run scenarios that have a client with each of them that has what the scenario needs."""
    if "client_name" in metafunc.fixturenames and is_kafkas(metafunc.definition):
        needs = {one for mark in metafunc.definition.iter_markers("needs") for one in mark.args}
        names = [name for name, client in CLIENTS.items() if not needs & client.lacks]
        metafunc.parametrize("client_name", names, indirect=True, scope="session")


def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> None:
    """After the last scenario of this folder, end its servers and programs."""
    if not is_kafkas(nextitem):
        programs, servers = item.config.stash.get(PROGRAMS, None), item.config.stash.get(SERVERS, None)
        if programs is not None:
            programs.close()
        if servers is not None:
            servers.close()


@pytest.fixture(scope="session")
def servers(request: pytest.FixtureRequest, work: Path) -> Iterator[Servers]:
    """The shared servers."""
    servers = request.config.stash[SERVERS] = Servers(
        lambda kind: KafkaServer(kind, work), wait_for_coordinator
    )
    yield servers
    servers.close()


@pytest.fixture(scope="session")
def programs(request: pytest.FixtureRequest, peers: Peers, work: Path) -> Iterator[Programs]:
    """The client programs."""
    programs = request.config.stash[PROGRAMS] = Programs(peers.runtime, LocalRuntime(work))
    yield programs
    programs.close()


@pytest.fixture(scope="module")
def commands(peers: Peers) -> Iterator[Commands]:
    """A JVM with Kafka's commands."""
    commands = Commands(peers.runtime)
    yield commands
    commands.close()


@pytest.fixture
def server(servers: Servers, kind: str) -> KafkaServer:
    """The shared server of one kind."""
    return servers.get(kind)


@pytest.fixture(scope="session")
def client_name(request: pytest.FixtureRequest) -> str:
    """The name of the client that a scenario runs with."""
    return str(request.param)


@pytest.fixture
def client(client_name: str, server: KafkaServer, programs: Programs) -> KafkaClient:
    """A client beside the server."""
    return KafkaClient(client_name, programs.get(client_name), server.address)


@pytest.fixture
def name(request: pytest.FixtureRequest) -> str:
    """A name for a topic or group that no other scenario has."""
    return re.sub("[^A-Za-z0-9-]", "-", f"{request.node.originalname}-{next(_NUMBERS)}")
