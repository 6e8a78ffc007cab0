"""Regular expressions over names of topics and transactional ids, in the syntax of RE2.

An expression becomes an automaton, which is run over all its states at once. The time of a match is at most
the length of the name times the number of states, whatever the expression is: none can hold the event loop,
as backtracking can. A match covers the whole name, so greedy and lazy repetitions are alike.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from mqgateway.engine.steps import Steps, in_parts
from mqgateway.gateway.kafka.pattern_syntax import Automaton

CACHE_MAX: Final = 10_000
"""States in the transitions of an automaton that are cached, as a bound of their memory."""
PART: Final = 20_000
"""States times characters that are matched in one step; the slowest ones take 5 ms."""


class NamePattern:
    """A regular expression. Raises `PatternError` if it is not valid."""

    def __init__(self, text: str) -> None:
        self.text = text
        automaton = Automaton(text)
        self._alphabet = automaton.alphabet
        self._states = automaton.states
        self._start = self._closed((automaton.start,), "^")
        self._steps: dict[tuple[frozenset[int], str], frozenset[int]] = {}
        self._cached = 0

    def __len__(self) -> int:
        """Number of states, which says how long a match may take."""
        return len(self._states)

    def matches(self, name: str) -> bool:
        """Return True if the expression matches a whole name, which is not empty."""
        return self._accepts(self._read(self._start, name))

    def matching(self, name: str) -> Steps[bool]:
        """Match a long name in steps. See `matches`."""
        current = self._start
        for part in in_parts(name, max(PART // len(self), 1)):
            current = self._read(current, part)
            yield
        return self._accepts(current)

    def _accepts(self, current: frozenset[int]) -> bool:
        return 0 in self._closed(current, "$")

    def _read(self, current: frozenset[int], text: Iterable[str]) -> frozenset[int]:
        for char in text:
            if not current:
                break
            key = current, char
            following = self._steps.get(key)
            current = self._step(key) if following is None else following
        return current

    def _step(self, key: tuple[frozenset[int], str]) -> frozenset[int]:
        """Return the states after some by a character, and cache them."""
        current, char = key
        bit = self._alphabet.mask(char)
        read = (self._states[one] for one in current)
        following = self._closed(
            [target for state in read if state.mask & bit for target in state.targets], ""
        )
        if self._cached > CACHE_MAX:
            self._steps.clear()
            self._cached = 0
        self._steps[key] = following
        self._cached += len(following) + 1
        return following

    def _closed(self, first: Iterable[int], place: str) -> frozenset[int]:
        """Return states and those that follow without a character; `place` may be passed."""
        found = set(first)
        waiting = list(found)
        while waiting:
            state = self._states[waiting.pop()]
            if state.place in ("", place):
                new = [one for one in state.targets if one not in found]
                found.update(new)
                waiting += new
        return frozenset(found)
