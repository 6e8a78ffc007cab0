"""A set of brokers under a controller in memory: real bytes between them, time moved by hand."""

from __future__ import annotations

from typing import Any

from mqgateway.engine.ha.role import RoleKind
from mqgateway.engine.options import BrokerRole, OptionSet, RemotingOptions, TlsOptions
from mqgateway.engine.options.controller import ControllerOptions
from mqgateway.engine.testing.crash_disk import CrashDisk
from mqgateway.engine.worker import InlineWorker
from mqgateway.gateway.codec.codes import RequestCode
from mqgateway.gateway.codec.command import RemotingCommand, encode_command
from mqgateway.gateway.codec.fields import Header
from mqgateway.gateway.codec.headers import ElectMasterRequestHeader
from mqgateway.gateway.controller.service import ControllerService
from mqgateway.gateway.runtime.service import Runtime
from tests.support.gateway.broker.group import Group, Member
from tests.support.gateway.broker.helpers import send_header
from tests.support.gateway.remoting.hosts import Host, HostNet
from tests.support.gateway.remoting.pair import Talker

CONTROLLER = 9878
SAFE: dict[str, Any] = {"all_ack_in_sync_state_set": True}


class Replica(Member):
    """One broker of the set, without a role in its settings."""

    def __init__(self, brokers: BrokerSet, number: int, **settings: Any) -> None:
        self.brokers = brokers
        controlled = {"enable_controller_mode": True, "controller_addr": f"10.0.0.1:{CONTROLLER}"}
        super().__init__(
            brokers, 10911 + 1000 * number, BrokerRole.ASYNC_MASTER, 0, **controlled | SAFE | settings
        )

    @property
    def kind(self) -> RoleKind:
        return self.service.broker.role.state.kind

    @property
    def controlled(self) -> Any:
        return self.service.group.controlled

    @property
    def leads(self) -> bool:
        return self.kind is RoleKind.MASTER and self.store.gate is None

    @property
    def why(self) -> str:
        """Reason why it does not follow, or the problem with the controller."""
        client = self.service.group.replication.client
        return f"{client.problem if client else ''} {self.controlled._complaint}"

    @property
    def in_sync(self) -> set[int]:
        return set(self.service.broker.produce.durability.replicas.in_sync_set.ids)

    def again(self) -> Replica:
        """Restart on the content of the disk."""
        self.begin(BrokerRole.ASYNC_MASTER, 0)
        return self

    def reactor(self) -> Host:
        self.host = Host(self.brokers.net)
        return self.host

    def kill(self, seed: int | None = None) -> Replica:
        """Kill the process, or with a seed cut the power of its machine."""
        self.host.die()
        self.group.net.settle()
        self.disk = self.disk.kill() if seed is None else self.disk.crash(seed)
        return self

    def ask_later(self, body: bytes = b"late") -> Talker:
        """Send on a new connection; `take` returns the answer once there is one."""
        talker = Talker()
        self.group.net.meet(self.port, talker, ("192.168.1.1", self.group.next_port()))
        command = RemotingCommand.request(RequestCode.SEND_MESSAGE_V2, send_header("T", queue_id=0), body)
        talker.transport.write(encode_command(command))
        return talker

    def try_to_send(self, body: bytes = b"hello", seconds: float = 0.5) -> int | None:
        """Return the response code of a send, None while it waits."""
        answer = self.ask(RequestCode.SEND_MESSAGE_V2, send_header("T", queue_id=0), body, seconds)
        return None if answer is None else answer.code


class BrokerSet(Group):
    """A name server, a controller, and brokers that it makes masters and slaves."""

    net: HostNet

    def __init__(self, **settings: Any) -> None:
        super().__init__(HostNet())
        self.settings = settings
        self.controller_disk = CrashDisk(millis=self.clock.millis)
        self.replicas: list[Replica] = []
        self.start_controller()

    def start_controller(self) -> None:
        options = ControllerOptions(
            controller_d_leger_group="g1",
            controller_d_leger_peers=f"n0-10.0.0.1:{CONTROLLER}",
            controller_store_path="/controller",
            config_store_path="/controller/controller.properties",
        )
        self.controller_host = Host(self.net)
        self.controller = ControllerService(
            OptionSet(options, RemotingOptions(), TlsOptions()),
            Runtime(
                self.controller_host,  # type: ignore[arg-type]
                self.clock,
                self.controller_disk,
                InlineWorker(),
            ),
        )
        self.controller.start()

    def stop_controller(self) -> None:
        self.controller.stop()
        self.net.settle(2)
        self.controller_host.die()
        self.controller_disk = self.controller_disk.kill()

    def kill_controller(self) -> None:
        self.controller_host.die()
        self.net.settle()
        self.controller_disk = self.controller_disk.kill()

    @property
    def has_controller(self) -> bool:
        """True if the controller can be reached."""
        return not (self.controller_host.is_dead or self.controller_host.is_cut)

    def turn_controller(self) -> None:
        """Kill the controller, or restart it."""
        if self.controller_host.is_dead:
            self.start_controller()
        else:
            self.kill_controller()

    def isolate_controller(self) -> None:
        """Isolate the controller, or reconnect it."""
        self.controller_host.is_cut = not self.controller_host.is_cut

    def mend_controller(self) -> None:
        """Reconnect the controller, and restart it if it was killed."""
        self.controller_host.is_cut = False
        if self.controller_host.is_dead:
            self.start_controller()

    def forget(self) -> None:
        """Restart the controller without data, and remove the brokers' identities."""
        self.stop_controller()
        self.controller_disk = CrashDisk(millis=self.clock.millis)
        self.start_controller()
        for replica in self.replicas:
            replica.disk.lose("/store/brokerIdentity")

    def join(self, number: int, **settings: Any) -> Replica:
        """Add a broker that has registered."""
        replica = Replica(self, number, **self.settings | settings)
        self.replicas.append(replica)
        self.wait(8)
        return replica

    def pair(self, **settings: Any) -> tuple[Replica, Replica]:
        """Return a master with the topic T, and a slave in sync."""
        master = self.join(1, **settings)
        assert master.leads
        master.create("T")
        slave = self.join(2, **settings)
        assert master.in_sync == {1, 2}
        assert slave.kind is RoleKind.SLAVE
        return master, slave

    def elect(self, number: int) -> int:
        """Have a master elected by an operator; return the response code."""
        header = ElectMasterRequestHeader(
            cluster_name="DefaultCluster", broker_name="b1", broker_id=number, designate_elect=True
        )
        return self.ask_controller(RequestCode.CONTROLLER_ELECT_MASTER, header)

    def ask_controller(self, code: int, header: Header) -> int:
        """Return the response code of a request."""
        talker = Talker()
        self.net.meet(CONTROLLER, talker, ("192.168.1.1", self.next_port()))
        command = RemotingCommand.request(code, header)
        talker.transport.write(encode_command(command))
        self.net.settle()
        (answer,) = talker.take()
        return answer.code
