"""A slave with a master by hand."""

from __future__ import annotations

from typing import Any

import pytest
from twisted.internet.protocol import Factory

from mqgateway.engine.ha.frames import encode_header
from mqgateway.engine.options import FlushDiskType
from tests.support.gateway.broker.group import Group, Member

PORT = 30_000


class HandMaster(Factory):
    """Takes connections, keeps what is reported, sends what a test wants."""

    noisy = False

    def __init__(self, group: Group) -> None:
        self.group = group
        self.heard = b""
        self.connections = 0
        self.transport: Any = None
        group.net.listenTCP(PORT, self)

    def buildProtocol(self, addr: object) -> Any:
        self.connections += 1
        self.heard = b""
        return self

    def makeConnection(self, transport: Any) -> None:
        self.transport = transport

    def dataReceived(self, data: bytes) -> None:
        self.heard += data

    def connectionLost(self, _reason: object) -> None:
        self.transport = None

    def send(self, offset: int, body: bytes) -> None:
        self.transport.write(encode_header(offset, len(body)) + body)
        self.group.net.settle()

    @property
    def reports(self) -> list[int]:
        return [int.from_bytes(self.heard[at : at + 8], "big") for at in range(0, len(self.heard), 8)]


class Scene:
    """A slave that follows a master by hand, and bytes of a log."""

    def __init__(self, **settings: Any) -> None:
        self.group = Group()
        other = self.group.master()
        other.send(3)
        self.bytes = other.log()[: other.store.raw.position]
        other.stop()
        self.master = HandMaster(self.group)
        self.slave: Member = self.group.slave(ha_master_address=f"10.0.0.1:{PORT}", **settings)
        self.group.wait(1)


@pytest.fixture
def scene() -> Scene:
    return Scene()


def test_the_configured_master_is_followed(scene: Scene) -> None:
    assert scene.master.reports == [0]
    scene.master.send(0, scene.bytes[:100])
    scene.master.send(100, scene.bytes[100:])
    assert scene.master.reports == [0, 100, len(scene.bytes)]
    assert scene.slave.bodies() == [b"hello"] * 3
    scene.slave.service.group.replication.on_master(None, "10.0.0.1:1")
    assert scene.slave.ha_status()["haClientRuntimeInfo"]["masterAddr"] == f"10.0.0.1:{PORT}"


def test_silent_master_gets_reports_and_is_then_dropped(scene: Scene) -> None:
    scene.group.wait(6)
    assert scene.master.reports == [0, 0]
    scene.group.wait(15)
    assert scene.master.transport is None
    assert "silent" in scene.slave.problem
    scene.group.wait(6)
    assert scene.master.connections == 2


def test_mismatched_offset_ends_the_connection_with_a_reason(scene: Scene) -> None:
    scene.master.send(0, scene.bytes[:100])
    scene.master.send(50, scene.bytes[50:])
    assert scene.master.transport is None
    assert "our log ends at 100" in scene.slave.problem
    scene.group.wait(6)
    assert scene.master.connections == 2


def test_a_new_connection_begins_with_a_whole_record(scene: Scene) -> None:
    scene.master.send(0, scene.bytes[:100])
    scene.master.transport.abortConnection()
    scene.group.wait(6)
    assert scene.master.reports == [0]


def test_bytes_that_are_no_record_are_not_written(scene: Scene) -> None:
    scene.master.send(0, b"\1" * 200)
    assert "is not a record" in scene.slave.problem
    assert scene.slave.store.raw.position == 0


def test_a_sick_disk_ends_the_connection(scene: Scene) -> None:
    scene.slave.disk.fail_next("write", "/commitlog/", 28)
    scene.master.send(0, scene.bytes)
    assert scene.master.transport is None
    scene.group.wait(6)
    scene.master.send(0, scene.bytes)
    assert scene.slave.bodies() == [b"hello"] * 3


def test_with_sync_flush_only_what_is_on_disk_is_acknowledged() -> None:
    scene = Scene(flush_disk_type=FlushDiskType.SYNC_FLUSH)
    scene.slave.disk.fail_next("sync", "/commitlog/", 5, times=9)
    scene.master.send(0, scene.bytes)
    assert scene.slave.store.raw.position == len(scene.bytes)
    assert scene.master.reports == [0]


def test_unreachable_master_is_retried() -> None:
    group = Group()
    slave = group.slave(ha_master_address=f"10.0.0.1:{PORT}")
    group.wait(6)
    assert "cannot be followed" in slave.problem
    master = HandMaster(group)
    group.wait(6)
    assert master.connections == 1


def test_stopped_slave_follows_no_master(scene: Scene) -> None:
    scene.slave.stop()
    scene.group.wait(10)
    assert (scene.master.connections, scene.master.transport) == (1, None)
