"""SQL92 expressions: their meaning, and refusals of invalid ones."""

import pytest

from mqgateway.engine.filters.sql import NESTING_MAX, PARTS_MAX, parse
from mqgateway.engine.filters.tokens import ExpressionError
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

A, B = Property("a"), Property("b")
NULL = Constant(None, ValueType.NULL)


def number(value: int) -> Constant:
    return Constant(value, ValueType.INT)


@pytest.mark.parametrize(
    ("source", "tree"),
    [
        ("a", Truth(A)),
        ("TRUE", Constant(True, ValueType.BOOLEAN)),
        ("a = b", Equal(A, B)),
        ("a <> 'it''s'", Not(Equal(A, Constant("it's", ValueType.TEXT)))),
        ("a IS NULL", Equal(A, NULL)),
        ("a is not null", Not(Equal(A, NULL))),
        ("a > 5", OrderComparison(">", A, number(5))),
        ("a > -5", OrderComparison(">", A, Negated(number(5)))),
        ("a = +5", Equal(A, number(5))),
        ("a = 2147483648", Equal(A, Constant(2**31, ValueType.LONG))),
        ("a = 5L", Equal(A, number(5))),
        ("a = 5.", Equal(A, Constant(5.0, ValueType.DOUBLE))),
        (
            "a BETWEEN 1 AND 2",
            And((OrderComparison(">=", A, number(1)), OrderComparison("<=", A, number(2)))),
        ),
        (
            "a NOT BETWEEN 2 AND 1",
            Or((OrderComparison("<", A, number(2)), OrderComparison(">", A, number(1)))),
        ),
        ("a IN ('x', 'y')", In(A, frozenset({"x", "y"}), False)),
        ("(a) NOT IN ('x')", In(A, frozenset({"x"}), True)),
        ("a CONTAINS 'x'", TextSearch("CONTAINS", A, "x", False)),
        ("a NOT ENDSWITH 'x'", TextSearch("ENDSWITH", A, "x", True)),
        ("a OR b AND a", Or((Truth(A), And((Truth(B), Truth(A)))))),
        ("a OR b OR a", Or((Truth(A), Truth(B), Truth(A)))),
        ("(a OR b) AND a", And((Or((Truth(A), Truth(B))), Truth(A)))),
        ("NOT a = 1", Equal(Not(Truth(A)), number(1))),
        ("NOT (a = 1)", Not(Equal(A, number(1)))),
    ],
)
def test_meaning(source: str, tree: Node) -> None:
    assert parse(source) == (tree, "")


@pytest.mark.parametrize(
    ("source", "remark"),
    [
        ("a >", 'ParseException: Encountered "<EOF>" at line 1, column 4. Expected: a name, a value or (.'),
        ("a ==1", 'ParseException: Encountered " "=" "= "" at line 1, column 4. Expected: a name, a value'),
        (
            "a IN (5)",
            'ParseException: Encountered " <DECIMAL_LITERAL> "5 "" at line 1, column 7. Expected: <',
        ),
        ("a NOT b", 'ParseException: Encountered " "NOT" "NOT "" at line 1, column 3. Expected: BETWEEN, IN'),
        ("(a", 'ParseException: Encountered "<EOF>" at line 1, column 3. Expected: ).'),
        (
            "a IS 5",
            'ParseException: Encountered " <DECIMAL_LITERAL> "5 "" at line 1, column 6. Expected: N',
        ),
        (
            "a AND\n5",
            "ParseException: Expression will not result in a boolean value: 5 (at line 2, column",
        ),
        ("a = 1 #", "TokenMgrError: Lexical error at line 1, column 7"),
        ("a > 'x'", "RuntimeException: Value ''x'' cannot be compared. (at line 1, column 5)"),
        ("NOT a > 5", "RuntimeException: Value 'NOT a' cannot be compared. (at line 1, column 1)"),
        ("a = NULL", "RuntimeException: 'NULL' cannot be compared. (at line 1, column 5)"),
        ("TRUE = 5", "RuntimeException: 'TRUE' cannot be compared with '5'. (at line 1, column 1)"),
        (
            "5 IN ('x')",
            "RuntimeException: Expected a property for In expression, got: 5 (at line 1, col",
        ),
        ("a BETWEEN 5 AND 1", "RuntimeException: Illegal values of between, left value(5) must less than or"),
        ("a BETWEEN NULL AND 1", "RuntimeException: Illegal values of between, values can not be null!"),
        ("a BETWEEN 'x' AND 'y'", "RuntimeException: Value ''x'' cannot be compared."),
        ("a = 9223372036854775808", 'NumberFormatException: For input string: "9223372036854775808" (at'),
        ("a = 0.0", "RuntimeException: 0.0 is less than 4.9E-324 (at line 1, column 5)"),
        ("a = 1e999", "RuntimeException: 1e999 is greater than 1.7976931348623157E308 (at line 1"),
    ],
)
def test_refusals_say_where_and_why(source: str, remark: str) -> None:
    with pytest.raises(ExpressionError) as caught:
        parse(source)
    text = str(caught.value)
    assert text.startswith(("org.apache.rocketmq.filter.parser.", "java.lang."))
    assert text.split(".", text.partition(":")[0].count("."))[-1].startswith(remark)


@pytest.mark.parametrize(
    ("source", "ignored"), [("a = 1 b #", "b #"), ("a LIKE 'x'", "LIKE 'x'"), ("(a))", ")"), ("a=07", "7")]
)
def test_text_after_expression_is_ignored(source: str, ignored: str) -> None:
    assert parse(source).ignored == ignored


def test_nesting_has_a_limit() -> None:
    assert parse("(" * NESTING_MAX + "a" + ")" * NESTING_MAX).root == Truth(A)
    for deep in ("(" * (NESTING_MAX + 1), "NOT " * (NESTING_MAX + 1), "-" * (NESTING_MAX + 1)):
        with pytest.raises(ExpressionError, match="inside one another"):
            parse(deep + "a")


def test_the_number_of_parts_has_a_limit() -> None:
    within = " OR ".join(["a"] * PARTS_MAX)
    assert isinstance(parse(within).root, Or)
    with pytest.raises(ExpressionError, match=f"more than {PARTS_MAX} parts"):
        parse(within + " OR a")
    with pytest.raises(ExpressionError, match=f"more than {PARTS_MAX} parts"):
        parse("a" + " IS NULL" * (PARTS_MAX + 1))
