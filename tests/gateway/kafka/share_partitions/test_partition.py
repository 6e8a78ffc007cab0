"""The state of a share partition: examples, and random work against a model that knows each offset."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from mqgateway.gateway.kafka.codec.error_codes import ErrorCode
from mqgateway.gateway.kafka.coordinator.refusal import Refused
from mqgateway.gateway.kafka.share_groups.settings import ShareGroupSettings
from mqgateway.gateway.kafka.share_partitions.dead_letters import (
    DELIVERED_TOO_OFTEN,
    REJECTED,
    DeadLetters,
)
from mqgateway.gateway.kafka.share_partitions.partition import (
    ACCEPT,
    GAP,
    NEVER,
    REJECT,
    RELEASE,
    RENEW,
    Acknowledgement,
    Acquisition,
    SharePartition,
)
from mqgateway.gateway.kafka.share_partitions.ranges import OffsetRange, RecordState
from mqgateway.gateway.kafka.share_partitions.spans import Acquired, BatchSpan

AVAILABLE, ACQUIRED = RecordState.AVAILABLE, RecordState.ACQUIRED
ACKNOWLEDGED, ARCHIVED = RecordState.ACKNOWLEDGED, RecordState.ARCHIVED
ARCHIVING = RecordState.ARCHIVING
SETTINGS = ShareGroupSettings()
DEAD_LETTERING = ShareGroupSettings(dead_letter_topic="dlq.a", delivery_count_limit=2)


def spans(first: int, *sizes: int) -> list[BatchSpan]:
    """Batches of these sizes from an offset on."""
    found = []
    for size in sizes:
        found.append(BatchSpan(first, first + size - 1))
        first += size
    return found


def acquire(
    partition: SharePartition,
    batches: list[BatchSpan],
    records: int = 500,
    member: str = "m",
    batch_size: int = 500,
    is_exact: bool = False,
    settings: ShareGroupSettings = SETTINGS,
    deadline: int = 100,
) -> list[Acquired]:
    """Acquire records where the partition wants to be read."""
    wish = Acquisition(member, records, batch_size, is_exact, deadline)
    return partition.acquire(wish, partition.next_offset, batches, settings)


def acknowledge(
    partition: SharePartition, first: int, last: int, *kinds: int, member: str = "m", deadline: int = 200
) -> bool:
    """Acknowledge offsets."""
    return partition.acknowledge(member, [Acknowledgement(first, last, kinds)], deadline, SETTINGS)


def test_whole_batches_are_acquired_until_there_are_enough() -> None:
    partition = SharePartition(0)
    assert acquire(partition, spans(0, 3, 3, 3), 4) == [Acquired(0, 5, 1)]
    assert acquire(partition, spans(6, 3), 4) == [Acquired(6, 8, 1)]


def test_exactly_as_many_records_are_acquired_as_the_mode_demands() -> None:
    partition = SharePartition(0)
    assert acquire(partition, spans(0, 3, 3, 3), 4, is_exact=True) == [Acquired(0, 3, 1)]
    assert partition.next_offset == 4
    assert acquire(partition, spans(3, 3, 3), 9, is_exact=True) == [Acquired(4, 8, 1)]


def test_acquired_records_are_split_at_batches() -> None:
    partition = SharePartition(0)
    assert acquire(partition, spans(0, 3, 3, 3), batch_size=4) == [Acquired(0, 5, 1), Acquired(6, 8, 1)]


def test_offsets_without_records_are_skipped() -> None:
    partition = SharePartition(0)
    assert acquire(partition, spans(5, 2)) == [Acquired(5, 6, 1)]
    assert partition.start == 5


def test_acknowledged_records_move_the_start() -> None:
    partition = SharePartition(0)
    acquire(partition, spans(0, 6))
    assert acknowledge(partition, 2, 3, ACCEPT)
    assert (partition.start, partition.done) == (0, 2)
    assert acknowledge(partition, 0, 1, REJECT, GAP)
    assert (partition.start, partition.done, partition.next) == (4, 0, 6)
    assert acknowledge(partition, 4, 5, ACCEPT)
    assert (partition.start, partition.next, partition.ranges) == (6, 6, [])


def test_released_records_are_delivered_until_the_limit() -> None:
    partition = SharePartition(0)
    for count in range(1, 6):
        assert acquire(partition, spans(0, 1)) == [Acquired(0, 0, count)]
        assert acknowledge(partition, 0, 0, RELEASE)
    assert (partition.start, partition.next) == (1, 1)


def test_expired_records_are_available_again() -> None:
    partition = SharePartition(0)
    acquire(partition, spans(0, 2), deadline=100)
    acquire(partition, spans(2, 2), deadline=150, member="n")
    assert partition.deadline == 100
    assert not partition.expire(99, SETTINGS)
    assert partition.expire(100, SETTINGS)
    assert (partition.next_offset, partition.deadline) == (0, 150)
    assert acquire(partition, spans(0, 4), member="n") == [Acquired(0, 1, 2)]
    assert partition.release("n", SETTINGS) and not partition.release("n", SETTINGS)
    assert partition.deadline == NEVER


def test_renewed_records_are_kept_for_longer() -> None:
    partition = SharePartition(0)
    acquire(partition, spans(0, 2), deadline=100)
    assert not acknowledge(partition, 0, 0, RENEW, deadline=300)
    assert partition.expire(100, SETTINGS)
    assert [one.state for one in partition.ranges] == [ACQUIRED, AVAILABLE]


def test_renewal_can_be_forbidden() -> None:
    partition = SharePartition(0)
    acquire(partition, spans(0, 2))
    with pytest.raises(Refused) as caught:
        partition.acknowledge("m", [Acknowledgement(0, 1, [RENEW])], 9, ShareGroupSettings(can_renew=False))
    assert caught.value.code == ErrorCode.INVALID_RECORD_STATE


@pytest.mark.parametrize(
    ("first", "last", "member", "code"),
    [
        (4, 4, "m", ErrorCode.INVALID_REQUEST),
        (3, 4, "m", ErrorCode.INVALID_REQUEST),
        (0, 1, "n", ErrorCode.INVALID_RECORD_STATE),
        (0, 3, "m", ErrorCode.INVALID_RECORD_STATE),
    ],
)
def test_wrong_acknowledgements_change_nothing(first: int, last: int, member: str, code: ErrorCode) -> None:
    partition = SharePartition(0)
    acquire(partition, spans(0, 4))
    acknowledge(partition, 2, 2, RELEASE)
    before = list(partition.ranges)
    with pytest.raises(Refused) as caught:
        acknowledge(partition, first, last, ACCEPT, member=member)
    assert caught.value.code == code
    assert partition.ranges == before


def test_acknowledgements_of_nothing_are_refused() -> None:
    with pytest.raises(Refused) as caught:
        acknowledge(SharePartition(0), 0, 1, ACCEPT)
    assert caught.value.code == ErrorCode.INVALID_RECORD_STATE


def test_acknowledgements_before_the_start_are_ignored() -> None:
    partition = SharePartition(0)
    acquire(partition, spans(0, 4))
    partition.move_start(2)
    assert not acknowledge(partition, 0, 1, ACCEPT)
    assert acknowledge(partition, 0, 3, ACCEPT)
    assert partition.start == 4


def test_records_in_flight_are_limited() -> None:
    settings = ShareGroupSettings(partition_max_record_locks=4)
    partition = SharePartition(0)
    assert acquire(partition, spans(0, 2, 2, 2), 2, settings=settings) == [Acquired(0, 1, 1)]
    assert acquire(partition, spans(2, 2, 2), settings=settings) == [Acquired(2, 3, 1)]
    assert not partition.can_acquire(settings)
    assert acquire(partition, spans(4, 2), settings=settings) == []
    acknowledge(partition, 1, 2, RELEASE)
    assert partition.can_acquire(settings)
    assert acquire(partition, spans(0, 2, 2, 2), settings=settings) == [Acquired(1, 2, 2)]


def test_start_and_end_follow_the_log() -> None:
    partition = SharePartition(0)
    acquire(partition, spans(0, 10))
    acknowledge(partition, 4, 5, ACCEPT)
    partition.move_start(4)
    assert (partition.start, partition.next) == (6, 10)
    partition.truncate(8)
    assert (partition.start, partition.next) == (6, 8)
    partition.truncate(3)
    assert (partition.start, partition.next, partition.ranges) == (3, 3, [])
    partition.move_start(20)
    assert (partition.start, partition.next) == (20, 20)
    assert acquire(partition, spans(20, 1)) == [Acquired(20, 20, 1)]


def test_reads_from_an_offset_that_was_set_back_acquire_nothing() -> None:
    partition = SharePartition(0)
    wish = Acquisition("m", 10, 10, False, 100)
    assert partition.acquire(wish, 7, spans(9, 3), SETTINGS) == []
    assert partition.next == 0


def test_state_without_locks_is_restored() -> None:
    partition = SharePartition(0)
    acquire(partition, spans(0, 10))
    acknowledge(partition, 2, 5, ACCEPT, REJECT, RELEASE, RELEASE)
    acquire(partition, spans(0, 4), 1)
    stored = partition.stored()
    assert stored == [
        OffsetRange(2, 2, ACKNOWLEDGED, 1),
        OffsetRange(3, 3, ARCHIVED, 1),
        OffsetRange(4, 5, AVAILABLE, 1),
    ]
    again = SharePartition.restored(partition.start, stored)
    assert again.ranges == [OffsetRange(0, 1, AVAILABLE, 0), *stored]
    assert (again.next_offset, again.next) == (0, 6)


def test_rejected_records_are_archived_after_their_dead_letters() -> None:
    partition = SharePartition(0)
    acquire(partition, spans(0, 4))
    kinds = [REJECT, ACCEPT, GAP, REJECT]
    assert partition.acknowledge("m", [Acknowledgement(0, 3, kinds)], 0, DEAD_LETTERING)
    letters = [DeadLetters(0, 0, 1, REJECTED), DeadLetters(3, 3, 1, REJECTED)]
    assert (partition.dead_letters(), partition.dead_letters()) == (letters, [])
    assert (partition.start, partition.next_offset, partition.done) == (0, 4, 2)
    assert [one.state for one in partition.changed()] == [ARCHIVING, ACKNOWLEDGED, ARCHIVED, ARCHIVING]
    partition.archive_dead_letters(letters[1:])
    assert (partition.start, partition.done) == (0, 3)
    partition.archive_dead_letters(letters)
    assert (partition.start, partition.next) == (4, 4)
    assert [one.first for one in partition.changed()] == [3, 0]


def test_refused_acknowledgements_have_no_dead_letters() -> None:
    partition = SharePartition(0)
    acquire(partition, spans(0, 2))
    with pytest.raises(Refused):
        partition.acknowledge("m", [Acknowledgement(0, 2, [REJECT])], 0, DEAD_LETTERING)
    assert partition.dead_letters() == []


@pytest.mark.parametrize("how", ["release", "expire", "leave"])
def test_records_that_were_delivered_too_often_become_dead_letters(how: str) -> None:
    partition = SharePartition(0)
    for _ in range(2):
        acquire(partition, spans(0, 1), settings=DEAD_LETTERING)
        if how == "release":
            partition.acknowledge("m", [Acknowledgement(0, 0, [RELEASE])], 0, DEAD_LETTERING)
        elif how == "expire":
            partition.expire(100, DEAD_LETTERING)
        else:
            partition.release("m", DEAD_LETTERING)
    assert partition.dead_letters() == [DeadLetters(0, 0, 2, DELIVERED_TOO_OFTEN)]
    assert not acquire(partition, spans(0, 1), settings=DEAD_LETTERING)
    with pytest.raises(Refused):
        acknowledge(partition, 0, 0, ACCEPT)


def test_dead_letters_that_were_not_written_are_restored() -> None:
    partition = SharePartition(0)
    acquire(partition, spans(0, 3))
    partition.acknowledge("m", [Acknowledgement(1, 1, [REJECT])], 0, DEAD_LETTERING)
    again = SharePartition.restored(partition.start, partition.stored())
    assert again.restored_dead_letters(5) == [DeadLetters(1, 1, 1, REJECTED)]
    assert again.restored_dead_letters(1) == [DeadLetters(1, 1, 1, DELIVERED_TOO_OFTEN)]
    assert again.ranges == [OffsetRange(0, 0, AVAILABLE, 0), OffsetRange(1, 1, ARCHIVING, 1)]


def test_returned_dead_letters_come_again_before_later_ones() -> None:
    partition = SharePartition(0)
    acquire(partition, spans(0, 2))
    for offset in range(2):
        partition.acknowledge("m", [Acknowledgement(offset, offset, [REJECT])], 0, DEAD_LETTERING)
        letters = partition.dead_letters()
        partition.return_dead_letters(letters)
    assert [one.first for one in partition.dead_letters()] == [0, 1]


@dataclass
class Model:
    """One record."""

    state: RecordState = AVAILABLE
    count: int = 0
    member: str = ""
    deadline: int = 0


class Sharing(RuleBasedStateMachine):
    """Members acquire and acknowledge, time passes, and the log loses its beginning."""

    def __init__(self) -> None:
        super().__init__()
        self.settings = ShareGroupSettings(delivery_count_limit=3, partition_max_record_locks=12)
        self.partition = SharePartition(0)
        self.now = 0
        self.log_start = 0
        self.records: dict[int, Model] = {}

    members = st.sampled_from(["a", "b"])

    @rule(member=members, records=st.integers(1, 8), is_exact=st.booleans(), size=st.integers(1, 4))
    def acquire(self, member: str, records: int, is_exact: bool, size: int) -> None:
        offset = self.partition.next_offset
        first = offset - offset % size
        batches = spans(first, *[size] * 6)
        could = self.partition.can_acquire(self.settings)
        wish = Acquisition(member, records, 3, is_exact, self.now + 5)
        acquired = self.partition.acquire(wish, offset, batches, self.settings)
        count = sum(one.last - one.first + 1 for one in acquired)
        assert bool(acquired) == could
        assert count <= records if is_exact else count < records + size
        for one in acquired:
            for number in range(one.first, one.last + 1):
                record = self.records.setdefault(number, Model())
                assert (record.state, record.count + 1) == (AVAILABLE, one.deliveries)
                self.records[number] = Model(ACQUIRED, one.deliveries, member, self.now + 5)

    @rule(
        member=members,
        first=st.integers(0, 14),
        kinds=st.lists(st.integers(0, 4), min_size=1, max_size=6),
        is_one=st.booleans(),
    )
    def acknowledge(self, member: str, first: int, kinds: list[int], is_one: bool) -> None:
        first += self.partition.start - 2
        last = first + len(kinds) - 1
        given = kinds[:1] if is_one else kinds
        mine = all(
            number < self.partition.start
            or (
                number in self.records
                and self.records[number].state is ACQUIRED
                and self.records[number].member == member
            )
            for number in range(first, last + 1)
        )
        before = self.partition.start
        try:
            self.partition.acknowledge(
                member, [Acknowledgement(first, last, given)], self.now + 9, self.settings
            )
        except Refused:
            assert not mine
            return
        assert mine
        for index, number in enumerate(range(first, last + 1)):
            if number >= before:
                self.end(number, given[0] if is_one else given[index])

    def end(self, number: int, kind: int) -> None:
        record = self.records[number]
        if kind == RENEW:
            record.deadline = self.now + 9
        elif kind == RELEASE:
            self.free(record)
        else:
            record.state = ACKNOWLEDGED if kind == ACCEPT else ARCHIVED

    def free(self, record: Model) -> None:
        record.state = AVAILABLE if record.count < self.settings.delivery_count_limit else ARCHIVED

    @rule(passed=st.integers(1, 4))
    def wait(self, passed: int) -> None:
        self.now += passed
        self.partition.expire(self.now, self.settings)
        for record in self.records.values():
            if record.state is ACQUIRED and record.deadline <= self.now:
                self.free(record)

    @rule(member=members)
    def leave(self, member: str) -> None:
        self.partition.release(member, self.settings)
        for record in self.records.values():
            if record.state is ACQUIRED and record.member == member:
                self.free(record)

    @rule(removed=st.integers(1, 5))
    def remove(self, removed: int) -> None:
        self.partition.move_start(self.partition.start + removed)

    @rule()
    def restart(self) -> None:
        self.partition = SharePartition.restored(self.partition.start, self.partition.stored())
        for record in self.records.values():
            if record.state is ACQUIRED:
                record.state, record.count = AVAILABLE, record.count - 1

    @invariant()
    def ranges_are_those_of_the_model(self) -> None:
        partition = self.partition
        end = partition.start
        for one in partition.ranges:
            assert one.first == end <= one.last
            end = one.last + 1
            for number in range(one.first, end):
                record = self.records.get(number, Model())
                assert (one.state, one.deliveries) == (record.state, record.count)
                if one.state is ACQUIRED:
                    assert (one.member, one.deadline) == (record.member, record.deadline)
        assert partition.next == end
        assert not partition.ranges or not partition.ranges[0].state.is_final


TestSharing = Sharing.TestCase
