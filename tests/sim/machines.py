"""Machines of a simulated cluster: a broker of the set, a controller or a name server on each, assembled by
the product, and the etcd shared by several controllers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mqgateway.engine.ha.role import RoleKind, RoleState
from mqgateway.engine.options import (
    BrokerOptions,
    FlushDiskType,
    NamesrvOptions,
    OptionSet,
    RemotingOptions,
    StoreOptions,
    TlsOptions,
)
from mqgateway.engine.options.controller import ControllerOptions
from mqgateway.engine.store.record import decode
from mqgateway.engine.testing.crash_disk import CrashDisk
from mqgateway.gateway.broker.service import BrokerService
from mqgateway.gateway.controller.service import ControllerService
from mqgateway.gateway.namesrv.service import NameServerService
from mqgateway.gateway.remoting.call import Call
from mqgateway.gateway.runtime.service import Runtime
from tests.sim.world import Process, World
from tests.support.engine.controller.etcd_model import EtcdModel
from tests.support.gateway.controller.etcd_server import EtcdServer

BROKER, CONTROLLER, NAME_SERVER, ETCD = 10911, 9878, 9876, 2379
SET, TOPIC = "b1", "T"
FILE_SIZE = 1 << 14


class SlowWorker:
    """Runs blocking work in order, each item delayed by the machine's disk."""

    def __init__(self, machine: Machine, process: Process) -> None:
        self._machine, self._process = machine, process
        self._free_at = 0.0

    def run(self, work: Callable[[], Any], done: Callable[[Any], None]) -> None:
        world = self._process.world

        def perform() -> None:
            try:
                outcome = work()
            except Exception as error:
                outcome = error
            done(outcome)

        if not self._machine.disk_seconds and self._free_at <= world.now:
            perform()
            return
        self._free_at = max(self._free_at, world.now) + self._machine.disk_seconds
        world.at(self._free_at - world.now, self._process, perform)


class Machine:
    """One machine at an address, its disk, and the process that runs there."""

    def __init__(self, world: World, address: str) -> None:
        self.world, self.address = world, address
        self.disk = CrashDisk(millis=lambda: self.process.millis())
        self.disk_seconds = 0.0
        self.speed = 1.0
        self.ahead = 0
        self.process = Process(world, address)

    def __repr__(self) -> str:
        return self.address.rpartition(".")[2]

    def start(self) -> None:
        """Start the service on the current content of the disk."""
        self.process = Process(self.world, self.address, self.speed, self.ahead)
        self.begin(SlowWorker(self, self.process))

    def begin(self, worker: SlowWorker) -> None:
        """Create and start the service."""
        raise NotImplementedError

    def die(self, power: int | None = None) -> None:
        """Kill the process or, with the seed `power`, cut the power of the machine."""
        self.process.die(silently=power is not None)
        self.disk = self.disk.kill() if power is None else self.disk.crash(power)

    def drift(self, speed: float) -> None:
        """Set the speed of the clock."""
        self.speed = speed
        self.process.drift(speed)

    def set_clock(self, ahead: int) -> None:
        """Set the wall clock to `ahead` ms after that of a machine without faults."""
        self.ahead = self.process.ahead = ahead

    @property
    def is_dead(self) -> bool:
        return self.process.is_dead


class Broker(Machine):
    """A member of the set; `on_role` is called with its roles, `on_answer` with the codes of successful
    requests."""

    def __init__(
        self,
        world: World,
        number: int,
        cluster: Addresses,
        on_role: Callable[[Broker, RoleState], None],
        on_answer: Callable[[Broker, int], None],
        *,
        power: bool,
        **settings: Any,
    ) -> None:
        super().__init__(world, f"10.0.0.{10 + number}")
        self.cluster, self.power, self.settings = cluster, power, settings
        self._on_role, self._on_answer = on_role, on_answer
        self.start()

    def begin(self, worker: SlowWorker) -> None:
        self.service = BrokerService(
            OptionSet(self.options(), RemotingOptions(), self.store_options(), TlsOptions()),
            Runtime(self.process, self.process, self.disk, worker),  # type: ignore[arg-type]
            hooks=[self],
        )
        self.service.broker.role.on_change(lambda _, after: self._on_role(self, after))
        self.started = self.service.start()

    def options(self) -> BrokerOptions:
        """Return the settings of the broker."""
        return BrokerOptions(
            broker_name=SET,
            broker_ip1=self.address,
            broker_ip2=self.address,
            listen_port=BROKER,
            namesrv_addr=self.cluster.name_servers,
            enable_controller_mode=True,
            controller_addr=self.cluster.controllers,
        )

    def store_options(self) -> StoreOptions:
        """Return the settings of its store."""
        return StoreOptions(
            timer_wheel_enable=False,
            store_path_root_dir="/store",
            mapped_file_size_commit_log=FILE_SIZE,
            max_hash_slot_num=64,
            max_index_num=256,
            ha_allowed_slaves="10.0.0.0/8",
            flush_disk_type=FlushDiskType.SYNC_FLUSH if self.power else FlushDiskType.ASYNC_FLUSH,
            **{"all_ack_in_sync_state_set": True, **self.settings},
        )

    # A hook of the dispatcher.

    def before(self, call: Call) -> None:
        """Accept every request."""

    def after(self, call: Call, reply: Any) -> None:
        """Report a successful answer."""
        if getattr(reply, "code", -1) == 0:
            self._on_answer(self, call.command.code)

    # State.

    @property
    def place(self) -> str:
        return f"{self.address}:{BROKER}"

    @property
    def store(self) -> Any:
        return self.service.broker.store

    @property
    def role(self) -> RoleState:
        return self.service.broker.role.state

    @property
    def leads(self) -> bool:
        return not self.is_dead and self.role.kind is RoleKind.MASTER and self.store.gate is None

    @property
    def in_sync(self) -> set[int]:
        return set(self.service.broker.produce.durability.replicas.in_sync_set.ids)

    @property
    def number(self) -> int:
        controlled: Any = self.service.group.controlled
        return int(controlled.number)

    def log(self) -> bytes:
        """Return all bytes of the log's files, from the first one that exists."""
        names = self.disk.listdir("/store/commitlog")
        return b"".join(self.disk.read_bytes(f"/store/commitlog/{name}") for name in names)

    def bodies(self) -> list[bytes]:
        """Return the bodies of all messages of the queue, as a reader gets them."""
        found: list[bytes] = []
        offset = self.store.min_offset(TOPIC, 0)
        while (result := self.store.get(TOPIC, 0, offset, 32)).status.name == "FOUND":
            found += bodies_of(result.body)
            offset = result.next_offset
        return found


def bodies_of(records: bytes) -> list[bytes]:
    """Return the bodies of messages in a pull's answer."""
    found, at = [], 0
    while at < len(records):
        message = decode(records, at)
        found.append(message.body)
        at += message.size
    return found


class Controller(Machine):
    """One of the controllers."""

    def __init__(self, world: World, number: int, cluster: Addresses) -> None:
        super().__init__(world, f"10.0.0.{number + 2}")
        self.number, self.cluster = number, cluster
        self.start()

    def begin(self, worker: SlowWorker) -> None:
        cluster = self.cluster
        options = ControllerOptions(
            controller_d_leger_group="g1",
            controller_d_leger_peers=cluster.peers,
            controller_d_leger_self_id=f"n{self.number}",
            controller_store_path="/controller",
            config_store_path="/controller/controller.properties",
            controller_etcd_endpoints=cluster.etcd,
        )
        self.service = ControllerService(
            OptionSet(options, RemotingOptions(), TlsOptions()),
            Runtime(self.process, self.process, self.disk, worker),  # type: ignore[arg-type]
        )
        self.service.start()

    @property
    def leads(self) -> bool:
        return not self.is_dead and self.service.controller.state.is_leader


class NameServer(Machine):
    """One of the name servers."""

    def __init__(self, world: World, number: int) -> None:
        super().__init__(world, f"10.0.0.{100 + number}")
        self.start()

    def begin(self, worker: SlowWorker) -> None:
        self.service = NameServerService(
            OptionSet(
                NamesrvOptions(kv_config_path="/ns/kv.json", config_store_path="/ns/ns.properties"),
                RemotingOptions(listen_port=NAME_SERVER),
                TlsOptions(),
            ),
            Runtime(self.process, self.process, self.disk, worker),  # type: ignore[arg-type]
        )
        self.service.start()


class Etcd:
    """An etcd server at an address of its own, whose leases run on true time."""

    def __init__(self, world: World) -> None:
        self.model = EtcdModel()
        self.process = Process(world, "10.0.0.200")
        EtcdServer(self.process, ETCD, self.model)  # type: ignore[arg-type]
        self._tick()

    def _tick(self) -> None:
        self.model.advance(round(self.process.world.now * 1000))
        self.process.callLater(0.1, self._tick)


class Addresses:
    """Addresses of the parts of a cluster."""

    def __init__(self, controllers: int, name_servers: int) -> None:
        places = [f"10.0.0.{number + 2}:{CONTROLLER}" for number in range(controllers)]
        self.controllers = ";".join(places)
        self.peers = ";".join(f"n{number}-{place}" for number, place in enumerate(places))
        self.name_server_list = [f"10.0.0.{100 + number}:{NAME_SERVER}" for number in range(name_servers)]
        self.name_servers = ";".join(self.name_server_list)
        self.etcd = f"http://10.0.0.200:{ETCD}" if controllers > 1 else ""
