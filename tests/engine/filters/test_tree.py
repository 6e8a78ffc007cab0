"""Parts of expressions: what they give, and which are conditions."""

import pytest

from mqgateway.engine.filters.tree import Constant, Equal, Kind, Negated, Node, Property, Truth, is_boolean

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
