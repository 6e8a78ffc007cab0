"""DLedger groups of brokers of both kinds.

Under every leader all members have the same bytes; a killed leader has a successor; acknowledged messages are
kept. A torn end is repaired, files fill up, and leadership is transferred.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest

from compat_tests.support.artifacts import CURRENT
from compat_tests.support.driver import message
from compat_tests.support.peers import Peer, Peers
from compat_tests.support.processes import free_ports, wait_until
from compat_tests.support.raw import RawConnection
from compat_tests.support.servers import HOST, Part, apache_broker, our_broker, our_namesrv
from mqgateway import ClientError, Message, Producer
from mqgateway.engine.lenient_json import loads
from mqgateway.gateway.codec.codes import RequestCode
from mqgateway.gateway.raft.wire import RaftCode

GROUP = "broker-a"
FILE_SIZE = 1 << 20
SECONDS = 60
IDS = ("n0", "n1", "n2")


class DLedgerGroup:
    """Three brokers, each of a kind, and a name server of ours."""

    def __init__(self, work: Path, kinds: tuple[str, ...]) -> None:
        self.folder = work / "dledger"
        self.kinds = dict(zip(IDS, kinds, strict=True))
        port = free_ports()
        self.namesrv_address = f"{HOST}:{port}"
        self.namesrv = our_namesrv(self.folder / "namesrv", port)
        self.addresses = {one: f"{HOST}:{free_ports()}" for one in IDS}
        self.ports = {one: free_ports((-2, 0, 1)) for one in IDS}
        peers = ";".join(f"{one}-{address}" for one, address in self.addresses.items())
        self.parts: dict[str, Part] = {}
        for one, kind in self.kinds.items():
            settings = {
                "enableDLegerCommitLog": "true",
                "dLegerGroup": GROUP,
                "dLegerPeers": peers,
                "dLegerSelfId": one,
                "mappedFileSizeCommitLog": str(FILE_SIZE),
                "brokerName": GROUP,
            }
            make = our_broker if kind == "ours" else apache_broker
            self.parts[one] = make(self.folder / one, self.ports[one], self.namesrv_address, settings)

    def start(self) -> None:
        """Start all: ours first, as one of Apache's is up only when it knows its role."""
        for one in sorted(IDS, key=lambda one: self.kinds[one] != "ours"):
            self.parts[one].start()

    def ask(self, one: str, code: RaftCode, **members: Any) -> dict[str, Any]:
        """Return the answer of a member."""
        body = {"group": GROUP, "localId": "test", "remoteId": one, "code": 200, "term": -1, **members}
        with RawConnection(self.addresses[one]) as connection:
            answer = connection.ask(code, body=json.dumps(body).encode())
        assert answer is not None
        assert answer.code == 200
        found: dict[str, Any] = json.loads(answer.body)
        return found

    def leader(self, one: str) -> str:
        """Return the id of the leader that a member knows; "" if it knows none or does not answer."""
        try:
            return str(self.ask(one, RaftCode.METADATA).get("leaderId") or "")
        except OSError:
            return ""

    def wait_for_leader(self, *ids: str) -> str:
        """Wait until these members agree on one of them as the leader; return its id."""

        def agree() -> bool:
            leaders = {self.leader(one) for one in ids}
            return len(leaders) == 1 and leaders <= set(ids)

        wait_until(agree, SECONDS, f"{ids} agree on a leader")
        return self.leader(ids[0])

    def hand_over(self, to: str) -> None:
        """Transfer leadership to a member and wait until it is registered as the master."""

        def is_done() -> bool:
            leader = self.wait_for_leader(*IDS)
            if leader != to:
                members = {"term": self.term(leader), "transferId": leader, "transfereeId": to}
                self.ask(leader, RaftCode.LEADERSHIP_TRANSFER, **members)
            return self.wait_for_leader(*IDS) == to

        wait_until(is_done, SECONDS, f"{to} leads")
        wait_until(lambda: self.registered().get("0") == self.client_address(to), SECONDS, f"{to} is master")

    def client_address(self, one: str) -> str:
        """Return the address of a broker for clients."""
        return f"{HOST}:{self.ports[one]}"

    def registered(self) -> dict[str, str]:
        """Return the registered addresses of the group, by broker id."""
        with RawConnection(self.namesrv_address) as connection:
            answer = connection.ask(RequestCode.GET_BROKER_CLUSTER_INFO)
        assert answer is not None
        data = loads(answer.body)["brokerAddrTable"].get(GROUP, {})
        return {str(number): address for number, address in data.get("brokerAddrs", {}).items()}

    def term(self, one: str) -> int:
        """Return the term that a member has on disk."""
        text = (self.store(one) / "currterm").read_text()
        return int(text.split("currTerm=")[1].split()[0])

    def store(self, one: str) -> Path:
        """Return the folder of a member's log."""
        return self.folder / one / "store" / f"dledger-{one}"

    def files(self, one: str, what: str) -> list[Path]:
        """Return the files of a member's data or index."""
        return sorted((self.store(one) / what).iterdir())

    def bytes_of(self, one: str, what: str) -> bytes:
        """Return all files of a member concatenated, up to the last byte that is not zero."""
        found = []
        for path in self.files(one, what):
            with path.open("rb") as file:
                found.append(file.read(FILE_SIZE))  # this is far enough for the index
        return b"".join(found).rstrip(b"\0")

    def wait_until_same(self) -> None:
        """Wait until the logs have the same bytes."""
        for what in ("data", "index"):
            wait_until(
                lambda what=what: len({self.bytes_of(one, what) for one in IDS}) == 1,  # type: ignore[misc]
                SECONDS,
                f"the {what} of all are the same bytes",
            )


class Sender:
    """A sender that repeats each message until it is stored."""

    def __init__(self, group: DLedgerGroup) -> None:
        self._producer = Producer("producers", group.namesrv_address)
        self._random = Random(5)
        self.taken: list[bytes] = []

    def __enter__(self) -> Sender:
        self._producer.__enter__()
        return self

    def __exit__(self, *failure: Any) -> None:
        self._producer.__exit__(*failure)

    def send(self, count: int, text: str) -> float:
        """Send messages of growing length; return how long the first one took, in seconds."""
        began = time.monotonic()
        first = 0.0
        for number in range(count):
            body = f"{text} {number} ".encode() + self._random.randbytes(number * 97 % 9000)
            while True:
                try:
                    self._producer.send(Message("TopicTest", body))
                    break
                except ClientError:
                    assert time.monotonic() - began < SECONDS
                    time.sleep(0.2)
            first = first or time.monotonic() - began
            self.taken.append(body)
        return first


GROUPS = [("ours", "ours", "ours"), ("ours", "apache", "apache"), ("apache", "ours", "ours")]


@pytest.fixture(params=GROUPS, ids="-".join)
def group(work: Path, request: pytest.FixtureRequest) -> Iterator[DLedgerGroup]:
    group = DLedgerGroup(work, request.param)
    try:
        group.namesrv.start()
        group.start()
        yield group
    finally:
        for part in [*group.parts.values(), group.namesrv]:
            part.kill9()


@pytest.mark.long
@pytest.mark.timeout(600)
def test_all_members_have_the_same_bytes_under_every_leader(group: DLedgerGroup, peers: Peers) -> None:
    group.hand_over("n0")
    _stock_clients_send_and_read(group, peers)
    with Sender(group) as sender:
        sender.send(400, "n0 leads")
        group.wait_until_same()
        assert len(group.files("n1", "data")) > 1  # files are full, and end with a blank

        group.parts["n0"].kill9()
        killed = time.monotonic()
        leader = group.wait_for_leader("n1", "n2")
        print(f"{group.kinds}: {leader} leads {time.monotonic() - killed:.1f} s after kill -9")
        sender.send(1, "first")
        print(f"a send is taken {time.monotonic() - killed:.1f} s after it")
        sender.send(50, "two of three")
        group.parts["n0"].start()
        group.wait_until_same()

        # One of ours is killed while it writes an entry, and misses some.
        ours = next(one for one in IDS if group.kinds[one] == "ours" and one != group.wait_for_leader(*IDS))
        group.parts[ours].kill9()
        _tear(group, ours)
        sender.send(50, "without one of ours")
        group.parts[ours].start()
        group.wait_until_same()

        for one in ("n1", "n2"):
            group.hand_over(one)
            sender.send(50, f"{one} leads")
        group.wait_until_same()
    found = group.bytes_of("n1", "data")
    assert [body for body in sender.taken if body not in found] == []
    for part in group.parts.values():
        part.stop()
    group.start()
    with Sender(group) as sender:
        sender.send(20, "all were stopped")
    group.wait_until_same()


def _stock_clients_send_and_read(group: DLedgerGroup, peers: Peers) -> None:
    """Each message is consumed once."""
    peer = Peer(group.namesrv_address, peers.driver(CURRENT), CURRENT)
    try:
        topic = peer.topic("ledger")
        wait_until(lambda: peer.knows(topic, 4), SECONDS, "the topic has a route")
        sent = {f"stock-{number}" + "x" * (number % 700) for number in range(300)}
        with peer.producer() as producer:
            producer.send([message(topic, body, keys=body.partition("x")[0]) for body in sent])
        with peer.push(peer.name("readers"), {topic: "*"}) as consumer:
            found = consumer.collect(len(sent), SECONDS)
        assert sorted(one.body for one in found) == sorted(sent)
    finally:
        peer.close()


def _tear(group: DLedgerGroup, one: str) -> None:
    """Append a part of the last entry after the end, as a torn write leaves it."""
    path = group.files(one, "data")[-1]
    data = path.read_bytes()
    end = len(data.rstrip(b"\0"))
    torn = data[max(0, end - 600) : end - 100]
    path.write_bytes(data[:end] + torn[: len(data) - end] + data[end + len(torn) :])
    assert path.stat().st_size == FILE_SIZE
