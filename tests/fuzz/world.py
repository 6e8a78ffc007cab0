"""A whole name server and a whole broker in memory, and the peers that talk to them.

`World` runs both services on one `Net`: real bytes, time moved by hand, a disk in memory. `Speaker` is one
connection by hand, for a peer that behaves badly. On leaving its `with` block a world fails the test for
tracebacks in the log, for lines that a peer made long, and for Deferreds with unhandled failures.
"""

from __future__ import annotations

import gc
import logging
from collections.abc import Mapping
from types import MappingProxyType, TracebackType
from typing import Any

from twisted.internet.address import IPv4Address
from twisted.python import log as twisted_log

from mqgateway.engine.options import (
    BrokerOptions,
    NamesrvOptions,
    OptionSet,
    RemotingOptions,
    StoreOptions,
    TlsOptions,
)
from mqgateway.engine.testing.crash_disk import CrashDisk
from mqgateway.engine.worker import InlineWorker, MemoryWorker
from mqgateway.gateway.broker.broker import Broker
from mqgateway.gateway.broker.service import BrokerService
from mqgateway.gateway.cli.logs import MESSAGE_MAX, keep_to_one_line
from mqgateway.gateway.codec.codes import CURRENT_VERSION, SerializeType
from mqgateway.gateway.codec.command import RemotingCommand, encode_command
from mqgateway.gateway.codec.fields import Header
from mqgateway.gateway.grpc.listener import GrpcListener
from mqgateway.gateway.kafka.server import KafkaServer
from mqgateway.gateway.namesrv.service import NameServerService
from mqgateway.gateway.remoting.dispatch import RequestFunction
from mqgateway.gateway.remoting.protocol import RemotingConnection
from mqgateway.gateway.runtime.service import Runtime
from tests.support.gateway.namesrv.world import NetClock
from tests.support.gateway.remoting.pair import Net, Pair, Talker

NAMESRV_PORT = 9876
BROKER_PORT = 10911
GRPC_PORT = 8081
KAFKA_PORT = 9092
LOG_LINE_MAX = MESSAGE_MAX + 100
"""Characters of a log line that no peer should be able to exceed."""

STEP_SECONDS = 0.5


class LogWatch(logging.Handler):
    """A log handler that collects the entries that should not have been logged."""

    def __init__(self) -> None:
        super().__init__(logging.INFO)
        self.addFilter(keep_to_one_line)
        self.complaints: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        text = record.getMessage()
        if record.exc_info:
            self.complaints.append(f"{text[:300]}: {record.exc_info[1]!r:.300}")
        elif len(text) > LOG_LINE_MAX:
            self.complaints.append(f"a line of {len(text)} characters: {text[:100]}")

    def notice(self, event: dict[str, Any]) -> None:
        """Collect the errors of Twisted's log, as an observer of it."""
        if event.get("isError"):
            self.complaints.append(str(event.get("failure") or event)[:600])


class World:
    """Both services; a keyword argument sets the option of that name.

    It is set in each of the option objects that have it. `more` are requests that the name server serves
    besides, as that of several brokers does.
    """

    def __init__(self, more: Mapping[int, RequestFunction] = MappingProxyType({}), **chosen: Any) -> None:
        self.net = Net()
        self._more = more
        self.clock = NetClock(self.net)
        self.worker = MemoryWorker()
        self.disk = CrashDisk(millis=self.clock.millis)
        self.namesrv_options = NamesrvOptions(
            kv_config_path="/ns/kvConfig.json", config_store_path="/ns/namesrv.properties"
        )
        self.broker_options = BrokerOptions(
            broker_ip1="10.0.0.1",
            broker_ip2="10.0.0.1",
            broker_name="broker-a",
            listen_port=BROKER_PORT,
            namesrv_addr=f"10.0.0.1:{NAMESRV_PORT}",
            authentication_metadata_provider="LocalAuthenticationMetadataProvider",
            init_authentication_user='{"username":"root","password":"secret"}',
        )
        self.store_options = StoreOptions(
            store_path_root_dir="/store",
            mapped_file_size_commit_log=64 << 20,
            mapped_file_size_consume_queue=20_000,
            max_hash_slot_num=1000,
            max_index_num=4000,
        )
        self.remoting_options = RemotingOptions(listen_port=NAMESRV_PORT)
        known = (self.namesrv_options, self.broker_options, self.store_options, self.remoting_options)
        for name, value in chosen.items():
            owners = [options for options in known if hasattr(options, name)]
            assert owners, f"there is no option {name}"
            for options in owners:
                setattr(options, name, value)
        self.speakers: list[Speaker] = []
        self.watch = LogWatch()

    def __enter__(self) -> World:
        # The collection at the end then visits the objects made from now on, not all those of the run.
        gc.collect()
        gc.freeze()
        logging.getLogger().addHandler(self.watch)
        self._level = logging.getLogger().level
        logging.getLogger().setLevel(logging.INFO)
        twisted_log.addObserver(self.watch.notice)
        self.namesrv = NameServerService(
            OptionSet(self.namesrv_options, self.remoting_options, TlsOptions()),
            Runtime(self.net, self.clock, self.disk, InlineWorker()),
            more=self._more,
        )
        self.namesrv.start()
        self.start_broker()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        if error is None:
            gc.collect()  # an unhandled failure is reported when its Deferred is freed
        twisted_log.removeObserver(self.watch.notice)
        logging.getLogger().removeHandler(self.watch)
        logging.getLogger().setLevel(self._level)
        if error is None:
            self.check_log()

    def check_log(self) -> None:
        """Assert that nothing was logged that should not have been; each entry is reported once."""
        complaints, self.watch.complaints = self.watch.complaints, []
        assert not complaints, "\n".join(complaints[:5])

    def start_broker(self) -> None:
        """Start a broker on the disk as it is, and let it register."""
        self.service = BrokerService(
            OptionSet(self.broker_options, self.remoting_options, self.store_options, TlsOptions()),
            Runtime(self.net, self.clock, self.disk, self.worker),
        )
        started: list[object] = []
        self.service.start().addBoth(started.append)
        self.settle(1.0)
        assert started == [None], started
        self.grpc = GrpcListener(self.service.operations, self.service.server, reactor=self.net)
        self.grpc.start("10.0.0.1", GRPC_PORT)
        self.kafka = KafkaServer(
            self.service.operations, self.service.server, reactor=self.net, advertised="10.0.0.1"
        )
        self.kafka.start("10.0.0.1", KAFKA_PORT)

    def restart_broker(self) -> None:
        """Stop the broker cleanly and start another one on its store."""
        stopped: list[object] = []
        self.grpc.stop()
        self.kafka.stop()
        self.service.stop().addBoth(stopped.append)
        for _ in range(20):
            self.settle(1.0)
        assert stopped and stopped[0] is None, stopped
        self.start_broker()

    @property
    def broker(self) -> Broker:
        """The broker as its request functions see it."""
        return self.service.broker

    def settle(self, seconds: float = 0.0) -> None:
        """Advance time in small steps; bytes move and the worker runs meanwhile."""
        for _ in range(max(1, round(seconds / STEP_SECONDS))):
            if seconds:
                self.net.advance(STEP_SECONDS)
            for _ in range(100):
                self.net.advance(0)
                for pair in [pair for pair in self.net.pairs if not _is_over(pair)]:
                    pair.pump()
                if not (self.worker.waiting or any(map(_has_news, self.net.pairs)) or self._is_due()):
                    break
                self.worker.perform_all()
        self.net.pairs = [pair for pair in self.net.pairs if not _is_over(pair)]

    def _is_due(self) -> bool:
        # Calls that are due a moment later (changes are collected for 10 or 20 ms) count as due now.
        soon = [call for call in self.net.getDelayedCalls() if call.getTime() <= self.net.seconds() + 0.05]
        if soon:
            self.net.advance(0.05)
        return bool(soon)

    def meet(self, port: int, ip: str = "192.168.6.6") -> Speaker:
        """Return a new connection; a refused one is lost at once."""
        speaker = Speaker(self, port, ip, 20_000 + len(self.speakers))
        self.speakers.append(speaker)
        return speaker

    def connections(self, port: int) -> list[RemotingConnection]:
        """Return the server's ends of the connections to a port."""
        return [pair.server.protocol.connection for pair in self.net.pairs if pair.server.host.port == port]


class Speaker(Talker):
    """One connection, by hand."""

    def __init__(self, world: World, port: int, ip: str, from_port: int) -> None:
        super().__init__()
        self.world = world
        self.opaque = 0
        self.pair: Pair | None = None
        protocol = world.net.ports[port].factory.buildProtocol(IPv4Address("TCP", ip, from_port))
        if protocol is not None:
            self.pair = Pair(self, protocol, (ip, from_port), ("10.0.0.1", port))
            world.net.pairs.append(self.pair)

    @property
    def is_open(self) -> bool:
        """True unless the server has closed or refused the connection."""
        return self.pair is not None and self.lost is None

    @property
    def connection(self) -> RemotingConnection:
        """The server's end."""
        assert self.pair is not None
        connection = self.pair.server.protocol.connection
        assert isinstance(connection, RemotingConnection)
        return connection

    def push(self, data: bytes) -> None:
        """Send any bytes; on a lost connection they are dropped."""
        if self.is_open:
            self.transport.write(data)

    def send(
        self,
        code: int,
        header: Header | None = None,
        body: bytes = b"",
        *,
        ext: dict[str, str] | None = None,
        oneway: bool = False,
        version: int = CURRENT_VERSION,
        binary: bool = False,
    ) -> int:
        """Send a request without waiting for its answer, and return its opaque."""
        command = RemotingCommand.request(code, header, body, ext=ext, oneway=oneway)
        self.opaque += 1
        command.opaque, command.version = self.opaque, version
        command.serialize_type = SerializeType.ROCKETMQ if binary else SerializeType.JSON
        self.push(encode_command(command))
        return self.opaque

    def ask(self, code: int, header: Header | None = None, body: bytes = b"", **more: Any) -> RemotingCommand:
        """Send a request and take its answer, which must come at once."""
        opaque = self.send(code, header, body, **more)
        self.world.settle()
        answers = [command for command in self.take() if command.is_response and command.opaque == opaque]
        assert len(answers) == 1, f"request {code} got {len(answers)} answers"
        return answers[0]

    def leave(self) -> None:
        """Break the connection."""
        self.transport.abortConnection()
        self.world.settle()


def _is_over(pair: Pair) -> bool:
    return pair.client.gone and pair.server.gone


def _has_news(pair: Pair) -> bool:
    wires = (pair.client, pair.server)
    return any(wire.pending and not wire.stuck and wire.other.reading and not wire.gone for wire in wires)
