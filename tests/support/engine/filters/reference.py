"""A plain evaluator of expression trees, for comparison: it walks the tree, one rule after the other."""

from __future__ import annotations

from collections.abc import Mapping

from mqgateway.engine.filters.tree import (
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

RANK = {False: 0, None: 1, True: 2}
"""Ranks of truth values: AND is the minimum, OR the maximum."""
KIND_OF = {bool: ValueType.BOOLEAN, str: ValueType.TEXT}


class Fails(Exception):
    """The expression cannot be evaluated."""


def evaluate(node: Node, given: Mapping[str, str]) -> object:
    """Return the value of a tree with whole numbers below 2**31. Raises `Fails`."""
    match node:
        case Constant(constant):
            return constant
        case Property(name):
            return given.get(name)
        case Negated(operand):
            value = evaluate(operand, given)
            return -value if type(value) is int else None
        case Truth(operand):
            return None if evaluate(operand, given) is None else False
        case Not(operand):
            value = evaluate(operand, given)
            return None if value is None else not value
        case And(operands):
            return joined(operands, given, False)
        case Or(operands):
            return joined(operands, given, True)
        case Equal(left, right):
            pair = evaluate(left, given), evaluate(right, given)
            if None in pair:
                return True if pair == (None, None) else None if pair[0] is None else False
            return same(*pair)
        case OrderComparison(sign, left, right):
            return ordered(sign, evaluate(left, given), right, given)
        case In(operand, texts, is_not):
            value = evaluate(operand, given)
            return None if value is None else (value in texts) ^ is_not
        case TextSearch(word, operand, text, is_not):
            value = evaluate(operand, given)
            if not isinstance(value, str) or not text:
                return False
            found = {
                "CONTAINS": value.find(text) >= 0,
                "STARTSWITH": value[: len(text)] == text,
                "ENDSWITH": value[-len(text) :] == text,
            }
            return found[word] ^ is_not


def joined(operands: tuple[Node, ...], given: Mapping[str, str], decisive: bool) -> object:
    """Evaluate AND or OR from left to right; operands after the decisive one are skipped, so they cannot
    fail."""
    values = []
    for operand in operands:
        value = evaluate(operand, given)
        assert value is None or isinstance(value, bool)
        values.append(value)
        if value is decisive:
            break
    return (max if decisive else min)(values, key=RANK.__getitem__)


def whole(value: object) -> int:
    """Return a value as a whole number of 32 bits. Raises `Fails`."""
    if isinstance(value, str):
        digits = value[1:] if value[:1] in ("+", "-") else value
        if not digits.isdecimal() or not -(2**31) <= int(value) < 2**31:
            raise Fails(value)
        return int(value)
    assert isinstance(value, int)
    return value


def same(left: object, right: object) -> bool:
    """Return True if two values, neither of which is None, are equal. Raises `Fails`."""
    kinds = {type(left), type(right)}
    if kinds == {str, bool}:
        if isinstance(left, bool):
            raise Fails(left)
        return (str(left).lower() == "true") == right
    if kinds == {str, int}:
        return whole(left) == whole(right)
    return type(left) is type(right) and left == right


def ordered(sign: str, left: object, right_node: Node, given: Mapping[str, str]) -> bool | None:
    """Compare by size; two texts are compared as real numbers. Raises `Fails`."""
    if left is None:
        return None
    right = evaluate(right_node, given)
    if right is None:
        return None
    if isinstance(left, str) and isinstance(right, str):
        try:
            pair = float(left), float(right)
        except ValueError:
            raise Fails(left, right) from None
    else:
        pair = whole(left), whole(right)
    return {
        "<": pair[0] < pair[1],
        "<=": pair[0] <= pair[1],
        ">": pair[0] > pair[1],
        ">=": pair[0] >= pair[1],
    }[sign]
