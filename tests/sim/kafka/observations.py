"""Writes, acknowledgements and reads of clients, which `rules` checks."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import NamedTuple


class Partition(NamedTuple):
    """A partition of a topic."""

    topic: str
    number: int

    def __str__(self) -> str:
        return f"{self.topic}-{self.number}"


@dataclass(eq=False)
class Transaction:
    """A transaction of a producer. `outcome` is True if it was committed, False if it was not, and None if
    the producer does not know. `offset` is that of the group which it commits, None if it commits none."""

    name: str
    values: list[bytes] = field(default_factory=list)
    offset: int | None = None
    is_commit_requested: bool = False
    outcome: bool | None = None

    def __str__(self) -> str:
        asked = "asked to commit" if self.is_commit_requested else "not asked to commit"
        return f"{self.name} ({asked}, outcome {self.outcome}, values {self.values}, offset {self.offset})"


@dataclass(eq=False)
class Write:
    """A value that was sent to a partition. `offset` is that of its acknowledgement, if there was one.
    `after` is the greatest acknowledged offset of the partition when it was sent first."""

    value: bytes
    key: bytes
    partition: Partition
    after: int
    transaction: Transaction | None = None
    offset: int | None = None

    @property
    def is_aborted(self) -> bool:
        """True if no reader of committed records may get it."""
        return self.transaction is not None and self.transaction.outcome is False


class Observations:
    """All writes by value, the offsets of groups, and `problems`: rules that were seen broken at once."""

    def __init__(self) -> None:
        self.writes: dict[bytes, Write] = {}
        self.transactions: list[Transaction] = []
        self.at: dict[tuple[Partition, int], bytes] = {}
        """The value at each offset that was acknowledged or read."""
        self.groups: dict[str, GroupOffsets] = {}
        self.problems: list[str] = []
        self.checks: Counter[str] = Counter()
        self._ends: dict[Partition, int] = {}
        self._leaders: dict[int, int] = {}

    def sent(
        self, partition: Partition, key: bytes, value: bytes, transaction: Transaction | None = None
    ) -> Write:
        """Take note of a value that is sent for the first time."""
        write = Write(value, key, partition, self._ends.get(partition, -1), transaction)
        assert value not in self.writes
        self.writes[value] = write
        if transaction is not None:
            transaction.values.append(value)
        return write

    def acknowledged(self, write: Write, offset: int) -> None:
        """Take note of an acknowledgement."""
        self.checks["acknowledged in order"] += 1
        if write.offset not in (None, offset):
            self.report(f"{write.value!r} was acknowledged at {write.offset} and at {offset}")
        if offset <= write.after:
            self.report(f"{write.value!r} was acknowledged at {offset}, after {write.after} was")
        write.offset = offset
        self._ends[write.partition] = max(offset, self._ends.get(write.partition, -1))
        self.placed(write.partition, offset, write.value)

    def placed(self, partition: Partition, offset: int, value: bytes) -> None:
        """Take note of the value at an offset."""
        self.checks["one value at an offset"] += 1
        before = self.at.setdefault((partition, offset), value)
        if before != value:
            self.report(f"{partition} has {before!r} and {value!r} at offset {offset}")

    def read_committed(self, partition: Partition, offset: int, value: bytes) -> None:
        """Take note of a record that a reader of committed records got."""
        self.placed(partition, offset, value)
        write = self.writes.get(value)
        self.checks["no aborted read"] += 1
        if write is None or write.partition != partition:
            self.report(f"{value!r}, read in {partition}, was not sent to it")
        elif write.is_aborted:
            self.report(f"{value!r} at {offset} of {partition} is of the aborted {write.transaction}")
        elif write.transaction is not None and not write.transaction.is_commit_requested:
            self.report(f"{value!r} at {offset} of {partition} is of the open {write.transaction}")

    def led(self, epoch: int, leader: int) -> None:
        """Take note of the leader of an epoch; there is one."""
        self.checks["one leader of an epoch"] += 1
        before = self._leaders.setdefault(epoch, leader)
        if before != leader:
            self.report(f"nodes {before} and {leader} both led in epoch {epoch}")

    def group(self, name: str) -> GroupOffsets:
        """Return what is known of the offset of a group."""
        return self.groups.setdefault(name, GroupOffsets(self, name))

    def begin(self, name: str) -> Transaction:
        """Return a new transaction."""
        transaction = Transaction(name)
        self.transactions.append(transaction)
        return transaction

    def report(self, problem: str) -> None:
        """Take note of a broken rule."""
        self.problems.append(problem)


class GroupOffsets:
    """Offsets that transactions commit for a group in one partition; they only grow."""

    def __init__(self, observations: Observations, name: str) -> None:
        self._observations, self._name = observations, name
        self.transactions: list[Transaction] = []

    def least(self) -> int:
        """Return the greatest offset that is known to be committed, -1 for none."""
        return max((one.offset or 0 for one in self.transactions if one.outcome is True), default=-1)

    def answered(self, offset: int, least: int) -> None:
        """Check the answer to a query; `least` is what was known to be committed when it was made."""
        self._observations.checks["offsets as their transactions"] += 1
        if offset < least:
            self._observations.report(f"{self._name} is at {offset}, though {least} was committed")
        possible = {
            one.offset for one in self.transactions if one.is_commit_requested and one.outcome is not False
        }
        if offset != -1 and offset not in possible:
            self._observations.report(f"{self._name} is at {offset}, which no transaction has committed")
