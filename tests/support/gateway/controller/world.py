"""In-memory controller: real bytes in and out, manual time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from mqgateway.engine.options import OptionSet, RemotingOptions, TlsOptions
from mqgateway.engine.options.controller import ControllerOptions
from mqgateway.engine.testing.crash_disk import CrashDisk
from mqgateway.engine.worker import InlineWorker, Worker
from mqgateway.gateway.access.signature import Credentials
from mqgateway.gateway.codec import headers
from mqgateway.gateway.codec.codes import RequestCode
from mqgateway.gateway.codec.command import RemotingCommand, encode_command
from mqgateway.gateway.codec.fields import Header
from mqgateway.gateway.controller.service import ControllerService
from mqgateway.gateway.remoting.dispatch import Hook
from mqgateway.gateway.runtime.service import Runtime
from tests.support.gateway.namesrv.world import NetClock
from tests.support.gateway.remoting.pair import Net, Pair, Talker

PORT = 9878


class BrokerPort:
    """Listener at a broker's address that keeps its requests."""

    noisy = False

    def __init__(self, net: Net, port: int) -> None:
        self.talkers: list[Talker] = []
        net.listenTCP(port, self)

    def buildProtocol(self, address: object) -> Talker:
        self.talkers.append(Talker())
        return self.talkers[-1]

    def doStart(self) -> None: ...

    def heard(self) -> list[RemotingCommand]:
        return [command for talker in self.talkers for command in talker.take()]


class Caller:
    """Connection to the controller."""

    def __init__(self, world: ControllerWorld) -> None:
        self.world = world
        self.talker = Talker()
        self.pair: Pair = world.net.meet(world.port, self.talker)
        self.opaque = 0

    def send(
        self, code: int, header: Header | None = None, body: bytes = b"", oneway: bool = False
    ) -> list[RemotingCommand]:
        """Send a request; return the answers."""
        command = RemotingCommand.request(code, header, body, oneway=oneway)
        if self.world.credentials is not None:
            self.world.credentials.sign(command)
        self.opaque += 1
        command.opaque = self.opaque
        self.talker.transport.write(encode_command(command))
        self.world.net.settle()
        return self.talker.take()

    def ask(self, code: int, header: Header | None = None, body: bytes = b"") -> RemotingCommand:
        """Send a request and return its single answer."""
        (answer,) = self.send(code, header, body)
        assert answer.is_response
        assert answer.opaque == self.opaque
        return answer

    def lose(self) -> None:
        """Break the connection."""
        self.talker.transport.abortConnection()
        self.world.net.settle()


class Broker(Caller):
    """Replica of the set brk of the cluster CL, which acts as a 5.5.0 broker."""

    def __init__(self, world: ControllerWorld, broker_id: int) -> None:
        super().__init__(world)
        self.broker_id = broker_id
        self.port = 10900 + 10 * broker_id
        self.address = f"127.0.0.1:{self.port}"
        self.check_code = f"{self.address};1700000000000"
        self.listens = world.listener(self.port)

    def next_id(self) -> RemotingCommand:
        header = headers.GetNextBrokerIdRequestHeader(cluster_name="CL", broker_name="brk")
        return self.ask(RequestCode.CONTROLLER_GET_NEXT_BROKER_ID, header)

    def apply(self, **fields: Any) -> RemotingCommand:
        usual: dict[str, Any] = {
            "cluster_name": "CL",
            "broker_name": "brk",
            "applied_broker_id": self.broker_id,
            "register_check_code": self.check_code,
        }
        header = headers.ApplyBrokerIdRequestHeader(**(usual | fields))
        return self.ask(RequestCode.CONTROLLER_APPLY_BROKER_ID, header)

    def register(self, **fields: Any) -> RemotingCommand:
        usual: dict[str, Any] = {
            "cluster_name": "CL",
            "broker_name": "brk",
            "broker_id": self.broker_id,
            "broker_address": self.address,
        }
        header = headers.RegisterBrokerToControllerRequestHeader(**(usual | fields))
        return self.ask(RequestCode.CONTROLLER_REGISTER_BROKER, header)

    def heartbeat(self, **fields: Any) -> None:
        """Send a one-way heartbeat, as brokers do."""
        usual: dict[str, Any] = {
            "cluster_name": "CL",
            "broker_name": "brk",
            "broker_addr": self.address,
            "broker_id": self.broker_id,
        }
        header = headers.BrokerHeartbeatRequestHeader(**(usual | fields))
        assert self.send(RequestCode.BROKER_HEARTBEAT, header, oneway=True) == []

    def elect(self, **fields: Any) -> RemotingCommand:
        usual: dict[str, Any] = {
            "cluster_name": "CL",
            "broker_name": "brk",
            "broker_id": self.broker_id,
            "designate_elect": False,
        }
        header = headers.ElectMasterRequestHeader(**(usual | fields))
        return self.ask(RequestCode.CONTROLLER_ELECT_MASTER, header)

    def alter(self, ids: str, ids_epoch: int, master_epoch: int = 1, **fields: Any) -> RemotingCommand:
        """Alter the sync-state set; `ids` as in JSON."""
        usual: dict[str, Any] = {"broker_name": "brk", "master_broker_id": self.broker_id}
        header = headers.AlterSyncStateSetRequestHeader(**(usual | {"master_epoch": master_epoch} | fields))
        body = f'{{"syncStateSet":{ids},"syncStateSetEpoch":{ids_epoch}}}'.encode()
        return self.ask(RequestCode.CONTROLLER_ALTER_SYNC_STATE_SET, header, body)

    def info(self, name: str = "brk") -> RemotingCommand:
        header = headers.GetReplicaInfoRequestHeader(broker_name=name)
        return self.ask(RequestCode.CONTROLLER_GET_REPLICA_INFO, header)

    def start(self) -> RemotingCommand:
        """Run the first start: id, registration, heartbeat; return the answer to the registration."""
        assert self.apply().code == 0
        registered = self.register()
        assert registered.code == 0
        self.heartbeat()
        return registered


class ControllerWorld:
    """Controller that listens on port 9878 of an in-memory net, with brokers' ports beside it.

    `credentials` sign the requests of its callers.
    """

    credentials: Credentials | None = None

    def __init__(
        self,
        disk: CrashDisk | None = None,
        worker: Worker | None = None,
        net: Net | None = None,
        hooks: Sequence[Hook] = (),
        **options: Any,
    ) -> None:
        self.net = net or Net()
        self.clock = NetClock(self.net)
        self.disk = disk or CrashDisk()
        self._listeners: dict[int, BrokerPort] = {}
        usual: dict[str, Any] = {
            "controller_d_leger_group": "g1",
            "controller_d_leger_peers": f"n0-127.0.0.1:{PORT}",
            "controller_d_leger_self_id": "n0",
            "controller_store_path": "/controller",
            "config_store_path": "/controller/controller.properties",
        }
        self.options = ControllerOptions(**(usual | options))
        self.service = ControllerService(
            OptionSet(self.options, RemotingOptions(), TlsOptions()),
            Runtime(self.net, self.clock, self.disk, worker or InlineWorker()),
            hooks=hooks,
        )
        self.started: list[Any] = []
        self.service.start().addBoth(self.started.append)
        self.port = self.service.peer.port

    def listener(self, port: int) -> BrokerPort:
        if port not in self._listeners:
            self._listeners[port] = BrokerPort(self.net, port)
        return self._listeners[port]

    def broker(self, broker_id: int) -> Broker:
        return Broker(self, broker_id)

    def caller(self) -> Caller:
        return Caller(self)

    def pair(self) -> tuple[Broker, Broker]:
        """Return two brokers: 1 is the master of epoch 1, and both are in sync (epoch 2)."""
        first, second = self.broker(1), self.broker(2)
        first.start()
        assert first.elect().code == 0
        second.start()
        assert first.alter("[1,2]", 1).code == 0
        first.listens.heard()
        second.listens.heard()
        return first, second
