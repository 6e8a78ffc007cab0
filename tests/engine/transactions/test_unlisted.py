"""The part of the log that a start scans for commits, and the commits found."""

from mqgateway.engine.transactions.unlisted import unlisted_commits
from tests.support.engine.transactions.transactions import INTERVAL, Bench

FILE_SIZE = 1 << 20


def found(bench: Bench, first_open: int = 0, tail_size: int = 1 << 20) -> list[bytes]:
    return [one.body for one in unlisted_commits(bench.store, first_open, FILE_SIZE, tail_size)]


def test_commits_are_found_among_other_messages() -> None:
    bench = Bench()
    offsets = [bench.send(b"a"), bench.send(b"b"), bench.send(b"c")]
    bench.commit(offsets[2])
    bench.commit(offsets[0])
    assert found(bench) == [b"c", b"a"]


def test_commits_before_last_op_message_are_not_yielded() -> None:
    bench = Bench()
    bench.commit(bench.send(b"a"))
    bench.wait(4000)
    bench.commit(bench.send(b"b"))
    assert found(bench) == [b"b"]


def test_age_does_not_matter() -> None:
    bench = Bench()
    bench.commit(bench.send(b"a"))
    bench.clock.advance(INTERVAL)
    bench.commit(bench.send(b"b"))
    assert found(bench) == [b"a", b"b"]


def test_only_the_end_of_the_log_is_looked_through() -> None:
    bench = Bench()
    bench.commit(bench.send(b"a"))
    begin = bench.send(b"b")
    bench.commit(bench.send(b"c"))
    end = bench.store.max_physical_offset
    assert found(bench, tail_size=end - begin) == [b"c"]
    assert found(bench, tail_size=end - begin + 1) == [b"a", b"c"]


def test_commits_before_first_open_half_message_are_not_yielded() -> None:
    bench = Bench()
    bench.commit(bench.send(b"a"))
    bench.commit(bench.send(b"b"))
    assert found(bench, first_open=1) == [b"b"]


def test_an_empty_log_has_none() -> None:
    assert found(Bench()) == []
