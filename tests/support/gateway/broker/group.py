"""A name server and the brokers of one group in memory: real bytes between them, time moved by hand."""

from __future__ import annotations

from typing import Any

from mqgateway.engine.lenient_json import loads
from mqgateway.engine.options import (
    BrokerOptions,
    BrokerRole,
    NamesrvOptions,
    OptionSet,
    RemotingOptions,
    StoreOptions,
    TlsOptions,
)
from mqgateway.engine.store.record import decode
from mqgateway.engine.testing.crash_disk import CrashDisk
from mqgateway.engine.worker import InlineWorker
from mqgateway.gateway.broker.service import BrokerService
from mqgateway.gateway.codec.codes import RequestCode
from mqgateway.gateway.codec.command import RemotingCommand, encode_command
from mqgateway.gateway.codec.fields import Header
from mqgateway.gateway.codec.headers import (
    QueryConsumerOffsetRequestHeader,
    UpdateConsumerOffsetRequestHeader,
)
from mqgateway.gateway.namesrv.service import NameServerService
from mqgateway.gateway.runtime.service import Runtime
from tests.support.gateway.broker.helpers import pull_header, send_header
from tests.support.gateway.namesrv.world import NetClock
from tests.support.gateway.remoting.pair import Net, Talker
from tests.support.topics import topic_header

NAME_SERVER = 9876
FILE_SIZE = 1 << 13


class Member:
    """One broker, which can stop, die and restart in another role on the same disk."""

    def __init__(self, group: Group, port: int, role: BrokerRole, broker_id: int, **settings: Any) -> None:
        self.group = group
        self.port = port
        self.disk = CrashDisk(millis=group.clock.millis)
        self.settings = settings
        self.begin(role, broker_id)

    def begin(self, role: BrokerRole, broker_id: int) -> Member:
        """Start in a role."""
        store = {
            "store_path_root_dir": "/store",
            "mapped_file_size_commit_log": FILE_SIZE,
            "broker_role": role,
            "ha_allowed_slaves": "10.0.0.0/8",
        }
        name = {"broker_name": "b1"}
        wanted = {**name, **store, "timer_wheel_enable": False, **self.settings}
        fields = StoreOptions.__dataclass_fields__
        self.service = BrokerService(
            OptionSet(
                BrokerOptions(
                    broker_id=broker_id,
                    broker_ip1="10.0.0.1",
                    broker_ip2="10.0.0.1",
                    listen_port=self.port,
                    namesrv_addr=f"10.0.0.1:{NAME_SERVER}",
                    **{name: value for name, value in wanted.items() if name not in fields},
                ),
                RemotingOptions(),
                StoreOptions(**{name: value for name, value in wanted.items() if name in fields}),
                TlsOptions(),
            ),
            Runtime(self.reactor(), self.group.clock, self.disk, InlineWorker()),
        )
        self.service.start()
        self.group.net.settle(1)
        return self

    def reactor(self) -> Any:
        """Return the broker's reactor."""
        return self.group.net

    @property
    def store(self) -> Any:
        return self.service.broker.store

    @property
    def problem(self) -> str:
        assert self.service.group.replication.client is not None
        return self.service.group.replication.client.problem

    def stop(self) -> Member:
        """Stop cleanly."""
        self.service.stop()
        self.group.net.settle(4)
        return self

    def kill(self) -> Member:
        """Kill the process: its ports are closed, its connections end."""
        for port in (self.port, self.port - 2, self.port + 1):
            self.group.net.ports.pop(port, None)
        for pair in self.group.net.pairs:
            if pair.server.host.port in (self.port, self.port - 2, self.port + 1):
                pair.client.abortConnection()
        self.service._schedule.stop()
        registration = self.service.broker.cluster.registration
        for call in list(self.group.net.getDelayedCalls()):
            if getattr(call.func, "__self__", None) is registration:
                call.cancel()
        client = self.service.group.replication.client
        if client is not None:
            client.stop()
        self.group.net.settle()
        self.disk = self.disk.kill()
        return self

    def log(self) -> bytes:
        """Return all bytes of the log's files, from the first one kept."""
        names = self.disk.listdir("/store/commitlog")
        return b"".join(self.disk.read_bytes(f"/store/commitlog/{name}") for name in names)

    def ask(
        self, code: int, header: Header | None = None, body: bytes = b"", seconds: float = 0
    ) -> RemotingCommand | None:
        """Send a request on a new connection; return None while there is no answer."""
        talker = Talker()
        self.group.net.meet(self.port, talker, ("192.168.1.1", self.group.next_port()))
        command = RemotingCommand.request(code, header, body)
        talker.transport.write(encode_command(command))
        self.group.net.settle(seconds)
        self.talker = talker
        return next(iter(talker.take()), None)

    def code(self, code: int, header: Header | None = None, body: bytes = b"") -> int:
        """Return the response code of an answer that must come at once."""
        answer = self.ask(code, header, body)
        assert answer is not None
        return answer.code

    def create(self, topic: str) -> None:
        """Create a topic of one queue."""
        header = topic_header(topic)
        answer = self.ask(RequestCode.UPDATE_AND_CREATE_TOPIC, header, seconds=0.5)
        assert answer is not None and answer.code == 0

    def send(self, count: int = 1, topic: str = "T", body: bytes = b"hello") -> None:
        """Send messages, which must all be accepted."""
        for _ in range(count):
            assert self.code(RequestCode.SEND_MESSAGE_V2, send_header(topic, queue_id=0), body) == 0

    def pull(
        self, offset: int = 0, sys_flag: int = 4, topic: str = "T", **fields: Any
    ) -> RemotingCommand | None:
        """Pull; return None while the answer waits."""
        header = pull_header(topic, offset=offset, sys_flag=sys_flag, subscription="*", **fields)
        return self.ask(RequestCode.PULL_MESSAGE, header)

    def bodies(self, topic: str = "T") -> list[bytes]:
        """Return the bodies of all readable messages."""
        found: list[bytes] = []
        offset = self.store.min_offset(topic, 0)
        while (result := self.store.get(topic, 0, offset, 32)).status.name == "FOUND":
            at = 0
            while at < len(result.body):
                message = decode(result.body, at)
                found.append(message.body)
                at += message.size
            offset = result.next_offset
        return found

    def commit(self, offset: int, topic: str = "T") -> None:
        """Commit an offset of the group G."""
        header = UpdateConsumerOffsetRequestHeader(
            consumer_group="G", topic=topic, queue_id=0, commit_offset=offset
        )
        assert self.code(RequestCode.UPDATE_CONSUMER_OFFSET, header) == 0

    def committed(self, topic: str = "T") -> int:
        """Return the committed offset of the group G."""
        header = QueryConsumerOffsetRequestHeader(consumer_group="G", topic=topic, queue_id=0)
        answer = self.ask(RequestCode.QUERY_CONSUMER_OFFSET, header)
        assert answer is not None and answer.code == 0
        return int(answer.ext_fields["offset"])

    def ha_status(self) -> Any:
        """Return the answer to 907."""
        answer = self.ask(RequestCode.GET_BROKER_HA_STATUS)
        assert answer is not None and answer.code == 0
        return loads(answer.body)


class Group:
    """A name server, and brokers that register with it."""

    def __init__(self, net: Net | None = None, **settings: Any) -> None:
        self.net = net or Net()
        self.clock = NetClock(self.net)
        self._ports = 50_000
        options = NamesrvOptions(
            kv_config_path="/ns/kv.json", config_store_path="/ns/ns.properties", **settings
        )
        self.name_server = NameServerService(
            OptionSet(options, RemotingOptions(listen_port=NAME_SERVER), TlsOptions()),
            Runtime(self.net, self.clock, CrashDisk(millis=self.clock.millis), InlineWorker()),
        )
        self.name_server.start()

    def next_port(self) -> int:
        self._ports += 1
        return self._ports

    def master(self, role: BrokerRole = BrokerRole.ASYNC_MASTER, **settings: Any) -> Member:
        """Return a master with the topic T and the group G."""
        member = Member(self, 10911, role, 0, **settings)
        member.create("T")
        member.service.broker.tables.groups.find("G")
        return member

    def slave(self, number: int = 1, **settings: Any) -> Member:
        """Return a slave, which has the address of its master if there is one."""
        return Member(self, 10911 + 1000 * number, BrokerRole.SLAVE, number, **settings)

    def wait(self, seconds: float) -> None:
        """Let time pass."""
        self.net.settle(seconds)
