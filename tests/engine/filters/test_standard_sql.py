"""Expressions have the same meaning as in RocketMQ, by its recorded results and by a second evaluator.

`standard_sql.jsonl` has generated expressions with the results of RocketMQ's `SelectorParser` 5.5.0; it is
made by `python -m compat_tests.support.sql 1500`. `compat_tests` checks many more.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mqgateway.engine.errors import FilterError
from mqgateway.engine.filters import compile_expression
from mqgateway.engine.filters.evaluation import build
from mqgateway.engine.filters.sql import parse
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
    is_boolean,
)
from tests.support.engine.filters import reference

CASES = [json.loads(line) for line in Path(__file__).with_name("standard_sql.jsonl").read_text().splitlines()]
EXAMPLES = int(os.environ.get("SQL_EXAMPLES", "150"))


def answer(expression: str, properties: dict[str, str]) -> Any:
    """Return the result; `fails`; or the first words of a refusal."""
    try:
        compiled = compile_expression(expression)
    except FilterError:
        return "refused"
    try:
        return compiled.evaluate(properties)
    except ValueError:
        return "fails"


def test_all_cases() -> None:
    wrong = []
    for case in CASES:
        found = answer(case["expression"], case["properties"])
        expected = "refused" if "refused" in case else case["result"]
        if found is not expected and found != expected:
            wrong.append((case, found))
    assert not wrong
    assert {str(case.get("result", "refused")) for case in CASES} == {
        "True",
        "False",
        "None",
        "fails",
        "refused",
    }


@pytest.mark.parametrize(
    "case",
    [case for case in CASES if "refused" in case and '"+"' not in case["refused"] and case["expression"]][
        :50
    ],
    ids=lambda case: case["expression"][:40],
)
def test_refusals_begin_as_the_standards(case: dict[str, Any]) -> None:
    with pytest.raises(FilterError) as caught:
        compile_expression(case["expression"])
    assert str(caught.value).split()[:2] == case["refused"].split()[:2]


NAMES = st.sampled_from(["a", "b", "c"]).map(Property)
TEXTS = st.sampled_from(["", "x", "it's", "5", "-5", "5.5", "true", "99999999999"])
NUMBERS = st.integers(0, 2**31 - 1).map(lambda value: Constant(value, ValueType.INT))
SIZES = st.one_of(NAMES, NUMBERS, st.one_of(NAMES, NUMBERS).map(Negated))
CONSTANTS = st.one_of(TEXTS.map(lambda text: Constant(text, ValueType.TEXT)), NUMBERS)
WORDS = st.sampled_from(["CONTAINS", "STARTSWITH", "ENDSWITH"])
BOOLEANS = st.booleans().map(lambda value: Constant(value, ValueType.BOOLEAN))


def combined(conditions: st.SearchStrategy[Node]) -> st.SearchStrategy[Node]:
    several = st.lists(conditions, min_size=2, max_size=3).map(tuple)
    return st.one_of(
        conditions.map(Not),
        several.map(And),
        several.map(Or),
        st.builds(Equal, conditions.map(Not), BOOLEANS),
    )


LEAVES: st.SearchStrategy[Node] = st.one_of(
    NAMES.map(Truth),
    BOOLEANS,
    st.builds(Equal, NAMES, st.one_of(NAMES, CONSTANTS, BOOLEANS)),
    st.builds(Equal, NAMES, st.just(Constant(None, ValueType.NULL))),
    st.builds(OrderComparison, st.sampled_from(["<", "<=", ">", ">="]), SIZES, SIZES),
    st.builds(In, NAMES, st.frozensets(TEXTS, min_size=1), st.booleans()),
    st.builds(TextSearch, WORDS, st.one_of(NAMES, CONSTANTS), TEXTS, st.booleans()),
)
TREES = st.recursive(LEAVES, combined, max_leaves=5)
GIVEN = st.dictionaries(st.sampled_from(["a", "b", "c"]), TEXTS)


def written(node: Node) -> str:
    """Return the expression of a tree, with parentheses around every inner condition."""

    def inside(part: Node) -> str:
        return f"({written(part)})" if is_boolean(part) and not isinstance(part, Constant) else written(part)

    def quoted(text: str) -> str:
        return "'" + text.replace("'", "''") + "'"

    match node:
        case Constant(value, kind):
            return quoted(str(value)) if kind is ValueType.TEXT else "NULL" if value is None else str(value)
        case Property(name) | Truth(Property(name)):
            return name
        case Negated(operand):
            return f"-{inside(operand)}"
        case Not(operand):
            return f"NOT {inside(operand)}"
        case And(operands):
            return " AND ".join(map(inside, operands))
        case Or(operands):
            return " OR ".join(map(inside, operands))
        case Equal(left, Constant(None)):
            return f"{inside(left)} IS NULL"
        case Equal(left, right):
            return f"{inside(left)} = {inside(right)}"
        case OrderComparison(sign, left, right):
            return f"{inside(left)} {sign} {inside(right)}"
        case In(operand, texts, is_not):
            return f"{written(operand)}{' NOT' * is_not} IN ({', '.join(map(quoted, sorted(texts)))})"
        case TextSearch(word, operand, text, is_not):
            return f"{inside(operand)}{' NOT' * is_not} {word} {quoted(text)}"


@settings(max_examples=EXAMPLES)
@given(TREES, GIVEN)
def test_a_second_evaluator_agrees(tree: Node, properties: dict[str, str]) -> None:
    try:
        expected: object = reference.evaluate(tree, properties)
    except reference.Fails:
        expected = "fails"
    try:
        found: object = build(tree)(properties)
    except ValueError:
        found = "fails"
    assert found is expected or found == expected == "fails"


@settings(max_examples=EXAMPLES)
@given(TREES, GIVEN)
def test_a_written_tree_is_read_as_it_was(tree: Node, properties: dict[str, str]) -> None:
    """A property in parentheses is still the property, so the meaning is compared, not the tree."""
    read = parse(written(tree))
    assert read.ignored == ""
    outcomes = []
    for one in (tree, read.root):
        try:
            outcomes.append(build(one)(properties))
        except ValueError:
            outcomes.append("fails")
    assert outcomes[0] is outcomes[1] or outcomes[0] == outcomes[1]
