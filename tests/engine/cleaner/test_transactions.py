"""Which batches and markers a pass may remove."""

from __future__ import annotations

from mqgateway.engine.cleaner.transactions import PassedTransactions
from mqgateway.engine.producers.markers import Marker, control_batch
from mqgateway.engine.producers.transactions import AbortedTransaction
from mqgateway.engine.record_batches.batches import CONTROL, TRANSACTIONAL, Batch, assigned, build_batch
from mqgateway.engine.record_batches.records import Record


def batch(offset: int, producer_id: int = 1, *, is_plain: bool = False) -> Batch:
    """Return a batch of one record."""
    data = build_batch(
        [Record(b"k", b"v")],
        base_timestamp=0,
        base_offset=offset,
        producer_id=producer_id,
        producer_epoch=0,
        base_sequence=0,
        flags=0 if is_plain else TRANSACTIONAL,
    )
    return Batch(memoryview(data))


def marker(offset: int, producer_id: int = 1, *, commit: bool = True) -> Batch:
    """Return the batch of a marker."""
    return Batch(memoryview(assigned(control_batch(Marker(producer_id, 0, commit, 0), 0), offset, 0)))


def removable(batches: list[Batch], *aborted: AbortedTransaction) -> list[bool]:
    """Return for each batch whether a pass may remove it."""
    transactions = PassedTransactions(aborted)
    return [transactions.can_remove(each) for each in batches]


def test_batches_without_transaction_stay() -> None:
    assert removable([batch(0, is_plain=True), batch(1, -1, is_plain=True)]) == [False, False]


def test_committed_batches_and_their_marker_stay() -> None:
    assert removable([batch(0), batch(1), marker(2)]) == [False, False, False]


def test_marker_without_batches_goes() -> None:
    assert removable([marker(2)]) == [True]
    assert removable([marker(2, commit=False)]) == [True]
    assert removable([marker(2, commit=False)], AbortedTransaction(1, 0, 2, 3)) == [True]


def test_marker_needs_batches_of_its_own_transaction() -> None:
    assert removable([batch(0), marker(1), marker(2)]) == [False, False, True]
    assert removable([batch(0, 7), marker(1)]) == [False, True]


def test_aborted_batches_go_before_their_marker() -> None:
    aborted = AbortedTransaction(1, 0, 2, 3)
    assert removable([batch(0), batch(1), marker(2, commit=False)], aborted) == [True, True, False]


def test_transactions_of_one_producer_are_kept_apart() -> None:
    passed = [batch(0), marker(1, commit=False), batch(2), marker(3), batch(4), marker(5, commit=False)]
    aborted = AbortedTransaction(1, 0, 1, 2), AbortedTransaction(1, 4, 5, 6)
    assert removable(passed, *aborted) == [True, False, False, False, True, False]


def test_transactions_of_several_producers_are_kept_apart() -> None:
    passed = [batch(0, 1), batch(1, 2), batch(2, 1, is_plain=False), marker(3, 2), marker(4, 1, commit=False)]
    assert removable(passed, AbortedTransaction(1, 0, 4, 5)) == [True, False, True, False, False]


def test_aborted_transaction_ends_where_its_marker_was() -> None:
    """Of the first transaction nothing is left, of the second one the marker."""
    aborted = AbortedTransaction(1, 0, 2, 3), AbortedTransaction(1, 5, 7, 8)
    passed = [batch(3), marker(4), marker(7, commit=False), batch(8), marker(9)]
    assert removable(passed, *aborted) == [False, False, True, False, False]


def test_empty_control_batch_goes() -> None:
    data = build_batch([], base_timestamp=-1, flags=CONTROL | TRANSACTIONAL, producer_id=1, producer_epoch=0)
    assert removable([Batch(memoryview(data))]) == [True]


def test_control_batch_of_another_kind_stays() -> None:
    record = Record(b"\0\0\0\2", b"\0" * 6)
    data = build_batch([record], base_timestamp=0, flags=CONTROL, producer_id=1, producer_epoch=0)
    assert removable([Batch(memoryview(data))]) == [False]
