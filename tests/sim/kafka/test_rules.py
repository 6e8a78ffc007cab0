"""The rules themselves: each is broken by observations that break it, and by no others."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from tests.sim.kafka.observations import Observations, Partition, Transaction, Write
from tests.sim.kafka.rules import LogMarker, LogRecord, Rules, committed

INPUT, OUTPUT = Partition("input", 0), Partition("output", 0)
COMMIT, ABORT = True, False


class Scene:
    """Observations, and the logs of two partitions."""

    def __init__(self) -> None:
        self.seen = Observations()
        self.logs: dict[Partition, list[LogRecord | LogMarker]] = {INPUT: [], OUTPUT: []}

    def sent(
        self, value: bytes, transaction: Transaction | None = None, partition: Partition = INPUT
    ) -> Write:
        return self.seen.sent(partition, b"k", value, transaction)

    def stored(self, value: bytes, transaction: Transaction | None = None) -> Write:
        """Return a write that is acknowledged and in the log."""
        write, log = self.sent(value, transaction), self.logs[INPUT]
        self.seen.acknowledged(write, len(log))
        log.append(LogRecord(len(log), value, -1 if transaction is None else 1))
        return write

    def transaction(self, outcome: bool | None) -> Transaction:
        transaction = self.seen.begin("t-1")
        transaction.outcome, transaction.is_commit_requested = outcome, outcome is not False
        return transaction

    def rules(self) -> Rules:
        return Rules(self.seen, self.logs)

    def problems(self) -> list[str]:
        return [*self.seen.problems, *self.rules().problems()]


def test_committed_records_are_those_of_markers() -> None:
    log = [
        LogRecord(0, b"a", 1),
        LogRecord(1, b"b", 2),
        LogRecord(2, b"c", -1),
        LogMarker(1, COMMIT),
        LogMarker(2, ABORT),
        LogRecord(5, b"d", 1),
    ]
    assert committed(log) == {0: b"a", 2: b"c"}


def test_whole_history_breaks_no_rule() -> None:
    scene = Scene()
    transaction = scene.transaction(True)
    scene.stored(b"a")
    scene.stored(b"b", transaction)
    scene.stored(b"c", transaction)
    scene.logs[INPUT].append(LogMarker(1, COMMIT))
    assert scene.problems() == []


def test_lost_write_is_found() -> None:
    scene = Scene()
    scene.stored(b"a")
    scene.logs[INPUT].clear()
    assert "is lost" in scene.problems()[0]


def test_duplicate_is_found() -> None:
    scene = Scene()
    scene.stored(b"a")
    scene.logs[INPUT].append(LogRecord(1, b"a", -1))
    assert "it is a duplicate" in scene.problems()[0]


def test_torn_transaction_is_found() -> None:
    scene = Scene()
    transaction = scene.transaction(None)
    scene.stored(b"a", transaction)
    scene.logs[INPUT].append(LogMarker(1, COMMIT))
    scene.sent(b"b", transaction, OUTPUT)
    assert "it is torn" in scene.problems()[0]


def test_lost_commit_is_found() -> None:
    scene = Scene()
    scene.stored(b"a", scene.transaction(True))
    scene.logs[INPUT].append(LogMarker(1, ABORT))
    assert "the committed t-1" in scene.problems()[0]


@pytest.mark.parametrize(("outcome", "found"), [(False, "of the aborted"), (True, "")])
def test_aborted_read_is_found(outcome: bool, found: str) -> None:
    scene = Scene()
    scene.sent(b"a", scene.transaction(outcome))
    scene.seen.read_committed(INPUT, 0, b"a")
    assert [one for one in scene.seen.problems if found in one] == scene.seen.problems
    assert bool(found) == bool(scene.seen.problems)


def test_read_of_an_open_transaction_is_found() -> None:
    scene = Scene()
    scene.sent(b"a", scene.seen.begin("t-1"))
    scene.seen.read_committed(INPUT, 0, b"a")
    assert "of the open" in scene.seen.problems[0]


def test_two_values_at_an_offset_are_found() -> None:
    scene = Scene()
    scene.seen.placed(INPUT, 0, b"a")
    scene.seen.placed(INPUT, 0, b"b")
    assert "has b'a' and b'b' at offset 0" in scene.seen.problems[0]


def test_acknowledgements_ascend() -> None:
    scene = Scene()
    scene.stored(b"a")
    scene.seen.acknowledged(scene.sent(b"b"), 0)
    assert "was acknowledged at 0, after 0 was" in scene.seen.problems[0]


@pytest.mark.parametrize(
    ("end", "read", "problems"), [(2, {0: b"a"}, 1), (1, {0: b"a"}, 0), (1, {0: b"x"}, 2)]
)
def test_skipped_and_invented_records_are_found(end: int, read: dict[int, bytes], problems: int) -> None:
    scene = Scene()
    scene.stored(b"a")
    scene.stored(b"b")
    found = list(scene.rules().reader_problems(INPUT, read, end, is_committed=True))
    assert len(found) == problems


@pytest.mark.parametrize(
    ("offset", "copies", "problem"),
    [(1, [b"a@1"], ""), (1, [], "0 times"), (1, [b"a@1", b"a@2"], "2 times"), (0, [b"a@1"], "though")],
)
def test_copies_are_those_before_the_committed_offset(
    offset: int, copies: Sequence[bytes], problem: str
) -> None:
    scene = Scene()
    scene.stored(b"a")
    for number, copy in enumerate(copies):
        transaction = scene.seen.begin("c-1")
        scene.sent(copy, transaction, OUTPUT)
        scene.logs[OUTPUT] += (LogRecord(number, copy, 1), LogMarker(1, COMMIT))
    found = list(scene.rules().copy_problems(INPUT, offset, [OUTPUT], "c"))
    assert len(found) == bool(problem) and all(problem in one for one in found)


@pytest.mark.parametrize(
    ("outcome", "answer", "is_problem"),
    [(True, 5, False), (True, -1, True), (False, 5, True), (None, 5, False), (None, -1, False)],
)
def test_offset_is_that_of_its_transaction(outcome: bool | None, answer: int, is_problem: bool) -> None:
    scene = Scene()
    group, transaction = scene.seen.group("g"), scene.transaction(outcome)
    transaction.offset = 5
    group.transactions.append(transaction)
    group.answered(answer, group.least())
    assert bool(scene.seen.problems) is is_problem
