"""Offsets of transactions: pending, committed, dropped, superseded, and what a restart knows of them."""

from __future__ import annotations

import pytest
from twisted.internet.defer import Deferred
from twisted.python.failure import Failure

from mqgateway.gateway.kafka.codec.error_codes import ErrorCode as E
from mqgateway.gateway.kafka.codec.messages.txn_offset_commit_request import TxnOffsetCommitRequest
from mqgateway.gateway.kafka.coordinator.records import Committed, OffsetKey, PendingKey
from mqgateway.gateway.kafka.coordinator.records_log import NotWritten
from mqgateway.gateway.kafka.coordinator.settings import DAY, GroupSettings
from mqgateway.gateway.kafka.coordinator.transactional import PendingBatch
from tests.support.gateway.kafka.groups import TOPIC_ID, Groups
from tests.support.gateway.kafka.txn_coordinator import HeldLog

PRODUCER, EPOCH = 7, 3
KEY = OffsetKey("g", "orders", 0)


def outcome_of(done: Deferred[None]) -> list[E]:
    """Return the list that the code of an outcome comes to."""
    codes: list[E] = []

    def failed(failure: Failure) -> None:
        assert isinstance(failure.value, NotWritten), failure
        codes.append(failure.value.code)

    done.addCallbacks(lambda _: codes.append(E.NONE), failed)
    return codes


def add(groups: Groups, offset: int, *, partitions: int = 1, epoch: int = EPOCH, **more: object) -> list[E]:
    """Commit an offset in the first partitions in a transaction."""
    batch = PendingBatch(PRODUCER, epoch)
    for partition in range(partitions):
        committed = Committed(offset, 0, "m", groups.clock.millis(), topic_id=TOPIC_ID, **more)  # type: ignore[arg-type]
        batch.add(OffsetKey("g", "orders", partition), committed)
    return outcome_of(groups.coordinator.transactional.add(batch))


def complete(groups: Groups, commit: bool = True, epoch: int = EPOCH) -> list[E]:
    """Complete the transaction."""
    return outcome_of(groups.coordinator.transactional.complete(PRODUCER, epoch, commit))


def has_pending(groups: Groups, partition: int = 0) -> bool:
    """Return True if a partition has a pending offset."""
    return groups.coordinator.transactional.has_pending(OffsetKey("g", "orders", partition))


@pytest.mark.parametrize("commit", [True, False])
@pytest.mark.parametrize("restarts", [True, False])
@pytest.mark.parametrize("partitions", [1, 100])
def test_offset_counts_once_its_transaction_is_committed(
    commit: bool, restarts: bool, partitions: int
) -> None:
    groups = Groups()
    groups.commit(0, 5)
    assert add(groups, 9, partitions=partitions) == [E.NONE]
    for last in (False, True):
        if restarts:
            groups = groups.restarted()
        assert groups.committed() == (9 if last and commit else 5)
        assert has_pending(groups) is not last
        if not last:
            assert complete(groups, commit) == [E.NONE]
    assert groups.committed(partitions - 1) == (9 if commit else 5 if partitions == 1 else None)
    assert groups.shared.offsets[KEY] == (9 if commit else 5)
    assert not groups.coordinator.transactional.producers()


@pytest.mark.parametrize("is_in_flight", [True, False])
def test_offsets_with_a_newer_epoch_than_allowed_stay_pending(is_in_flight: bool) -> None:
    log = HeldLog()
    groups = Groups(log=log)
    log.held = [] if is_in_flight else None
    added = add(groups, 9)
    transactional = groups.coordinator.transactional
    ended = outcome_of(transactional.complete(PRODUCER, EPOCH, True, epoch_max=EPOCH - 1))
    if is_in_flight:
        assert (added, ended) == ([], [])
        log.resume()
        log.held = None
    assert (added, ended) == ([E.NONE], [E.INVALID_PRODUCER_EPOCH]) and has_pending(groups)
    assert outcome_of(transactional.complete(PRODUCER, EPOCH, True, epoch_max=EPOCH)) == [E.NONE]
    assert groups.committed() == 9


def test_completion_may_be_repeated() -> None:
    groups = Groups()
    add(groups, 9)
    assert complete(groups) == [E.NONE]
    groups.commit(0, 12)
    assert complete(groups) == complete(groups, False) == [E.NONE]
    assert groups.committed() == 12


def test_completion_of_an_earlier_epoch_does_not_concern_later_offsets() -> None:
    groups = Groups()
    add(groups, 9)
    assert complete(groups, epoch=EPOCH - 1) == [E.NONE]
    assert has_pending(groups) and groups.committed() is None


def test_later_commit_without_a_transaction_prevails() -> None:
    groups = Groups()
    add(groups, 9)
    groups.commit(0, 12)
    assert not has_pending(groups)
    groups = groups.restarted()
    assert complete(groups) == [E.NONE] and groups.committed() == 12


def test_completion_waits_for_offsets_on_their_way() -> None:
    log = HeldLog()
    groups = Groups(log=log)
    log.held = []
    adding = add(groups, 9)
    completing = complete(groups)
    assert (adding, completing) == ([], [])
    log.resume()
    assert (adding, completing) == ([E.NONE], [E.NONE])
    assert groups.committed() == 9 and not has_pending(groups)


@pytest.mark.parametrize("keeps", [True, False])
def test_refused_offset_is_never_committed(keeps: bool) -> None:
    log = HeldLog()
    groups = Groups(log=log)
    log.refused = NotWritten(E.COORDINATOR_NOT_AVAILABLE, "full")
    log.keeps_refused = keeps
    assert add(groups, 9) == [E.COORDINATOR_NOT_AVAILABLE]
    assert has_pending(groups)
    assert complete(groups) == [E.COORDINATOR_NOT_AVAILABLE]
    log.refused = None
    assert complete(groups) == [E.NONE]
    assert groups.committed() is None and not has_pending(groups)
    assert not has_pending(groups.restarted())


def test_refused_offset_that_is_sent_again_is_committed() -> None:
    log = HeldLog()
    groups = Groups(log=log)
    log.refused = NotWritten(E.COORDINATOR_NOT_AVAILABLE, "full")
    add(groups, 9)
    log.refused = None
    assert add(groups, 10) == complete(groups) == [E.NONE]
    assert groups.committed() == 10


def test_too_many_offsets_and_none_are_no_records() -> None:
    groups = Groups()
    assert add(groups, 9, partitions=10_001) == [E.INVALID_COMMIT_OFFSET_SIZE]
    assert add(groups, 9, partitions=0) == complete(groups) == [E.NONE]
    assert len(groups.coordinator.pending) == 0


def test_offsets_of_a_deleted_topic_are_dropped() -> None:
    groups = Groups()
    add(groups, 9)
    groups.shared.topics["orders"] = b"n" * 16
    assert complete(groups) == [E.NONE]
    assert groups.committed() is None and not has_pending(groups)


def test_coordinator_that_has_not_read_its_log_completes_nothing() -> None:
    log = HeldLog()
    groups = Groups(log=log)
    log.held = []
    adding = add(groups, 9)
    completing = complete(groups)
    groups.coordinator.unload()
    assert (adding, completing) == ([E.NOT_COORDINATOR], [E.COORDINATOR_LOAD_IN_PROGRESS])
    assert complete(groups) == [E.COORDINATOR_LOAD_IN_PROGRESS]


def test_pending_offsets_count_and_go_with_their_group() -> None:
    groups = Groups(GroupSettings(offsets_max=2))
    add(groups, 9)
    assert groups.coordinator.commits.has_room(1) and not groups.coordinator.commits.has_room(2)
    groups.coordinator.groups.find_or_create("g", 0)
    done: list[E] = []
    groups.coordinator.commits.delete_group("g").addCallback(done.append)
    assert done == [E.NONE] and not has_pending(groups)
    assert not has_pending(groups.restarted())


def test_group_with_a_pending_offset_does_not_expire() -> None:
    groups = Groups()
    groups.commit(0, 5)
    add(groups, 9)
    groups.leap(8 * DAY)
    groups.leap(10 * 60_000)
    assert groups.committed() == 5 and groups.coordinator.groups.get("g") is not None
    complete(groups, False)
    groups.leap(10 * 60_000)
    groups.leap(10 * 60_000)
    assert groups.committed() is None and groups.coordinator.groups.get("g") is None


def request(member_id: str = "", generation: int = -1, instance: str | None = None) -> TxnOffsetCommitRequest:
    """Return a request to commit in a transaction."""
    return TxnOffsetCommitRequest("t", "g", PRODUCER, EPOCH, generation, member_id, instance)


def test_member_and_generation_are_checked() -> None:
    groups = Groups()
    error = groups.coordinator.commits.transactional_error
    assert error(request("m", 1)) == E.ILLEGAL_GENERATION
    assert error(request()) == E.NONE
    assert groups.group().is_simple and error(request()) == E.NONE
    [member] = groups.stable()
    assert error(request(member, 1)) == error(request()) == E.NONE
    assert error(request(member, 0)) == E.ILLEGAL_GENERATION
    assert error(request("other", 1)) == E.UNKNOWN_MEMBER_ID
    groups.shared.members.add("g")
    groups.coordinator.groups.discard("g")
    assert error(request()) == E.UNKNOWN_MEMBER_ID


def test_producers_of_pending_offsets_are_named() -> None:
    groups = Groups()
    add(groups, 9)
    assert groups.coordinator.transactional.producers() == (PRODUCER,)
    assert groups.coordinator.pending.at(KEY) == [PendingKey(PRODUCER, KEY)]
