"""The brokers of a DLedger group in memory: real bytes between them, time moved by hand."""

from __future__ import annotations

from typing import Any

from mqgateway.engine.ha.role import RoleKind
from mqgateway.engine.options import BrokerRole
from mqgateway.engine.raft.files.entry import HEAD_SIZE, Head, examine
from mqgateway.gateway.codec.codes import RequestCode
from mqgateway.gateway.codec.command import RemotingCommand, encode_command
from tests.support.gateway.broker.group import Group, Member
from tests.support.gateway.broker.helpers import send_header
from tests.support.gateway.remoting.hosts import Host, HostNet
from tests.support.gateway.remoting.pair import Talker

PORTS = {"n0": 10911, "n1": 11911, "n2": 12911}
PEERS = ";".join(f"{one}-10.0.0.1:{port + 10}" for one, port in PORTS.items())


class LedgerBroker(Member):
    """One broker of the group, without a role in its settings."""

    def __init__(self, brokers: LedgerGroup, self_id: str, **settings: Any) -> None:
        self.brokers = brokers
        self.self_id = self_id
        ledger = {
            "enable_d_leger_commit_log": True,
            "d_leger_group": "b1",
            "d_leger_peers": PEERS,
            "d_leger_self_id": self_id,
        }
        super().__init__(brokers, PORTS[self_id], BrokerRole.ASYNC_MASTER, 0, **ledger | settings)

    @property
    def kind(self) -> RoleKind:
        return self.service.broker.role.state.kind

    @property
    def member(self) -> Any:
        """Member of the group."""
        return self.service.group.ledger.service.member

    @property
    def leads(self) -> bool:
        return self.kind is RoleKind.MASTER and self.store.gate is None

    def reactor(self) -> Host:
        self.host = Host(self.brokers.net)
        return self.host

    def again(self) -> LedgerBroker:
        """Restart on the content of the disk."""
        self.begin(BrokerRole.ASYNC_MASTER, 0)
        return self

    def kill(self, seed: int | None = None) -> LedgerBroker:
        """Kill the process, or with a seed cut the power of its machine."""
        self.host.die()
        self.group.net.settle()
        self.disk = self.disk.kill() if seed is None else self.disk.crash(seed)
        return self

    def log(self) -> bytes:
        """Return all bytes of the data files, to the last that is not zero."""
        return self._all("data")

    def index(self) -> bytes:
        """Return all bytes of the index files, to the last that is not zero."""
        return self._all("index")

    def _all(self, what: str) -> bytes:
        folder = f"/store/dledger-{self.self_id}/{what}"
        names = self.disk.listdir(folder)
        return b"".join(self.disk.read_bytes(f"{folder}/{name}") for name in names).rstrip(b"\0")

    def entries(self) -> list[tuple[int, int]]:
        """Return position and size of each entry of the first file."""
        data, at, found = self.log(), 0, list[tuple[int, int]]()
        while at + HEAD_SIZE < len(data):
            head = examine(data, at, at)
            assert isinstance(head, Head)
            found.append((at, head.size))
            at += head.size
        return found

    def ask_later(self, body: bytes = b"late", topic: str = "T") -> Talker:
        """Send on a new connection; `take` returns the answer once there is one."""
        talker = Talker()
        self.group.net.meet(self.port, talker, ("192.168.1.1", self.group.next_port()))
        command = RemotingCommand.request(RequestCode.SEND_MESSAGE_V2, send_header(topic, queue_id=0), body)
        talker.transport.write(encode_command(command))
        return talker

    def try_to_send(self, body: bytes = b"hello", seconds: float = 0.5) -> RemotingCommand | None:
        """Return the answer to a send, None while it waits."""
        return self.ask(RequestCode.SEND_MESSAGE_V2, send_header("T", queue_id=0), body, seconds)

    def send(self, count: int = 1, topic: str = "T", body: bytes = b"hello") -> None:
        """Send messages, which must all be accepted."""
        for _ in range(count):
            answer = self.ask(RequestCode.SEND_MESSAGE_V2, send_header(topic, queue_id=0), body, 0.1)
            assert answer is not None and answer.code == 0, answer


class LedgerGroup(Group):
    """A name server, and three brokers that elect one of them."""

    net: HostNet

    def __init__(self, **settings: Any) -> None:
        super().__init__(HostNet())
        self.brokers = {one: LedgerBroker(self, one, **settings) for one in PORTS}

    @property
    def leader(self) -> LedgerBroker:
        """The only master."""
        (leader,) = (one for one in self.brokers.values() if not one.host.is_dead and one.leads)
        return leader

    @property
    def others(self) -> list[LedgerBroker]:
        """The members that do not lead."""
        leader = self.leader
        return [one for one in self.brokers.values() if one is not leader]

    def wait_for_leader(self, seconds: float = 30) -> LedgerBroker:
        """Wait until there is a master."""
        end = self.net.seconds() + seconds
        while self.net.seconds() < end:
            self.wait(0.5)
            found = [one for one in self.brokers.values() if not one.host.is_dead and one.leads]
            if len(found) == 1:
                return found[0]
        raise AssertionError("nobody leads")
