"""Rows as tables and lists."""

import pytest

from mqgateway.gateway.cli.times import iso
from mqgateway.gateway.resources.rendering import cell, listed, table


def text(rendering, *rows) -> str:  # type: ignore[no-untyped-def]
    return "".join(rendering(None, rows))


def test_columns_are_as_wide_as_what_stands_in_them_and_numbers_stand_at_their_right() -> None:
    rows = ({"topic": "Orders", "queueId": 3, "more": 1}, {"topic": "T", "queueId": 12})
    assert text(table("topic", "queueId"), *rows) == (
        "TOPIC   QUEUE ID\nOrders         3\nT             12\n"
    )


def test_without_rows_the_missing_kind_is_named() -> None:
    assert text(table("topic", nothing="no topics")) == "no topics\n"
    assert text(table("topic")) == ""


@pytest.mark.parametrize(
    ("name", "value", "shown"),
    [
        ("tags", None, "-"),
        ("tags", "", "-"),
        ("isActive", True, "yes"),
        ("putTps", 1.25, "1.2"),
        ("storedAt", 1_700_000_000_000, iso(1_700_000_000_000)),
        ("storeTimestamp", 0, "-"),
        ("brokers", ["a", "b"], "a, b"),
        ("addresses", {0: "a:1"}, "0=a:1"),
        pytest.param("body", "a\x1b[2J", "a\\x1b[2J", id="what would move the cursor"),
    ],
)
def test_a_value_is_shown_as_what_it_is(name: str, value: object, shown: str) -> None:
    assert cell(name, value) == shown


def test_a_list_has_a_line_a_value_and_tables_below_their_names() -> None:
    rows = {"key": "k", "settings": {"b": 2, "a": 1}}, {"key": "l"}
    assert text(listed, *rows) == "key:      k\nsettings:\n  a: 1\n  b: 2\n\nkey: l\n"
