"""Messages of one answer: where it ends, and what counts."""

from mqgateway.engine.record_batches.batches import build_batch
from mqgateway.engine.store.batch_answer import CHOICE_BYTES, BatchAnswer
from mqgateway.engine.store.batch_consume_queue import NOT_COMPACTED, BatchUnit
from mqgateway.engine.store.expansion import Expansion
from mqgateway.engine.store.log import ENDLESS
from mqgateway.engine.store.results import NO_LIMITS, Accept, TransferLimits
from tests.support.engine.store.kafka_records import POSITION, records, whole_record


def answer_to(
    *,
    offset: int = 0,
    count: int = 32,
    accept: Accept | frozenset[int] | None = None,
    limits: TransferLimits = NO_LIMITS,
) -> BatchAnswer:
    """An answer from a queue whose log is fresh."""
    return BatchAnswer(
        offset, 7, count, 1 << 20, accept, limits, 0, Expansion(lambda position, what: None, lambda *_: False)
    )


def unit_of(record: bytes, base_offset: int, messages: int, tags: int = 0) -> BatchUnit:
    """The unit of a record."""
    return BatchUnit(POSITION, len(record), tags, 0, base_offset, messages, NOT_COMPACTED, 0)


def build(count: int) -> bytearray:
    """A batch of so many records."""
    return build_batch(records(*[b"v"] * count), base_timestamp=1)


def test_answer_that_ends_inside_a_batch_stays_at_its_unit() -> None:
    record = whole_record(build(5))
    answer = answer_to(count=3)
    answer.take([unit_of(record, 0, 5)], {0: record}, True)
    assert (answer.next_offset, answer.number, answer.passed, answer.is_full) == (3, 7, 0, True)


def test_answer_that_takes_all_of_a_batch_goes_to_the_next_unit() -> None:
    record = whole_record(build(5))
    answer = answer_to(count=9)
    answer.take([unit_of(record, 0, 5)], {0: record}, True)
    assert (answer.next_offset, answer.number, answer.passed, answer.is_full) == (5, 8, 1, False)


def test_record_that_is_gone_is_passed() -> None:
    answer = answer_to()
    answer.take([unit_of(b"", 0, 5)], {}, True)
    assert (answer.next_offset, answer.has_passed) == (5, True)


def test_units_of_other_tags_are_not_read() -> None:
    answer = answer_to(accept=frozenset([5]))
    assert [answer.must_read(unit_of(b"", 0, 1, tags)) for tags in (0, 5, 6)] == [True, True, False]
    assert answer.bounds() == (ENDLESS, CHOICE_BYTES)
    assert answer_to().must_read(unit_of(b"", 0, 1, 6))
    assert answer_to(limits=TransferLimits(10, 2, 20, 1)).bounds() == (2, 20)
