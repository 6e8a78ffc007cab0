"""Findings of a check: location, fault and remedy; and its progress."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from enum import StrEnum
from typing import NamedTuple

LIMIT = 100
"""Maximum of findings kept per part and severity; further ones are only counted."""


Progress = Callable[[str, int, int], None]
"""Called at times with the current activity, the amount done, and the total."""


class Severity(StrEnum):
    """`error` is damage, or files that contradict one another; a `note` requires no action."""

    ERROR = "error"
    NOTE = "note"


class StorePart(StrEnum):
    """The part of the store that a finding is about, by the name of its files."""

    LOG = "commitlog"
    LEDGER = "dledger"
    QUEUE = "consumequeue"
    BATCH_QUEUE = "batchconsumequeue"
    EXT = "consumequeue_ext"
    COMPACTED = "kafkacompaction"
    INDEX = "index"
    TIMER_LOG = "timerlog"
    TIMER_WHEEL = "timerwheel"
    CHECKPOINT = "checkpoint"
    CONFIG = "config"
    STATE = "state"


class StoreFinding(NamedTuple):
    """One finding. `offset` is the byte in the file `path`; -1 if it is about the whole file or directory."""

    severity: Severity
    part: StorePart
    path: str
    offset: int
    what: str
    advice: str

    def __str__(self) -> str:
        place = self.path if self.offset < 0 else f"{self.path} at byte {self.offset}"
        return f"{place}: {self.what}" + (f" - {self.advice}" if self.advice else "")


class Findings:
    """Collects findings, a limited number per part; all are counted."""

    def __init__(self, limit: int = LIMIT) -> None:
        self._limit = limit
        self.kept: list[StoreFinding] = []
        self.counts: Counter[tuple[Severity, StorePart]] = Counter()

    def error(self, part: StorePart, path: str, offset: int, what: str, advice: str) -> None:
        """Add a finding of damage."""
        self._add(StoreFinding(Severity.ERROR, part, path, offset, what, advice))

    def note(self, part: StorePart, path: str, offset: int, what: str, advice: str = "") -> None:
        """Add a note."""
        self._add(StoreFinding(Severity.NOTE, part, path, offset, what, advice))

    def add(self, is_error: bool, part: StorePart, path: str, offset: int, what: str, advice: str) -> None:
        """Add an error, or a note."""
        (self.error if is_error else self.note)(part, path, offset, what, advice)

    def take(self, others: Findings) -> None:
        """Add the findings of another collection."""
        self.kept += others.kept
        self.counts += others.counts

    def _add(self, finding: StoreFinding) -> None:
        key = finding.severity, finding.part
        self.counts[key] += 1
        if self.counts[key] <= self._limit:
            self.kept.append(finding)

    @property
    def errors(self) -> int:
        """Number of errors."""
        return sum(count for (severity, _), count in self.counts.items() if severity is Severity.ERROR)

    @property
    def left_out(self) -> int:
        """Number of findings that were counted but not kept."""
        return sum(self.counts.values()) - len(self.kept)
