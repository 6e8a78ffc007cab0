"""A broker in this process without sockets: bytes go in, and bytes come out."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from twisted.internet.task import Clock as Time
from twisted.internet.testing import StringTransport

from bench.access import ACCESS, making_the_load
from mqgateway.engine.clock import SystemClock
from mqgateway.engine.meters import Meters
from mqgateway.engine.options import BrokerOptions, OptionSet, RemotingOptions, StoreOptions, TlsOptions
from mqgateway.engine.real_disk import RealDisk
from mqgateway.engine.worker import InlineWorker
from mqgateway.gateway.broker.service import BrokerService
from mqgateway.gateway.codec.command import RemotingCommand, decode_command, encode_command
from mqgateway.gateway.codec.frame import FrameCutter
from mqgateway.gateway.metrics.observed import ObservedBroker
from mqgateway.gateway.runtime.service import Runtime

MAIN_PORT = 10911


class Loop(Time):
    """A reactor without sockets whose time stands still; it keeps the factories of listeners by port."""

    def __init__(self) -> None:
        super().__init__()
        self.listening: dict[int, Any] = {}

    def listenTCP(self, port: int, factory: Any, *_: object, **__: object) -> "Listening":
        """Keep the factory of a port."""
        self.listening[port] = factory
        return Listening(port)


@dataclass
class Listening:
    """An open port, and its address."""

    port: int

    def getHost(self) -> "Listening":
        """Return the address."""
        return self


class Server:
    """A broker in this process, and one connection to it.

    `asks` enables access control and creates the user of the loads; `counts` enables the meters of metrics.
    """

    def __init__(self, folder: Path, *, asks: bool = False, counts: bool = False) -> None:
        clock = SystemClock()
        options = BrokerOptions(
            broker_ip1="127.0.0.1",
            broker_ip2="127.0.0.1",
            broker_name="broker-a",
            listen_port=MAIN_PORT,
            auto_create_topic_enable=True,
            metrics_exporter_type="PROM" if counts else "DISABLE",
        )
        meters = Meters(options.metrics_otel_cardinality_limit)
        settings = OptionSet(options)
        for name, text in ACCESS if asks else ():
            settings.set(name, text)
        store_options = StoreOptions(store_path_root_dir=str(folder))
        reactor: Any = Loop()
        self.reactor = reactor
        self.service = BrokerService(
            OptionSet(options, RemotingOptions(), store_options, TlsOptions()),
            Runtime(reactor, clock, RealDisk(), InlineWorker()),
        )
        ObservedBroker(self.service, options, meters, RealDisk())
        self.service.start()
        while not self.reactor.listening:  # the store is opened incrementally
            self.reactor.advance(0)
        self._connection, self._transport = self.connect(MAIN_PORT)
        for command in making_the_load() if asks else ():
            self.say(encode_command(command))
            check(self.heard(), 1)

    def connect(self, port: int) -> tuple[Any, Any]:
        """Connect to a port, and return the connection and its transport."""
        make_transport: Any = StringTransport
        transport = make_transport()
        connection = self.reactor.listening[port].buildProtocol(transport.getPeer())
        connection.makeConnection(transport)
        return connection, transport

    def say(self, data: bytes) -> None:
        """Pass data to the connection as one read."""
        self._transport.clear()
        self._connection.dataReceived(data)

    def heard(self) -> list[RemotingCommand]:
        """Return the answers to the last read."""
        return [decode_command(payload) for payload in FrameCutter().feed(self._transport.value())]


def check(answers: Sequence[RemotingCommand], count: int) -> None:
    """Raise `RuntimeError` unless there are `count` answers, all of them successful."""
    failed = next((answer for answer in answers if answer.code), None)
    if failed is not None or len(answers) != count:
        raise RuntimeError(f"{len(answers)} answers of {count}, {failed}")
