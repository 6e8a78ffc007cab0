"""What an SQL92 expression is made of, once it is read and checked."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class Kind(Enum):
    """What a part of an expression gives; where a property is missing, nothing.

    INT and LONG are Java's numbers of 32 and 64 bits, which read texts differently. NULL gives nothing ever.
    """

    TEXT = "text"
    INT = "int"
    LONG = "long"
    DOUBLE = "double"
    BOOLEAN = "boolean"
    NULL = "null"


NUMBERS = frozenset({Kind.INT, Kind.LONG, Kind.DOUBLE})


@dataclass(frozen=True, slots=True)
class Constant:
    """A number, a text, TRUE, FALSE or NULL."""

    value: str | float | bool | None
    kind: Kind


@dataclass(frozen=True, slots=True)
class Property:
    """The text of a property of the message."""

    name: str
    kind = Kind.TEXT


@dataclass(frozen=True, slots=True)
class Negated:
    """A number with its sign changed; of anything else, nothing."""

    operand: Node

    @property
    def kind(self) -> Kind:
        """A number of the same kind, or nothing."""
        return self.operand.kind if self.operand.kind in NUMBERS else Kind.NULL


@dataclass(frozen=True, slots=True)
class Truth:
    """A property in the place of a condition: false where it is there, as a text is not true."""

    operand: Property
    kind = Kind.BOOLEAN


@dataclass(frozen=True, slots=True)
class Not:
    """The opposite; of unknown, unknown."""

    operand: Node
    kind = Kind.BOOLEAN


@dataclass(frozen=True, slots=True)
class And:
    """True when all are; false when one is; else unknown."""

    operands: tuple[Node, ...]
    kind = Kind.BOOLEAN


@dataclass(frozen=True, slots=True)
class Or:
    """False when all are; true when one is; else unknown."""

    operands: tuple[Node, ...]
    kind = Kind.BOOLEAN


@dataclass(frozen=True, slots=True)
class Equal:
    """Equal, or both missing; with the constant NULL on the right: `IS NULL`."""

    left: Node
    right: Node
    kind = Kind.BOOLEAN


@dataclass(frozen=True, slots=True)
class Ordered:
    """A comparison by size; `sign` is one of `<`, `<=`, `>` and `>=`."""

    sign: str
    left: Node
    right: Node
    kind = Kind.BOOLEAN


@dataclass(frozen=True, slots=True)
class In:
    """A property is one of some texts, or none of them."""

    operand: Property
    texts: frozenset[str]
    is_not: bool
    kind = Kind.BOOLEAN


@dataclass(frozen=True, slots=True)
class Holds:
    """A text has another in it, at its start or at its end; `word` is CONTAINS, STARTSWITH or ENDSWITH.

    False, with and without NOT, for what is no text or missing, and for an empty text to look for.
    """

    word: str
    operand: Node
    text: str
    is_not: bool
    kind = Kind.BOOLEAN


Node = Constant | Property | Negated | Truth | Not | And | Or | Equal | Ordered | In | Holds


def is_boolean(node: Node) -> bool:
    """Whether a part is a condition: TRUE, FALSE and NULL are."""
    if isinstance(node, Constant):
        return node.kind in (Kind.BOOLEAN, Kind.NULL)
    return not isinstance(node, Property | Negated)


def names_in(node: Node) -> set[str]:
    """The properties that decide what a tree gives."""
    names, waiting = set[str](), [node]
    while waiting:
        match waiting.pop():
            case Constant():
                pass
            case Property(name):
                names.add(name)
            case Negated(operand) | Not(operand) | Truth(operand) | In(operand=operand):
                waiting.append(operand)
            case Holds(operand=operand):
                waiting.append(operand)
            case And(operands) | Or(operands):
                waiting += operands
            case Equal(left, right) | Ordered(_, left, right):
                waiting += (left, right)
    return names
