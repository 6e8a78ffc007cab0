"""Expressions of a message search over properties, body text, and values in JSON."""

from __future__ import annotations

import json
import string
from functools import cache
from typing import Any

import pytest

from mqgateway.engine.filters.tokens import ExpressionError
from mqgateway.engine.message import StoredMessage
from mqgateway.gateway.web.search_expressions import (
    BODY_MAX,
    LENGTH_MAX,
    USES_MAX,
    compile_search,
)
from tests.support.gateway.console import console

ORDER = {
    "amount": 7.5,
    "count": 3,
    "id": 9007199254740993,
    "region": "north",
    "paid": True,
    "note": None,
    "order-id": "o-1",
    "items": [{"price": 5}, {"price": 12}],
    "deep": {"a_b": 1, "a": {"b": 2}},
}


def stored(body: bytes, **properties: str) -> StoredMessage:
    """Return a stored message with this body."""
    browser = console()
    browser.world.memory.add_topic("T", queues=1)
    browser.world.put("T", body, **properties)
    return browser.world.memory.stored("T", 0, 0, 1)[0]


@cache
def order() -> StoredMessage:
    """Return a message with `ORDER` as its body."""
    return stored(json.dumps(ORDER).encode(), amount="20", TAGS="a")


def matches(expression: str, message: StoredMessage | None = None) -> bool:
    return compile_search(expression).matches(message or order())


@pytest.mark.parametrize(
    "expression",
    [
        "$.amount > 7",
        "$.amount = 7.5 AND $.count = 3 AND $.count >= 3",
        "$.amount BETWEEN 7 AND 8",
        "-5 < $.count",
        "$.count > -5",
        "$.id = 9007199254740993",
        "$.region = 'north' AND TAGS = 'a'",
        "$.region IN ('north', 'east')",
        "$.paid",
        "NOT ($.paid = FALSE)",
        "$.note IS NULL AND $.nothing IS NULL AND $.paid IS NOT NULL",
        "$['order-id'] STARTSWITH 'o-'",
        "$.items[1].price > $.items[0].price",
        "$.items CONTAINS '\"price\":12'",
        "$.items[2] IS NULL AND $.items.price IS NULL AND $.region.x IS NULL",
        "$.deep.a_b = 1 AND $.deep.a.b = 2",
        "BODY CONTAINS 'north' AND BODY STARTSWITH '{'",
        "amount > 19 AND $.amount < 19",
        "/* $.a */ -- $.b\n $.count = 3",
        "TAGS <> '$.count'",
    ],
)
def test_expression_over_the_body_matches(expression: str) -> None:
    assert matches(expression)


@pytest.mark.parametrize(
    "expression",
    [
        "$.amount > 8",
        "$.id = 9007199254740992",
        "$.region > 5",
        "$.nothing = 'x'",
        "$.nothing > 0",
        "$.region",
        "$.region = '$.region'",
        "BODY CONTAINS 'south'",
        "body CONTAINS 'north'",
    ],
)
def test_expression_over_the_body_matches_nothing(expression: str) -> None:
    assert not matches(expression)


@pytest.mark.parametrize(
    "body",
    [b"", b"\xff\xfe", b"{", b"[" * 100_000, b'{"n": ' + b"9" * 5000 + b"}", b"null", b'"n"', b"[1]"],
)
def test_path_has_no_value_in_a_body_that_has_none(body: bytes) -> None:
    message = stored(body)
    assert not matches("$.n > 0", message) and matches("$.n IS NULL", message)


def test_array_with_an_integer_beyond_64_bits_has_no_text() -> None:
    message = stored(b'{"a": [99999999999999999999], "b": 99999999999999999999}')
    assert matches("$.a IS NULL AND $.a[0] = '99999999999999999999' AND $.b > 5", message)


def test_number_beyond_all_floating_point_numbers_is_infinite() -> None:
    message = stored(b'{"n": 1e999, "m": -1e999}')
    assert matches("$.n > 9223372036854775806.0 AND $.m < 0", message)


def test_body_beyond_the_limit_has_text_up_to_it_and_no_values() -> None:
    large = json.dumps({"n": 1, "text": "x" * BODY_MAX, "end": "last"}).encode()
    message = stored(large)
    assert matches("BODY CONTAINS 'xxx'", message)
    assert not matches("BODY CONTAINS 'last'", message) and not matches("$.n = 1", message)


@pytest.mark.parametrize(
    ("expression", "position", "reason"),
    [
        ("$.a >", 5, "Encountered"),
        ("BODY LIKE '%x%'", 5, "use CONTAINS, STARTSWITH or ENDSWITH"),
        ("$.a = 1 $.b = 2", 8, "the expression is complete before '$.b = 2'"),
        ("$.a > $.a AND 'x' > $.abc", 14, "cannot be compared"),
        ("$.a IN (1)", 8, "Encountered"),
        ("$.a..b = 1", 3, "Lexical error"),
        ("$.[a] = 1", 1, "Lexical error"),
        ("$.items[x] = 1", 7, "Lexical error"),
        ("-$.abc", 0, "Expression will not result in a boolean value: -$.abc"),
    ],
)
def test_error_has_a_position_and_the_paths_as_they_were_written(
    expression: str, position: int, reason: str
) -> None:
    with pytest.raises(ExpressionError) as raised:
        compile_search(expression)
    assert raised.value.position == position and reason in raised.value.reason


@pytest.mark.parametrize(
    ("expression", "reason"),
    [
        (" OR ".join(["$.a = 1"] * (USES_MAX + 1)), f"more than {USES_MAX} uses of the body"),
        (" OR ".join(["BODY = 'x'"] * (USES_MAX + 1)), f"more than {USES_MAX} uses of the body"),
        ("a = '" + "x" * LENGTH_MAX + "'", "characters is too long"),
        ("(" * 60 + "$.a = 1" + ")" * 60, "inside one another"),
        ("NOT " * 60 + "$.a", "inside one another"),
        ("/*" * 2000, "Lexical error"),
        ("'" * 4095, "a string that does not end"),
        ("$['" + "a" * 4000, "Lexical error"),
        (
            " OR ".join([*(f"${letter}$ = 1" for letter in string.digits + string.ascii_letters), "$.a = 1"]),
            "too many names that begin with $",
        ),
    ],
)
def test_hostile_expression_is_refused(expression: str, reason: str) -> None:
    with pytest.raises(ExpressionError) as raised:
        compile_search(expression)
    assert reason in raised.value.reason


def test_name_of_a_property_that_begins_with_the_sign_of_a_path_is_no_path() -> None:
    properties: dict[str, Any] = {"$0$": "x", "$x": "y"}
    message = stored(b'{"a": 1}', **properties)
    assert matches("$0$ = 'x' AND $x = 'y' AND $.a = 1", message)
