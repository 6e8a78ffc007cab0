"""Parts of expressions: what they give, and which are conditions."""

import pytest

from mqgateway.engine.filters.sql import parse
from mqgateway.engine.filters.tree import (
    Constant,
    Equal,
    Kind,
    Negated,
    Node,
    Property,
    Truth,
    is_boolean,
    names_in,
)

NAME = Property("a")


@pytest.mark.parametrize(
    ("node", "kind", "condition"),
    [
        (NAME, Kind.TEXT, False),
        (Constant(5, Kind.INT), Kind.INT, False),
        (Constant(None, Kind.NULL), Kind.NULL, True),
        (Constant(True, Kind.BOOLEAN), Kind.BOOLEAN, True),
        (Negated(Constant(5, Kind.LONG)), Kind.LONG, False),
        (Negated(NAME), Kind.NULL, False),
        (Truth(NAME), Kind.BOOLEAN, True),
        (Equal(NAME, NAME), Kind.BOOLEAN, True),
    ],
)
def test_kinds(node: Node, kind: Kind, condition: bool) -> None:
    assert (node.kind, is_boolean(node)) == (kind, condition)


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("TRUE", ""),
        ("a", "a"),
        ("a > 1 AND b <= 2 OR NOT c = 'x'", "a b c"),
        ("a IN ('x', 'y') AND b NOT IN ('z')", "a b"),
        ("a BETWEEN 1 AND 5", "a"),
        ("a IS NULL OR b IS NOT NULL", "a b"),
        ("a CONTAINS 'x' AND b NOT STARTSWITH 'y' AND c ENDSWITH 'z'", "a b c"),
        ("a > b AND -1 < c", "a b c"),
    ],
)
def test_the_names_in_an_expression(text: str, names: str) -> None:
    root, _ = parse(text)
    assert " ".join(sorted(names_in(root))) == names
