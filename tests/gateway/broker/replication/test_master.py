"""The port for slaves, with a slave by hand."""

from __future__ import annotations

from typing import Any

import pytest

from mqgateway.engine.ha.frames import Transfer, TransferCutter, encode_report
from tests.support.gateway.broker.group import Group, Member


class HandSlave:
    """Says what a test wants, keeps what comes."""

    def __init__(self, group: Group, host: str = "10.0.0.9") -> None:
        self.cutter = TransferCutter(1 << 20)
        self.got: list[Transfer] = []
        self.is_lost = False
        self.pair = group.net.meet(10912, self, (host, group.next_port()))
        self.group = group

    def makeConnection(self, transport: Any) -> None:
        self.transport = transport

    def dataReceived(self, data: bytes) -> None:
        self.got += self.cutter.feed(data)

    def connectionLost(self, _reason: object) -> None:
        self.is_lost = True

    def report(self, offset: int) -> None:
        self.transport.write(encode_report(offset))
        self.group.net.settle()


@pytest.fixture
def group() -> Group:
    return Group()


@pytest.fixture
def master(group: Group) -> Member:
    master = group.master()
    master.send(3)
    return master


def test_nothing_is_sent_before_the_first_report(group: Group, master: Member) -> None:
    slave = HandSlave(group)
    group.wait(10)
    assert slave.got == []
    slave.report(0)
    assert b"".join(one.body for one in slave.got) == master.log()[: master.store.raw.position]


def test_stored_message_is_pushed_at_once(group: Group, master: Member) -> None:
    slave = HandSlave(group)
    slave.report(master.store.raw.position)
    begin = master.store.raw.position
    master.send()
    assert [one.offset for one in slave.got] == [begin]


def test_keep_alives_are_sent_and_silence_ends_the_connection(group: Group, master: Member) -> None:
    slave = HandSlave(group)
    slave.report(master.store.raw.position)
    group.wait(6)
    assert slave.got == [Transfer(master.store.raw.position, b"")]
    group.wait(16)
    assert slave.is_lost
    assert master.service.group.replication.server.connections == []


def test_slave_with_another_log_is_refused_and_logged_once(
    group: Group, master: Member, caplog: pytest.LogCaptureFixture
) -> None:
    for _ in range(3):
        slave = HandSlave(group)
        slave.report(10_000)
        assert slave.is_lost
    assert sum("is not served" in record.message for record in caplog.records) == 1


def test_slaves_are_limited(group: Group, master: Member) -> None:
    master.service.broker.store_options.ha_max_slaves = 1
    first, second = HandSlave(group), HandSlave(group)
    group.net.settle()
    assert (first.is_lost, second.is_lost) == (False, True)


def test_slow_slave_pauses_the_stream(group: Group, master: Member) -> None:
    slave = HandSlave(group)
    slave.pair.server.stuck = True
    slave.report(1)
    master.send(60, body=b"x" * 4000)
    assert slave.pair.server.pending_size < 110_000
    slave.pair.server.stuck = False
    group.wait(1)
    assert sum(len(one.body) for one in slave.got) == master.store.raw.position - 1


def test_log_that_is_not_in_memory_is_loaded_first(
    group: Group, master: Member, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One slave that copies old files must not delay the other connections."""
    raw, read = master.store.raw, type(master.store.raw).read
    cold: list[int] = []

    def reading(self: Any, offset: int, size: int) -> bytes:
        if not cold:
            cold.append(offset)
            from mqgateway.engine.store.message_store import ColdRead

            raise ColdRead(offset, [(self._log.files.file(0), offset, size)])
        return read(self, offset, size)

    monkeypatch.setattr(type(raw), "read", reading)
    slave = HandSlave(group)
    slave.report(0)
    assert cold == [0]
    assert b"".join(one.body for one in slave.got) == master.log()[: raw.position]


def test_a_log_that_cannot_be_read_ends_the_connection(
    group: Group, master: Member, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> bytes:
        raise OSError("the disk is sick")

    monkeypatch.setattr(type(master.store.raw), "read", broken)
    slave = HandSlave(group)
    slave.report(0)
    assert slave.is_lost


def test_every_watcher_is_notified_of_a_departure(group: Group, master: Member) -> None:
    server, seen = master.service.group.replication.server, list[int]()
    for _ in range(2):
        server.watch_departures(lambda: seen.append(len(server.connections)))
    HandSlave(group).report(0)
    server.drop_all()
    group.net.settle()
    assert seen == [0, 0]
