"""Modules of a default start: the name server and the broker, and nothing that only some servers need."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from compat_tests.support.processes import free_ports
from tests.house.source import ROOT

NOT_LOADED = (
    "OpenSSL",
    "asyncio",
    "construct",
    "cryptography",
    "email",
    "google.protobuf",
    "hpack",
    "http.client",
    "lz4",
    "mqgateway.engine.filters.sql",
    "mqgateway.engine.raft",
    "mqgateway.engine.transactions.escape",
    "mqgateway.gateway.access.administration",
    "mqgateway.gateway.access.control",
    "mqgateway.gateway.access.plain.rules",
    "mqgateway.gateway.access.requests",
    "mqgateway.gateway.broker.admin.progress",
    "mqgateway.gateway.broker.admin.topic_requests",
    "mqgateway.gateway.broker.controlled.guard",
    "mqgateway.gateway.broker.controlled.replica",
    "mqgateway.gateway.broker.operations.administration",
    "mqgateway.gateway.broker.operations.batches",
    "mqgateway.gateway.broker.operations.queries",
    "mqgateway.gateway.client",
    "mqgateway.gateway.container",
    "mqgateway.gateway.controller",
    "mqgateway.gateway.grpc.call",
    "mqgateway.gateway.kafka.codec",
    "mqgateway.gateway.metrics",
    "mqgateway.gateway.mqadmin.declaration",
    "mqgateway.gateway.remoting.tls",
    "mqgateway.gateway.web.console",
    "opentelemetry",
    "pythonjsonlogger",
    "service_identity",
    "ssl",
    "twisted.internet.endpoints",
    "twisted.internet.ssl",
    "twisted.protocols.tls",
    "twisted.web",
    "zstandard",
)
"""Packages and modules that a start without settings must not load, as they take time."""

MODULES_MAX = 850
"""Modules that a start without settings may load, those of Python and of libraries included."""

PROGRAM = """
import json, os, signal, sys
import click

def ready(*_, **__):
    print(json.dumps(sorted(sys.modules)))
    sys.stdout.flush()
    os.kill(os.getpid(), signal.SIGTERM)

click.echo = ready
from mqgateway.gateway.cli.main import main
main()
"""
"""Prints the names of all loaded modules once the command is ready, and stops it."""


@pytest.fixture(scope="module")
def loaded(tmp_path_factory: pytest.TempPathFactory) -> set[str]:
    """Return the modules that are loaded when `mqgateway serve` is ready."""
    offsets = (-2, 0, 1, 2, 3, 4)
    port = free_ports(offsets)
    command = [sys.executable, "-c", PROGRAM, "serve", "--bind", "127.0.0.1", "--advertise", "127.0.0.1"]
    command += ["--data-dir", str(tmp_path_factory.mktemp("serve")), "--namesrv-port", "0"]
    command += ["--broker-port", str(port), "--grpc-port", str(port + 2), "--kafka-port", str(port + 3)]
    command += ["--console-port", str(port + 4), "--set", "mappedFileSizeCommitLog=65536"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return set(json.loads(done.stdout))


@pytest.mark.parametrize("name", NOT_LOADED)
def test_default_start_does_not_load(name: str, loaded: set[str]) -> None:
    assert not {one for one in loaded if one == name or one.startswith(f"{name}.")}


def test_default_start_loads_a_limited_number_of_modules(loaded: set[str]) -> None:
    assert len(loaded) <= MODULES_MAX


def test_default_start_loads_the_broker(loaded: set[str]) -> None:
    assert {"mqgateway.gateway.broker.service", "mqgateway.gateway.namesrv.service"} <= loaded


def test_openssl_can_be_loaded_afterwards() -> None:
    program = """
from mqgateway.gateway.cli.loading import load_transports
load_transports()
load_transports()
import sys
assert "OpenSSL" not in sys.modules
import twisted.internet.tcp, twisted.internet.endpoints
assert not twisted.internet.tcp.Connection.TLS
from twisted.protocols.tls import TLSMemoryBIOFactory
from twisted.internet.ssl import optionsForClientTLS
"""
    assert subprocess.run([sys.executable, "-c", program], cwd=ROOT).returncode == 0


def test_transports_that_were_loaded_with_openssl_stay() -> None:
    program = """
import twisted.internet.tcp, sys
before = sys.modules["OpenSSL"]
from mqgateway.gateway.cli.loading import load_transports
load_transports()
assert sys.modules["OpenSSL"] is before
"""
    assert subprocess.run([sys.executable, "-c", program], cwd=ROOT).returncode == 0


def test_modules_on_first_use_are_loaded_by_their_attributes() -> None:
    program = """
from mqgateway.gateway.cli.loading import ON_FIRST_USE, load_transports
load_transports()
import sys
from importlib.util import _LazyModule
assert all(type(sys.modules[name]) is _LazyModule for name in ON_FIRST_USE)
assert "http.client" not in sys.modules
import http.cookiejar
assert http.cookiejar.CookieJar() is not None
from twisted.internet import protocol, reactor, udp, unix
assert issubclass(unix.DatagramPort, udp.Port)
assert reactor.listenUDP(0, protocol.DatagramProtocol(), "127.0.0.1").getHost().port
assert not any(type(sys.modules[name]) is _LazyModule for name in ("http.cookiejar", "twisted.internet.udp"))
"""
    assert subprocess.run([sys.executable, "-c", program], cwd=ROOT).returncode == 0


def test_coroutines_run_as_deferreds_without_asyncio() -> None:
    program = """
from mqgateway.gateway.cli.loading import load_transports
load_transports()
import sys
from twisted.internet.defer import Deferred, succeed
assert "asyncio" not in sys.modules

async def add(number):
    return number + await succeed(1)

results = []
Deferred.fromCoroutine(add(2)).addCallback(results.append)
assert results == [3]
import asyncio
assert asyncio.run(add(3)) == 4
assert asyncio.Future is not object
"""
    assert subprocess.run([sys.executable, "-c", program], cwd=ROOT).returncode == 0


def test_asyncio_is_loaded_for_other_names() -> None:
    program = """
from mqgateway.gateway.cli.loading import _Asyncio
import sys
assert "asyncio" not in sys.modules
sys.modules["asyncio"] = _Asyncio("asyncio")
from asyncio import get_event_loop_policy
assert sys.modules["asyncio"].get_event_loop_policy is get_event_loop_policy
"""
    assert subprocess.run([sys.executable, "-c", program], cwd=ROOT).returncode == 0
