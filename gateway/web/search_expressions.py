"""Expressions of a message search: SQL92 over properties, and over bodies as text and as JSON.

`BODY` is the text of the body. A path such as `$.order.items[0].price` or `$['order-id']` is a value in a
body of JSON, and is used like a property. To the compiler of consumers' filters it is one: a name of the same
length takes its place, so that positions in errors stay right.

What a message may cost is bounded: so many uses of the body, so many bytes of it, and comparisons that need
linear time. There are no regular expressions.
"""

from __future__ import annotations

import json
import re
import string
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from functools import lru_cache
from typing import Any, Final, NamedTuple

import orjson

from mqgateway.engine.filters.evaluation import Evaluate, build
from mqgateway.engine.filters.sql import parse
from mqgateway.engine.filters.tokens import MEANING, SYNTAX, ExpressionError
from mqgateway.engine.filters.tree import (
    And,
    Constant,
    Equal,
    Negated,
    Node,
    Not,
    Or,
    OrderComparison,
    Property,
    Truth,
    ValueType,
)
from mqgateway.engine.message import StoredMessage
from mqgateway.gateway.web.messages import body_of

BODY: Final = "BODY"
LENGTH_MAX = 4096
"""Maximum of characters of an expression."""
USES_MAX = 16
"""Maximum number of times that an expression names the body or a path."""
BODY_MAX = 256 * 1024
"""Bytes of a decompressed body that `BODY` has. Paths have no value in a larger body."""

_EXACT = 2**53
"""Whole numbers below this are the only ones that their floating-point numbers stand for."""
_LETTERS = string.digits + string.ascii_letters
_STEP = re.compile(r"\.([A-Za-z_][A-Za-z0-9_]*)|\[([0-9]{1,9})\]|\['([^']+)'\]")
_PART = re.compile(
    r"""(?:'(?:''|[^'])*(?:'|\Z)|--[^\n\r]*|/\*(?s:.*?)(?:\*/|\Z))
    |(?P<path>\$(?:\.[A-Za-z_][A-Za-z0-9_]*|\[[0-9]{1,9}\]|\['[^']+'\])+)
    |(?P<name>[a-zA-Z_$][a-zA-Z0-9_$]*)""",
    re.VERBOSE,
)

Step = str | int
Path = tuple[Step, ...]


class SearchExpression(NamedTuple):
    """A compiled expression; `paths` are the paths by the names that take their places."""

    evaluate: Evaluate
    paths: Mapping[str, Path]

    def matches(self, message: StoredMessage) -> bool:
        """Return True if the expression is true for a message; False if it is unknown or fails."""
        try:
            return self.evaluate(_Values(message, self.paths)) is True
        except ValueError:
            return False


class _Values(Mapping[str, str]):
    """Values of a message by the names of an expression: properties, the body, and values in the body."""

    def __init__(self, message: StoredMessage, paths: Mapping[str, Path]) -> None:
        self._message = message
        self._paths = paths
        self._known: dict[str, str | None] = {}
        self._document: Any = None
        self._is_parsed = False

    def __getitem__(self, name: str) -> str:
        path = self._paths.get(name)
        if path is None and name != BODY:
            return self._message.properties[name]
        if name not in self._known:
            self._known[name] = self._text() if path is None else _value(self._parsed(), path)
        value = self._known[name]
        if value is None:
            raise KeyError(name)
        return value

    def __iter__(self) -> Iterator[str]:
        return iter((BODY, *self._paths, *self._message.properties))

    def __len__(self) -> int:
        return 1 + len(self._paths) + len(self._message.properties)

    def _text(self) -> str:
        return body_of(self._message)[:BODY_MAX].decode(errors="replace")

    def _parsed(self) -> Any:
        """Return the body as JSON; None if it is too large or no JSON."""
        if not self._is_parsed:
            self._is_parsed = True
            body = body_of(self._message)
            if len(body) <= BODY_MAX:
                with suppress(ValueError, RecursionError):
                    self._document = json.loads(body)
        return self._document


def _value(document: Any, path: Path) -> str | None:
    """Return the value at a path as text, None for null and if there is none.

    Texts are themselves, TRUE and FALSE are `true` and `false`. Arrays and objects are their JSON, which is
    written fast: 16 nested ones are the costliest use of a body. None too for one with an integer that is
    larger than 64 bits.
    """
    for step in path:
        if isinstance(step, str):
            document = document.get(step) if isinstance(document, dict) else None
        else:
            is_there = isinstance(document, list) and step < len(document)
            document = document[step] if is_there else None
    if document is None or isinstance(document, str):
        return document
    if not isinstance(document, (dict, list)):
        return json.dumps(document)
    try:
        return orjson.dumps(document).decode()
    except orjson.JSONEncodeError:
        return None


@lru_cache(64)
def compile_search(text: str) -> SearchExpression:
    """Compile the expression of a search. Raises `ExpressionError`."""
    if len(text) > LENGTH_MAX:
        reason = f"an expression of {len(text)} characters is too long, {LENGTH_MAX} are allowed"
        raise ExpressionError(MEANING, reason, LENGTH_MAX)
    source, names = _without_paths(text)
    try:
        root, ignored = parse(source)
        if ignored:
            at = len(source) - len(ignored)
            reason = f"the expression is complete before {text[at : at + 40]!r}"
            if ignored[:4].upper() == "LIKE":
                reason += "; there is no LIKE: use CONTAINS, STARTSWITH or ENDSWITH"
            raise ExpressionError(SYNTAX, reason, at)
        paths = {name: path for path, name in names.items()}
        evaluate = build(_over_json(root, paths.keys()))
    except ExpressionError as error:
        reason = error.reason
        for path, name in names.items():
            reason = reason.replace(name, path)
        raise ExpressionError(MEANING, reason, error.position) from None
    return SearchExpression(evaluate, {name: _steps(path) for name, path in paths.items()})


def _without_paths(text: str) -> tuple[str, dict[str, str]]:
    """Return the expression with a name in the place of each path, and the names by path."""
    names: dict[str, str] = {}
    uses = 0

    def replaced(part: re.Match[str]) -> str:
        nonlocal uses
        path = part["path"]
        if path is None and part["name"] != BODY:
            return part.group()
        uses += 1
        if uses > USES_MAX:
            reason = f"more than {USES_MAX} uses of the body"
            raise ExpressionError(MEANING, reason, part.start())
        if path is None:
            return BODY
        if path not in names:
            taken = names.values()
            possible = (f"${letter}".ljust(len(path), "$") for letter in _LETTERS)
            name = next((one for one in possible if one not in text and one not in taken), "")
            if not name:
                raise ExpressionError(MEANING, "too many names that begin with $", part.start())
            names[path] = name
        return names[path]

    return _PART.sub(replaced, text), names


def _steps(path: str) -> Path:
    return tuple(int(step[2]) if step[2] is not None else step[1] or step[3] for step in _STEP.finditer(path))


def _over_json(node: Node, names: Any) -> Node:
    """Return the tree with comparisons as values of JSON need them.

    Numbers in JSON have no type: whole numbers are compared as floating-point numbers, as far as these are
    exact. A path alone is true if its value is.
    """
    match node:
        case Truth(Property(name) as operand) if name in names:
            return Equal(operand, Constant(True, ValueType.BOOLEAN))
        case Not(operand):
            return Not(_over_json(operand, names))
        case And(operands) | Or(operands):
            return type(node)(tuple(_over_json(one, names) for one in operands))
        case Equal(left, right) | OrderComparison(_, left, right):
            if any(isinstance(one, Property) and one.name in names for one in (left, right)):
                left, right = _real(left), _real(right)
            return replace(node, left=_over_json(left, names), right=_over_json(right, names))
        case _:
            return node


def _real(node: Node) -> Node:
    """Return a whole number as a floating-point one if that is exact, and anything else unchanged."""
    match node:
        case Negated(operand):
            return Negated(_real(operand))
        case Constant(int() as value, ValueType.INT | ValueType.LONG) if value < _EXACT:
            return Constant(float(value), ValueType.DOUBLE)
        case _:
            return node
