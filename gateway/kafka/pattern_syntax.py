"""The syntax of RE2: from the text of an expression to the states of an automaton."""

from __future__ import annotations

import re
import sys
from bisect import bisect
from typing import Final

PATTERN_MAX: Final = 1024
"""Characters of an expression."""
STATES_MAX: Final = 1000
REPEAT_MAX: Final = 1000
DEPTH_MAX: Final = 50

_ASCII: Final = (1 << 128) - 1
"""All of ASCII. A set of characters is a number with a bit for each."""
_HEXADECIMAL: Final = re.compile(r"\\x(?:\{([0-9a-fA-F]+)\}|([0-9a-fA-F]{2}))")


class PatternError(ValueError):
    """An expression that is not valid, or larger than is allowed."""


def _mask(characters: str) -> int:
    return sum(1 << ord(one) for one in characters)


def _range(first: str, last: str) -> int:
    return _between(_mask(first), _mask(last))


def _between(first: int, last: int) -> int:
    """Return the characters from one to another, of which each is a set."""
    return 2 * last - first


_DIGITS: Final = _range("0", "9")
_UPPER, _LOWER = _range("A", "Z"), _range("a", "z")
_WORD: Final = _UPPER | _LOWER | _DIGITS | _mask("_")
_SPACE: Final = _mask("\t\n\f\r ")
_PUNCTUATION: Final = _range("!", "~") & ~(_UPPER | _LOWER | _DIGITS)
_CLASSES: Final = {"d": _DIGITS, "w": _WORD, "s": _SPACE}
_NAMED: Final = {
    "alnum": _UPPER | _LOWER | _DIGITS,
    "alpha": _UPPER | _LOWER,
    "ascii": _ASCII,
    "blank": _mask("\t "),
    "cntrl": _range("\0", "\x1f") | _mask("\x7f"),
    "digit": _DIGITS,
    "graph": _range("!", "~"),
    "lower": _LOWER,
    "print": _range(" ", "~"),
    "punct": _PUNCTUATION,
    "space": _SPACE | _mask("\v"),
    "upper": _UPPER,
    "word": _WORD,
    "xdigit": _DIGITS | _range("A", "F") | _range("a", "f"),
}
_UNICODE: Final = {"L": _UPPER | _LOWER, "Lu": _UPPER, "Ll": _LOWER, "N": _DIGITS, "Nd": _DIGITS}
"""Categories of Unicode, as far as they are ASCII."""
_CONTROLS: Final = {"a": "\a", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}


class Alphabet:
    """The bits of characters: one for each of ASCII, for each other one that an expression names, and for
    each range of others between those."""

    def __init__(self, expression: str) -> None:
        codes = {ord(char) for char in expression} | {
            _code(escape) for escape in _HEXADECIMAL.finditer(expression)
        }
        self._starts = sorted({128, *(start for code in codes if code > 127 for start in (code, code + 1))})
        self.all = (1 << 128 + len(self._starts)) - 1

    def mask(self, char: str) -> int:
        """Return the set of one character."""
        code = ord(char)
        return 1 << (code if code < 128 else 127 + bisect(self._starts, code))


def _code(escape: re.Match[str]) -> int:
    return int(escape[1] or escape[2], 16)


class State:
    """A state of an automaton: characters that lead to `targets`, or no characters if none are read.

    `place` is "^" or "$" for a state that is left at the start or the end of the name only.
    """

    __slots__ = ("mask", "place", "targets")

    def __init__(self, mask: int = 0, place: str = "", targets: tuple[int, ...] = ()) -> None:
        self.mask = mask
        self.place = place
        self.targets = targets


class _Node:
    """A part of an expression. `build` adds its states to an automaton and returns the first one."""

    def build(self, states: list[State], after: int) -> int:
        raise NotImplementedError


def _add(states: list[State], state: State) -> int:
    if len(states) >= STATES_MAX:
        raise PatternError("expression is too large")
    states.append(state)
    return len(states) - 1


class _Characters(_Node):
    def __init__(self, mask: int) -> None:
        self.mask = mask

    def build(self, states: list[State], after: int) -> int:
        return _add(states, State(self.mask, "c", (after,)))


class _Place(_Node):
    def __init__(self, place: str) -> None:
        self.place = place

    def build(self, states: list[State], after: int) -> int:
        return _add(states, State(0, self.place, (after,)))


class _Sequence(_Node):
    def __init__(self, parts: list[_Node]) -> None:
        self.parts = parts

    def build(self, states: list[State], after: int) -> int:
        for part in reversed(self.parts):
            after = part.build(states, after)
        return after


class _Choice(_Node):
    def __init__(self, options: list[_Node]) -> None:
        self.options = options

    def build(self, states: list[State], after: int) -> int:
        return _add(states, State(targets=tuple(one.build(states, after) for one in self.options)))


class _Repeated(_Node):
    """`most` is None for a repetition without end."""

    def __init__(self, node: _Node, least: int, most: int | None) -> None:
        self.node = node
        self.least = least
        self.most = most

    def build(self, states: list[State], after: int) -> int:
        start = after
        if self.most is None:
            start = _add(states, State())
            states[start].targets = self.node.build(states, start), after
        else:
            for _ in range(self.most - self.least):
                start = _add(states, State(targets=(self.node.build(states, start), after)))
        for _ in range(self.least):
            start = self.node.build(states, start)
        return start


class _Parser:
    """Reads an expression.

    `folds` is True while letters of both cases are alike, `dot` is the set of characters that a dot matches.
    """

    def __init__(self, expression: str, alphabet: Alphabet) -> None:
        self._text = expression
        self._alphabet = alphabet
        self._at = 0
        self._depth = 0
        self._folds = False
        self._dot = alphabet.all & ~_mask("\n")

    def parse(self) -> _Node:
        """Return the whole expression. Raises `PatternError`."""
        node = self._choice()
        if self._at < len(self._text):
            raise PatternError("unexpected )")
        return node

    def _peek(self) -> str:
        return self._text[self._at : self._at + 1]

    def _next(self) -> str:
        char = self._peek()
        self._at += 1
        return char

    def _takes(self, text: str) -> bool:
        taken = self._text.startswith(text, self._at)
        self._at += len(text) * taken
        return taken

    def _until(self, end: str, problem: str) -> str:
        at = self._text.find(end, self._at)
        if at < 0:
            raise PatternError(problem)
        text = self._text[self._at : at]
        self._at = at + len(end)
        return text

    def _choice(self) -> _Node:
        options = [self._sequence()]
        while self._takes("|"):
            options.append(self._sequence())
        return options[0] if len(options) == 1 else _Choice(options)

    def _sequence(self) -> _Node:
        parts: list[_Node] = []
        while self._peek() not in ("", "|", ")"):
            if self._takes("\\Q"):
                at = self._text.find("\\E", self._at)
                end = len(self._text) if at < 0 else at
                parts += (self._literal(one) for one in self._text[self._at : end])
                self._at = end + 2 * (at >= 0)
            else:
                parts.append(self._repeated(self._atom()))
        return _Sequence(parts)

    def _repeated(self, node: _Node) -> _Node:
        bounds = self._bounds()
        if bounds is None:
            return node
        self._takes("?")  # lazy
        if self._bounds() is not None:
            raise PatternError("bad repetition operator")
        return _Repeated(node, *bounds)

    def _bounds(self) -> tuple[int, int | None] | None:
        """Return how often the last part is repeated, None if no repetition follows."""
        if self._takes("*"):
            return 0, None
        if self._takes("+"):
            return 1, None
        if self._takes("?"):
            return 0, 1
        end = self._text.find("}", self._at)
        least, comma, most = self._text[self._at + 1 : max(end, 0)].partition(",")
        if self._peek() != "{" or not least.isdecimal() or not (most.isdecimal() or not most):
            return None
        self._at = end + 1
        low, high = int(least[:5]), int((most or least)[:5])
        if max(low, high) > REPEAT_MAX or high < low:
            raise PatternError("bad repeat count")
        return low, None if comma and not most else high

    def _atom(self) -> _Node:
        char = self._next()
        if char == "(":
            return self._group()
        if char == "[":
            return _Characters(self._set())
        if char == ".":
            return _Characters(self._dot)
        if char in ("^", "$"):
            return _Place(char)
        if char in ("*", "+", "?"):
            raise PatternError(f"missing argument to repetition operator: {char}")
        return self._escaped() if char == "\\" else self._literal(char)

    def _literal(self, char: str) -> _Characters:
        return _Characters(self._folded(self._alphabet.mask(char)))

    def _folded(self, mask: int) -> int:
        if not self._folds:
            return mask
        distance = ord("a") - ord("A")
        return mask | (mask & _UPPER) << distance | (mask & _LOWER) >> distance

    def _escaped(self) -> _Node:
        char = self._peek()
        if char in ("A", "z"):
            self._at += 1
            return _Place("^" if char == "A" else "$")
        return _Characters(self._folded(self._escape()))

    def _escape(self) -> int:
        """Return the characters of an escape, behind its backslash."""
        char = self._next()
        if char.lower() in _CLASSES:
            known = _CLASSES[char.lower()]
            return known if char.islower() else self._alphabet.all & ~known
        if char in ("p", "P"):
            return self._category(char == "P")
        if char in _CONTROLS:
            return _mask(_CONTROLS[char])
        if char == "x":
            return self._hexadecimal()
        if not char or char.isalnum():
            raise PatternError(f"invalid escape sequence: \\{char}")
        return self._alphabet.mask(char)

    def _category(self, is_negated: bool) -> int:
        name = self._until("}", "invalid character class range") if self._takes("{") else self._next()
        if name.startswith("^"):
            name, is_negated = name[1:], not is_negated
        if name not in _UNICODE:
            raise PatternError(f"invalid character class range: \\p{{{name}}}")
        return self._alphabet.all & ~_UNICODE[name] if is_negated else _UNICODE[name]

    def _hexadecimal(self) -> int:
        escape = _HEXADECIMAL.match(self._text, self._at - len("\\x"))
        if escape is None or _code(escape) > sys.maxunicode:
            raise PatternError("invalid escape sequence: \\x")
        self._at = escape.end()
        return self._alphabet.mask(chr(_code(escape)))

    def _group(self) -> _Node:
        self._depth += 1
        if self._depth > DEPTH_MAX:
            raise PatternError("expression nests too deeply")
        flags = self._folds, self._dot
        if self._takes("?") and not (self._takes("P<") or self._takes("<")):
            if not self._flags():
                self._depth -= 1
                return _Sequence([])
        elif self._text[self._at - 1 : self._at] == "<":
            name = self._until(">", "invalid named capture")
            if not name.isidentifier():
                raise PatternError(f"invalid named capture: {name}")
        node = self._choice()
        if not self._takes(")"):
            raise PatternError("missing closing )")
        self._folds, self._dot = flags
        self._depth -= 1
        return node

    def _flags(self) -> bool:
        """Read flags; return True if a group follows, False if they hold for the rest of this one."""
        is_set = True
        while (char := self._next()) not in (":", ")"):
            if char == "-":
                is_set = False
            elif char == "i":
                self._folds = is_set
            elif char == "s":
                self._dot = self._alphabet.all if is_set else self._alphabet.all & ~_mask("\n")
            elif char not in ("m", "U"):  # these change nothing in a name of one line
                raise PatternError("invalid or unsupported Perl syntax: (?")
        return char == ":"

    def _set(self) -> int:
        """Return the characters of a set, behind its bracket."""
        is_negated = self._takes("^")
        mask = 0
        is_first = True
        while is_first or self._peek() != "]":
            if self._at >= len(self._text):
                raise PatternError("missing closing ]")
            is_first = False
            mask |= self._item()
        self._at += 1
        mask = self._folded(mask)
        return self._alphabet.all & ~mask if is_negated else mask

    def _item(self) -> int:
        if self._takes("[:"):
            name = self._until(":]", "invalid character class range")
            known = _NAMED.get(name.removeprefix("^"))
            if known is None:
                raise PatternError(f"invalid character class range: [:{name}:]")
            return self._alphabet.all & ~known if name.startswith("^") else known
        first = self._bound()
        if not self._text.startswith("-", self._at) or self._text.startswith("-]", self._at):
            return first
        self._at += 1
        last = self._bound()
        if first.bit_count() != 1 or last.bit_count() != 1 or last < first:
            raise PatternError("invalid character class range")
        return _between(first, last)

    def _bound(self) -> int:
        """Return one character of a set, or the characters of an escape. A bound of a range is one."""
        char = self._next()
        if not char:
            raise PatternError("missing closing ]")
        return self._escape() if char == "\\" else self._alphabet.mask(char)


class Automaton:
    """The states of an expression; 0 is the last one, `start` the first. Raises `PatternError`."""

    def __init__(self, text: str) -> None:
        if len(text) > PATTERN_MAX:
            raise PatternError("expression is too large")
        self.alphabet = Alphabet(text)
        self.states = [State()]
        self.start = _Parser(text, self.alphabet).parse().build(self.states, 0)
