"""Migration from a DLedger group: the store of Apache's brokers becomes a store of a standalone broker.

Three brokers of Apache's in a group; a consumer group reads a part. Then the leader's store is verified,
copied entry by entry by our own log, byte for byte, and converted. A broker of ours continues with a copy of
the result, and one of Apache's with another: stock clients get exactly the messages that they had not read. A
set of replicas under a controller starts with a third one.
"""

from __future__ import annotations

import shutil
import time
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple

import pytest

from compat_tests.support.artifacts import CURRENT
from compat_tests.support.controlled import ControlledGroup
from compat_tests.support.driver import message
from compat_tests.support.offset_table import offsets_on_disk
from compat_tests.support.peers import Peer, Peers
from compat_tests.support.processes import free_ports, wait_until
from compat_tests.support.raw import RawConnection
from compat_tests.support.servers import (
    BROKER_NAME,
    HOST,
    Part,
    apache_broker,
    our_broker,
    our_namesrv,
    wait_until_registered,
)
from mqgateway.engine.lenient_json import loads
from mqgateway.engine.options import StoreOptions
from mqgateway.engine.raft.files.file_log import FileLog
from mqgateway.engine.real_disk import RealDisk
from mqgateway.engine.upkeep.check import check_store
from mqgateway.engine.upkeep.convert import ConvertReport, convert_store
from mqgateway.gateway.codec.codes import RequestCode

FILE_SIZE, SLOTS, ENTRIES = 1 << 17, 1000, 4000
SETTINGS = {
    "mappedFileSizeCommitLog": str(FILE_SIZE),
    "maxHashSlotNum": str(SLOTS),
    "maxIndexNum": str(ENTRIES),
    "flushConsumerOffsetInterval": "500",
    "flushDelayOffsetInterval": "500",
}
READ, UNREAD = 400, 200
DELAYED, DELAY_LEVEL = 5, 4
OLDER = 300


class Members:
    """Three brokers of Apache's in a DLedger group, and a name server of ours."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        port = free_ports()
        self.namesrv_address = f"{HOST}:{port}"
        self._namesrv = our_namesrv(folder / "namesrv", port)
        self._ports = [free_ports((-2, 0, 1)) for _ in range(3)]
        self._peers = ";".join(f"n{number}-{HOST}:{free_ports()}" for number in range(3))
        self.parts: list[Part] = []

    def __enter__(self) -> Members:
        self._namesrv.start()
        return self

    def __exit__(self, *failure: object) -> None:
        for part in self.parts:
            part.kill9()
        self._namesrv.kill9()

    def home(self, number: int) -> Path:
        """Return the folder of a member."""
        return self.folder / f"n{number}"

    def write_before(self) -> Part:
        """Start a standalone broker on the first member's store."""
        part = apache_broker(self.home(0), self._ports[0], self.namesrv_address, SETTINGS)
        self.parts = [part]
        part.start()
        wait_until_registered(self.namesrv_address, {BROKER_NAME})
        return part

    def begin(self) -> None:
        """Start all three, and wait until one leads the others."""
        for number in range(3):
            own = {"enableDLegerCommitLog": "true", "dLegerGroup": BROKER_NAME, "dLegerPeers": self._peers}
            settings = {**SETTINGS, **own, "dLegerSelfId": f"n{number}"}
            self.parts.append(
                apache_broker(self.home(number), self._ports[number], self.namesrv_address, settings)
            )
            self.parts[-1].start()
        wait_until(lambda: len(self.addresses()) == 3 and "0" in self.addresses(), 60, "a leader is known")

    def addresses(self) -> dict[str, str]:
        """Return the addresses of the registered members, by broker id."""
        with RawConnection(self.namesrv_address) as connection:
            answer = connection.ask(RequestCode.GET_BROKER_CLUSTER_INFO)
        assert answer is not None
        data = loads(answer.body)["brokerAddrTable"].get(BROKER_NAME, {})
        return {str(number): address for number, address in data.get("brokerAddrs", {}).items()}

    def leader(self) -> int:
        """Return the number of the member that leads."""
        return self._ports.index(int(self.addresses()["0"].rpartition(":")[2]))

    def end(self) -> None:
        """Stop all brokers cleanly."""
        for part in self.parts:
            part.stop()
        self.parts.clear()

    def go_on(self, kind: str, target: Path) -> Part:
        """Start a standalone broker of a kind on a converted store."""
        make = apache_broker if kind == "apache" else our_broker
        part = make(target.parent, self._ports[0], self.namesrv_address, SETTINGS)
        self.parts = [part]
        part.start()
        wait_until_registered(self.namesrv_address, {BROKER_NAME})
        return part


class Sent(NamedTuple):
    """The messages sent, their topic, and the consumer group."""

    topic: str
    group: str
    read: set[str]
    unread: set[str]
    ends: dict[int, int]


@pytest.mark.long
@pytest.mark.both_servers
@pytest.mark.timeout(600)
@pytest.mark.parametrize("older", [0, OLDER], ids=["alone", "with an older log"])
def test_a_group_becomes_brokers_by_themselves(older: int, peers: Peers) -> None:
    folder = peers.work / f"ledgers-{older}-{time.time_ns()}"
    with Members(folder) as members, ExitStack() as ending:
        peer = Peer(members.namesrv_address, peers.driver(CURRENT), CURRENT)
        ending.callback(peer.close)
        topic, before = "", set[str]()
        if older:
            part = members.write_before()
            topic = peer.topic("ledger")
            before = send(peer, topic, "before", older)
            part.stop()
            for number in (1, 2):
                shutil.copytree(members.home(0), members.home(number))
        members.begin()
        sent = write_and_read_a_part(members, peer, topic or peer.topic("ledger"), before)
        leader = members.leader()
        members.end()
        peer.close()

        stores = [members.home(number) / "store" for number in range(3)]
        for number, store in enumerate(stores):
            checked = check_store(RealDisk(), settings_of(store))
            assert not checked.findings.errors, [*map(str, checked.findings.kept)]
            rewritten(store / f"dledger-n{number}", folder / f"rewritten-{number}", first=older > 0)
        report = convert(stores[leader], folder / "ours" / "store")
        assert report.records >= READ + UNREAD + older
        convert(stores[(leader + 1) % 3], folder / "follower" / "store")
        assert logs(folder / "follower" / "store") == logs(folder / "ours" / "store")
        shutil.copytree(folder / "ours", folder / "apache")
        shutil.copytree(folder / "ours", folder / "controlled" / "b0")
        for kind in ("ours", "apache"):
            part = members.go_on(kind, folder / kind / "store")
            consumers_go_on(peer, sent)
            part.stop()
            peer.close()
            assert not check_store(RealDisk(), settings_of(folder / kind / "store")).findings.errors
    replicas_go_on(folder / "controlled", sent, report.log_end)


def settings_of(store: Path) -> StoreOptions:
    return StoreOptions(
        store_path_root_dir=str(store),
        mapped_file_size_commit_log=FILE_SIZE,
        max_hash_slot_num=SLOTS,
        max_index_num=ENTRIES,
    )


def send(peer: Peer, topic: str, what: str, count: int, **fields: object) -> set[str]:
    """Send messages with keys; return their bodies."""
    bodies = [f"{what}-{number}" + "x" * (number % 700) for number in range(count)]
    with peer.producer() as producer:
        producer.send([message(topic, body, keys=body.partition("x")[0], **fields) for body in bodies])
    return set(bodies)


def write_and_read_a_part(members: Members, peer: Peer, topic: str, before: set[str]) -> Sent:
    """Send messages, read them with a consumer group, and send others that the group has not read."""
    group = peer.name("readers")
    wait_until(lambda: peer.knows(topic, 4), 30, "the topic has a route")
    read = before | send(peer, topic, "read", READ)
    with peer.push(group, {topic: "*"}) as consumer:
        assert {one.body for one in consumer.collect(len(read))} == read
    table = members.home(members.leader()) / "store" / "config" / "consumerOffset.json"
    wait_until(lambda: committed(table, topic, group) == len(read), 30, "offsets are on disk")
    unread = send(peer, topic, "unread", UNREAD)
    unread |= send(peer, topic, "delayed", DELAYED, delayLevel=DELAY_LEVEL)
    with peer.pull(peer.name("auditors")) as consumer:
        ends = {queue.queue_id: consumer.max_offset(queue) for queue in consumer.queues(topic)}
    return Sent(topic, group, read, unread, ends)


def committed(table: Path, topic: str, group: str) -> int:
    """Return how many messages a group has consumed, by the table on disk."""
    offsets = offsets_on_disk(table)
    return sum(offsets.get(f"{topic}@{group}", {}).values())


def rewritten(member: Path, folder: Path, *, first: bool) -> None:
    """Check that our own log, given the same entries, writes the same bytes."""
    found = FileLog(RealDisk(), str(member), FILE_SIZE)
    made = FileLog(RealDisk(), str(folder), FILE_SIZE)
    assert found.begin_position > 0 if first else found.begin_position == 0
    made.reset(found.begin_index, found.begin_position)
    while made.end_index < found.end_index:
        for entry in found.entries(made.end_index + 1, 1 << 20):
            made.append_entry(entry)
    made.note_committed(found.committed_index)
    made.save_progress()
    made.keep_vote(found.term, found.vote)
    files = [file for part in ("data", "index") for file in sorted((member / part).iterdir())]
    for file in (*files, member / "checkpoint", member / "currterm"):
        twin = folder / file.relative_to(member)
        assert twin.read_bytes() == file.read_bytes(), file


def convert(store: Path, target: Path) -> ConvertReport:
    target.parent.mkdir(parents=True)
    return convert_store(RealDisk(), settings_of(store), str(target))


def logs(store: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in (store / "commitlog").iterdir()}


def consumers_go_on(peer: Peer, sent: Sent) -> None:
    """Check that the group gets exactly its unread messages, that sends continue and old keys are found."""
    wait_until(lambda: peer.knows(sent.topic, 4), 60, "the topic has a route")
    with peer.push(sent.group, {sent.topic: "*"}) as consumer:
        found = consumer.collect(len(sent.unread), 60)
    assert {one.body for one in found} == sent.unread
    assert len(found) == len(sent.unread)
    with peer.producer() as producer:
        for key in ("read-7", f"read-{READ - 1}", "unread-3"):
            assert key in {one.body.partition("x")[0] for one in producer.query(sent.topic, key, 0, 1 << 60)}
        for queue in producer.queues(sent.topic):
            (one,) = producer.send_to(queue, [message(sent.topic, "new")])
            assert one.queue_offset >= sent.ends[queue.queue_id]


def replicas_go_on(folder: Path, sent: Sent, end: int) -> None:
    """Start a set under a controller with the store on its master; an empty replica copies the log.

    The replica has all messages when it has to take over.
    """
    with ControlledGroup(folder, "file", ("ours", "ours"), SETTINGS) as group:
        first, second = group.members
        assert [epoch["startOffset"] for epoch in first.epochs()["epochList"]] == [end]
        wait_until(lambda: second.end() == first.end() > end, 60, "the log is copied")
        assert second.log(end) == first.log(end)
        first.kill()
        wait_until(lambda: group.master() is second, 60, "the replica is master")
        assert second.knows(sent.topic)
