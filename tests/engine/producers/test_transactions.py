"""Transactions of producers in queues, from records in the order of the log."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mqgateway.engine.producers.batch import ProducerBatch
from mqgateway.engine.producers.markers import Marker
from mqgateway.engine.producers.state import BatchRefusal
from mqgateway.engine.producers.transactions import (
    AbortedTransaction,
    KafkaTransactions,
    MarkerRefusal,
    QueueTransactions,
)

DAY = 86_400_000
PLACE = "t", 0


class Log:
    """A queue whose records are dispatched at once."""

    def __init__(self, limit: int = 100) -> None:
        self.transactions = KafkaTransactions(limit, DAY)
        self.offset = self.end = self.now = 0

    def batch(self, producer_id: int = 1, count: int = 1, *, epoch: int = 0, plain: bool = False) -> bool:
        """Append a batch; return True if the state has it."""
        self.offset += count
        self.end += 100
        batch = ProducerBatch(producer_id, epoch, 0, count, self.offset - 1, not plain)
        self.transactions.follow(*PLACE, batch.first_offset)
        return self.transactions.add(*PLACE, batch, batch.first_offset, self.end, self.now)

    def marker(
        self, producer_id: int = 1, is_commit: bool = True, *, epoch: int = 0, coordinator: int = 0
    ) -> None:
        """Append a marker."""
        self.end += 100
        marker = Marker(producer_id, epoch, is_commit, coordinator)
        self.transactions.add(*PLACE, marker, self.offset, self.end, self.now)
        self.offset += 1

    def check(
        self, epoch: int, *, plain: bool = False, producer_id: int = 1, sequence: int = 0
    ) -> BatchRefusal | None:
        """Decide on the next batch."""
        batch = ProducerBatch(producer_id, epoch, sequence, 1, is_transactional=not plain)
        return self.transactions.check(*PLACE, batch, self.now)

    @property
    def queue(self) -> QueueTransactions:
        """The transactions of the queue."""
        return self.transactions.queues.get(PLACE, QueueTransactions())

    @property
    def first_open(self) -> int | None:
        """The offset at which readers stop, None for the end."""
        return self.queue.first_open()


def test_first_batch_opens_a_transaction_and_a_marker_ends_it() -> None:
    log = Log()
    log.batch(9, 5, plain=True)
    log.batch(1, 2)
    log.batch(1, 2)
    assert log.first_open == 5
    log.marker(1)
    assert log.first_open is None and not log.transactions.queues


def test_oldest_open_transaction_limits_readers() -> None:
    log = Log()
    for producer_id in (1, 2, 3):
        log.batch(producer_id)
    log.marker(2, False)
    assert (log.first_open, log.queue.aborted) == (0, [AbortedTransaction(2, 1, 3, 0)])
    log.marker(1)
    assert log.first_open == 2
    log.marker(3, False)
    assert log.queue.aborted[1:] == [AbortedTransaction(3, 2, 5, 6)]
    assert log.first_open is None


def test_marker_without_a_transaction_only_raises_epochs() -> None:
    log = Log()
    log.marker(1, False, epoch=3, coordinator=2)
    assert log.first_open is None and not log.queue.aborted
    assert log.check(2) is BatchRefusal.OLD_EPOCH
    assert log.check(3) is None
    refused = [
        log.transactions.check_marker(*PLACE, Marker(1, epoch, True, coordinator), 0)
        for epoch, coordinator in ((2, 9), (3, 1), (3, 2))
    ]
    assert refused == [MarkerRefusal.OLD_EPOCH, MarkerRefusal.OLD_COORDINATOR, None]


@pytest.mark.parametrize(("has_new_epoch", "refused"), [(False, None), (True, MarkerRefusal.OLD_EPOCH)])
def test_marker_that_raises_the_epoch_is_refused_with_the_last_one(
    has_new_epoch: bool, refused: MarkerRefusal | None
) -> None:
    log = Log()
    log.batch(epoch=2)

    def refusal(epoch: int) -> MarkerRefusal | None:
        marker = Marker(1, epoch, True, 0)
        return log.transactions.check_marker(*PLACE, marker, 0, has_new_epoch=has_new_epoch)

    assert [refusal(epoch) for epoch in (1, 2, 3)] == [MarkerRefusal.OLD_EPOCH, refused, None]


def test_epoch_begins_with_the_first_sequence() -> None:
    log = Log()
    log.batch(epoch=2)
    log.marker(epoch=2)
    assert log.check(2, sequence=9) is None, "the view of sequences decides"
    log.marker(epoch=3)
    log.marker(epoch=3)
    refused = [log.check(epoch, plain=True, sequence=9) for epoch in (3, 4)]
    assert refused == [BatchRefusal.OUT_OF_ORDER] * 2 and log.check(3) is None
    log.batch(epoch=3)
    assert log.check(3, sequence=9) is None


def test_plain_batch_inside_a_transaction_is_refused() -> None:
    log = Log()
    log.batch()
    assert log.check(0, plain=True) is BatchRefusal.NOT_TRANSACTIONAL
    assert log.check(0) is None and log.check(0, plain=True, producer_id=2) is None
    log.marker()
    assert log.check(0, plain=True) is None


def test_batch_of_a_newer_epoch_belongs_to_the_open_transaction() -> None:
    log = Log()
    log.batch(count=3)
    log.batch(epoch=1)
    log.marker(1, False, epoch=1)
    assert log.queue.aborted == [AbortedTransaction(1, 0, 4, 5)]


def test_plain_producer_is_not_kept() -> None:
    log = Log()
    assert not log.batch(plain=True) and not log.transactions.producers


def test_expected_records_count_until_it_is_dispatched() -> None:
    log = Log()
    log.transactions.expect(*PLACE, ProducerBatch(1, 0, 0, 1, 0, True), 0, 100, 0)
    assert log.check(0, plain=True) is BatchRefusal.NOT_TRANSACTIONAL
    log.transactions.expect(*PLACE, Marker(1, 1, True, 0), 1, 200, 0)
    assert log.check(0) is BatchRefusal.OLD_EPOCH and not log.transactions.queues
    log.batch()
    assert log.check(0) is BatchRefusal.OLD_EPOCH
    log.marker(epoch=1)
    log.transactions.expect_nothing()
    assert log.check(0) is BatchRefusal.OLD_EPOCH and log.check(1) is None


def test_open_transaction_does_not_expire() -> None:
    log = Log()
    log.batch(1)
    log.batch(2)
    log.marker(2, epoch=1)
    log.now = DAY
    assert log.check(0, producer_id=2) is None
    log.transactions.expire(log.now)
    assert [key[2] for key in log.transactions.producers] == [1]
    assert list(log.transactions.of_topic("t", log.now)[0]) == [1]


def test_queue_that_began_again_has_no_transactions() -> None:
    log = Log()
    log.batch(1, 10)
    log.batch(2, 10)
    log.offset = 0
    assert log.transactions.follow(*PLACE, 0)
    assert log.first_open is None and not log.transactions.producers
    assert not log.transactions.follow(*PLACE, 1)


def test_deleted_topic_is_forgotten() -> None:
    log = Log()
    log.batch()
    log.transactions.add("other", 0, ProducerBatch(1, 0, 0, 1, 0, True), 0, 300, 0)
    assert log.transactions.forget_topic("t") and not log.transactions.forget_topic("t")
    assert list(log.transactions.queues) == [("other", 0)]
    assert [key[0] for key in log.transactions.producers] == ["other"]


def test_producers_above_the_limit_are_forgotten_but_those_in_a_transaction() -> None:
    log = Log(limit=10)
    log.batch(0)
    for producer_id in range(1, 40):
        log.batch(producer_id)
        log.marker(producer_id)
    kept = [key[2] for key in log.transactions.producers]
    assert len(kept) <= 13 and kept[0] == 0 and kept[-1] == 39
    assert log.first_open == 0


def test_more_open_transactions_than_the_limit_are_kept() -> None:
    log = Log(limit=10)
    for producer_id in range(40):
        log.batch(producer_id)
    assert len(log.transactions.producers) == len(log.queue.open) == 40


def test_aborted_transactions_before_the_start_of_the_log_are_dropped() -> None:
    log = Log()
    for producer_id in (1, 2):
        log.batch(producer_id)
        log.marker(producer_id, False)
    log.transactions.drop_before(PLACE, 1)
    assert [one.producer_id for one in log.queue.aborted] == [1, 2]
    log.transactions.drop_before(PLACE, 2)
    assert [one.producer_id for one in log.queue.aborted] == [2]
    log.transactions.drop_before(PLACE, 4)
    assert not log.transactions.queues


_steps = st.lists(
    st.one_of(
        st.tuples(st.just("batch"), st.integers(0, 4), st.integers(1, 3)),
        st.tuples(st.just("plain"), st.integers(5, 6), st.integers(1, 3)),
        st.tuples(st.just("commit"), st.integers(0, 4), st.just(1)),
        st.tuples(st.just("abort"), st.integers(0, 4), st.just(1)),
    ),
    max_size=60,
)


@given(_steps, st.integers(0, 60), st.integers(1, 60))
def test_state_agrees_with_a_search_through_all_records(
    steps: list[tuple[str, int, int]], begin: int, size: int
) -> None:
    log = Log()
    ranges: list[tuple[int, int, int]] = []
    open_since: dict[int, int] = {}
    for kind, producer_id, count in steps:
        if kind in ("batch", "plain"):
            if kind == "batch":
                open_since.setdefault(producer_id, log.offset)
            log.batch(producer_id, count, plain=kind == "plain")
            continue
        first = open_since.pop(producer_id, None)
        if first is not None and kind == "abort":
            ranges.append((producer_id, first, log.offset))
        log.marker(producer_id, kind == "commit")
    assert log.first_open == (min(open_since.values()) if open_since else None)
    end = begin + size
    found = [one[:3] for one in log.queue.aborted_in(begin, end)]
    assert found == [one for one in ranges if one[1] < end and one[2] >= begin]
    for producer_id in range(5):
        aborted = [one for one in ranges if one[0] == producer_id and one[1] <= begin <= one[2]]
        assert log.transactions.is_aborted(*PLACE, producer_id, begin) == bool(aborted)


def test_open_transactions_of_all_queues_are_listed_until_their_marker_is_written() -> None:
    log = Log()
    log.batch(1)
    log.batch(2, 3)
    log.batch(3, plain=True)
    assert [(key, known.first_offset) for key, known in log.transactions.open_in_queues()] == [
        ((*PLACE, 1), 0),
        ((*PLACE, 2), 1),
    ]
    log.marker(1, False)
    marker = Marker(2, 0, True, 0)
    log.transactions.expect(*PLACE, marker, log.offset, log.end + 100, log.now)
    assert log.transactions.open_in_queues() == []
