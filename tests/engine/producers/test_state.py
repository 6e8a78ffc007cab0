"""Which batches of a producer a queue takes."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from mqgateway.engine.producers.batch import SEQUENCE_MAX, ProducerBatch
from mqgateway.engine.producers.state import BatchRefusal, Duplicate, Producers, batches_of, epoch_of

DAY = 86_400_000


class Queue:
    """A queue and its producers: what is accepted is appended and dispatched."""

    def __init__(self, limit: int = 100) -> None:
        self.producers = Producers(limit, DAY)
        self.offset = self.end = self.now = 0

    def check(self, epoch: int, sequence: int, count: int = 1, producer_id: int = 1) -> object:
        found = self.producers.check("t", 0, ProducerBatch(producer_id, epoch, sequence, count), self.now)
        return found.base_offset if isinstance(found, Duplicate) else found

    def append(self, epoch: int, sequence: int, count: int = 1, producer_id: int = 1) -> None:
        self.end += 100
        self.offset += count
        batch = ProducerBatch(producer_id, epoch, sequence, count, self.offset - 1)
        self.producers.add("t", 0, batch, self.end, self.now)


def test_unknown_producer_may_begin_with_any_sequence() -> None:
    assert Queue().check(0, 17) is None


def test_next_sequence_is_fresh_and_others_are_out_of_order() -> None:
    queue = Queue()
    queue.append(0, 0, 10)
    assert queue.check(0, 10) is None
    assert queue.check(0, 11) is BatchRefusal.OUT_OF_ORDER
    assert queue.check(0, 5) is BatchRefusal.OUT_OF_ORDER


def test_one_of_the_last_five_batches_is_a_duplicate_with_its_offset() -> None:
    queue = Queue()
    for number in range(6):
        queue.append(0, 2 * number, 2)
    assert [queue.check(0, 2 * number, 2) for number in range(1, 6)] == [2, 4, 6, 8, 10]
    assert queue.check(0, 0, 2) is BatchRefusal.OUT_OF_ORDER  # the sixth back
    assert queue.check(0, 4, 1) is BatchRefusal.OUT_OF_ORDER  # another length
    assert queue.check(0, 4, 3) is BatchRefusal.OUT_OF_ORDER


def test_sequence_wraps_to_zero() -> None:
    queue = Queue()
    queue.append(0, SEQUENCE_MAX - 1, 2)
    assert queue.check(0, 0) is None
    queue.append(0, SEQUENCE_MAX - 1, 4)
    assert queue.check(0, 2) is None
    assert queue.check(0, SEQUENCE_MAX - 1, 4) == 2


def test_newer_epoch_begins_with_zero_and_fences_the_older() -> None:
    queue = Queue()
    queue.append(3, 7)
    assert queue.check(4, 8) is BatchRefusal.OUT_OF_ORDER
    assert queue.check(4, 0) is None
    queue.append(4, 0)
    assert queue.check(3, 8) is BatchRefusal.OLD_EPOCH
    assert queue.check(3, 7) is BatchRefusal.OLD_EPOCH  # no duplicate of another epoch
    assert queue.check(4, 1) is None


def test_producers_and_queues_are_independent() -> None:
    queue = Queue()
    queue.append(0, 5)
    assert queue.check(0, 0, producer_id=2) is None
    assert queue.producers.check("t", 1, ProducerBatch(1, 0, 0, 1), 0) is None


def test_state_expires_after_its_last_batch() -> None:
    queue = Queue()
    queue.append(5, 5)
    queue.now = DAY - 1
    assert queue.check(5, 9) is BatchRefusal.OUT_OF_ORDER
    queue.now = DAY
    assert queue.check(0, 9) is None
    queue.append(0, 9)
    entry = queue.producers.entries["t", 0, 1]
    assert (epoch_of(entry), len(batches_of(entry))) == (0, 1)
    queue.now = 2 * DAY
    queue.producers.expire(queue.now)
    assert not queue.producers.entries


def test_limit_evicts_the_producer_whose_last_batch_is_oldest() -> None:
    queue = Queue(limit=2)
    for producer_id in (1, 2, 1, 3):
        queue.append(0, 5, producer_id=producer_id)
    assert [key[2] for key in queue.producers.entries] == [1, 3]


def test_batch_that_waits_for_dispatch_is_known() -> None:
    queue = Queue()
    waiting = [ProducerBatch(1, 0, 0, 2, 1), ProducerBatch(1, 0, 2, 2, 3)]
    for number, batch in enumerate(waiting, 1):
        queue.producers.expect("t", 0, batch, 100 * number, 0)
    assert queue.check(0, 0, 2) == 0 and queue.check(0, 2, 2) == 2
    assert queue.check(0, 4) is None and queue.check(0, 6) is BatchRefusal.OUT_OF_ORDER
    queue.producers.add("t", 0, waiting[0], 100, 0)
    assert queue.check(0, 2, 2) == 2
    queue.producers.expect_nothing()
    assert queue.check(0, 2, 2) is None
    queue.producers.add("t", 0, waiting[1], 200, 0)
    assert queue.check(0, 4) is None


def test_queue_that_begins_again_forgets_its_batches() -> None:
    queue = Queue()
    queue.append(0, 0, 10)
    queue.producers.add("t", 0, ProducerBatch(1, 0, 10, 1, 0), 500, 0)
    assert queue.check(0, 0, 10) is BatchRefusal.OUT_OF_ORDER
    assert len(batches_of(queue.producers.entries["t", 0, 1])) == 1


def test_deleted_topic_is_forgotten() -> None:
    queue = Queue()
    queue.append(0, 0)
    queue.producers.expect("t", 0, ProducerBatch(2, 0, 0, 1, 1), 200, 0)
    assert queue.producers.forget_topic("t") and not queue.producers.forget_topic("t")
    assert queue.check(0, 7) is None and queue.check(0, 7, producer_id=2) is None


def test_figures_name_the_producers_of_each_queue() -> None:
    queue = Queue()
    queue.append(3, 7, 2)
    assert queue.producers.figures("t", 0) == {0: [(1, 3, 8, 0)]}
    assert queue.producers.figures("t", DAY) == queue.producers.figures("u", 0) == {}


@given(
    st.lists(st.integers(1, 4), min_size=1, max_size=12),
    st.integers(0, SEQUENCE_MAX),
    st.data(),
)
def test_batches_sent_again_are_stored_once(counts: list[int], first: int, data: st.DataObject) -> None:
    """A producer with five batches in flight sends any of them again: each is a duplicate with its offset."""
    queue = Queue()
    sent: list[tuple[int, int, int]] = []
    sequence = first
    for count in counts:
        assert queue.check(0, sequence, count) is None
        sent.append((sequence, count, queue.offset))
        queue.append(0, sequence, count)
        sequence = sequence + count & SEQUENCE_MAX
        again = data.draw(st.sampled_from(sent[-5:]))
        assert queue.check(0, again[0], again[1]) == again[2]


@pytest.mark.parametrize("lost", [1, 5])
def test_batch_after_a_lost_one_is_out_of_order(lost: int) -> None:
    queue = Queue()
    queue.append(0, 0)
    assert queue.check(0, 1 + lost) is BatchRefusal.OUT_OF_ORDER


@example([("write", producer_id) for producer_id in (0, 1, 2, 0)] + 4 * [("dispatch", 0)])
@given(
    st.lists(st.tuples(st.sampled_from(["write", "dispatch", "pass", "expire", "delete"]), st.integers(0, 2)))
)
def test_states_are_those_of_batches_that_were_not_expected(steps: list[tuple[str, int]]) -> None:
    expecting, plain = Producers(2, DAY), Producers(2, DAY)
    offset = now = 0
    waiting: list[tuple[str, int, ProducerBatch, int, int]] = []
    for step, number in steps:
        if step == "write":
            offset += 1
            batch = ProducerBatch(number, 0, offset, 1, offset - 1)
            waiting.append(("t", 0, batch, 100 * offset, now))
            expecting.expect(*waiting[-1])
        elif step == "dispatch" and waiting:
            dispatched = waiting.pop(0)
            expecting.add(*dispatched)
            plain.add(*dispatched)
        elif step == "pass":
            now += DAY // 2
        elif step == "expire":
            expecting.expire(now)
            plain.expire(now)
        elif step == "delete":
            waiting, offset = [], 0
            assert expecting.forget_topic("t") == plain.forget_topic("t")
        assert list(expecting.entries.items()) == list(plain.entries.items())
