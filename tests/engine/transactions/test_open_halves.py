"""Ends of transactions settle half messages and their copies, each once."""

from mqgateway.engine.options import FlushDiskType
from tests.support.engine.transactions.transactions import INTERVAL, Bench


def test_the_second_end_of_a_transaction_does_nothing() -> None:
    bench = Bench()
    at, other = bench.send(b"a"), bench.send(b"b")
    assert bench.commit(other)
    assert not bench.commit(other)
    assert not bench.roll_back(other)
    assert bench.roll_back(at)
    assert bench.delivered == [b"b"]
    assert bench.log.counts.table == {"T": 0}


def test_an_answer_about_a_copy_ends_the_transaction() -> None:
    bench = Bench()
    bench.send(b"a")
    bench.wait()
    (question,) = bench.wait()
    assert bench.commit(question.physical_offset)
    assert bench.wait(10 * INTERVAL) == []
    assert bench.delivered == [b"a"]
    assert bench.progress[0] == 3


def test_a_late_end_of_the_first_copy_settles_the_newest() -> None:
    """The producer was slow, was asked, and then ends what it began: no check follows."""
    bench = Bench()
    at = bench.send(b"a")
    bench.wait()
    bench.wait()
    assert bench.commit(at)
    assert bench.wait(10 * INTERVAL) == []
    assert not bench.commit(bench.questions[-1].physical_offset) or bench.progress[0] == 3
    assert bench.delivered[:1] == [b"a"]


def test_late_end_settles_copy_beyond_limit_of_known_copies() -> None:
    """The newest copy is found by the walk, which must not check a transaction that has ended."""
    bench = Bench(options={"max_waiting_transactions": 1})
    bench.send(b"a")
    at = bench.send(b"b")
    bench.wait()
    assert [each.body for each in bench.halves] == [b"a", b"b", b"a", b"b"]
    assert bench.commit(at)
    assert {each.unique_key for each in bench.wait(2 * INTERVAL)} == {"Ka"}
    assert bench.delivered == [b"b"]


def test_an_answer_to_both_copies_delivers_once() -> None:
    bench = Bench()
    first = bench.send(b"first")
    at = bench.send(b"a", CHECK_IMMUNITY_TIME_IN_SECONDS="1000")
    bench.wait()
    (question,) = bench.questions
    assert bench.commit(question.physical_offset)
    assert not bench.commit(first)
    assert bench.commit(at)
    assert sorted(bench.delivered) == [b"a", b"first"]


def test_with_synchronous_flushes_a_commit_is_seen_at_once() -> None:
    bench = Bench(store_options={"flush_disk_type": FlushDiskType.SYNC_FLUSH})
    at = bench.send(b"a")
    bench.store.when_flushed(bench.store.max_physical_offset, lambda _: None)
    bench.store.dispatch()
    assert bench.commit(at)
    assert bench.delivered == [b"a"]
