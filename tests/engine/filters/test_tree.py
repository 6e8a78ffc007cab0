"""Parts of expressions: what they give, and which are conditions."""

import pytest

from mqgateway.engine.filters.sql import parse
from mqgateway.engine.filters.tree import (
    Constant,
    Equal,
    Negated,
    Node,
    Property,
    Truth,
    ValueType,
    is_boolean,
    names_in,
)

NAME = Property("a")


@pytest.mark.parametrize(
    ("node", "kind", "condition"),
    [
        (NAME, ValueType.TEXT, False),
        (Constant(5, ValueType.INT), ValueType.INT, False),
        (Constant(None, ValueType.NULL), ValueType.NULL, True),
        (Constant(True, ValueType.BOOLEAN), ValueType.BOOLEAN, True),
        (Negated(Constant(5, ValueType.LONG)), ValueType.LONG, False),
        (Negated(NAME), ValueType.NULL, False),
        (Truth(NAME), ValueType.BOOLEAN, True),
        (Equal(NAME, NAME), ValueType.BOOLEAN, True),
    ],
)
def test_kinds(node: Node, kind: ValueType, condition: bool) -> None:
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
