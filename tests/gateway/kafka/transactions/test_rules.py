"""Transitions of a transactional id, each with its refusals."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mqgateway.gateway.kafka.codec.error_codes import ErrorCode as E
from mqgateway.gateway.kafka.transactions import rules
from mqgateway.gateway.kafka.transactions.rules import EndRequest, TxnRefused
from mqgateway.gateway.kafka.transactions.status import (
    EPOCH_LAST,
    EPOCH_MAX,
    ProducerEpoch,
    TopicPartition,
    TxnState,
    TxnStatus,
)

PLACE, OTHER = TopicPartition("a", 0), TopicPartition("b", 3)
NOW, TIMEOUT = 1000, 60_000


def new_id() -> int:
    """Return the id that follows."""
    return 99


def status(state: TxnState = TxnState.EMPTY, epoch: int = 5, **fields: Any) -> TxnStatus:
    """Return a status of producer 7."""
    if state in (TxnState.ONGOING, TxnState.PREPARE_COMMIT, TxnState.PREPARE_ABORT):
        fields = {"partitions": frozenset((PLACE,)), "started": 900, **fields}
    return TxnStatus(7, epoch, TIMEOUT, state, 900, **fields)


def code_of(call: Callable[[], object]) -> E:
    """Return the code of a refusal, NONE if there is none."""
    try:
        call()
    except TxnRefused as error:
        return error.code
    return E.NONE


def init(before: TxnStatus, expected: tuple[int, int] | None = None) -> TxnStatus:
    """Return the status after InitProducerId."""
    own = None if expected is None else ProducerEpoch(*expected)
    return rules.initialized(before, own, 1234, NOW, new_id)


def end(
    before: TxnStatus,
    commit: bool = True,
    *,
    epoch: int = 5,
    producer_id: int = 7,
    version: int = 2,
    is_busy: bool = False,
) -> TxnStatus:
    """Return the status after EndTxn."""
    request = EndRequest(ProducerEpoch(producer_id, epoch), commit, version)
    return rules.prepared(before, request, is_busy, NOW, new_id)


ENDED = (TxnState.EMPTY, TxnState.COMPLETE_COMMIT, TxnState.COMPLETE_ABORT)


class TestInit:
    """InitProducerId."""

    def test_new_id_begins_at_epoch_0(self) -> None:
        first = rules.first_status(7, TIMEOUT, NOW)
        assert (first.producer, first.state, first.updated) == ((7, 0), TxnState.EMPTY, NOW)

    @pytest.mark.parametrize("state", ENDED)
    def test_new_client_gets_the_next_epoch(self, state: TxnState) -> None:
        after = init(status(state))
        assert (after.producer, after.state, after.timeout) == ((7, 6), TxnState.EMPTY, 1234)
        assert (after.last_epoch, after.partitions, after.started) == (-1, frozenset(), -1)

    def test_client_after_an_error_gets_the_next_epoch_once(self) -> None:
        after = init(status(), (7, 5))
        assert (after.producer, after.last_epoch) == ((7, 6), 5)
        again = init(after, (7, 5))
        assert (again.producer, again.last_epoch) == ((7, 6), 5)

    @pytest.mark.parametrize("expected", [(7, 4), (7, 6), (8, 5)])
    def test_client_of_another_epoch_or_id_is_fenced(self, expected: tuple[int, int]) -> None:
        assert code_of(lambda: init(status(), expected)) == E.PRODUCER_FENCED

    @pytest.mark.parametrize("version", [0, 2])
    def test_open_transaction_is_aborted_with_a_later_epoch(self, version: int) -> None:
        after = init(status(TxnState.ONGOING, version=version))
        assert (after.state, after.epoch) == (TxnState.PREPARE_ABORT, 7 if version == 2 else 6)
        assert after.partitions == {PLACE}

    @pytest.mark.parametrize("expected", [None, (7, EPOCH_LAST)])
    def test_used_up_epochs_bring_a_new_id(self, expected: tuple[int, int] | None) -> None:
        after = init(status(epoch=EPOCH_LAST), expected)
        assert (after.producer, after.previous_producer_id) == ((99, 0), 7)
        assert after.last_epoch == (-1 if expected is None else EPOCH_LAST)

    def test_repeated_request_that_brought_a_new_id_gets_the_same(self) -> None:
        after = init(status(epoch=EPOCH_LAST), (7, EPOCH_LAST))
        assert init(after, (7, EPOCH_LAST)).producer == (99, 0)
        assert code_of(lambda: init(after, (7, EPOCH_LAST - 1))) == E.PRODUCER_FENCED


class TestPartitions:
    """AddPartitionsToTxn, and the check of members."""

    @pytest.mark.parametrize("state", ENDED)
    def test_first_partition_begins_the_transaction(self, state: TxnState) -> None:
        after = rules.with_partitions(status(state), ProducerEpoch(7, 5), {PLACE}, 2, NOW)
        assert (after.state, after.started, after.partitions, after.version) == (
            TxnState.ONGOING,
            NOW,
            {PLACE},
            2,
        )

    def test_later_partition_keeps_the_begin(self) -> None:
        before = status(TxnState.ONGOING)
        after = rules.with_partitions(before, ProducerEpoch(7, 5), {OTHER}, 0, NOW)
        assert (after.started, after.updated, after.partitions) == (900, NOW, {PLACE, OTHER})
        assert rules.with_partitions(after, ProducerEpoch(7, 5), {PLACE}, 0, NOW) is after

    @pytest.mark.parametrize(
        ("producer", "code"),
        [((8, 5), E.INVALID_PRODUCER_ID_MAPPING), ((7, 4), E.PRODUCER_FENCED), ((7, 6), E.PRODUCER_FENCED)],
    )
    def test_other_producers_are_refused(self, producer: tuple[int, int], code: E) -> None:
        before, own = status(TxnState.ONGOING), ProducerEpoch(*producer)
        assert code_of(lambda: rules.with_partitions(before, own, {PLACE}, 0, NOW)) == code
        assert code_of(lambda: rules.check_member(before, own, PLACE)) == code
        assert code_of(lambda: end(before, producer_id=own[0], epoch=own[1], version=0)) == code
        assert code_of(lambda: end(before, producer_id=own[0], epoch=own[1])) == code

    def test_members_are_those_of_the_open_transaction(self) -> None:
        own = ProducerEpoch(7, 5)
        assert code_of(lambda: rules.check_member(status(TxnState.ONGOING), own, PLACE)) == E.NONE
        assert (
            code_of(lambda: rules.check_member(status(TxnState.ONGOING), own, OTHER))
            == E.TRANSACTION_ABORTABLE
        )
        assert code_of(lambda: rules.check_member(status(), own, PLACE)) == E.TRANSACTION_ABORTABLE
        prepared = status(TxnState.PREPARE_COMMIT)
        assert code_of(lambda: rules.check_member(prepared, own, PLACE)) == E.CONCURRENT_TRANSACTIONS


class TestEndInTheSameEpoch:
    """EndTxn of clients of version 1."""

    @pytest.mark.parametrize("commit", [True, False])
    def test_open_transaction_is_prepared(self, commit: bool) -> None:
        after = end(status(TxnState.ONGOING), commit, version=0)
        assert after.state is (TxnState.PREPARE_COMMIT if commit else TxnState.PREPARE_ABORT)
        assert (after.epoch, after.partitions) == (5, {PLACE})
        done = rules.completed(after, 2000)
        assert done.state is (TxnState.COMPLETE_COMMIT if commit else TxnState.COMPLETE_ABORT)
        assert (done.producer, done.partitions) == ((7, 5), frozenset())
        assert end(done, commit, version=0) is done
        assert code_of(lambda: end(done, not commit, version=0)) == E.INVALID_TXN_STATE

    def test_without_a_transaction_there_is_none_to_end(self) -> None:
        assert code_of(lambda: end(status(), False, version=0)) == E.INVALID_TXN_STATE

    def test_busy_id_is_asked_again_by_its_own_producer_only(self) -> None:
        before = status(TxnState.PREPARE_COMMIT)
        assert code_of(lambda: end(before, version=0, is_busy=True)) == E.CONCURRENT_TRANSACTIONS
        assert code_of(lambda: end(before, version=0, is_busy=True, epoch=4)) == E.PRODUCER_FENCED


class TestEndWithTheNextEpoch:
    """EndTxn of clients of version 2."""

    @pytest.mark.parametrize("commit", [True, False])
    def test_open_transaction_is_prepared_and_its_retry_is_answered(self, commit: bool) -> None:
        after = end(status(TxnState.ONGOING), commit)
        assert (after.epoch, after.last_epoch, rules.answer_of(after)) == (6, 5, (7, 6))
        done = rules.completed(after, 2000)
        assert done.producer == (7, 6)
        assert end(done, commit) is done
        assert code_of(lambda: end(done, not commit)) == E.INVALID_TXN_STATE
        assert code_of(lambda: end(done, commit, epoch=4)) == E.PRODUCER_FENCED

    def test_last_epoch_brings_a_new_id_and_its_retry_gets_it(self) -> None:
        after = end(status(TxnState.ONGOING, EPOCH_LAST), epoch=EPOCH_LAST)
        assert (after.producer, rules.answer_of(after)) == ((7, EPOCH_MAX), (99, 0))
        done = rules.completed(after, 2000)
        assert (done.producer, done.previous_producer_id, done.next_producer_id) == ((99, 0), 7, -1)
        assert end(done, epoch=EPOCH_LAST) is done
        assert code_of(lambda: end(done, False, epoch=EPOCH_LAST)) == E.INVALID_TXN_STATE
        assert code_of(lambda: end(done, epoch=4)) == E.INVALID_PRODUCER_ID_MAPPING

    @pytest.mark.parametrize("state", ENDED)
    def test_abort_without_a_transaction_takes_an_epoch(self, state: TxnState) -> None:
        after = end(status(state), False)
        assert (after.state, after.epoch, after.started) == (TxnState.PREPARE_ABORT, 6, NOW)
        assert not after.partitions
        assert code_of(lambda: end(status(state))) == E.INVALID_TXN_STATE

    def test_busy_id_is_asked_again_by_all(self) -> None:
        for own in (lambda: end(status(), is_busy=True), lambda: end(status(), is_busy=True, producer_id=8)):
            assert code_of(own) == E.CONCURRENT_TRANSACTIONS

    def test_epoch_of_a_marker_is_no_epoch_of_a_client(self) -> None:
        before = status(TxnState.COMPLETE_ABORT, EPOCH_MAX)
        assert code_of(lambda: end(before, False, epoch=EPOCH_MAX)) == E.PRODUCER_FENCED


def test_fence_never_passes_the_last_epoch() -> None:
    for epoch in (EPOCH_LAST - 1, EPOCH_LAST, EPOCH_MAX):
        for version in (0, 2):
            assert rules.fenced(status(TxnState.ONGOING, epoch, version=version), NOW).epoch <= EPOCH_MAX
    done = rules.completed(rules.fenced(status(TxnState.ONGOING, EPOCH_LAST), NOW), NOW)
    assert init(done).producer == (99, 0)


def test_transactions_time_out_and_ids_expire() -> None:
    is_late = rules.is_timed_out
    assert not is_late(status(TxnState.ONGOING), 900 + TIMEOUT)
    assert is_late(status(TxnState.ONGOING), 901 + TIMEOUT)
    assert not is_late(status(TxnState.PREPARE_ABORT), 10**9)
    for state in TxnState:
        before = status(state)
        assert rules.is_expired(before, 1000, 100) is (state in ENDED)
        assert not rules.is_expired(before, 999, 100)


producers = st.builds(ProducerEpoch, st.sampled_from((7, 8, 99)), st.sampled_from((0, 4, 5, 6, EPOCH_LAST)))
statuses = st.builds(
    status,
    st.sampled_from([one for one in TxnState if not one.is_prepared]),
    st.sampled_from((0, 5, EPOCH_LAST, EPOCH_MAX)),
    version=st.sampled_from((0, 2)),
    previous_producer_id=st.sampled_from((-1, 8)),
)


@given(statuses, producers, st.booleans(), st.sampled_from((0, 2)))
def test_no_end_goes_back_to_an_earlier_epoch_of_an_id(
    before: TxnStatus, producer: ProducerEpoch, commit: bool, version: int
) -> None:
    try:
        after = rules.prepared(before, EndRequest(producer, commit, version), False, NOW, new_id)
    except TxnRefused:
        return
    if after is before:
        return
    assert producer == before.producer
    assert after.epoch == before.epoch + (version == 2)
    assert after.epoch <= EPOCH_MAX
    done = rules.completed(after, NOW)
    assert done.producer_id != before.producer_id or done.epoch >= before.epoch
    assert done.is_commit is commit and not done.partitions
    assert replace(done, state=before.state).timeout == before.timeout


@given(statuses, st.none() | producers)
def test_every_start_fences_all_earlier_producers(before: TxnStatus, expected: ProducerEpoch | None) -> None:
    try:
        after = rules.initialized(before, expected, TIMEOUT, NOW, new_id)
    except TxnRefused as error:
        assert error.code is E.PRODUCER_FENCED and expected is not None
        return
    assert after.producer_id != before.producer_id or after.epoch >= before.epoch
    if expected is None and before.epoch < EPOCH_MAX:
        assert after.producer != before.producer
