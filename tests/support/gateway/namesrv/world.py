"""In-memory name server: real bytes in and out, manual time."""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from typing import Any

from mqgateway.engine.lenient_json import loads
from mqgateway.engine.options import NamesrvOptions, OptionSet, RemotingOptions, TlsOptions
from mqgateway.engine.testing.crash_disk import CrashDisk
from mqgateway.engine.worker import InlineWorker, Worker
from mqgateway.gateway.codec import headers
from mqgateway.gateway.codec.codes import CURRENT_VERSION, RequestCode
from mqgateway.gateway.codec.command import RemotingCommand, encode_command
from mqgateway.gateway.codec.fields import Header
from mqgateway.gateway.namesrv.name_server import NameServer
from mqgateway.gateway.namesrv.service import NameServerService
from mqgateway.gateway.runtime.service import Runtime
from tests.support.gateway.namesrv.brokers import HA, MASTER, NOW
from tests.support.gateway.remoting.pair import Net, Pair, Talker

PORT = 9876


class NetClock:
    """Wall clock, which may be `ahead` (ms), and monotonic clock, advanced with the net's time."""

    def __init__(self, net: Net) -> None:
        self.net = net
        self.ahead = 0

    def millis(self) -> int:
        return NOW + round(self.net.seconds() * 1000) + self.ahead

    def monotonic(self) -> float:
        return self.net.seconds()


class Client:
    """Connection to the name server, with its usual requests."""

    def __init__(self, world: World, address: tuple[str, int]) -> None:
        self.world = world
        self.talker = Talker()
        self.pair: Pair = world.net.meet(PORT, self.talker, address)
        self.opaque = 0

    def send(
        self,
        code: int,
        header: Header | None = None,
        body: bytes = b"",
        ext: Mapping[str, str] | None = None,
        version: int = CURRENT_VERSION,
        oneway: bool = False,
    ) -> list[RemotingCommand]:
        """Send a request; return the answers."""
        command = RemotingCommand.request(code, header, body, ext=ext, oneway=oneway)
        self.opaque += 1
        command.opaque, command.version = self.opaque, version
        self.talker.transport.write(encode_command(command))
        self.world.net.settle()
        return self.talker.take()

    def ask(self, code: int, header: Header | None = None, body: bytes = b"", **more: Any) -> RemotingCommand:
        """Send a request and return its single answer."""
        (answer,) = self.send(code, header, body, **more)
        assert answer.is_response
        assert answer.opaque == self.opaque
        return answer

    def register(
        self, body: bytes, *, ext: Mapping[str, str] | None = None, **fields: Any
    ) -> RemotingCommand:
        """Register a broker, by default the master b1 of c1."""
        known: dict[str, Any] = {
            "broker_name": "b1",
            "broker_addr": MASTER,
            "cluster_name": "c1",
            "ha_server_addr": HA,
            "broker_id": 0,
            "body_crc32": zlib.crc32(body) & 0x7FFFFFFF,
        }
        header = headers.RegisterBrokerRequestHeader(**(known | fields))
        return self.ask(RequestCode.REGISTER_BROKER, header, body, ext=ext)

    def route(self, topic: str, **more: Any) -> RemotingCommand:
        return self.ask(
            RequestCode.GET_ROUTEINFO_BY_TOPIC, headers.GetRouteInfoRequestHeader(topic=topic), **more
        )

    def lose(self) -> None:
        """Break the connection."""
        self.talker.transport.abortConnection()
        self.world.net.settle()


class World:
    """Name server that listens on port 9876 of an in-memory net."""

    def __init__(
        self,
        options: NamesrvOptions | None = None,
        disk: CrashDisk | None = None,
        net: Net | None = None,
        worker: Worker | None = None,
    ) -> None:
        self.net = net or Net()
        self.clock = NetClock(self.net)
        self.disk = disk or CrashDisk()
        self.options = options or NamesrvOptions()
        self.options.kv_config_path = "/ns/kvConfig.json"
        self.options.config_store_path = "/ns/namesrv.properties"
        self.remoting = RemotingOptions(listen_port=PORT)
        self.service = NameServerService(
            OptionSet(self.options, self.remoting, TlsOptions()),
            Runtime(self.net, self.clock, self.disk, worker or InlineWorker()),
        )
        self.started: list[Any] = []
        self.service.start().addBoth(self.started.append)

    @property
    def namesrv(self) -> NameServer:
        return self.service.namesrv

    def connect(self, ip: str = "192.168.1.1", port: int = 54321) -> Client:
        return Client(self, (ip, port))


def json_of(answer: RemotingCommand) -> Any:
    """Parse the body of a successful answer as RocketMQ's JSON."""
    assert answer.code == 0, answer
    return loads(answer.body)
