"""The invariants of a storm: from the sent and the delivered messages, the model derives the violations.

Pure: times are monotonic seconds; times in messages are seconds of the servers' clock.
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
"""Kinds that are stored exactly as often as they were sent."""
SLACK = 1.1
"""Seconds that a delivery may be early: timers have whole seconds."""


@dataclass
class Sent:
    """One message: the request, the response, and the times of its deliveries."""

    number: int
    kind: str
    at: float
    due: float = 0.0
    is_acknowledged: bool = False
    is_rolled_back: bool = False
    seen: list[float] = field(default_factory=list)
    stored: list[float] = field(default_factory=list)
    """Store times of its copies, by the servers' clock."""


def body_of(number: int, kind: str, seed: int) -> bytes:
    """Return a body with a checksum of its content."""
    filler = "x" * Random(number).randrange(10, 700)
    text = json.dumps({"number": number, "kind": kind, "seed": seed, "filler": filler})
    return f"{zlib.crc32(text.encode()):08x}{text}".encode()


def number_in(body: bytes, seed: int) -> int | None:
    """Return the number of the message of a body; None if this run did not send it."""
    try:
        if int(body[:8], 16) != zlib.crc32(body[8:]):
            return None
        document = json.loads(body[8:])
        return int(document["number"]) if document["seed"] == seed else None
    except (ValueError, KeyError, TypeError):
        return None


class Model:
    """All sent messages and their deliveries. The methods may be called from any thread."""

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self.sent: dict[int, Sent] = {}
        self.ghosts: list[str] = []
        self._lock = threading.Lock()

    def begin(self, kind: str, at: float, due: float = 0.0) -> Sent:
        """Register a message that is about to be sent."""
        with self._lock:
            sent = Sent(len(self.sent), kind, at, due)
            self.sent[sent.number] = sent
            return sent

    def saw(self, body: bytes, at: float) -> None:
        """Note a delivery to a consumer."""
        number = number_in(body, self.seed)
        with self._lock:
            if number is None or number not in self.sent:
                self.ghosts.append(f"given out, never sent: {body[:80]!r}")
            else:
                self.sent[number].seen.append(at)

    def found(self, copies: Iterable[tuple[bytes, float]]) -> None:
        """Replace the stored copies by the content of the queues: bodies with store times."""
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
        """Return the messages that must be delivered once the load has stopped."""
        return [each for each in list(self.sent.values()) if each.is_acknowledged and not each.is_rolled_back]

    def missing(self) -> list[Sent]:
        """Return the acknowledged messages that have not been delivered."""
        return [each for each in self.expected() if not each.seen]

    def counts(self) -> dict[str, dict[str, int]]:
        """Return by kind the numbers of messages sent, acknowledged and delivered, and of extra copies."""
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
        """Return the violated invariants.

        `moves` of the servers' clock are (monotonic, offset); `starts` are the master's; `wall` is the true
        wall clock at monotonic 0. A kill explains only copies that are younger than `repeat_seconds`.
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
    """Return True if a message was delivered early. A clock move while a server runs excuses nothing.

    A server reads the clock when it starts. A timer's slot was computed from the clock at the previous start,
    a delay from the clock when the message was stored. A delivery may be early by the lead of the new clock
    over either. If the new clock lags, an impossible time may have been corrected.
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
    """Return the number of extra copies that are allowed: one for each kill soon after a copy was stored."""
    if sent.kind in ONCE:
        return 0
    times = [time for stored in sent.stored for time in _monotonic(stored - wall, moves)]
    return sum(any(kill - seconds - SLACK <= time <= kill + SLACK for time in times) for kill in kills)


def _monotonic(shown: float, moves: Sequence[tuple[float, float]]) -> list[float]:
    """Return the monotonic times at which the servers' clock may have shown a time."""
    ends = [at for at, _ in moves[1:]] + [float("inf")]
    return [
        shown - offset for (at, offset), end in zip(moves, ends, strict=True) if at <= shown - offset <= end
    ]
