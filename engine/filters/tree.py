"""The tree of a parsed and checked SQL92 expression."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class ValueType(Enum):
    """Type of a part's value; a missing property has no value.

    INT and LONG are Java's numbers of 32 and 64 bits, which parse text differently. NULL never has a value.
    """

    TEXT = "text"
    INT = "int"
    LONG = "long"
    DOUBLE = "double"
    BOOLEAN = "boolean"
    NULL = "null"


NUMBERS = frozenset({ValueType.INT, ValueType.LONG, ValueType.DOUBLE})


@dataclass(frozen=True, slots=True)
class Constant:
    """A number, a text, TRUE, FALSE or NULL."""

    value: str | float | bool | None
    kind: ValueType


@dataclass(frozen=True, slots=True)
class Property:
    """The text of a property of the message."""

    name: str
    kind = ValueType.TEXT


@dataclass(frozen=True, slots=True)
class Negated:
    """A number with its sign changed; no value for anything else."""

    operand: Node

    @property
    def kind(self) -> ValueType:
        """The kind of the number, or NULL."""
        return self.operand.kind if self.operand.kind in NUMBERS else ValueType.NULL


@dataclass(frozen=True, slots=True)
class Truth:
    """A property used as a condition: False if it exists, as a text is not true; else unknown."""

    operand: Property
    kind = ValueType.BOOLEAN


@dataclass(frozen=True, slots=True)
class Not:
    """Negation; unknown if the operand is."""

    operand: Node
    kind = ValueType.BOOLEAN


@dataclass(frozen=True, slots=True)
class And:
    """True if all are; False if one is; else unknown."""

    operands: tuple[Node, ...]
    kind = ValueType.BOOLEAN


@dataclass(frozen=True, slots=True)
class Or:
    """False if all are; True if one is; else unknown."""

    operands: tuple[Node, ...]
    kind = ValueType.BOOLEAN


@dataclass(frozen=True, slots=True)
class Equal:
    """Equal, or both missing; with the constant NULL on the right: `IS NULL`."""

    left: Node
    right: Node
    kind = ValueType.BOOLEAN


@dataclass(frozen=True, slots=True)
class OrderComparison:
    """A comparison by size; `sign` is one of `<`, `<=`, `>` and `>=`."""

    sign: str
    left: Node
    right: Node
    kind = ValueType.BOOLEAN


@dataclass(frozen=True, slots=True)
class In:
    """A property is one of some texts, or none of them."""

    operand: Property
    texts: frozenset[str]
    is_not: bool
    kind = ValueType.BOOLEAN


@dataclass(frozen=True, slots=True)
class TextSearch:
    """Search of a text in another, at its start or at its end; `word` is CONTAINS, STARTSWITH or ENDSWITH.

    False, with and without NOT, if the operand is not a text or is missing, and for an empty search text.
    """

    word: str
    operand: Node
    text: str
    is_not: bool
    kind = ValueType.BOOLEAN


Node = Constant | Property | Negated | Truth | Not | And | Or | Equal | OrderComparison | In | TextSearch


def is_boolean(node: Node) -> bool:
    """Return True if a part is a condition, as TRUE, FALSE and NULL are."""
    if isinstance(node, Constant):
        return node.kind in (ValueType.BOOLEAN, ValueType.NULL)
    return not isinstance(node, Property | Negated)


def names_in(node: Node) -> set[str]:
    """Return the properties that a tree uses."""
    names, waiting = set[str](), [node]
    while waiting:
        match waiting.pop():
            case Constant():
                pass
            case Property(name):
                names.add(name)
            case Negated(operand) | Not(operand) | Truth(operand) | In(operand=operand):
                waiting.append(operand)
            case TextSearch(operand=operand):
                waiting.append(operand)
            case And(operands) | Or(operands):
                waiting += operands
            case Equal(left, right) | OrderComparison(_, left, right):
                waiting += (left, right)
    return names
