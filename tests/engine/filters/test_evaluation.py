"""Expressions asked of properties: three-valued logic, and numbers as Java reads them."""

import time
from math import inf, isnan

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mqgateway.engine.filters.evaluation import (
    _TESTS,
    _comparison,
    _ordered,
    build,
    read_double,
    read_int,
    read_long,
)
from mqgateway.engine.filters.sql import NESTING_MAX, parse
from mqgateway.engine.filters.tokens import ExpressionError
from mqgateway.engine.filters.tree import Constant, Equal, OrderComparison, Property, ValueType

FAILS = "fails"
GIVEN = {"n": "5", "real": "5.5", "s": "abc", "t": "true", "empty": "", "many": "3000000000"}


def outcome(source: str, properties: dict[str, str] = GIVEN) -> object:
    try:
        return build(parse(source).root)(properties)
    except ValueError:
        return FAILS


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        # Unknown is not false.
        ("none = 1", None),
        ("NOT (none = 1)", None),
        ("none = 1 AND FALSE", False),
        ("none = 1 AND TRUE", None),
        ("none = 1 OR TRUE", True),
        ("none = 1 OR FALSE", None),
        ("TRUE AND (none > 1 OR none IN ('x'))", None),
        ("NULL", None),
        # Missing and there.
        ("none IS NULL", True),
        ("none IS NOT NULL", False),
        ("n IS NULL", False),
        ("empty IS NULL", False),
        ("none = other", True),
        ("n = none", False),
        ("none = n", None),
        # A property is no condition.
        ("t", False),
        ("NOT t", True),
        ("NOT none", None),
        # Numbers.
        ("n > 4 AND n < 6", True),
        ("n >= 5 AND n <= 5", True),
        ("n BETWEEN 5 AND 7", True),
        ("n NOT BETWEEN 5 AND 7", False),
        ("n = 5.0", True),
        ("real > 5.4", True),
        ("real > 5", FAILS),
        ("many > 5", FAILS),
        ("many > 3000000000", False),
        ("s > 5", FAILS),
        ("s = 5 OR TRUE", FAILS),
        ("TRUE OR s = 5", True),
        ("n > real", False),
        ("n > s", FAILS),
        ("n = -5", False),
        ("n > -5", True),
        ("n > -s", None),
        ("3000000000 > 5", True),
        ("5 < 5.5", True),
        ("-9007199254740993 = -9007199254740992", False),
        # Texts, and TRUE and FALSE.
        ("s = 'abc'", True),
        ("s <> 'abc'", False),
        ("n = '5'", True),
        ("real = '5.50'", False),
        ("t = TRUE", True),
        ("s = FALSE", True),
        ("TRUE = t", FAILS),
        ("5 = TRUE", False),
        ("s IN ('x', 'abc')", True),
        ("s NOT IN ('x', 'abc')", False),
        ("none NOT IN ('x')", None),
        ("s CONTAINS 'b'", True),
        ("s NOT CONTAINS 'b'", False),
        ("s STARTSWITH 'ab'", True),
        ("s ENDSWITH 'ab'", False),
        ("s NOT ENDSWITH 'ab'", True),
        ("s CONTAINS ''", False),
        ("s NOT CONTAINS ''", False),
        ("none NOT CONTAINS 'b'", False),
        ("5 NOT CONTAINS '6'", False),
    ],
)
def test_outcomes(source: str, expected: object) -> None:
    found = outcome(source)
    assert (found, type(found)) == (expected, type(expected))


@pytest.mark.parametrize(
    ("text", "value"),
    [("5", 5), ("+5", 5), ("-5", -5), ("005", 5), ("-2147483648", -(2**31)), ("2147483647", 2**31 - 1)],
)
def test_whole_numbers(text: str, value: int) -> None:
    assert (read_int(text), read_long(text)) == (value, value)


@pytest.mark.parametrize("text", ["", "+", "5 ", " 5", "5.0", "5L", "1_000", "0x5", "\U0001d7d8", "9" * 5000])
def test_no_whole_numbers(text: str) -> None:
    for read in (read_int, read_long):
        with pytest.raises(ValueError, match=r"."):
            read(text)


def test_digits_of_other_scripts_count() -> None:
    assert read_int("-４２") == -42


def test_whole_numbers_have_a_width() -> None:
    assert read_long("-9223372036854775808") == -(2**63)
    for read, text in ((read_int, "2147483648"), (read_long, "9223372036854775808")):
        with pytest.raises(ValueError, match="out of range"):
            read(text)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("5", 5.0),
        (" 5.\n", 5.0),
        ("-.5e1", -5.0),
        ("5.5f", 5.5),
        ("5D", 5.0),
        ("0x1.8p3", 12.0),
        ("-0X.8P1d", -1.0),
        ("Infinity", inf),
        ("-Infinity", -inf),
        ("1e999", inf),
        ("0x1p99999", inf),
    ],
)
def test_real_numbers(text: str, value: float) -> None:
    assert read_double(text) == value
    assert isnan(read_double("NaN"))


@pytest.mark.parametrize("text", ["", " ", "inf", "nan", "1_0", "５", "0x1", "e5", "5ff", "--5", "\xa05"])
def test_no_real_numbers(text: str) -> None:
    with pytest.raises(ValueError, match="is not a number"):
        read_double(text)


@pytest.mark.parametrize("part", ["9", "0.", ".1", "9e9", "0x1", " "])
def test_long_text_that_is_no_number_is_refused_in_linear_time(part: str) -> None:
    """Quadratic time would be minutes for this length."""
    began = time.process_time()
    with pytest.raises(ValueError, match="is not a number"):
        read_double(part * 200_000 + "x")
    assert time.process_time() - began < 5


@pytest.mark.parametrize(
    ("left", "right", "order"),
    [("-0.0", "0.0", -1), ("0.0", "0.0", 0), ("NaN", "NaN", 0), ("NaN", "Infinity", 1), ("1", "NaN", -1)],
)
def test_odd_numbers_are_ordered_as_in_java(left: str, right: str, order: int) -> None:
    found = [outcome(f"a {sign} b", {"a": left, "b": right}) for sign in ("<", "<=", ">=", ">")]
    assert found == [order < 0, order <= 0, order >= 0, order > 0]


def test_depth_has_a_limit_that_long_lists_do_not_meet() -> None:
    assert outcome(" OR ".join(["n = 4"] * 500 + ["n = 5"])) is True
    with pytest.raises(ExpressionError, match="inside one another"):
        build(parse("n" + " IS NULL" * (NESTING_MAX + 1)).root)


@given(
    st.sampled_from(["<", "<=", ">", ">="]),
    st.sampled_from([ValueType.INT, ValueType.LONG]),
    st.integers(-3, 3) | st.sampled_from([2**31 - 1, -(2**31), 2**31]),
    st.sampled_from(["", "0", "-1", "+2", "x", "1.5", "٣", "999999999", "2147483648", "9223372036854775808"])
    | st.integers(-4, 4).map(str),
)
def test_a_property_and_a_number_are_compared_as_anything_is(
    sign: str, kind: ValueType, number: int, text: str
) -> None:
    long_way = _ordered(
        lambda properties: properties.get("a"),
        lambda _: number,
        _comparison(ValueType.TEXT, kind),
        _TESTS[sign],
    )
    quick = build(OrderComparison(sign, Property("a"), Constant(number, kind)))
    for properties in ({"a": text}, {}):
        outcomes: list[object] = []
        for evaluate in (quick, long_way):
            try:
                outcomes.append(evaluate(properties))
            except ValueError:
                outcomes.append(ValueError)
        assert outcomes[0] == outcomes[1]


def test_a_property_and_a_text_are_equal_as_anything_is() -> None:
    quick = build(Equal(Property("a"), Constant("x", ValueType.TEXT)))
    assert [quick(properties) for properties in ({"a": "x"}, {"a": "y"}, {})] == [True, False, None]
