"""Compilation of an expression's tree to a function of a message's properties.

The function returns True, False, or None for unknown, and raises `ValueError` where RocketMQ fails: for text
that should be a number and is not. Text is parsed as the kind of number it is compared with, so `a > 5` fails
for `5.5`, which is not a whole number, and for `3000000000`, which exceeds 32 bits.

RocketMQ: `Expression.evaluate` of `ComparisonExpression`, `LogicExpression` and `UnaryExpression`.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping
from math import copysign, isnan
from typing import Any

from mqgateway.engine.filters.sql import NESTING_MAX
from mqgateway.engine.filters.tokens import MEANING, ExpressionError
from mqgateway.engine.filters.tree import (
    NUMBERS,
    And,
    Constant,
    Equal,
    In,
    Negated,
    Node,
    Not,
    Or,
    OrderComparison,
    Property,
    TextSearch,
    Truth,
    ValueType,
)

Properties = Mapping[str, str]
Evaluate = Callable[[Properties], Any]
Compare = Callable[[Any, Any], int]
Convert = Callable[[Any], Any]

INT_LIMIT = 2**31
LONG_LIMIT = 2**63

_SURELY_SHORT = 10
"""Numbers with fewer digits always fit 32 bits."""
_WHOLE = re.compile(r"[+-]?\d+")
_REAL = re.compile(
    r"[\x00-\x20]*(?P<sign>[+-]?)(?:(?P<word>NaN|Infinity)"
    r"|(?P<decimal>(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)[fFdD]?"
    r"|(?P<hex>0[xX](?:[0-9a-fA-F]+\.?|[0-9a-fA-F]*\.[0-9a-fA-F]+)[pP][+-]?[0-9]+)[fFdD]?)[\x00-\x20]*"
)
_TESTS: dict[str, Callable[[int], bool]] = {
    "<": lambda answer: answer < 0,
    "<=": lambda answer: answer <= 0,
    ">": lambda answer: answer > 0,
    ">=": lambda answer: answer >= 0,
}
_SIGNS: dict[str, Callable[[Any, Any], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_HOLDS: dict[str, Callable[[str, str], bool]] = {
    "CONTAINS": lambda text, part: part in text,
    "STARTSWITH": str.startswith,
    "ENDSWITH": str.endswith,
}


def build(root: Node) -> Evaluate:
    """Return the function of a tree. Raises `ExpressionError` if it is nested too deep."""
    return _build(root, 0)


def _build(node: Node, depth: int) -> Evaluate:
    if depth > NESTING_MAX:
        raise ExpressionError(MEANING, f"more than {NESTING_MAX} parts inside one another", 0)
    depth += 1
    match node:
        case Constant(value):
            return lambda properties: value
        case Property(name):
            return lambda properties: properties.get(name)
        case Negated(operand):
            return _negated(_build(operand, depth), node.kind)
        case Truth(operand):
            return _truth(operand.name)
        case Not(operand):
            return _not(_build(operand, depth))
        case And(operands):
            return _until(False, [_build(one, depth) for one in operands])
        case Or(operands):
            return _until(True, [_build(one, depth) for one in operands])
        case Equal(Property(name), Constant(str() as text)):
            return _equal_text(name, text)
        case Equal(left, right):
            return _equal(_build(left, depth), _build(right, depth), _comparison(left.kind, right.kind))
        case OrderComparison(
            sign, Property(name), Constant(int() as number, (ValueType.INT | ValueType.LONG) as kind)
        ):
            return _ordered_number(name, _READ[kind], _SIGNS[sign], number)
        case OrderComparison(sign, left, right):
            compare = (
                _by_size if left.kind is right.kind is ValueType.TEXT else _comparison(left.kind, right.kind)
            )
            return _ordered(_build(left, depth), _build(right, depth), compare, _TESTS[sign])
        case In(operand, texts, is_not):
            return _in(operand.name, texts, is_not)
        case TextSearch(word, operand, text, is_not):
            return _holds(_build(operand, depth), _HOLDS[word], text, is_not)


def _negated(operand: Evaluate, kind: ValueType) -> Evaluate:
    def evaluate(properties: Properties) -> Any:
        value = operand(properties)
        return -value if kind in NUMBERS else None

    return evaluate


def _truth(name: str) -> Evaluate:
    return lambda properties: False if name in properties else None


def _not(operand: Evaluate) -> Evaluate:
    def evaluate(properties: Properties) -> Any:
        value = operand(properties)
        return None if value is None else not value

    return evaluate


def _until(decisive: bool, operands: list[Evaluate]) -> Evaluate:
    """Combine operands:

    AND is decided by the first False, OR by the first True; else one unknown makes all unknown.
    """

    def evaluate(properties: Properties) -> Any:
        answer: bool | None = not decisive
        for operand in operands:
            value = operand(properties)
            if value is decisive:
                return decisive
            if value is None:
                answer = None
        return answer

    return evaluate


def _equal(left: Evaluate, right: Evaluate, compare: Compare) -> Evaluate:
    def evaluate(properties: Properties) -> Any:
        one, other = left(properties), right(properties)
        if one is None:
            return True if other is None else None
        return other is not None and compare(one, other) == 0

    return evaluate


def _ordered(left: Evaluate, right: Evaluate, compare: Compare, test: Callable[[int], bool]) -> Evaluate:
    def evaluate(properties: Properties) -> Any:
        one = left(properties)
        if one is None:
            return None
        other = right(properties)
        return None if other is None else test(compare(one, other))

    return evaluate


def _equal_text(name: str, text: str) -> Evaluate:
    """Compare a property and a text: the most common condition, faster; see `_equal`."""

    def evaluate(properties: Properties) -> Any:
        value = properties.get(name)
        return None if value is None else value == text

    return evaluate


def _ordered_number(name: str, read: Convert, holds: Callable[[Any, Any], bool], number: int) -> Evaluate:
    """Compare a property and a whole number, faster; see `_ordered`."""

    def evaluate(properties: Properties) -> Any:
        value = properties.get(name)
        return None if value is None else holds(read(value), number)

    return evaluate


def _in(name: str, texts: frozenset[str], is_not: bool) -> Evaluate:
    def evaluate(properties: Properties) -> Any:
        value = properties.get(name)
        return None if value is None else (value in texts) is not is_not

    return evaluate


def _holds(operand: Evaluate, test: Callable[[str, str], bool], part: str, is_not: bool) -> Evaluate:
    def evaluate(properties: Properties) -> Any:
        if not part:
            return False
        value = operand(properties)
        return isinstance(value, str) and test(value, part) is not is_not

    return evaluate


def _comparison(left: ValueType, right: ValueType) -> Compare:
    """Return a comparison of present values: negative, 0 or positive.

    RocketMQ: `ComparisonExpression.__compare`.
    """
    if left is right:
        return _compare_doubles if left is ValueType.DOUBLE else _compare
    if left is ValueType.TEXT and right in _READ:
        read = _READ[right]
        compare = _comparison(right, right)
        return lambda one, other: compare(read(one), other)
    if right is ValueType.TEXT and left in NUMBERS:
        read = _READ[left]
        compare = _comparison(left, left)
        return lambda one, other: compare(one, read(other))
    if right is ValueType.TEXT and left is ValueType.BOOLEAN:
        return _fail
    if left in NUMBERS and right in NUMBERS:
        return _compare if ValueType.DOUBLE not in (left, right) else _compare_as_doubles
    return lambda one, other: -1


def _compare(one: Any, other: Any) -> int:
    return int(one > other) - int(one < other)


def _compare_doubles(one: float, other: float) -> int:
    """Compare in Java's order: -0.0 before 0.0, and NaN after everything. RocketMQ: `Double.compare`."""
    if one < other:
        return -1
    if one > other:
        return 1
    if isnan(one) or isnan(other):
        return isnan(one) - isnan(other)
    return 0 if one else int(copysign(1, one) - copysign(1, other))


def _compare_as_doubles(one: float, other: float) -> int:
    return _compare_doubles(float(one), float(other))


def _by_size(one: str, other: str) -> int:
    return _compare_doubles(read_double(one), read_double(other))


def _fail(one: bool, other: str) -> int:
    """Fail as RocketMQ does, if TRUE or FALSE on the left is compared with a text."""
    raise ValueError(f"{one} cannot be compared with {other!r}")


def _read_whole(text: str, limit: int) -> int:
    if len(text) < _SURELY_SHORT and text.isdecimal() and text.isascii():
        return int(text)
    if _WHOLE.fullmatch(text) is None or not (text.isascii() or max(text) <= "\uffff"):
        raise ValueError(f"{text!r} is not a whole number")
    value = int(text)
    if not -limit <= value < limit:
        raise ValueError(f"{text!r} is out of range")
    return value


def read_int(text: str) -> int:
    """Parse a number of 32 bits. Raises `ValueError`. RocketMQ: `Integer.valueOf`."""
    return _read_whole(text, INT_LIMIT)


def read_long(text: str) -> int:
    """Parse a number of 64 bits. Raises `ValueError`. RocketMQ: `Long.valueOf`."""
    return _read_whole(text, LONG_LIMIT)


def read_double(text: str) -> float:
    """Parse a number. Raises `ValueError`. RocketMQ: `Double.valueOf`."""
    found = _REAL.fullmatch(text)
    if found is None:
        raise ValueError(f"{text!r} is not a number")
    if found["hex"] is not None:
        try:
            value = float.fromhex(found["hex"])
        except OverflowError:
            value = float("inf")
    else:
        value = float(found["decimal"] or found["word"])
    return -value if found["sign"] == "-" else value


def _read_boolean(text: str) -> bool:
    return text.lower() == "true"


_READ: dict[ValueType, Convert] = {
    ValueType.INT: read_int,
    ValueType.LONG: read_long,
    ValueType.DOUBLE: read_double,
    ValueType.BOOLEAN: _read_boolean,
}
"""Parsers of text, by the kind it is compared with."""
