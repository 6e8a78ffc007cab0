"""What a storm may and may not do to messages: told what was asked and what came, it names what is wrong.

Pure: times are monotonic seconds, those in messages seconds of the servers' clock.
"""

from __future__ import annotations

import json
import threading
import zlib
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from random import Random

KINDS = ("plain", "delay", "timer", "transaction", "pop")
ONCE = ("plain", "pop")
"""Kinds that lie in their queues as often as they were sent."""
SLACK = 1.1
"""Seconds that a due time may be early: timers know whole seconds."""


@dataclass
class Sent:
    """One message: what was asked, what was answered, when it was given out."""

    number: int
    kind: str
    at: float
    due: float = 0.0
    is_acknowledged: bool = False
    is_rolled_back: bool = False
    seen: list[float] = field(default_factory=list)
    stored: list[float] = field(default_factory=list)
    """When its copies were stored, by the servers' clock."""


def body_of(number: int, kind: str, seed: int) -> bytes:
    """A body that tells whether it is whole."""
    filler = "x" * Random(number).randrange(10, 700)
    text = json.dumps({"number": number, "kind": kind, "seed": seed, "filler": filler})
    return f"{zlib.crc32(text.encode()):08x}{text}".encode()


def number_in(body: bytes, seed: int) -> int | None:
    """Which message a body is of; None for one that nobody sent."""
    try:
        if int(body[:8], 16) != zlib.crc32(body[8:]):
            return None
        told = json.loads(body[8:])
        return int(told["number"]) if told["seed"] == seed else None
    except (ValueError, KeyError, TypeError):
        return None


class Model:
    """Everything that was sent, and what was seen of it. Its methods may be called from any thread."""

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self.sent: dict[int, Sent] = {}
        self.ghosts: list[str] = []
        self._lock = threading.Lock()

    def begin(self, kind: str, at: float, due: float = 0.0) -> Sent:
        """A message is about to be sent."""
        with self._lock:
            sent = Sent(len(self.sent), kind, at, due)
            self.sent[sent.number] = sent
            return sent

    def saw(self, body: bytes, at: float) -> None:
        """A consumer was given a message."""
        number = number_in(body, self.seed)
        with self._lock:
            if number is None or number not in self.sent:
                self.ghosts.append(f"given out, never sent: {body[:80]!r}")
            else:
                self.sent[number].seen.append(at)

    def found(self, copies: Iterable[tuple[bytes, float]]) -> None:
        """All that lies in the queues now: bodies, and when they were stored."""
        with self._lock:
            for sent in self.sent.values():
                sent.stored.clear()
            for body, stored in copies:
                number = number_in(body, self.seed)
                if number is None or number not in self.sent:
                    self.ghosts.append(f"stored, never sent: {body[:80]!r}")
                else:
                    self.sent[number].stored.append(stored)

    def expected(self) -> list[Sent]:
        """What must be given out once all is quiet."""
        return [each for each in list(self.sent.values()) if each.is_acknowledged and not each.is_rolled_back]

    def missing(self) -> list[Sent]:
        """What was acknowledged and has not been given out."""
        return [each for each in self.expected() if not each.seen]

    def counts(self) -> dict[str, dict[str, int]]:
        """By kind: sent, acknowledged, given out, and copies beyond the first."""
        table: dict[str, Counter[str]] = {kind: Counter() for kind in KINDS}
        for each in list(self.sent.values()):
            row = table[each.kind]
            row["sent"] += 1
            row["acknowledged"] += each.is_acknowledged
            row["given out"] += bool(each.seen)
            row["deliveries"] += len(each.seen)
            row["copies"] += max(0, len(each.stored) - 1)
            row["most copies"] = max(row["most copies"], len(each.stored))
        return {kind: dict(row) for kind, row in table.items()}

    def violations(
        self,
        kills: Sequence[float],
        starts: Sequence[float],
        moves: Sequence[tuple[float, float]],
        wall: float,
        repeat_seconds: float,
    ) -> list[str]:
        """What must not be. `moves` of the servers' clock are (monotonic, offset); `starts` are the master's;
        `wall` is what the true wall clock shows at monotonic 0; what comes again must be younger than
        `repeat_seconds` when a kill comes.
        """
        wrong = list(self.ghosts)
        for each in self.sent.values():
            name = f"{each.kind} {each.number}"
            if each.is_rolled_back and (each.seen or each.stored):
                wrong.append(f"{name}: rolled back, and visible")
            elif each.is_acknowledged and not each.is_rolled_back and not each.stored:
                wrong.append(f"{name}: acknowledged, and not there")
            elif each.is_acknowledged and not each.is_rolled_back and not each.seen:
                wrong.append(f"{name}: there, but never given out")
            if each.seen and _is_early(each, starts, moves):
                early = each.at + each.due - min(each.seen)
                wrong.append(f"{name}: given out {early:.2f} s before its time of {each.due} s")
            if len(each.stored) > 1 + _explained(each, kills, moves, wall, repeat_seconds):
                wrong.append(f"{name}: {len(each.stored)} copies, more than kills explain")
        return wrong


def _is_early(sent: Sent, starts: Sequence[float], moves: Sequence[tuple[float, float]]) -> bool:
    """Whether a message came before its time. A clock that is moved while a server runs excuses nothing.

    A start begins with what the clock shows then: a timer's slot was reckoned from what it showed at the
    start before, a delay from what it showed when the message was stored. So much as the clock is ahead of
    either may be lacking; and where it is behind, a time that could not be true may have been corrected.
    """
    first = min(sent.seen)
    later = [_offset(start, moves) for start in starts if sent.at < start <= first]
    before = [_offset(start, moves) for start in starts if start <= sent.at][-1:]
    known = [*before, _offset(sent.at, moves)]
    if any(offset < max(known) for offset in later):
        return False
    ahead = max(later, default=min(known)) - min(known)
    return first < sent.at + sent.due - ahead - SLACK


def _offset(at: float, moves: Sequence[tuple[float, float]]) -> float:
    return [offset for moved, offset in moves if moved <= at][-1]


def _explained(
    sent: Sent,
    kills: Sequence[float],
    moves: Sequence[tuple[float, float]],
    wall: float,
    seconds: float,
) -> int:
    """How many copies more than one a message may have: one for each kill soon after a copy was stored."""
    if sent.kind in ONCE:
        return 0
    times = [time for stored in sent.stored for time in _monotonic(stored - wall, moves)]
    return sum(any(kill - seconds - SLACK <= time <= kill + SLACK for time in times) for kill in kills)


def _monotonic(shown: float, moves: Sequence[tuple[float, float]]) -> list[float]:
    """When the servers' clock may have shown a time."""
    ends = [at for at, _ in moves[1:]] + [float("inf")]
    return [
        shown - offset for (at, offset), end in zip(moves, ends, strict=True) if at <= shown - offset <= end
    ]
