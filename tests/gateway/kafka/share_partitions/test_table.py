"""Share partitions: what survives a restart, time, and removal."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from twisted.internet.defer import Deferred
from twisted.python.failure import Failure

from mqgateway.engine.clock import ManualClock, elapsed_millis
from mqgateway.gateway.kafka.codec.error_codes import ErrorCode
from mqgateway.gateway.kafka.coordinator.records_log import NotWritten, Records
from mqgateway.gateway.kafka.share_groups.settings import ShareGroupSettings
from mqgateway.gateway.kafka.share_partitions import table as module
from mqgateway.gateway.kafka.share_partitions.dead_letters import REJECTED, DeadLetters
from mqgateway.gateway.kafka.share_partitions.partition import (
    ACCEPT,
    REJECT,
    RELEASE,
    Acknowledgement,
    Acquisition,
    SharePartition,
)
from mqgateway.gateway.kafka.share_partitions.records import SNAPSHOT, ShareKey, read_key
from mqgateway.gateway.kafka.share_partitions.sessions import MemberKey, TopicPartitionId
from mqgateway.gateway.kafka.share_partitions.spans import BatchSpan
from mqgateway.gateway.kafka.share_partitions.table import RETRY_INTERVAL, SWEEP_INTERVAL, ShareTable
from mqgateway.gateway.kafka.share_partitions.waiters import ShareWaiter
from tests.support.gateway.kafka.txn_coordinator import HeldLog

KEY = ShareKey("g", b"t" * 16, 0)
SETTINGS = ShareGroupSettings()
DAY = 24 * 3600 * 1000


class Source:
    """Groups and topics, of which some are gone."""

    def __init__(self) -> None:
        self.gone: set[ShareKey] = set()
        self.group = SETTINGS
        self.letters: list[tuple[Sequence[DeadLetters], Deferred[None]]] = []

    def settings(self, group: str) -> ShareGroupSettings:
        """See `ShareGroupSource`."""
        return self.group

    def write_dead_letters(self, key: ShareKey, letters: Sequence[DeadLetters]) -> Deferred[None]:
        """See `ShareGroupSource`."""
        done: Deferred[None] = Deferred()
        self.letters.append((letters, done))
        return done

    def is_gone(self, key: ShareKey) -> bool:
        """See `ShareGroupSource`."""
        return key in self.gone


class Scene:
    """A table over a log in memory."""

    def __init__(self) -> None:
        self.clock = ManualClock()
        self.log = HeldLog()
        self.source = Source()
        self.table = self.started()

    def started(self) -> ShareTable:
        """Return a table that has read the log."""
        table = ShareTable(self.clock, self.log, self.source, lambda: DAY, max_sessions=2000)
        assert not any(table.load())
        return table

    def begin(self, key: ShareKey = KEY, start: int = 0) -> SharePartition:
        """Begin a share partition."""
        partition = self.table.begin(key, start)
        assert partition is not None
        return partition

    def acquire(self, partition: SharePartition, count: int, member: str = "m", deadline: int = 1000) -> None:
        """Acquire so many records."""
        first = partition.next_offset
        wish = Acquisition(member, count, 500, True, deadline)
        assert partition.acquire(wish, first, [BatchSpan(first, first + count - 1)], SETTINGS)

    def acknowledge(self, partition: SharePartition, first: int, last: int, kind: int) -> None:
        """Acknowledge records, and write that."""
        partition.acknowledge("m", [Acknowledgement(first, last, [kind])], 0, self.source.group)
        written(self.table.write([KEY]))

    def kinds(self) -> list[int]:
        """Return the kinds of the records in the log."""
        found = [read_key(record.key) for record in self.log.records]
        return [one[0] for one in found if one is not None]


def written(done: Deferred[None]) -> None:
    """Expect that a write is durable."""
    outcomes: list[object] = []
    done.addBoth(outcomes.append)
    assert outcomes == [None]


def test_acknowledged_and_released_records_survive_a_restart() -> None:
    scene = Scene()
    partition = scene.begin()
    scene.acquire(partition, 10)
    scene.acknowledge(partition, 0, 3, ACCEPT)
    scene.acknowledge(partition, 6, 7, RELEASE)
    again = scene.started().get(KEY)
    assert again is not None
    assert (again.start, again.next, again.next_offset) == (4, 8, 4)
    assert [(one.first, one.last, one.deliveries) for one in again.ranges] == [(4, 5, 0), (6, 7, 1)]
    assert scene.kinds()[0] == SNAPSHOT and set(scene.kinds()[1:]) != {SNAPSHOT}


def test_a_snapshot_replaces_many_changes() -> None:
    scene = Scene()
    partition = scene.begin()
    scene.acquire(partition, 300)
    for offset in range(299, 0, -2):
        scene.acknowledge(partition, offset, offset, ACCEPT)
    kinds = scene.kinds()
    assert 3 <= kinds.count(SNAPSHOT) <= 5
    again = scene.started().get(KEY)
    assert again is not None
    assert again.stored() == partition.stored()
    assert again.done == partition.done == 150


def test_refused_changes_are_written_with_the_next_ones() -> None:
    scene = Scene()
    partition = scene.begin()
    scene.acquire(partition, 4)
    scene.log.refused = NotWritten(ErrorCode.COORDINATOR_NOT_AVAILABLE, "full")
    partition.acknowledge("m", [Acknowledgement(0, 0, [ACCEPT])], 0, SETTINGS)
    failures: list[Failure] = []
    scene.table.write([KEY]).addErrback(failures.append)
    [failure] = failures
    assert isinstance(failure.value, NotWritten)
    scene.log.refused = None
    scene.acknowledge(partition, 1, 1, ACCEPT)
    again = scene.started().get(KEY)
    assert again is not None and again.start == 2


def test_records_whose_lock_has_ended_are_free_with_their_count() -> None:
    scene = Scene()
    partition = scene.begin()
    scene.acquire(partition, 2, deadline=elapsed_millis(scene.clock) + 500)
    woken: list[bool] = []
    scene.table.waiters.hold(ShareWaiter((KEY,), lambda _: True, woken.append), 10**9)
    scene.table.watch(KEY)
    scene.clock.advance(400)
    scene.table.tick()
    assert woken == []
    scene.clock.advance(200)
    scene.table.tick()
    assert (woken, partition.next_offset) == ([False], 0)
    again = scene.started().get(KEY)
    assert again is not None and [one.deliveries for one in again.ranges] == [1]


def test_the_end_of_a_session_frees_the_records_of_its_member() -> None:
    scene = Scene()
    partition = scene.begin()
    scene.acquire(partition, 2)
    scene.acquire(partition, 2, "n")
    member = MemberKey("g", "m")
    scene.table.sessions.open(member, "c", [TopicPartitionId(KEY.topic_id, 0)])
    written(scene.table.close_session(member))
    written(scene.table.close_session(member))
    assert [one.member for one in partition.ranges] == ["", "n"]


def test_start_can_be_set_and_partitions_removed() -> None:
    scene = Scene()
    scene.acquire(scene.begin(), 3)
    written(scene.table.set_start(KEY, 7))
    other = KEY._replace(partition=1)
    written(scene.table.set_start(other, 8))
    assert sorted(scene.table.of_group("g")) == [KEY, other]
    again = scene.started()
    assert [again.get(key) and again.get(key).start for key in (KEY, other)] == [7, 8]  # type: ignore[union-attr]
    written(scene.table.discard([KEY, other]))
    assert (len(scene.table), scene.table.of_group("g"), len(scene.started())) == (0, [], 0)


def test_offsets_that_the_log_lost_are_forgotten_for_good() -> None:
    scene = Scene()
    partition = scene.begin()
    scene.acquire(partition, 10)
    scene.acknowledge(partition, 8, 9, ACCEPT)
    scene.table.truncate(KEY, 5)
    written(scene.table.write([KEY]))
    again = scene.started().get(KEY)
    assert again is not None and again.next <= 5


def test_share_partitions_without_topic_or_group_are_removed() -> None:
    scene = Scene()
    other = KEY._replace(partition=1)
    scene.begin()
    scene.begin(other)
    scene.source.gone.add(other)
    scene.clock.advance(SWEEP_INTERVAL)
    scene.table.tick()
    assert scene.table.of_group("g") == [KEY]
    assert len(scene.started()) == 1


def test_share_partitions_are_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PARTITIONS_MAX", 1)
    scene = Scene()
    scene.begin()
    assert scene.table.begin(KEY._replace(partition=1), 0) is None
    assert scene.table.begin(KEY, 9) is scene.table.get(KEY)


def test_unloaded_share_partitions_are_read_again() -> None:
    scene = Scene()
    scene.begin(start=3)
    scene.table.unload()
    assert not scene.table.is_loaded and len(scene.table) == 0
    assert not any(scene.table.load())
    partition = scene.table.get(KEY)
    assert scene.table.is_loaded and partition is not None and partition.start == 3


def test_records_that_cannot_be_read_are_skipped() -> None:
    scene = Scene()
    scene.begin()
    for key in (b"\0", b"\0\0x", b"\0\x09zzz"):
        scene.log.append(Records([(key, b"x")]))
    scene.log.append(Records([(scene.log.records[0].key[:-1] + b"\x05", b"\0\0\1")]))
    assert len(scene.started()) == 1


def dead_lettering() -> tuple[Scene, SharePartition]:
    """Return a table with a share partition of two acquired records, whose group has a dead letter topic."""
    scene = Scene()
    scene.source.group = ShareGroupSettings(dead_letter_topic="dlq.a")
    partition = scene.begin()
    scene.acquire(partition, 2)
    return scene, partition


def test_dead_letters_are_written_between_two_durable_states() -> None:
    scene, partition = dead_lettering()
    scene.log.held = []
    partition.acknowledge("m", [Acknowledgement(0, 1, [REJECT, ACCEPT])], 0, scene.source.group)
    done = scene.table.write([KEY])
    assert scene.source.letters == []
    scene.log.resume()
    written(done)
    [(letters, wrote)] = scene.source.letters
    assert letters == [DeadLetters(0, 0, 1, REJECTED)]
    assert partition.start == 0
    wrote.callback(None)
    scene.log.resume()
    assert partition.start == 2
    again = scene.started().get(KEY)
    assert again is not None and again.start == 2
    assert len(scene.source.letters) == 1


def test_dead_letters_that_a_restart_interrupts_are_written_again() -> None:
    scene, partition = dead_lettering()
    scene.acknowledge(partition, 0, 0, REJECT)
    again = scene.started()
    (before, _), (after, wrote) = scene.source.letters
    assert before == after
    wrote.callback(None)
    restored = again.get(KEY)
    assert restored is not None and restored.start == 1


def test_dead_letters_wait_until_the_state_can_be_written() -> None:
    scene, partition = dead_lettering()
    scene.log.refused = NotWritten(ErrorCode.COORDINATOR_NOT_AVAILABLE, "full")
    partition.acknowledge("m", [Acknowledgement(0, 0, [REJECT])], 0, scene.source.group)
    scene.table.write([KEY]).addErrback(lambda _: None)
    scene.clock.advance(RETRY_INTERVAL)
    scene.table.tick()
    assert scene.source.letters == []
    scene.log.refused = None
    scene.clock.advance(RETRY_INTERVAL)
    scene.table.tick()
    assert [letters for letters, _ in scene.source.letters] == [[DeadLetters(0, 0, 1, REJECTED)]]


def test_dead_letters_of_a_share_partition_that_began_again_archive_nothing() -> None:
    scene, partition = dead_lettering()
    scene.acknowledge(partition, 0, 0, REJECT)
    written(scene.table.set_start(KEY, 0))
    scene.source.letters[0][1].callback(None)
    assert scene.table.get(KEY) is not partition
    again = scene.started().get(KEY)
    assert again is not None and again.start == 0
