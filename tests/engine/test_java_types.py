"""Conversions to Java's types. The table that was measured is in `tests/gateway/codec/bodies`."""

from collections.abc import Callable
from typing import Any

import pytest

from mqgateway.engine.java_types import (
    INT_BITS,
    LONG_BITS,
    is_integer_item,
    is_text_item,
    to_boolean,
    to_double,
    to_enum,
    to_integer,
    to_items,
    to_object,
    to_text,
)

KINDS = ("ONE", "TWO", "THREE")


@pytest.mark.parametrize("read", [to_boolean, to_integer, to_double, to_items, to_object])
def test_no_text_and_the_word_null_are_null(read: Callable[[Any], Any]) -> None:
    assert [read(value) for value in (None, "", "null")] == [None, None, None]
    assert (to_text(None), to_text(""), to_text("null")) == (None, "", "null")
    assert to_enum(None, KINDS) is None


def test_whole_numbers_have_javas_widths() -> None:
    for bits in (INT_BITS, LONG_BITS):
        largest = 2 ** (bits - 1) - 1
        for number in (largest, -largest - 1):
            assert to_integer(number, bits) == to_integer(str(number), bits) == number
        for number in (largest + 1, -largest - 2):
            for value in (number, str(number)):
                with pytest.raises(OverflowError, match=f"{bits} bits"):
                    to_integer(value, bits)
        assert to_integer(1e300, bits) == to_integer(float("inf"), bits) == largest
        assert to_integer(-1e300, bits) == -largest - 1


def test_an_object_is_zero_as_an_int_only() -> None:
    assert to_integer({"a": 1}, INT_BITS) == 0
    with pytest.raises(ValueError, match="not a whole number"):
        to_integer({"a": 1}, LONG_BITS)


def test_text_of_digits_without_end_is_refused() -> None:
    with pytest.raises(OverflowError, match="64 bits"):
        to_integer("9" * 100_000)


@pytest.mark.parametrize(
    ("value", "found"),
    [
        ("TWO", "TWO"),
        ("two", "TWO"),
        (1, "TWO"),
        (1.9, "TWO"),
        ("1", "TWO"),
        ("3", None),
        ("FOUR", None),
        ("", None),
    ],
)
def test_an_enum_is_its_name_or_its_place(value: Any, found: str | None) -> None:
    assert to_enum(value, KINDS) == found


@pytest.mark.parametrize("value", [3, -1, 1e9, True, [], {}, ["ONE"]])
def test_an_enum_has_no_other_places(value: Any) -> None:
    with pytest.raises(ValueError, match=r"No enum ordinal|neither a name nor a place"):
        to_enum(value, KINDS)


def test_one_item_stands_for_an_array_of_it() -> None:
    assert to_items({"a": 1}) == [{"a": 1}]
    assert [is_text_item(value) for value in ("a", {}, "", 5, None)] == [True, True, False, False, False]
    assert [is_integer_item(value) for value in (5, 1.5, "7", {}, "a", None)] == [True] * 4 + [False] * 2
    for value in (5, "a", True):
        with pytest.raises(ValueError, match="not an array"):
            to_items(value)
        with pytest.raises(ValueError, match="not an object"):
            to_object(value)
