"""Share groups (KIP-932): members of the Java client share the records of a partition."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from compat_tests.kafka.support.servers import KafkaServer
from compat_tests.kafka.support.shares import QUIET_MILLIS, Shared, ShareMember, ShareProgram
from compat_tests.kafka.support.wire import create_topic, wait_for_coordinator
from compat_tests.support.peers import Peers
from compat_tests.support.processes import wait_until

LOCK_MILLIS = 15_000
"""The least that a broker accepts."""


@pytest.fixture(scope="module")
def program(peers: Peers) -> Iterator[ShareProgram]:
    """A JVM for members."""
    program = ShareProgram(peers.runtime)
    yield program
    program.close()


class Scene(NamedTuple):
    """A topic of one partition, and a group of the same name that reads it from its beginning."""

    program: ShareProgram
    address: str
    topic: str

    def produce(self, first: int, count: int, *, apart: bool = False) -> list[str]:
        """Send numbered values; return them."""
        values = [f"value-{number}" for number in range(first, first + count)]
        self.program.produce(self.address, self.topic, values, apart=apart)
        return values

    def join(
        self, is_explicit: bool = False, program: ShareProgram | None = None, **settings: str
    ) -> ShareMember:
        """Return a new member."""
        mode = "explicit" if is_explicit else "implicit"
        settings = {"share_acknowledgement_mode": mode, **settings}
        return ShareMember(program or self.program, self.address, self.topic, self.topic, **settings)


def scene_of(program: ShareProgram, server: KafkaServer, name: str, **settings: str) -> Scene:
    """Create the topic and the group."""
    create_topic(server.address, name)
    program.configure(server.address, name, share_auto_offset_reset="earliest", **settings)
    return Scene(program, server.address, name)


@pytest.fixture
def scene(program: ShareProgram, server: KafkaServer, name: str) -> Scene:
    """The topic and the group of a scenario."""
    return scene_of(program, server, name)


def values_of(records: list[Shared]) -> list[str]:
    """Return the values of records."""
    return [record.value for record in records]


def test_polled_records_are_accepted_by_the_next_poll(scene: Scene) -> None:
    sent = scene.produce(0, 10)
    member = scene.join()
    assert values_of(member.receive(10)) == sent
    assert member.poll(QUIET_MILLIS) == []
    member.close()
    later = scene.produce(10, 5)
    again = scene.join()
    assert values_of(again.receive(5)) == later
    again.close()


def test_released_record_comes_again_and_rejected_one_does_not(scene: Scene) -> None:
    scene.produce(0, 3)
    member = scene.join(is_explicit=True)
    accepted, released, rejected = member.receive(3)
    assert {one.deliveries for one in (accepted, released, rejected)} == {1}
    member.acknowledge(accepted, "ACCEPT")
    member.acknowledge(released, "RELEASE")
    member.acknowledge(rejected, "REJECT")
    assert member.commit() == []
    [again] = member.receive(1)
    assert again == released._replace(deliveries=2)
    member.acknowledge(again, "ACCEPT")
    assert member.commit() == []
    assert member.poll(QUIET_MILLIS) == []
    member.close()


def test_record_that_is_always_released_comes_five_times(scene: Scene) -> None:
    scene.produce(0, 1)
    member = scene.join(is_explicit=True)
    for count in range(1, 6):
        [one] = member.receive(1)
        assert one.deliveries == count
        member.acknowledge(one, "RELEASE")
        assert member.commit() == []
    assert member.poll(QUIET_MILLIS) == []
    member.close()


def test_members_share_one_partition(scene: Scene) -> None:
    members = [scene.join(max_poll_records="5") for _ in range(2)]
    sent = set(scene.produce(0, 60, apart=True))
    found: list[list[Shared]] = [[], []]

    def received() -> bool:
        for member, own in zip(members, found, strict=True):
            own += member.poll()
        return sum(map(len, found)) >= len(sent)

    wait_until(received, 60, "all records")
    assert sorted(values_of(found[0] + found[1])) == sorted(sent)
    assert all(found)
    for member in members:
        member.close()


def test_no_more_records_come_than_wanted_in_the_mode_for_it(scene: Scene) -> None:
    scene.produce(0, 10)
    member = scene.join(share_acquire_mode="record_limit", max_poll_records="4")
    sizes = [len(member.receive(1)) for _ in range(3)]
    assert sizes == [4, 4, 2]
    member.close()


def test_records_of_a_closed_member_come_at_once(scene: Scene) -> None:
    scene.produce(0, 4)
    leaves = scene.join(is_explicit=True)
    records = leaves.receive(4)
    leaves.acknowledge(records[0], "ACCEPT")
    leaves.close()
    stays = scene.join(is_explicit=True)
    found = stays.receive(3, 10.0)
    assert [(one.offset, one.deliveries) for one in found] == [(1, 2), (2, 2), (3, 2)]
    stays.close()


@pytest.mark.long
def test_records_of_a_killed_member_come_again(scene: Scene, peers: Peers) -> None:
    scene.produce(0, 2)
    dies = ShareProgram(peers.runtime)
    scene.join(is_explicit=True, program=dies).receive(2)
    dies.kill()
    stays = scene.join(is_explicit=True)
    found = stays.receive(2)
    assert [(one.offset, one.deliveries) for one in found] == [(0, 2), (1, 2)]
    stays.close()


@pytest.mark.long
def test_locks_end_unless_they_are_renewed(program: ShareProgram, server: KafkaServer, name: str) -> None:
    scene = scene_of(program, server, name, share_record_lock_duration_ms=str(LOCK_MILLIS))
    scene.produce(0, 2)
    keeps, waits = scene.join(is_explicit=True), scene.join(is_explicit=True)
    renewed, _ = keeps.receive(2)
    assert waits.poll(LOCK_MILLIS // 2) == []
    keeps.acknowledge(renewed, "RENEW")
    assert keeps.commit() == []
    [again] = waits.receive(1)
    assert (again.offset, again.deliveries) == (1, 2)
    for member in (keeps, waits):
        member.close()


def test_aborted_records_come_unless_only_committed_ones_are_read(
    program: ShareProgram, server: KafkaServer, name: str
) -> None:
    scene = scene_of(program, server, name, share_isolation_level="read_committed")
    program.produce(server.address, name, ["aborted"], transaction=f"{name}-1", aborts=True)
    program.produce(server.address, name, ["committed"], transaction=f"{name}-2")
    member = scene.join()
    assert values_of(member.receive(1)) == ["committed"]
    assert member.poll(QUIET_MILLIS) == []
    member.close()


@pytest.mark.long
@pytest.mark.timeout(900)
def test_restart_of_the_broker_keeps_acknowledgements(
    kind: str, work: Path, program: ShareProgram, name: str
) -> None:
    """Acknowledged records do not come again; the others do, those that were released with their count."""
    with KafkaServer(kind, work) as server:
        wait_for_coordinator(server.address)
        scene = scene_of(program, server, name)
        scene.produce(0, 6)
        member = scene.join(is_explicit=True)
        records = member.receive(6)
        for record in records[:4]:
            member.acknowledge(record, "ACCEPT" if record.offset != 2 else "RELEASE")
        assert member.commit() == []
        server.kill9()
        server.start()
        other = scene.join(is_explicit=True)
        found = other.receive(3, 90.0)
        assert [(one.offset, one.deliveries) for one in found] == [(2, 2), (4, 1), (5, 1)]
