"""Verdicts on transactions, in folders."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mqgateway.gateway.codec.bodies import MessageQueue
from mqgateway.pipeline.errors import PipelineError
from mqgateway.pipeline.verdicts import Half, Places, Transaction, Verdict, Verdicts, places
from tests.support.pipeline.memory_folder import MemoryFolder

QUEUE = MessageQueue("T", "broker-a", 3)
OFFSETS = st.integers(0, 2**62)


def verdict(batch: int, query: str = "q", decided_at: int = 5) -> Verdict:
    return Verdict(Transaction(query, batch), "G", decided_at, (places(QUEUE, [1, 2], [10, 20]),))


@given(st.lists(st.tuples(OFFSETS, OFFSETS)))
@settings(max_examples=60)
def test_places_come_back(offsets: list[tuple[int, int]]) -> None:
    packed = places(QUEUE, [one for one, _ in offsets], [two for _, two in offsets])
    assert packed.queue == QUEUE and packed.rows == len(offsets)
    assert list(packed.halves()) == [Half(*one) for one in offsets]


def test_places_are_small() -> None:
    """Of a million rows of one size no more than a megabyte lies with the driver."""
    count = 20_000
    packed = places(QUEUE, range(count), (number * 1377 for number in range(count)))
    assert len(packed.packed) < count


def test_places_that_are_none() -> None:
    with pytest.raises(PipelineError, match="places of half messages cannot be read"):
        Places("T", "broker-a", 0, 2, b"x").halves()
    with pytest.raises(PipelineError, match="places of half messages cannot be read"):
        places(QUEUE, [1], [2])._replace(rows=2).halves()


def test_a_verdict_is_open_until_it_is_done() -> None:
    folder = MemoryFolder()
    log = Verdicts(folder)
    assert log.read(Transaction("q", 7)) is None and log.newest_done() is None and log.open_ones("q") == []
    log.write(verdict(7))
    assert log.read(Transaction("q", 7)) == verdict(7) and log.open_ones("q") == [verdict(7)]
    assert log.newest_done() is None
    log.write(verdict(7).done())
    result = log.read(Transaction("q", 7))
    assert result == log.newest_done() == verdict(7).done() and result.is_done and not result.places
    assert log.open_ones("q") == []
    assert folder.names() == ["q.7.done"]


def test_queries_do_not_meet() -> None:
    """Names that no file could have, and names that begin alike."""
    folder = MemoryFolder()
    log = Verdicts(folder)
    for query in ("a/b: c", "a", "a.1"):
        log.write(verdict(1, query))
    assert log.open_ones("a") == [verdict(1, "a")] and log.open_ones("a.1") == [verdict(1, "a.1")]
    assert log.read(Transaction("a/b: c", 1)) == verdict(1, "a/b: c")
    assert not any("/" in name for name in folder.names())
    log.write(verdict(9, "a").done())
    assert log.read(Transaction("a.1", 1)) is not None and log.read(Transaction("a", 1)) is None
    log.write(verdict(9, "a.1", decided_at=7).done())
    newest = [log.newest_done(query) for query in ("a", "a.1", "b", None)]
    assert [one and one.decided_at for one in newest] == [5, 7, None, 7]


def test_files_of_other_names_are_not_read() -> None:
    """A folder that many batches share keeps a file for each name."""
    folder = MemoryFolder()
    log = Verdicts(folder)
    for number in range(50):
        log.write(verdict(0, f"batch {number}", decided_at=number).done())
    read = folder.read
    names: list[str] = []
    folder.read = lambda name: names.append(name) or read(name)  # type: ignore[func-returns-value, method-assign]
    assert log.newest_done("batch 7") == verdict(0, "batch 7", decided_at=7).done()
    assert log.newest_done("another") is None and log.open_ones("batch 8") == []
    assert log.read(Transaction("batch 9", 0)) is not None
    assert names == ["batch%207.0.done", "batch%209.0.done"]


def test_the_last_two_batches_stay() -> None:
    """Spark repeats no older one."""
    folder = MemoryFolder()
    log = Verdicts(folder)
    for batch in range(4):
        log.write(verdict(batch, decided_at=batch))
        log.write(verdict(batch, decided_at=batch).done())
    assert sorted(folder.names()) == ["q.2.done", "q.3.done"]
    assert log.newest_done() == verdict(3, decided_at=3).done()


def test_a_crash_between_writing_and_clearing_leaves_it_done() -> None:
    folder = MemoryFolder()
    log = Verdicts(folder)
    log.write(verdict(1))
    folder.write("q.1.done", verdict(1).done().encode())
    folder.write("notes.txt", b"not ours")
    assert log.open_ones("q") == []
    result = log.read(Transaction("q", 1))
    assert result is not None and result.is_done
    for _ in range(2):
        log.clear(Transaction("q", 1))
        assert sorted(folder.names()) == ["notes.txt", "q.1.done"]


def test_a_file_that_is_none_is_named() -> None:
    folder = MemoryFolder()
    folder.write("q.1.open", b'{"query": 1}')
    with pytest.raises(PipelineError, match=r"q\.1\.open is not the outcome of a transaction"):
        Verdicts(folder).open_ones("q")
